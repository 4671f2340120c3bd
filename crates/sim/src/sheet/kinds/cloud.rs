//! Which numbers does a volume of a cloud have?

use crate::sheet::parameter::{DeviceKind, Unit, needs, with};

pub(super) const KIND: DeviceKind = DeviceKind {
    name: "cloud",
    about: "a volume held back by token buckets of I/Os and bytes, with credits for bursts",
    parameters: &[
        needs("cloud.capacity", Unit::Bytes, "what the host sees"),
        needs("cloud.iops", Unit::PerSecond, "tokens that flow into the bucket of I/Os: the rate that lasts"),
        with(
            "cloud.credits",
            Unit::Count,
            "0",
            "tokens the bucket of I/Os holds: I/Os above the rate that lasts",
        ),
        with("cloud.iops_burst", Unit::PerSecond, "none", "most tokens a second while credits last"),
        with(
            "cloud.unit",
            Unit::Bytes,
            "16KiB",
            "bytes of an I/O that one token pays for; a begun unit counts",
        ),
        with(
            "cloud.merge",
            Unit::Word(&["off", "on"]),
            "off",
            "whether I/Os that follow each other share a token until its unit is full",
        ),
        with("cloud.rate", Unit::Rate, "none", "bytes a second that last"),
        with("cloud.rate_credits", Unit::Bytes, "0", "bytes above the rate that lasts"),
        with("cloud.rate_burst", Unit::Rate, "none", "most bytes a second while they last"),
        with("cloud.credits_start", Unit::Share, "100%", "how full both buckets are at the start"),
        needs("cloud.read_p50", Unit::Time, "median latency of a read that is not held back"),
        with("cloud.read_min", Unit::Time, "none", "shortest; the median if none"),
        with("cloud.read_p99", Unit::Time, "none", "99th percentile; the median if none"),
        with("cloud.read_max", Unit::Time, "none", "longest; the 99th percentile if none"),
        needs("cloud.write_p50", Unit::Time, "median latency of a write that is not held back"),
        with("cloud.write_min", Unit::Time, "none", "shortest; the median if none"),
        with("cloud.write_p99", Unit::Time, "none", "99th percentile; the median if none"),
        with("cloud.write_max", Unit::Time, "none", "longest; the 99th percentile if none"),
        with("cloud.queue_depth", Unit::Count, "none", "I/Os in the volume at once, beyond the buckets"),
    ],
};
