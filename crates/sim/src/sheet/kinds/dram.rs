//! Which numbers does memory behind commands have?

use crate::sheet::parameter::{DeviceKind, Unit, needs, with};

pub(super) const KIND: DeviceKind = DeviceKind {
    name: "dram",
    about: "memory behind commands: a fixed time per command, then the data; several requests may share a command",
    parameters: &[
        needs("dram.capacity", Unit::Bytes, "what the host sees"),
        needs("dram.command", Unit::Time, "fixed time of each command, whatever it carries"),
        needs("dram.rate", Unit::Rate, "data between memory and host, all together"),
        with("dram.page", Unit::Bytes, "4KiB", "data moves in whole pages"),
        with("dram.queue_depth", Unit::Count, "1", "commands in the device at once; with 1 nothing overlaps"),
        with("dram.batch", Unit::Count, "1", "requests that one (extended) command may carry"),
        with(
            "dram.gather",
            Unit::Word(&["host", "device"]),
            "host",
            "who puts requests into one command: the host, or the device with all that waits when it is free",
        ),
        with(
            "dram.completes",
            Unit::Word(&["command", "request"]),
            "command",
            "requests of a command end together, or each when its data are through",
        ),
        with("dram.banks", Unit::Count, "1", "units of the medium that work side by side, page by page"),
        with("dram.access", Unit::Time, "0", "time a bank takes per page, before its data moves"),
        with("dram.write_access", Unit::Time, "none", "the same for writes, if it differs"),
    ],
};
