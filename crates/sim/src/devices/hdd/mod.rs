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
//! Left out: recalibration and errors. A read's transfer overlaps with the platter; only its tail is booked on the link. A
//! TRIM is answered and forgotten.
//!
//! Start reading at [`disk`]; positions are in [`geometry`], the head in [`arm`].

mod arm;
mod cache;
mod disk;
mod geometry;
mod order;
mod seek;
mod smr;

use std::collections::VecDeque;

use crate::sheet::{Sheet, SheetError};
use iostack_model::Bytes;

use super::parameter::{Pace, count_within, time_or, variant, whole_bytes};
use crate::engine::{PartId, Server, Stamps, World};
use arm::Arm;
use cache::Segments;
use disk::{Disk, WriteCache};
use geometry::{Geometry, Layout, Track};
use seek::SeekCurve;
use smr::Shingled;

pub(super) fn build(sheet: &Sheet, world: &mut World, _seed: u64) -> Result<PartId, SheetError> {
    let sector = count_of_sector(sheet)?;
    let mut arm = arm(sheet)?;
    let shingled = shingled(sheet, arm.geometry.sectors, sector)?;
    let hosts = shingled.as_ref().map_or(arm.geometry.sectors, |shingled| shingled.host);
    arm.geometry.origin = arm.geometry.sectors - hosts;
    let all = Bytes(hosts * sector);
    let capacity = if sheet.has("hdd.capacity") { sheet.bytes("hdd.capacity")? } else { all };
    if capacity > all || capacity.0 < sector {
        let what = format!("the geometry has {all}");
        return Err(sheet.refuse("hdd.capacity", &what, "lower it, or add cylinders or sectors"));
    }
    let age_limit = time_or(sheet, "hdd.age_limit", u64::MAX)?;
    let (segments, read_ahead) = segments(sheet, sector)?;
    let size = sheet.bytes("hdd.write_cache")?.0 / sector;
    let overhead = [sheet.time("hdd.read_overhead")?.0, sheet.time("hdd.write_overhead")?.0];
    let disk = Disk {
        capacity: Bytes(capacity.0 / sector * sector),
        sector,
        overhead,
        hit_overhead: [
            time_or(sheet, "hdd.read_hit_overhead", overhead[0])?,
            time_or(sheet, "hdd.write_hit_overhead", overhead[1])?,
        ],
        controller: Server::default(),
        link: Server::default(),
        pace: Pace::from_sheet(sheet, "hdd.link")?,
        overlaps: sheet.word("hdd.write_overlap")? == "on",
        free: count_within(sheet, "hdd.queue_depth", 1, 65_536)?,
        waiting: VecDeque::new(),
        arm,
        jobs: Vec::new(),
        current: None,
        order: variant(sheet, "hdd.order")?,
        age_limit,
        up: true,
        segments,
        read_ahead,
        buffer: WriteCache { size, ..WriteCache::default() },
        shingled,
        stamps: Stamps::of_device(&world.sim),
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
    let mut geometry = if sheet.has("hdd.zone_table") {
        let mut table = vec![(0, outer as u32)];
        for (first, sectors) in sheet.counts("hdd.zone_table")? {
            if !(1..u64::from(cylinders)).contains(&first) || !(1..=1 << 20).contains(&sectors) {
                let what = format!("a zone of {sectors} sectors a track at cylinder {first} of {cylinders}");
                return Err(sheet.refuse("hdd.zone_table", &what, "begin it at 1 or later, and at the last"));
            }
            table.push((first as u32, sectors as u32));
        }
        Geometry::of_zones(turn, cylinders, heads, &table)
    } else {
        Geometry::new(turn, cylinders, heads, zones, outer as u32, inner as u32)
    };
    let curve = curve(sheet, cylinders)?;
    let head_switch = sheet.time("hdd.head_switch")?.0;
    let write_settle = sheet.time("hdd.write_settle")?.0;
    let (track_skew, step) = (time_or(sheet, "hdd.track_skew", head_switch)?, curve.time(1).max(head_switch));
    let cylinder_skew = time_or(sheet, "hdd.cylinder_skew", step)?;
    let of_zones = ["hdd.track_skews", "hdd.cylinder_skews"].map(|key| skews(sheet, key, &geometry));
    let [track_skews, cylinder_skews] = of_zones;
    for ((zone, track), cylinder) in geometry.zones.iter_mut().zip(track_skews?).zip(cylinder_skews?) {
        (zone.track_skew, zone.cylinder_skew) =
            (track.unwrap_or(track_skew), cylinder.unwrap_or(cylinder_skew));
    }
    let between = |distance| cylinder_skew.max(curve.time(distance)).max(head_switch);
    let layout = layout(sheet, &geometry, between)?;
    geometry.lay_out(layout);
    let (at, server) = (Track::default(), Server::default());
    Ok(Arm { geometry, curve, head_switch, write_settle, at, past: 0, ahead: None, server })
}

/// The skew of each zone by a table, ns; `None` of those before its first point.
fn skews(sheet: &Sheet, key: &str, geometry: &Geometry) -> Result<Vec<Option<u64>>, SheetError> {
    let table = if sheet.has(key) { sheet.times_or_counts(key)? } else { Vec::new() };
    let first = |at: u64| geometry.zones.iter().any(|zone| u64::from(zone.first_cylinder) == at);
    if let Some((at, _)) = table.iter().find(|&&(at, _)| !first(at)) {
        return Err(sheet.refuse(
            key,
            &format!("no zone begins at cylinder {at}"),
            "begin it where a zone does",
        ));
    }
    let skew = |zone: &geometry::Zone| {
        let before = table.iter().rfind(|&&(at, _)| at <= u64::from(zone.first_cylinder));
        before.map(|&(_, (time, sectors))| {
            time.saturating_add(
                (u128::from(sectors) * u128::from(geometry.turn) / u128::from(zone.per_track)) as u64,
            )
        })
    };
    let skews: Vec<_> = geometry.zones.iter().map(skew).collect();
    if skews.iter().any(|skew| skew.is_some_and(|skew| skew >= geometry.turn)) {
        return Err(sheet.refuse(key, "a turn or more of skew", "write what of a turn is left over"));
    }
    Ok(skews)
}

/// The order of tracks, and what has no address. `between`: least skew over so many cylinders.
fn layout(sheet: &Sheet, geometry: &Geometry, between: impl Fn(u32) -> u64) -> Result<Layout, SheetError> {
    let heads = geometry.heads;
    let group = if sheet.word("hdd.layout")? == "serpentine" {
        let group = count_within(sheet, "hdd.layout_group", 1, 1 << 24)? as u32;
        // An even number of surfaces leaves the arm where the group began.
        Some((group, between(if heads.is_multiple_of(2) { group } else { 1 })))
    } else {
        None
    };
    let [per_track, tracks] =
        [|zone: &geometry::Zone| zone.per_track, |zone: &geometry::Zone| zone.cylinders]
            .map(|of| geometry.zones.iter().map(of).min().map_or(0, u64::from));
    let spare_sectors = count_within(sheet, "hdd.spare_sectors", 0, per_track - 1)? as u32;
    let spare_tracks = count_within(sheet, "hdd.spare_tracks", 0, tracks * u64::from(heads) - 1)?;
    Ok(Layout { group, spare_sectors, spare_tracks })
}

fn curve(sheet: &Sheet, cylinders: u32) -> Result<SeekCurve, SheetError> {
    let time = |key| {
        let what = format!("a {} seek curve needs it", sheet.word("hdd.seek")?);
        if sheet.has(key) { Ok(sheet.time(key)?.0) } else { Err(sheet.refuse(key, &what, "add it")) }
    };
    if sheet.word("hdd.seek")? == "two-piece" {
        return Ok(SeekCurve::TwoPiece {
            short: time("hdd.seek_short")?,
            root: time("hdd.seek_short_root")?,
            boundary: count_within(sheet, "hdd.seek_boundary", 0, 1 << 24)? as u32,
            long: time("hdd.seek_long")?,
            each: time("hdd.seek_long_cylinder")?,
        });
    }
    if sheet.word("hdd.seek")? == "table" {
        if !sheet.has("hdd.seek_table") {
            return Err(sheet.refuse("hdd.seek_table", "a seek table has points", "add them"));
        }
        return sheet.times("hdd.seek_table").map(SeekCurve::Table);
    }
    let [single, average, full] = ["hdd.seek_single", "hdd.seek_average", "hdd.seek_full"].map(time);
    SeekCurve::through(single?, average?, full?, cylinders).ok_or_else(|| {
        let what = "no curve that rises goes through it and the other two figures";
        sheet.refuse(
            "hdd.seek_average",
            what,
            "it lies between (2 single + full) / 3 and (7 single + 8 full) / 15",
        )
    })
}

/// Bands and the media cache of a disk that has them, with so many sectors in all.
fn shingled(sheet: &Sheet, sectors: u64, sector: u64) -> Result<Option<Shingled>, SheetError> {
    if !sheet.has("smr.band") {
        return Ok(None);
    }
    let [band, log] = ["smr.band", "smr.cache"].map(|key| whole_bytes(sheet, key, sector));
    let (band, log) = (band? / sector, log? / sector);
    let host = sectors.saturating_sub(log);
    if host < band {
        return Err(sheet.refuse("smr.cache", "it leaves no band to the host", "lower it, or smr.band"));
    }
    let idle = if sheet.has("smr.idle") { Some(sheet.time("smr.idle")?.0) } else { None };
    Ok(Some(Shingled::new(band, host, log, idle)))
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
