//! Which numbers does a machine have?

use crate::sheet::parameter::{DeviceKind, Unit, needs, with};

/// Words of `platform.subsystem`.
pub const SUBSYSTEMS: &[&str] = &["async", "sync", "stm", "atm", "hybrid"];

pub(super) const KIND: DeviceKind = DeviceKind {
    name: "platform",
    about: "a whole machine: cores, an operating system, adapters, drives",
    parameters: &[
        needs("platform.cores", Unit::Count, "cores that run threads and interrupts"),
        needs("platform.ghz", Unit::Number, "clocks of a core in a nanosecond"),
        needs("platform.os", Unit::Device(Some("os")), "the operating system: clocks of each step"),
        needs("platform.adapter", Unit::Device(Some("adapter")), "the kind of adapter, with its driver"),
        with("platform.adapters", Unit::Count, "1", "how many; drives take turns at them"),
        needs("platform.drive", Unit::Device(None), "the kind of drive"),
        with("platform.drives", Unit::Count, "1", "how many, in all"),
        with(
            "platform.spread",
            Unit::Word(&["threads", "offsets"]),
            "threads",
            "threads take turns at the drives, each thread stays at its own; or the drives follow each other in one space",
        ),
        with(
            "platform.scheduler",
            Unit::Device(Some("scheduler")),
            "none",
            "the I/O scheduler before each drive",
        ),
        with(
            "platform.drive_depth",
            Unit::Count,
            "none",
            "I/Os that the scheduler lets into a drive; as many as the drive takes if none",
        ),
        with("platform.fs", Unit::Device(Some("fs")), "none", "the file system that I/Os go through"),
        with(
            "platform.memory",
            Unit::Bytes,
            "none",
            "memory for the page cache; without, `direct = false` is refused",
        ),
        with(
            "platform.replacement",
            Unit::Word(&["lru", "cflru"]),
            "lru",
            "which page goes: the oldest, or the oldest clean one among the oldest (CFLRU)",
        ),
        with("platform.clean_first", Unit::Share, "25%", "CFLRU's window: so much of memory"),
        with("platform.read_ahead", Unit::Bytes, "128KiB", "largest window of read-ahead; 0B: none"),
        with(
            "platform.dirty_background",
            Unit::Share,
            "10%",
            "dirty share of memory at which write-back begins",
        ),
        with("platform.dirty", Unit::Share, "20%", "dirty share of memory at which writers wait"),
        with("platform.flush_depth", Unit::Count, "128", "requests that write-back keeps in flight"),
        with(
            "platform.file",
            Unit::Word(&["written", "new"]),
            "written",
            "the file is there, or begins empty: then pages are given places, and nothing is read to write part of one",
        ),
        with(
            "platform.subsystem",
            Unit::Word(SUBSYSTEMS),
            "async",
            "how requests reach a drive: interrupts, threads poll, merge in time, in a plugged queue, or ahead",
        ),
        with(
            "platform.outstanding",
            Unit::Count,
            "none",
            "commands that the host leaves in a drive before it has handled a completion; 1 when threads poll",
        ),
        with("platform.register_read", Unit::Number, "2100", "clocks of an uncacheable read of a register"),
        with(
            "platform.interrupts",
            Unit::Word(&["adapter", "one"]),
            "adapter",
            "adapters take turns at the cores, or one core takes all; queues for each core interrupt the caller's",
        ),
        with(
            "platform.completion",
            Unit::Word(&["interrupt", "poll", "hybrid"]),
            "interrupt",
            "how a thread learns that its I/O is through, unless the job polls; `hybrid` sleeps half the mean time first",
        ),
    ],
};
