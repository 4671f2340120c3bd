//! Is everything where the tables say? For tests: it looks at every page.

use super::{APART, Ftl, PhysicalPage};

impl Ftl {
    /// Panics unless the tables agree with each other. Takes time in proportion to the pages.
    pub fn audit(&self) {
        let geometry = self.spec.geometry;
        let mut valid = vec![0u16; geometry.blocks() as usize];
        let mut mapped = 0;
        for lpn in 0..geometry.logical_pages as u32 {
            let Some(PhysicalPage(place)) = self.lookup(lpn) else { continue };
            assert_eq!(self.map.valid(place), Some(lpn), "page {lpn} is mapped to place {place}");
            valid[self.per_block.quotient(place) as usize] += 1;
            mapped += 1;
        }
        assert_eq!(mapped, self.counts.mapped, "mapped pages");
        let copies = (0..geometry.pages() as u32).filter(|&place| self.map.valid(place).is_some()).count();
        assert_eq!(copies as u64, mapped, "valid copies");
        for front in self.planes.iter().flat_map(|state| &state.fronts).filter(|front| front.next < front.end)
        {
            valid[self.per_block.quotient(front.next) as usize] += (front.end - front.next) as u16;
        }
        let mut free = 0;
        for (block, &count) in valid.iter().enumerate() {
            assert_eq!(self.valid[block] & !APART, count, "valid pages of block {block}");
        }
        for (plane, state) in (0..).zip(&self.planes) {
            free += state.free.len() as u64;
            for &block in &state.free {
                assert_eq!(self.valid[block as usize], APART, "block {block} is free");
            }
            let apart = state.free.len()
                + usize::from(state.victim.is_some())
                + state.fronts.iter().filter(|front| front.next < front.end).count();
            let first = (plane * geometry.blocks_per_plane) as usize;
            let of_plane = &self.valid[first..first + geometry.blocks_per_plane as usize];
            assert_eq!(of_plane.iter().filter(|&&count| count >= APART).count(), apart, "plane {plane}");
        }
        assert_eq!(free, self.counts.free, "free blocks");
    }
}
