//! What does the operating system cost? Clocks of each step of an I/O's way.

use crate::sheet::{Sheet, SheetError};

use super::elevator::Spec as Scheduler;
use crate::devices::parameter::count_within;

/// The numbers of a system, clocks.
#[derive(Clone, Debug)]
pub(crate) struct System {
    pub(crate) application: f64,
    pub(crate) syscall: f64,
    pub(crate) vfs: f64,
    pub(crate) pin: f64,
    pub(crate) block: f64,
    pub(crate) block_end: f64,
    pub(crate) scsi: f64,
    pub(crate) scsi_end: f64,
    pub(crate) interrupt: f64,
    pub(crate) switch_out: f64,
    pub(crate) switch_in: f64,
    pub(crate) wake: f64,
    pub(crate) other_core: f64,
    pub(crate) aio: [f64; 2],
    pub(crate) uring: [f64; 2],
    pub(crate) uring_file: f64,
    pub(crate) uring_buffer: f64,
    pub(crate) uring_queue: f64,
    /// ns.
    pub(crate) slice: u64,
    pub(crate) polls: bool,
    pub(crate) poll: f64,
    /// Of a file system that I/Os go through.
    pub(crate) through_files: f64,
    pub(crate) unplug_count: usize,
    pub(crate) unplug_ns: u64,
    pub(crate) scheduler: f64,
    pub(crate) scheduler_hold: f64,
}

impl System {
    /// The clocks of its I/O scheduler stand in a sheet of their own.
    pub(crate) fn scheduled_by(&mut self, scheduler: &Scheduler) {
        (self.scheduler, self.scheduler_hold) = (scheduler.clocks, scheduler.hold);
    }

    pub(crate) fn of(sheet: &Sheet) -> Result<System, SheetError> {
        let clocks = |key: &str| {
            let clocks = sheet.number(key)?;
            if clocks >= 0.0 {
                Ok(clocks)
            } else {
                Err(sheet.refuse(key, "clocks are not less than 0", "write 0 or more"))
            }
        };
        Ok(System {
            application: clocks("os.application")?,
            syscall: clocks("os.syscall")?,
            vfs: clocks("os.vfs")?,
            pin: clocks("os.pin")?,
            block: clocks("os.block")?,
            block_end: clocks("os.block_end")?,
            scsi: clocks("os.scsi")?,
            scsi_end: clocks("os.scsi_end")?,
            interrupt: clocks("os.interrupt")?,
            switch_out: clocks("os.switch_out")?,
            switch_in: clocks("os.switch_in")?,
            wake: clocks("os.wake")?,
            other_core: clocks("os.other_core")?,
            aio: [clocks("os.aio_submit")?, clocks("os.aio_reap")?],
            uring: [clocks("os.uring_submit")?, clocks("os.uring_reap")?],
            uring_file: clocks("os.uring_file")?,
            uring_buffer: clocks("os.uring_buffer")?,
            uring_queue: clocks("os.uring_queue")?,
            slice: slice_of(sheet)?,
            polls: sheet.word("os.completion")? == "poll",
            poll: clocks("os.poll")?,
            through_files: 0.0,
            unplug_count: count_within(sheet, "os.unplug_count", 1, 1 << 16)? as usize,
            unplug_ns: sheet.time("os.unplug_time")?.0,
            scheduler: 0.0,
            scheduler_hold: 0.0,
        })
    }
}

fn slice_of(sheet: &Sheet) -> Result<u64, SheetError> {
    let slice = sheet.time("os.slice")?.0;
    if slice < 1000 {
        let remedy = "write 1us or more; systems take some milliseconds";
        return Err(sheet.refuse("os.slice", "threads would do nothing but take turns", remedy));
    }
    Ok(slice)
}
