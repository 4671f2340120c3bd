//! What does the operating system cost? Clocks of each step of an I/O's way.

use super::elevator::Spec as Scheduler;
use super::part_of_a_platform;
use crate::devices::DeviceKind;
use crate::devices::parameter::{count_within, needs, with};
use crate::sheet::{Sheet, SheetError, Unit};

pub(crate) const KIND: DeviceKind = DeviceKind {
    name: "os",
    about: "an operating system: clocks of each step of an I/O's way, part of a platform",
    parameters: &[
        with("os.application", Unit::Number, "0", "clocks of the program itself, for each I/O"),
        needs("os.syscall", Unit::Number, "clocks into the kernel and back, for each call"),
        needs("os.vfs", Unit::Number, "clocks from the call to the block layer, direct I/O"),
        with(
            "os.pin",
            Unit::Number,
            "0",
            "clocks of pinning the caller's pages, direct I/O, where `os.vfs` leaves it out",
        ),
        needs("os.block", Unit::Number, "clocks of the block layer on the way down"),
        needs("os.block_end", Unit::Number, "clocks of the block layer on the way up"),
        with(
            "os.scsi",
            Unit::Number,
            "0",
            "clocks of the SCSI layer on the way down, for adapters that need it",
        ),
        with("os.scsi_end", Unit::Number, "0", "the same on the way up"),
        needs("os.interrupt", Unit::Number, "clocks of entering and leaving an interrupt, softirq included"),
        needs("os.switch_out", Unit::Number, "clocks of going to sleep"),
        needs("os.switch_in", Unit::Number, "clocks of running again"),
        needs("os.wake", Unit::Number, "clocks of waking a thread"),
        with(
            "os.other_core",
            Unit::Number,
            "0",
            "clocks more when the interrupt was on another core than the caller: cold caches",
        ),
        with("os.aio_submit", Unit::Number, "0", "clocks more for each I/O that libaio submits"),
        with("os.aio_reap", Unit::Number, "0", "clocks for each I/O that libaio picks up"),
        with("os.uring_submit", Unit::Number, "0", "clocks more for each I/O that io_uring submits"),
        with("os.uring_reap", Unit::Number, "0", "clocks for each I/O that io_uring picks up"),
        with(
            "os.uring_file",
            Unit::Number,
            "0",
            "clocks more for each I/O of io_uring whose file is not registered: it is looked up",
        ),
        with(
            "os.uring_buffer",
            Unit::Number,
            "0",
            "clocks more for each I/O of io_uring whose buffer is not registered: its pages are looked up and held",
        ),
        with(
            "os.uring_queue",
            Unit::Number,
            "0",
            "clocks of putting an I/O into the ring from which a thread of the kernel takes it",
        ),
        with("os.slice", Unit::Time, "10ms", "a thread that never sleeps leaves its core to others so often"),
        with(
            "os.completion",
            Unit::Word(&["any", "poll"]),
            "any",
            "a driver in user space knows no interrupt: `poll`, whatever the platform says",
        ),
        with("os.poll", Unit::Number, "200", "clocks of one look for a completion"),
        with("os.copy", Unit::Number, "0", "clocks for each byte that is copied, buffered I/O"),
        with(
            "os.page",
            Unit::Number,
            "0",
            "clocks for each page that comes into the page cache: room, insertion, the end of its I/O",
        ),
        with("os.lookup", Unit::Number, "0", "clocks for each page that is looked up in the page cache"),
        with("os.unplug_count", Unit::Count, "4", "requests that unplug a queue which gathers them"),
        with("os.unplug_time", Unit::Time, "3ms", "a queue is plugged so long at most"),
    ],
    build: part_of_a_platform,
};

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
