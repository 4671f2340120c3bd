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
mod sorted;
#[cfg(test)]
mod tests;

use crate::sheet::{Sheet, SheetError};
use iostack_model::Nanos;

use crate::devices::parameter::{count_within, whole_bytes};
use crate::engine::Time;

pub(crate) use lock::Lock;
pub(crate) use part::Elevator;

/// An I/O in a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where the part keeps it.
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
    /// When it came.
    pub(crate) since: Time,
}

/// What a scheduler wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
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
    fn add(&mut self, entry: Entry, now: Time);

    /// The drive can take one: which? Whatever is named has left the scheduler.
    fn next(&mut self, now: Time) -> Next;

    /// One that went is through.
    fn completed(&mut self, _entry: &Entry, _now: Time) {}
}

/// Numbers of the orders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// Of reads, of writes, ns.
    pub(crate) expire: [u64; 2],
    pub(crate) batch: u64,
    pub(crate) starved: u64,
    pub(crate) batch_time: [u64; 2],
    pub(crate) idle: u64,
    pub(crate) slice: u64,
    pub(crate) slice_async: u64,
    pub(crate) budget: u64,
    pub(crate) target: [u64; 2],
    /// The drive has an arm.
    pub(crate) rotates: bool,
}

/// What a sheet says of a scheduler.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    order: String,
    /// Clocks.
    pub(crate) clocks: f64,
    pub(crate) hold: f64,
    pub(crate) contention: f64,
    /// Bytes of a merged I/O, at most.
    pub(crate) merge: u64,
    pub(crate) tuning: Tuning,
}

impl Spec {
    /// For a drive with an arm or without.
    pub(crate) fn of(sheet: &Sheet, rotates: bool) -> Result<Spec, SheetError> {
        let clocks = |key: &str| {
            let clocks = sheet.number(key)?;
            if clocks >= 0.0 {
                return Ok(clocks);
            }
            Err(sheet.refuse(key, "clocks are not less than 0", "write 0 or more"))
        };
        let time = |key: &str| sheet.time(key).map(|Nanos(ns)| ns);
        let tuning = Tuning {
            expire: [time("scheduler.read_expire")?, time("scheduler.write_expire")?],
            batch: count_within(sheet, "scheduler.batch", 1, 1 << 20)?,
            starved: count_within(sheet, "scheduler.starved", 0, 1 << 20)?,
            batch_time: [time("scheduler.read_batch")?, time("scheduler.write_batch")?],
            idle: time("scheduler.idle")?,
            slice: time("scheduler.slice")?,
            slice_async: time("scheduler.slice_async")?,
            budget: whole_bytes(sheet, "scheduler.budget", 512)?,
            target: [time("scheduler.read_target")?, time("scheduler.write_target")?],
            rotates,
        };
        Ok(Spec {
            order: sheet.word("scheduler.order")?.to_owned(),
            clocks: clocks("scheduler.clocks")?,
            hold: clocks("scheduler.hold")?,
            contention: clocks("scheduler.contention")?,
            merge: sheet.bytes("scheduler.merge")?.0,
            tuning,
        })
    }

    /// First come, first served, and free: for a drive whose depth alone is limited.
    #[cfg(test)]
    pub(crate) fn noop() -> Spec {
        let sheet = Sheet::from_values("scheduler", &[("scheduler.order", "noop")]).expect("a kind");
        Spec::of(&sheet, false).expect("numbers by default")
    }
}

/// An empty scheduler.
pub(crate) fn order(spec: &Spec) -> Box<dyn Scheduler> {
    let tuning = spec.tuning;
    match spec.order.as_str() {
        "anticipatory" => Box::new(anticipatory::Anticipatory::new(tuning)),
        "cfq" => Box::new(cfq::Cfq::new(tuning)),
        "mq-deadline" => Box::new(deadline::Deadline::new(tuning)),
        "kyber" => Box::new(kyber::Kyber::new(tuning)),
        "bfq" => Box::new(bfq::Bfq::new(tuning)),
        _ => Box::new(fifo::Fifo::default()),
    }
}
