//! Which part of the region is worked on, of a job that goes from zone to zone?

use iostack_model::Zones;

/// The zone that has its turn.
#[derive(Clone, Debug)]
pub(super) struct Zoned {
    zones: Zones,
    /// Its start, from the start of the region.
    base: u64,
    /// Bytes of I/O until the next one.
    left: u64,
}

impl Zoned {
    pub(super) fn new(zones: Zones) -> Zoned {
        Zoned { zones, base: 0, left: zones.size.0 }
    }

    /// True when the next I/O is the first in another zone, of a region of `length` bytes.
    pub(super) fn moves_on(&mut self, length: u64) -> bool {
        let Zones { size, range, skip } = self.zones;
        let moves = self.left == 0;
        if moves {
            self.left = size.0;
            self.base += range.0 + skip.0;
            if self.base.saturating_add(range.0) > length {
                self.base = 0;
            }
        }
        moves
    }

    /// Start of the zone for an I/O of so many bytes.
    pub(super) fn base(&mut self, bytes: u32) -> u64 {
        self.left = self.left.saturating_sub(u64::from(bytes));
        self.base
    }

    /// Bytes that one zone reaches over.
    pub(super) fn reach(&self) -> u64 {
        self.zones.range.0
    }
}
