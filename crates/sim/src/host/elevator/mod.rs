//! Which I/O goes to the drive next, and what does it cost to decide?
//!
//! ```text
//!   plug ──► merge ──► scheduler ──► drive, as many at once as it takes
//!            adjacent     next(now): go, wait until, nothing
//! ```
//!
//! A scheduler is a data structure without time of its own: it is given I/Os and the present moment, and says which goes,
//! or until when it would rather wait for a better one. Its clocks are spent by the thread that submits; what it does under
//! its lock is [`Lock`]'s matter. One file for each; a new scheduler is a file, a word of `scheduler.order` in
//! `sheet/kinds.toml`, and a line in `order`.

mod anticipatory;
mod bfq;
mod cfq;
mod deadline;
mod fifo;
mod kyber;
mod lock;
mod part;
#[cfg(test)]
mod part_tests;
mod process;
mod service;
mod sorted;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use crate::devices::parameter::{count_within, whole_bytes};
use crate::engine::Time;
use crate::numbers::numbers_of;
use crate::sheet::{Sheet, SheetError};

pub(crate) use lock::Lock;
pub(crate) use part::Elevator;

/// An I/O in a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuedIo {
    /// Index by which the part keeps it.
    pub(crate) slot: u32,
    /// Counts up: the order of arrival.
    pub(crate) number: u64,
    /// Process that asked.
    pub(crate) owner: u32,
    pub(crate) write: bool,
    /// Somebody waits for it.
    pub(crate) sync: bool,
    pub(crate) offset: u64,
    pub(crate) end: u64,
    /// Moment of its arrival.
    pub(crate) since: Time,
}

/// Decision of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextIo {
    /// The I/O of this slot goes to the drive.
    Go(u32),
    /// None goes before this moment, unless one comes or ends.
    Idle(Time),
    /// None goes before one comes or ends.
    Nothing,
}

/// Decides which I/O goes.
pub(crate) trait Scheduler: Send {
    /// An I/O comes.
    fn add(&mut self, entry: QueuedIo, now: Time);

    /// The drive can take one: which? Whatever is named has left the scheduler.
    fn next(&mut self, now: Time) -> NextIo;

    /// One that went is through.
    fn completed(&mut self, _entry: &QueuedIo, _now: Time) {}
}

/// Numbers of a scheduler by their keys in its sheet: times are ns.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct SchedulerSpec {
    order: String,
    pub(crate) clocks: f64,
    pub(crate) hold: f64,
    pub(crate) contention: f64,
    /// Bytes of a merged I/O, at most.
    merge: u64,
    read_expire: u64,
    write_expire: u64,
    batch: u64,
    starved: u64,
    read_batch: u64,
    write_batch: u64,
    idle: u64,
    slice: u64,
    slice_async: u64,
    budget: u64,
    read_target: u64,
    write_target: u64,
    /// The drive has an arm.
    #[serde(skip)]
    rotates: bool,
}

impl SchedulerSpec {
    /// The scheduler of a sheet, for a drive with an arm or without.
    pub(crate) fn read(sheet: &Sheet, rotates: bool) -> Result<SchedulerSpec, SheetError> {
        count_within(sheet, "scheduler.batch", 1, 1 << 20)?;
        count_within(sheet, "scheduler.starved", 0, 1 << 20)?;
        whole_bytes(sheet, "scheduler.budget", 512)?;
        Ok(SchedulerSpec { rotates, ..numbers_of(sheet)? })
    }

    /// Longest waits of reads and of writes.
    fn expire(&self) -> [u64; 2] {
        [self.read_expire, self.write_expire]
    }

    /// A scheduler with its numbers by default.
    #[cfg(test)]
    pub(crate) fn plain(order: &str, rotates: bool) -> SchedulerSpec {
        let sheet = Sheet::from_values("scheduler", &[("scheduler.order", order)]).expect("a kind");
        SchedulerSpec::read(&sheet, rotates).expect("numbers by default")
    }
}

/// An empty scheduler.
pub(crate) fn order(spec: &SchedulerSpec) -> Box<dyn Scheduler> {
    let spec = spec.clone();
    match spec.order.as_str() {
        "anticipatory" => Box::new(anticipatory::Anticipatory::new(spec)),
        "cfq" => Box::new(cfq::Cfq::new(spec)),
        "mq-deadline" => Box::new(deadline::Deadline::new(spec)),
        "kyber" => Box::new(kyber::Kyber::new(spec)),
        "bfq" => Box::new(bfq::Bfq::new(spec)),
        _ => Box::new(fifo::Fifo::default()),
    }
}
