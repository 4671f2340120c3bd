//! In which slot is a page? A hash table of slot numbers with linear probing: four bytes a place, at most half of them used.

/// Mark of a place without a slot.
pub(super) const NONE: u32 = u32::MAX;

/// Slot numbers by page number.
#[derive(Clone, Debug)]
pub(super) struct SlotTable {
    places: Vec<u32>,
    shift: u32,
}

impl SlotTable {
    pub(super) fn new(pages: usize) -> SlotTable {
        let places = (pages.max(4) * 2).next_power_of_two();
        SlotTable { places: vec![NONE; places], shift: 32 - places.trailing_zeros() }
    }

    fn home(&self, page: u32) -> usize {
        (page.wrapping_mul(0x9E37_79B1) >> self.shift) as usize
    }

    /// The place of `page`, or the free one where it would go.
    fn place(&self, page: u32, page_of: impl Fn(u32) -> u32) -> usize {
        let mask = self.places.len() - 1;
        let mut at = self.home(page);
        while self.places[at] != NONE && page_of(self.places[at]) != page {
            at = (at + 1) & mask;
        }
        at
    }

    pub(super) fn find(&self, page: u32, page_of: impl Fn(u32) -> u32) -> Option<u32> {
        let slot = self.places[self.place(page, page_of)];
        (slot != NONE).then_some(slot)
    }

    /// `page` is not in it.
    pub(super) fn insert(&mut self, page: u32, slot: u32, page_of: impl Fn(u32) -> u32) {
        let at = self.place(page, page_of);
        debug_assert!(self.places[at] == NONE);
        self.places[at] = slot;
    }

    /// `page` is in it. Those behind it move up, so that no place is wasted.
    pub(super) fn remove(&mut self, page: u32, page_of: impl Fn(u32) -> u32) {
        let mask = self.places.len() - 1;
        let mut hole = self.place(page, &page_of);
        debug_assert!(self.places[hole] != NONE);
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let slot = self.places[at];
            if slot == NONE {
                break;
            }
            let wanted = self.home(page_of(slot));
            if (at.wrapping_sub(wanted) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.places[hole] = slot;
                hole = at;
            }
        }
        self.places[hole] = NONE;
    }
}
