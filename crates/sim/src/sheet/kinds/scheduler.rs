//! Which numbers does an I/O scheduler have?

use crate::sheet::parameter::{DeviceKind, Unit, needs, with};

/// Words of `scheduler.order`.
pub const SCHEDULERS: &[&str] = &["noop", "anticipatory", "cfq", "mq-deadline", "kyber", "bfq"];

pub(super) const KIND: DeviceKind = DeviceKind {
    name: "scheduler",
    about: "an I/O scheduler: its order, its clocks and its lock, part of a platform",
    parameters: &[
        needs("scheduler.order", Unit::Word(SCHEDULERS), "which I/O goes next"),
        with("scheduler.clocks", Unit::Number, "0", "clocks for each I/O, outside its lock"),
        with(
            "scheduler.hold",
            Unit::Number,
            "0",
            "clocks under its lock for each I/O, when nobody waits for it",
        ),
        with(
            "scheduler.contention",
            Unit::Number,
            "0",
            "clocks more under the lock for each core that waits for it: its cache line moves",
        ),
        with("scheduler.merge", Unit::Bytes, "512KiB", "adjacent I/Os become one up to this size"),
        with("scheduler.read_expire", Unit::Time, "500ms", "a read that waited so long goes first"),
        with(
            "scheduler.write_expire",
            Unit::Time,
            "5s",
            "a write that waited so long goes before other writes",
        ),
        with("scheduler.batch", Unit::Count, "16", "mq-deadline: I/Os of one direction in a row"),
        with("scheduler.starved", Unit::Count, "2", "mq-deadline: batches of reads that go before a write's"),
        with("scheduler.read_batch", Unit::Time, "500ms", "anticipatory: reads go for so long before writes"),
        with(
            "scheduler.write_batch",
            Unit::Time,
            "125ms",
            "anticipatory: writes go for so long before reads",
        ),
        with("scheduler.idle", Unit::Time, "8ms", "the drive is kept idle so long for the same process"),
        with("scheduler.slice", Unit::Time, "100ms", "cfq, bfq: a process has the drive so long at most"),
        with("scheduler.slice_async", Unit::Time, "40ms", "cfq: the same for writes that nobody waits for"),
        with("scheduler.budget", Unit::Bytes, "8MiB", "bfq: a process has the drive for so much at most"),
        with("scheduler.read_target", Unit::Time, "2ms", "kyber: latency of reads that it aims at"),
        with("scheduler.write_target", Unit::Time, "10ms", "kyber: the same of writes"),
    ],
};
