//! Which numbers does a RAID-0 have?

use crate::sheet::parameter::{DeviceKind, Unit, needs, with};

pub(super) const KIND: DeviceKind = DeviceKind {
    name: "raid0",
    about: "drives striped behind a controller with limits and a cache of its own",
    parameters: &[
        needs("raid0.member", Unit::Device(None), "the device of which there are several"),
        needs("raid0.members", Unit::Count, "how many"),
        with("raid0.stripe", Unit::Bytes, "64KiB", "bytes on one member before the next takes over"),
        with(
            "raid0.controller",
            Unit::Time,
            "0",
            "time of the controller per command; its inverse caps IOPS",
        ),
        with("raid0.member_command", Unit::Time, "0", "more of its time per command to a member"),
        with("raid0.queue_depth", Unit::Count, "none", "commands the controller takes at once"),
        with("raid0.rate", Unit::Rate, "none", "data between host and controller, all together"),
        with("raid0.cache", Unit::Bytes, "0", "memory of the controller for data"),
        with("raid0.cache_page", Unit::Bytes, "4KiB", "unit of the cache"),
        with(
            "raid0.write",
            Unit::Word(&["through", "back"]),
            "through",
            "writes are acknowledged by the members, or by the cache",
        ),
        with(
            "raid0.read_cache",
            Unit::Word(&["off", "on"]),
            "on",
            "whether what passed through stays to be read",
        ),
        with("raid0.destage", Unit::Count, "32", "writes from the cache to members under way at once"),
    ],
};
