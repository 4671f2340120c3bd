//! What becomes of requests when several drives take turns?
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

mod cache;
mod layout;
mod raid;

use crate::sheet::{Sheet, SheetError};
use iostack_model::Bytes;
use iostack_workload::Rng;

use super::parameter::{Pace, count_within, queue_depth, whole_bytes};
use crate::engine::{PartId, Server, Stamps, World};
use cache::RaidCache;
use layout::StripeLayout;
use raid::Raid;

pub(super) fn build(sheet: &Sheet, world: &mut World, seed: u64) -> Result<PartId, SheetError> {
    let member = sheet.device("raid0.member")?;
    if member.kind.name == "raid0" {
        return Err(sheet.refuse("raid0.member", "a RAID-0 of RAID-0s is one RAID-0", "name the drives"));
    }
    let count = count_within(sheet, "raid0.members", 1, 256)?;
    let unit = whole_bytes(sheet, "raid0.stripe", 512)?;
    let mut members = Vec::new();
    for index in 0..count {
        members.push(super::build(&member, world, Rng::stream(seed, index).next_u64())?);
    }
    let shape = world.shape_of(members[0]).expect("a device has a shape");
    if shape.capacity.0 < unit || !unit.is_multiple_of(shape.block.0) {
        let what = format!("a member has {} in blocks of {}", shape.capacity, shape.block);
        return Err(sheet.refuse("raid0.stripe", &what, "a stripe unit is whole blocks of it"));
    }
    let page = whole_bytes(sheet, "raid0.cache_page", 512)?;
    let size = sheet.bytes("raid0.cache")?.0;
    let keeps_clean = sheet.word("raid0.read_cache")? == "on" && size >= page;
    let writes_back = sheet.word("raid0.write")? == "back";
    if writes_back && size == 0 {
        return Err(sheet.refuse("raid0.write", "there is no cache to write to", "set raid0.cache"));
    }
    let raid = Raid {
        capacity: Bytes(shape.capacity.0 / unit * unit * count),
        block: shape.block,
        layout: StripeLayout { unit, members: count },
        members,
        command: sheet.time("raid0.controller")?.0,
        member_command: sheet.time("raid0.member_command")?.0,
        link: Pace::limit_from_sheet(sheet, "raid0.rate")?.map(|pace| (Server::default(), pace)),
        free: queue_depth(sheet, "raid0.queue_depth")?,
        writes_back,
        destages: count_within(sheet, "raid0.destage", 1, 4096)? as usize,
        cache: RaidCache::new(size, page, keeps_clean),
        stamps: Stamps::of_device(&world.sim),
        ..Raid::default()
    };
    Ok(world.add(Box::new(raid)))
}
