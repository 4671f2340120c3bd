//! What becomes of requests when several drives are one?
//!
//! ```text
//!   command queue ──► adapter ──► cache? ──► member 0, 1, .. n-1 ──► adapter's link
//!       admit        per command              a stripe unit each        reads
//! ```
//!
//! A request is forked, one part for each member that has some of it, and ends with the last of them: at depth 1 striping
//! shortens only large requests, at greater depth it spreads small ones. The adapter takes its own time for each command,
//! which caps IOPS however many members there are.
//!
//! With write-back, writes are acknowledged when they are in the cache, and go to the members in order of age, a run per
//! write. A flush waits for what was acknowledged before it, then flushes the members.
//!
//! Members are parts of their own, any device but a RAID; their resources are listed beside the adapter's.
//!
//! * RAID-1 and 10: a read goes to the copy with the fewest I/Os in flight, a write to all; it ends with the slowest.
//! * RAID-5 and 6: `plan` decides which I/Os a row takes, `rows` does them. Writes to one row follow each other; those that
//!   come meanwhile go together. With write-back, all that is dirty of a row goes together.
//! * What failed is made up for by the others, and rebuilt row by row, once the first request has come.

mod array;
mod cache;
mod layout;
mod plan;
mod rows;
mod work;

use crate::sheet::{Sheet, SheetError};
use iostack_model::Bytes;
use iostack_workload::Rng;

use super::parameter::{Pace, count_within, queue_depth, whole_bytes};
use crate::engine::{PartId, Server, Stamps, World};
use array::Raid;
use cache::RaidCache;
use iostack_model::RaidUse;
use layout::StripeLayout;
use work::Rebuild;

/// Columns, copies, parities, and members that may fail, of so many members at a level.
fn level_of(sheet: &Sheet, members: u64) -> Result<(StripeLayout, u64), SheetError> {
    let (least, columns, copies, parities, may_fail) = match sheet.word("raid.level")? {
        "0" => (1, members, 1, 0, 0),
        "1" => (2, 1, members, 0, members.saturating_sub(1)),
        "5" => (3, members.saturating_sub(1), 1, 1, 1),
        "6" => (4, members.saturating_sub(2), 1, 2, 2),
        _ => (4, members / 2, 2, 0, members / 2),
    };
    let level = sheet.word("raid.level")?;
    if members < least {
        let what = format!("RAID-{level} needs {least} members at least");
        return Err(sheet.refuse("raid.members", &what, "give it more, or set another raid.level"));
    }
    if level == "10" && members % 2 == 1 {
        return Err(sheet.refuse("raid.members", "RAID-10 is made of pairs", "give it an even number"));
    }
    Ok((StripeLayout { unit: 0, columns, copies, parities }, may_fail))
}

/// Numbers of the kind `raid`, which has levels; `raid0` has but one.
fn with_level(mut raid: Raid, sheet: &Sheet) -> Result<Raid, SheetError> {
    let (layout, may_fail) = level_of(sheet, raid.layout.columns)?;
    let level = sheet.word("raid.level")?;
    let failed = sheet.count("raid.degraded")?;
    if failed > may_fail {
        let what = format!("RAID-{level} of {} members goes on without {may_fail} at most", layout.members());
        return Err(sheet.refuse("raid.degraded", &what, "let fewer fail"));
    }
    if raid.layout.unit > 1 << 30 {
        return Err(sheet.refuse("raid.chunk", "it is more than 1 GiB", "write a smaller one"));
    }
    let rows = raid.capacity.0 / raid.layout.row();
    raid.layout = StripeLayout { unit: raid.layout.unit, ..layout };
    raid.capacity = Bytes(raid.layout.row() * rows);
    let apart = if level == "10" { 2 } else { 1 };
    (0..failed as usize).for_each(|index| raid.failed[index * apart] = true);
    if let Some(rate) = Pace::limit_from_sheet(sheet, "raid.rebuild")?.filter(|_| failed > 0) {
        raid.rebuild = Some(Rebuild { pace: rate.time(raid.layout.unit), rows, ..Rebuild::default() });
    }
    raid.rows.mixer = Pace::limit_from_sheet(sheet, "raid.xor")?.map(|pace| (Server::default(), pace));
    raid.keeps_stamps = layout.parities > 0 || failed > 0;
    if level != "0" {
        let members = layout.members() as u32;
        let level = level.to_owned();
        raid.counts = RaidUse { level, members, failed: failed as u32, ..RaidUse::default() };
    }
    Ok(raid)
}

pub(super) fn build(sheet: &Sheet, world: &mut World, seed: u64) -> Result<PartId, SheetError> {
    let kind = sheet.kind.name;
    let key = |name: &str| format!("{kind}.{name}");
    let unit_key = key(if kind == "raid" { "chunk" } else { "stripe" });
    let member = sheet.device(&key("member"))?;
    if member.kind.name.starts_with("raid") {
        let what = "an array of arrays is not simulated";
        return Err(sheet.refuse(
            &key("member"),
            what,
            "name the drives; raid.level = 10 stripes over mirrors",
        ));
    }
    let count = count_within(sheet, &key("members"), 1, 256)?;
    let unit = whole_bytes(sheet, &unit_key, 512)?;
    if kind == "raid" {
        level_of(sheet, count)?;
    }
    let mut members = Vec::new();
    for index in 0..count {
        members.push(super::build(&member, world, Rng::stream(seed, index).next_u64())?);
    }
    let shape = world.shape_of(members[0]).expect("a device has a shape");
    if world.zones_of(members[0]).is_some() {
        let what = "an array writes anywhere, and its zones do not take that";
        return Err(sheet.refuse(&key("member"), what, "name drives without zones"));
    }
    if shape.capacity.0 < unit || !unit.is_multiple_of(shape.block.0) {
        let what = format!("a member has {} in blocks of {}", shape.capacity, shape.block);
        return Err(sheet.refuse(&unit_key, &what, "a stripe unit is whole blocks of it"));
    }
    let page = whole_bytes(sheet, &key("cache_page"), 512)?;
    let size = sheet.bytes(&key("cache"))?.0;
    let keeps_clean = sheet.word(&key("read_cache"))? == "on" && size >= page;
    let writes_back = sheet.word(&key("write"))? == "back";
    if writes_back && size == 0 {
        let remedy = format!("set {}", key("cache"));
        return Err(sheet.refuse(&key("write"), "there is no cache to write to", &remedy));
    }
    let raid = Raid {
        capacity: Bytes(shape.capacity.0 / unit * unit * count),
        block: shape.block,
        layout: StripeLayout { unit, columns: count, copies: 1, parities: 0 },
        members,
        command: sheet.time(&key("controller"))?.0,
        member_command: sheet.time(&key("member_command"))?.0,
        link: Pace::limit_from_sheet(sheet, &key("rate"))?.map(|pace| (Server::default(), pace)),
        free: queue_depth(sheet, &key("queue_depth"))?,
        writes_back,
        destages: count_within(sheet, &key("destage"), 1, 4096)? as usize,
        cache: RaidCache::new(size, page, keeps_clean),
        stamps: Stamps::of_device(&world.sim),
        failed: vec![false; count as usize],
        loads: vec![0; count as usize],
        ..Raid::default()
    };
    let raid = if kind == "raid" { with_level(raid, sheet)? } else { raid };
    Ok(world.add(Box::new(raid)))
}
