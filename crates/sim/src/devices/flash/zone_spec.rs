//! What does a sheet say of zones: how large are they, on how many dies does each lie, how many may be written at once?

use iostack_model::Bytes;

use super::layout::UnitCounts;
use crate::devices::parameter::{count_within, whole_bytes};
use crate::engine::ZoneShape;
use crate::sheet::{Sheet, SheetError};

/// The flash that zones lie on: bytes of a row and of the buffer that answers early, units, pages.
pub(super) struct Ground {
    pub(super) capacity: u64,
    pub(super) row: u64,
    pub(super) buffer: u64,
    pub(super) counts: UnitCounts,
    pub(super) page_shift: u32,
    pub(super) pages_per_block: u32,
}

/// Numbers of the zones, checked.
#[derive(Clone, Debug)]
pub(super) struct ZonesSpec {
    pub(super) shape: ZoneShape,
    /// Dies of a zone.
    pub(super) dies: u32,
    /// Several writes to a zone may be in the drive.
    pub(super) append: bool,
    /// Least time of a reset, ns, by percent of the zone that was written.
    reset: Vec<(u64, u64)>,
    /// Blocks of a plane that belong to one zone.
    pub(super) blocks: u32,
    pub(super) count: u32,
}

impl ZonesSpec {
    /// Reads them for zones on this flash.
    pub(super) fn from_sheet(sheet: &Sheet, flash: &Ground) -> Result<Option<ZonesSpec>, SheetError> {
        if !sheet.has("zones.size") {
            return Ok(None);
        }
        let row = flash.row;
        let size = whole_bytes(sheet, "zones.size", 1 << flash.page_shift)?;
        let holds = if sheet.has("zones.capacity") { "zones.capacity" } else { "zones.size" };
        let capacity = whole_bytes(sheet, holds, row)?;
        let refuse = |key: &str, what: &str, remedy: &str| Err(sheet.refuse(key, what, remedy));
        if capacity > size {
            return refuse(holds, "a zone cannot hold more than its size", "give zones.size or less");
        }
        if size >= 1 << 32 || !flash.capacity.is_multiple_of(size) {
            let remedy = "give less than 4GiB, and flash.capacity a multiple of it";
            return refuse("zones.size", "the drive is not made of such zones", remedy);
        }
        let placed = sheet.count("placement.handles")? > 1;
        let other = ["slc.size", "map.cache", "placement.handles"];
        if let Some(key) =
            other.into_iter().find(|&key| if key == other[2] { placed } else { sheet.has(key) })
        {
            return refuse(key, "a drive with zones has none", "leave it or zones.size out");
        }
        let in_all = flash.counts.dies_in_all();
        let dies = if sheet.has("zones.dies") {
            count_within(sheet, "zones.dies", 1, in_all.into())? as u32
        } else {
            in_all
        };
        if !in_all.is_multiple_of(dies) {
            return refuse("zones.dies", &format!("the {in_all} dies do not divide"), "give a divisor");
        }
        let count = (flash.capacity / size) as u32;
        let limit = |key: &str| -> Result<u32, SheetError> {
            let least = if sheet.has(key) { count_within(sheet, key, 1, 1 << 24)? as u32 } else { count };
            Ok(least.min(count))
        };
        let written_most = limit("zones.open")?.min(limit("zones.active")?);
        if flash.buffer < (u64::from(written_most) + 1) * row {
            let what = format!("{written_most} zones may each wait for the rest of {}", Bytes(row));
            let remedy =
                "give buffer.size more room than all of them, buffer.acknowledge = early, or zones.active";
            return refuse("zones.size", &what, remedy);
        }
        let pages = (capacity >> flash.page_shift) as u32;
        let reset = if sheet.has("zones.reset") { sheet.times("zones.reset")? } else { vec![(0, 0)] };
        Ok(Some(ZonesSpec {
            shape: ZoneShape { size: Bytes(size), capacity: Bytes(capacity), written_most },
            dies,
            append: sheet.word("zones.append")? == "yes",
            reset,
            blocks: pages.div_ceil(dies * flash.counts.planes * flash.pages_per_block),
            count,
        }))
    }

    /// Blocks of a plane for all zones.
    pub(super) fn blocks_per_plane(&self, dies: u32) -> u32 {
        self.count.div_ceil(dies / self.dies) * self.blocks
    }

    /// Least time of a reset of a zone of which so many bytes are written, on straight lines between the points.
    pub(super) fn reset_time(&self, written: u64) -> u64 {
        let at = written as f64 * 100.0 / self.shape.capacity.0 as f64;
        let after = self.reset.partition_point(|&(percent, _)| percent as f64 <= at);
        let (before, next) = (self.reset.get(after.wrapping_sub(1)), self.reset.get(after));
        match (before, next) {
            (Some(&(x, time)), Some(&(next_x, next))) => {
                let share = (at - x as f64) / (next_x - x) as f64;
                (time as f64 + (next as f64 - time as f64) * share).round() as u64
            }
            (Some(&(_, time)), None) | (None, Some(&(_, time))) => time,
            (None, None) => 0,
        }
    }
}
