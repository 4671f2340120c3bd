//! What does the operating system cost? Clocks of each step of an I/O's way.

use serde::Deserialize;

use crate::sheet::{Sheet, SheetError};

use crate::devices::parameter::count_within;
use crate::numbers::clocks_of;

/// Numbers of a system by their keys in its sheet: clocks, but for times.
#[derive(Clone, Debug, Default, Deserialize)]
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
    pub(crate) aio_submit: f64,
    pub(crate) aio_reap: f64,
    pub(crate) uring_submit: f64,
    pub(crate) uring_reap: f64,
    pub(crate) uring_file: f64,
    pub(crate) uring_buffer: f64,
    pub(crate) aio_batch: f64,
    pub(crate) uring_batch: f64,
    pub(crate) uring_queue: f64,
    /// Time after which a thread that never sleeps leaves its core, ns.
    pub(crate) slice: u64,
    pub(crate) completion: String,
    pub(crate) poll: f64,
    pub(crate) copy: f64,
    pub(crate) page: f64,
    pub(crate) lookup: f64,
    pub(crate) unplug_count: usize,
    /// Longest time that a queue is plugged, ns.
    pub(crate) unplug_time: u64,
    /// Clocks of a file system that I/Os go through.
    #[serde(skip)]
    pub(crate) through_files: f64,
    #[serde(skip)]
    pub(crate) scheduler: f64,
    #[serde(skip)]
    pub(crate) scheduler_hold: f64,
}

impl System {
    /// The system of a sheet on a core that takes so many clocks for what a number of it is.
    pub(crate) fn read(sheet: &Sheet, cpi: f64) -> Result<System, SheetError> {
        count_within(sheet, "os.unplug_count", 1, 1 << 16)?;
        let system: System = clocks_of(sheet, cpi)?;
        if system.slice < 1000 {
            let remedy = "write 1us or more; systems take some milliseconds";
            return Err(sheet.refuse("os.slice", "threads would do nothing but take turns", remedy));
        }
        Ok(system)
    }
}
