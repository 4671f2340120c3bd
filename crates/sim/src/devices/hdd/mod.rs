//! What does a disk do? Its arm moves, its platters turn, and its cache reads ahead.
//!
//! ```text
//!   command queue ──► controller ──► caches ──► arm: seek, rotation, platter ──► link
//! ```
//!
//! Time on the arm is geometry: the seek curve over the distance, then the true angle of the platters at that moment until
//! the first sector comes round, then sectors as they pass, with the switches between tracks. Where nothing random is asked
//! nothing random happens.
//!
//! Left out: spare sectors, recalibration, errors, and the half of a link transfer that a write could overlap with its
//! seek. A read's transfer overlaps with the platter; only its tail is booked on the link. A TRIM is answered and forgotten.
//!
//! Start reading at [`disk`]; positions are in [`geometry`], the head in [`arm`].

mod arm;
mod cache;
mod disk;
mod geometry;
mod order;
mod seek;

use std::collections::VecDeque;

use iostack_model::Bytes;

use super::DeviceKind;
use super::parameter::{Pace, count_within, needs, time_or, with};
use crate::engine::{PartId, Server, Stamps, World};
use crate::sheet::{Sheet, SheetError, Unit};
use arm::Arm;
use cache::{Dirty, Segments};
use disk::{Buffer, Disk};
use geometry::{Geometry, Track};
use order::Order;
use seek::Curve;

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
        with("hdd.seek_boundary", Unit::Count, "0", "two-piece: cylinders from which on the seek is long"),
        with("hdd.seek_long", Unit::Time, "none", "two-piece: c"),
        with("hdd.seek_long_cylinder", Unit::Time, "none", "two-piece: e, per cylinder"),
        with("hdd.seek_single", Unit::Time, "none", "three-point: to the next cylinder"),
        with("hdd.seek_average", Unit::Time, "none", "three-point: average over random pairs"),
        with("hdd.seek_full", Unit::Time, "none", "three-point: from the first cylinder to the last"),
        with("hdd.head_switch", Unit::Time, "0", "to another surface of the same cylinder"),
        with(
            "hdd.write_settle",
            Unit::Time,
            "0",
            "more after a seek over several cylinders until the head may write",
        ),
        with(
            "hdd.track_skew",
            Unit::Time,
            "none",
            "turn between tracks of a cylinder; what the head switch takes if none",
        ),
        with(
            "hdd.cylinder_skew",
            Unit::Time,
            "none",
            "turn between cylinders; what the shortest seek takes if none",
        ),
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

fn build(sheet: &Sheet, world: &mut World, _seed: u64) -> Result<PartId, SheetError> {
    let sector = count_of_sector(sheet)?;
    let arm = arm(sheet)?;
    let all = Bytes(arm.geometry.sectors * sector);
    let capacity = if sheet.has("hdd.capacity") { sheet.bytes("hdd.capacity")? } else { all };
    if capacity > all || capacity.0 < sector {
        let what = format!("the geometry has {all}");
        return Err(sheet.refuse("hdd.capacity", &what, "lower it, or add cylinders or sectors"));
    }
    let age_limit = time_or(sheet, "hdd.age_limit", u64::MAX)?;
    let (segments, read_ahead) = segments(sheet, sector)?;
    let size = sheet.bytes("hdd.write_cache")?.0 / sector;
    let buffer =
        Buffer { size, used: 0, dirty: Dirty::default(), blocked: VecDeque::new(), flushes: Vec::new() };
    let disk = Disk {
        capacity: Bytes(capacity.0 / sector * sector),
        sector,
        overhead: [sheet.time("hdd.read_overhead")?.0, sheet.time("hdd.write_overhead")?.0],
        controller: Server::default(),
        link: Server::default(),
        pace: Pace::of(sheet, "hdd.link")?,
        free: count_within(sheet, "hdd.queue_depth", 1, 65_536)?,
        waiting: VecDeque::new(),
        arm,
        jobs: Vec::new(),
        current: None,
        order: Order::of(sheet.word("hdd.order")?),
        age_limit,
        up: true,
        segments,
        read_ahead,
        buffer,
        stamps: world.sim.keeps_stamps().then(Stamps::default),
    };
    Ok(world.add(Box::new(disk)))
}

