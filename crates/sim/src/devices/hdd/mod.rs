//! What does a disk do? Its arm moves, its platters turn, and its cache reads ahead.

use super::DeviceKind;
use super::parameter::{needs, with};
use crate::engine::{PartId, World};
use crate::sheet::{Sheet, SheetError, Unit};

pub(super) const KIND: DeviceKind = DeviceKind {
    name: "hdd",
    about: "a disk: seek curve, rotation with its true angle, zones, caches, order of commands",
    parameters: &[
        needs("hdd.rpm", Unit::Number, "revolutions per minute"),
        needs("hdd.cylinders", Unit::Count, "tracks under one head"),
        needs("hdd.heads", Unit::Count, "surfaces"),
        with("hdd.sector", Unit::Bytes, "512B", "bytes of a sector"),
        needs("hdd.sectors_outer", Unit::Count, "sectors of the outermost track"),
        with("hdd.sectors_inner", Unit::Count, "none", "sectors of the innermost track; all alike if none"),
        with(
            "hdd.zones",
            Unit::Count,
            "1",
            "zones of equal width, sectors falling evenly from outer to inner",
        ),
        with("hdd.capacity", Unit::Bytes, "none", "what the host sees; all of the geometry if none"),
        with(
            "hdd.seek",
            Unit::Word(&["two-piece", "three-point"]),
            "two-piece",
            "curve: a + b sqrt(d) below a boundary, then c + e d; or through single, average and full stroke",
        ),
        with("hdd.seek_short", Unit::Time, "none", "two-piece: a"),
        with("hdd.seek_short_root", Unit::Time, "none", "two-piece: b, per root of a cylinder"),
        with("hdd.seek_boundary", Unit::Count, "none", "two-piece: cylinders from which on the seek is long"),
        with("hdd.seek_long", Unit::Time, "none", "two-piece: c"),
        with("hdd.seek_long_cylinder", Unit::Time, "none", "two-piece: e, per cylinder"),
        with("hdd.seek_single", Unit::Time, "none", "three-point: to the next cylinder"),
        with("hdd.seek_average", Unit::Time, "none", "three-point: average over random pairs"),
        with("hdd.seek_full", Unit::Time, "none", "three-point: from the first cylinder to the last"),
        with("hdd.head_switch", Unit::Time, "0", "to another surface of the same cylinder"),
        with("hdd.write_settle", Unit::Time, "0", "more until a moved head may write"),
        with(
            "hdd.track_skew",
            Unit::Time,
            "none",
            "turn between tracks of a cylinder; the head switch if none",
        ),
        with("hdd.cylinder_skew", Unit::Time, "none", "turn between cylinders; the shortest seek if none"),
        with("hdd.read_overhead", Unit::Time, "0", "the controller's time per read"),
        with("hdd.write_overhead", Unit::Time, "0", "the controller's time per write"),
        needs("hdd.link", Unit::Rate, "data between disk and host"),
        with("hdd.queue_depth", Unit::Count, "1", "commands in the disk at once (NCQ: 32)"),
        with(
            "hdd.order",
            Unit::Word(&["fcfs", "sstf", "elevator", "sptf"]),
            "fcfs",
            "which of them next: first come, shortest seek, on in the same direction, shortest seek and rotation",
        ),
        with("hdd.age_limit", Unit::Time, "none", "a command that waited so long goes first"),
        with("hdd.cache", Unit::Bytes, "0", "memory for what was read"),
        with("hdd.segments", Unit::Count, "1", "streams the cache tells apart"),
        with("hdd.read_ahead", Unit::Bytes, "0", "how far reading goes on when nothing else is asked"),
        with(
            "hdd.write_cache",
            Unit::Bytes,
            "0",
            "memory for writes that are acknowledged before they are on the platter",
        ),
    ],
    build,
};

fn build(sheet: &Sheet, _world: &mut World, _seed: u64) -> Result<PartId, SheetError> {
    Err(sheet.refuse("hdd.rpm", "this kind is not built yet", "use another"))
}
