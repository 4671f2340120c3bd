//! Collecting: a victim's valid pages are moved, then it is erased. And the driver for which nothing takes time.

use super::map::BATCH;
use super::{APART, Block, Ftl, PhysicalPage, Stream, Urgency};

impl Ftl {
    /// The block that a plane collects: chosen by the policy, then the same until [`Ftl::erase`]. `None` when no full block
    /// of the plane has anything to gain.
    pub fn victim(&mut self, plane: u32) -> Option<Block> {
        if let Some(block) = self.planes[plane as usize].victim {
            return Some(Block(block));
        }
        let spared = self.spared(plane);
        let block = spared.or_else(|| self.victims.choose(plane, &self.valid, self.written))?;
        debug_assert!(self.valid[block as usize] < APART, "block {block} is no candidate");
        self.valid[block as usize] |= APART;
        self.planes[plane as usize].victim = Some(block);
        Some(Block(block))
    }

    /// Valid pages of a full block.
    #[inline]
    pub fn valid_pages(&self, block: Block) -> u32 {
        u32::from(self.valid[block.0 as usize] & !APART)
    }

    /// The next page of a full block that is valid, from page `cursor` on, which moves behind it.
    #[inline]
    pub fn next_valid(&self, block: Block, cursor: &mut u32) -> Option<(u32, PhysicalPage)> {
        self.next_valid_below(block, cursor, self.per_block.get())
    }

    #[inline]
    fn next_valid_below(&self, block: Block, cursor: &mut u32, end: u32) -> Option<(u32, PhysicalPage)> {
        let first = block.0 * self.per_block.get();
        let found = self.map.next_valid(first + *cursor, first + end);
        *cursor = found.map_or(end, |(_, place)| place.0 + 1 - first);
        // It is moved soon.
        if let Some((lpn, _)) = found {
            self.map.bring_near(lpn);
        }
        found
    }

    /// The page that [`Ftl::next_valid`] found is still there.
    #[inline]
    pub fn is_valid(&self, (_, place): (u32, PhysicalPage)) -> bool {
        !self.map.is_stale(place.0)
    }

    /// Moves a page from its place in the victim to the plane's open block for moved pages; `None` when it is no longer
    /// there, because it was overwritten or trimmed.
    #[inline]
    pub fn relocate(&mut self, lpn: u32, from: PhysicalPage) -> Option<PhysicalPage> {
        if self.map.is_stale(from.0) {
            return None;
        }
        let block = self.per_block.quotient(from.0);
        let plane = self.per_plane.quotient(block);
        debug_assert_eq!(self.planes[plane as usize].victim, Some(block), "only a victim's pages are moved");
        let lane = self.moved_lane(block, 1);
        let to = self.allocate(plane, lane, 1);
        self.map.put(lpn, from.0, to);
        self.valid[block as usize] -= 1;
        Some(PhysicalPage(to))
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
        let first = victim.0 * pages;
        self.map.touch_block(first, pages);
        for at in (0..pages).step_by(BATCH) {
            let count = (pages - at).min(BATCH as u32);
            let mut found = [0; BATCH];
            if let Some(valid) = self.map.take_all(first + at, count, &mut found) {
                self.move_all(victim, &found[..valid]);
                continue;
            }
            let mut cursor = at;
            while let Some((lpn, from)) = self.next_valid_below(victim, &mut cursor, at + count) {
                self.relocate(lpn, from).expect("nothing came between");
            }
        }
        self.erase(victim);
        true
    }

    /// [`Ftl::relocate`] for pages that are known to be there.
    fn move_all(&mut self, victim: Block, mut pages: &[u32]) {
        let plane = self.plane_of_block(victim);
        self.valid[victim.0 as usize] -= pages.len() as u16;
        let lane = self.moved_lane(victim.0, pages.len() as u64);
        while !pages.is_empty() {
            let front = self.planes[plane as usize].fronts[lane];
            let left = if front.next == front.end { self.per_block.get() } else { front.end - front.next };
            let (now, later) = pages.split_at(pages.len().min(left as usize));
            let to = self.allocate(plane, lane, now.len() as u32);
            self.map.put_all(now, to);
            pages = later;
        }
    }

    /// The host writes a page when nothing takes time: to the plane of the stripe, after what must be collected there.
    pub fn write_timeless(&mut self, lpn: u32, stream: Stream, stamp: u32) -> PhysicalPage {
        let lane = self.lane(stream);
        if self.spec.fixed {
            let plane = self.home(lpn);
            assert!(self.make_room(plane, lane), "plane {plane} is full of valid pages");
            return self.write_in(lpn, plane, lane, stamp);
        }
        for _ in 0..=self.planes.len() {
            let plane = self.ahead;
            if self.make_room(plane, lane) {
                self.advance();
                return self.write_in(lpn, plane, lane, stamp);
            }
            self.skip();
        }
        panic!("all planes are full of valid pages");
    }

    /// The same for many pages of the host's, their table entries fetched together.
    pub fn write_all_timeless(&mut self, pages: &[u32]) {
        for batch in pages.chunks(BATCH) {
            for &lpn in batch {
                self.prefetch(lpn);
            }
            for &lpn in batch {
                self.write_timeless(lpn, Stream::Host, 0);
            }
        }
    }

    /// Collects as the low watermark asks; false when there still is no room.
    #[inline]
    fn make_room(&mut self, plane: u32, lane: usize) -> bool {
        while self.urgency(plane) == Urgency::Foreground {
            if !self.collect(plane) {
                return self.room_in(plane, lane);
            }
        }
        true
    }
}