fn count_of_sector(sheet: &Sheet) -> Result<u64, SheetError> {
    let sector = sheet.bytes("hdd.sector")?.0;
    if sector >= 512 && sector.is_power_of_two() {
        return Ok(sector);
    }
    Err(sheet.refuse("hdd.sector", "it is no power of two from 512 on", "write 512B or 4KiB"))
}

fn arm(sheet: &Sheet) -> Result<Arm, SheetError> {
    let rpm = sheet.number("hdd.rpm")?;
    if !(1.0..=1e6).contains(&rpm) {
        return Err(sheet.refuse("hdd.rpm", "no platter turns like that", "write it like 7200"));
    }
    let cylinders = count_within(sheet, "hdd.cylinders", 1, 1 << 24)? as u32;
    let heads = count_within(sheet, "hdd.heads", 1, 1024)? as u32;
    let outer = count_within(sheet, "hdd.sectors_outer", 1, 1 << 20)?;
    let inner = if sheet.has("hdd.sectors_inner") {
        count_within(sheet, "hdd.sectors_inner", 1, outer)?
    } else {
        outer
    };
    let zones = count_within(sheet, "hdd.zones", 1, u64::from(cylinders).min(1000))? as u32;
    let turn = (60e9 / rpm).round() as u64;
    let mut geometry = Geometry::new(turn, cylinders, heads, zones, outer as u32, inner as u32);
    let curve = curve(sheet, cylinders)?;
    let head_switch = sheet.time("hdd.head_switch")?.0;
    let write_settle = sheet.time("hdd.write_settle")?.0;
    geometry.track_skew = time_or(sheet, "hdd.track_skew", head_switch)?;
    geometry.cylinder_skew = time_or(sheet, "hdd.cylinder_skew", curve.time(1).max(head_switch))?;
    let (at, server) = (Track::default(), Server::default());
    Ok(Arm { geometry, curve, head_switch, write_settle, at, past: 0, ahead: None, server })
}

fn curve(sheet: &Sheet, cylinders: u32) -> Result<Curve, SheetError> {
    let time = |key| {
        let what = format!("a {} seek curve needs it", sheet.word("hdd.seek")?);
        if sheet.has(key) { Ok(sheet.time(key)?.0) } else { Err(sheet.refuse(key, &what, "add it")) }
    };
    if sheet.word("hdd.seek")? == "two-piece" {
        return Ok(Curve::TwoPiece {
            short: time("hdd.seek_short")?,
            root: time("hdd.seek_short_root")?,
            boundary: count_within(sheet, "hdd.seek_boundary", 0, 1 << 24)? as u32,
            long: time("hdd.seek_long")?,
            each: time("hdd.seek_long_cylinder")?,
        });
    }
    let [single, average, full] = ["hdd.seek_single", "hdd.seek_average", "hdd.seek_full"].map(time);
    Curve::through(single?, average?, full?, cylinders).ok_or_else(|| {
        let what = "no curve that rises goes through it and the other two figures";
        sheet.refuse(
            "hdd.seek_average",
            what,
            "it lies between (2 single + full) / 3 and (7 single + 8 full) / 15",
        )
    })
}

/// The read cache, and how far reading goes on, in sectors.
fn segments(sheet: &Sheet, sector: u64) -> Result<(Segments, u64), SheetError> {
    let count = count_within(sheet, "hdd.segments", 1, 4096)?;
    let size = sheet.bytes("hdd.cache")?.0 / count / sector;
    let read_ahead = sheet.bytes("hdd.read_ahead")?.0 / sector;
    if read_ahead > size {
        let what = format!("a segment of the cache holds {}", Bytes(size * sector));
        return Err(sheet.refuse("hdd.read_ahead", &what, "lower it, or enlarge hdd.cache"));
    }
    Ok((Segments::new(count as usize, size), read_ahead))
}
