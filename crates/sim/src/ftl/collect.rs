//! Collecting: a victim's valid pages are moved, then it is erased. And the driver for which nothing takes time.

use super::{APART, Block, Ftl, LANE_MOVED, Place, Stream, Urgency};

/// Pages whose table entries are fetched at once: as many loads as a core has under way.
const BATCH: u32 = 16;

impl Ftl {
    /// The block that a plane collects: chosen by the policy, then the same until [`Ftl::erase`]. `None` when no full block
    /// of the plane has anything to gain.
    pub fn victim(&mut self, plane: u32) -> Option<Block> {
        if let Some(block) = self.planes[plane as usize].victim {
            return Some(Block(block));
        }
        let block = self.victims.choose(plane, &self.valid, self.written)?;
        debug_assert!(self.valid[block as usize] < APART, "block {block} is no candidate");
        self.valid[block as usize] |= APART;
        self.planes[plane as usize].victim = Some(block);
        Some(Block(block))
    }

    /// Valid pages of a block.
    #[inline]
    pub fn valid_pages(&self, block: Block) -> u32 {
        u32::from(self.valid[block.0 as usize] & !APART)
    }

    /// The next page of a full block that is valid, from page `cursor` on, which moves behind it.
    #[inline]
    pub fn next_valid(&self, block: Block, cursor: &mut u32) -> Option<(u32, Place)> {
        let (first, pages) = (block.0 * self.per_block.get(), self.per_block.get());
        while *cursor < pages {
            let place = first + *cursor;
            *cursor += 1;
            if let Some(lpn) = self.map.valid(place) {
                return Some((lpn, Place(place)));
            }
        }
        None
    }

    /// Moves a page from its place in the victim to the plane's open block for moved pages; `None` when it is no longer
    /// there, because it was overwritten or trimmed.
    #[inline]
    pub fn relocate(&mut self, lpn: u32, from: Place) -> Option<Place> {
        if self.lookup(lpn) != Some(from) {
            return None;
        }
        let block = self.per_block.quotient(from.0);
        let plane = self.per_plane.quotient(block);
        debug_assert_eq!(self.planes[plane as usize].victim, Some(block), "only a victim's pages are moved");
        let place = self.allocate(plane, LANE_MOVED);
        self.map.set_stamp(place, self.map.stamp(from));
        self.map.set(lpn, Some(place));
        self.valid[block as usize] -= 1;
        self.counts.moved += 1;
        Some(Place(place))
    }

    /// Erases the victim of its plane, which holds nothing valid any more.
    pub fn erase(&mut self, block: Block) {
        let plane = &mut self.planes[self.per_plane.quotient(block.0) as usize];
        assert_eq!(plane.victim, Some(block.0), "only a victim is erased");
        let valid = self.valid[block.0 as usize];
        assert!(valid == APART, "block {} still has {} valid pages", block.0, valid & !APART);
        plane.victim = None;
        plane.free.push_back(block.0);
        self.erases[block.0 as usize] += 1;
        self.counts.erases += 1;
        self.counts.free += 1;
    }

    /// Collects a block of the plane at once; false when there is none to collect.
    pub fn collect(&mut self, plane: u32) -> bool {
        let Some(victim) = self.victim(plane) else { return false };
        let pages = self.per_block.get();
        let mut cursor = 0;
        while cursor < pages {
            let end = (cursor + BATCH).min(pages);
            let first = victim.0 * pages;
            (first + cursor..first + end).for_each(|place| self.map.touch_back(place));
            while cursor < end {
                let place = Place(first + cursor);
                cursor += 1;
                if let Some(lpn) = self.map.valid(place.0) {
                    self.relocate(lpn, place).expect("nothing came between");
                }
            }
        }
        self.erase(victim);
        true
    }

    /// The host writes a page when nothing takes time: to the plane of the stripe, after what must be collected there.
    pub fn write_timeless(&mut self, lpn: u32, stream: Stream, stamp: u32) -> Place {
        if self.spec.stripe.fixed {
            let plane = self.home(lpn);
            assert!(self.make_room(plane, stream), "plane {plane} is full of valid pages");
            return self.write(lpn, plane, stream, stamp);
        }
        for _ in 0..=self.planes.len() {
            let plane = self.plane_ahead();
            if self.make_room(plane, stream) {
                self.advance();
                return self.write(lpn, plane, stream, stamp);
            }
            self.skip();
        }
        panic!("all planes are full of valid pages");
    }

    /// The same for many pages of the host's, their table entries fetched together.
    pub fn write_all_timeless(&mut self, pages: &[u32]) {
        for batch in pages.chunks(BATCH as usize) {
            batch.iter().for_each(|&lpn| self.prefetch(lpn));
            for &lpn in batch {
                self.write_timeless(lpn, Stream::Host, 0);
            }
        }
    }

    /// Collects as the low watermark asks; false when there still is no room.
    #[inline]
    fn make_room(&mut self, plane: u32, stream: Stream) -> bool {
        while self.urgency(plane) == Urgency::Foreground {
            if !self.collect(plane) {
                return self.room(plane, stream);
            }
        }
        true
    }
}
