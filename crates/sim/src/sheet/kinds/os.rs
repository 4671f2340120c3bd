//! Which numbers does an operating system have? Clocks of each step of an I/O's way.

use crate::sheet::parameter::{DeviceKind, Unit, needs, with};

pub(super) const KIND: DeviceKind = DeviceKind {
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
};
