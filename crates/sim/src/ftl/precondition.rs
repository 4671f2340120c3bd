//! What does the flash hold at the start?

use iostack_workload::Rng;

use super::layout::Layout;
use super::map::Map;
use super::spec::StartState;
use super::steady::Classes;
use super::{APART, Front, Ftl, Stream};

/// Way to make a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// Pages are written where that takes no more than about a second.
    Auto,
    /// Pages are written, however many.
    Written,
    /// Pages are laid out by formula.
    Formula,
}

/// Drives with no more physical pages than this are written.
const WRITTEN_MAX: u64 = 1 << 20;
const BY_FORMULA: &str = "pages lie as endless random writes leave them by the theory of the collector's policy \
                          (Desnoyers 2012, Van Houdt 2013); none was written";
/// So often every logical page is overwritten, on average.
const OVERWRITES: u64 = 2;

impl Ftl {
    /// Puts an empty one into a state; how it was made, in words, when it was not written.
    pub fn precondition(&mut self, state: StartState, how: Making) -> Option<&'static str> {
        let empty = self.written == super::WRITTEN_BEFORE && self.counts.mapped == 0;
        assert!(empty, "only an empty one is put into a state");
        let by_writing = match how {
            Making::Auto => self.spec.geometry.pages() <= WRITTEN_MAX,
            Making::Written => true,
            Making::Formula => false,
        };
        match state {
            StartState::Fresh => (),
            StartState::Filled => self.fill(),
            StartState::Steady if by_writing => {
                self.fill();
                self.overwrite();
            }
            StartState::Steady => self.settle(),
        }
        self.begin();
        (state == StartState::Steady && !by_writing).then_some(BY_FORMULA)
    }

    /// Every logical page once, in order: where writing them would put them, but nothing is written.
    fn fill(&mut self) {
        self.lay_out(Layout::Filled(Box::new(self.rows.clone())));
        let pages_per_block = self.per_block.get();
        for plane in 0..self.spec.geometry.planes {
            let pages = self.rows.count(plane);
            let (full, rest) = self.per_block.split(pages);
            for index in 0..full {
                let later = u64::from(full - index) * u64::from(pages_per_block);
                self.lay_out_block(plane, pages_per_block, later * u64::from(self.spec.geometry.planes));
            }
            if rest > 0 {
                let block = self.take_block(plane, pages_per_block | u32::from(APART));
                let first = block * pages_per_block;
                let lane = self.lane(Stream::Host);
                let front = Front { next: first + rest, end: first + pages_per_block };
                self.planes[plane as usize].fronts[lane] = front;
            }
        }
    }

    /// Lays pages out as random writes would leave them in the end, by formula.
    fn settle(&mut self) {
        let (geometry, spec) = (self.spec.geometry, &self.spec);
        let free = spec.free_low.min(spec.free_high - 1) + 1 + spec.open_blocks();
        let blocks = geometry.blocks_per_plane - free;
        let classes = Box::new(Classes::new(&self.rows, blocks, spec));
        self.lay_out(Layout::Steady(Box::new(self.rows.clone()), classes.clone()));
        for plane in 0..geometry.planes {
            let first = plane * geometry.blocks_per_plane;
            for valid in classes.valid() {
                // A page survives with probability exp(-age / logical pages).
                let share = f64::from(valid).max(0.5) / f64::from(geometry.pages_per_block);
                let age = -share.ln() * geometry.logical_pages as f64;
                self.lay_out_block(plane, valid, age as u64);
            }
            for hole in classes.holes(&self.rows, plane) {
                self.valid[(first + hole) as usize] -= 1;
            }
        }
    }

    fn lay_out(&mut self, layout: Layout) {
        let geometry = self.spec.geometry;
        self.map = Map::new(geometry.logical_pages, geometry.pages(), self.spec.stamps, layout);
        self.counts.mapped = geometry.logical_pages;
    }

    /// Takes a free block, which was filled `age` host writes ago and has so many valid pages left.
    fn lay_out_block(&mut self, plane: u32, valid: u32, age: u64) {
        let block = self.take_block(plane, valid);
        // Nothing is listed before the first victim is chosen, which is why the count is not needed yet.
        self.victims.filled(plane, block, APART, self.written - age);
    }

    fn take_block(&mut self, plane: u32, valid: u32) -> u32 {
        let block = self.planes[plane as usize].free.pop_front().expect("more blocks than data");
        self.counts.free -= 1;
        self.valid[block as usize] = valid as u16;
        block
    }

    /// Every logical page some times, at random.
    fn overwrite(&mut self) {
        let mut rng = Rng::stream(self.spec.seed, 0x7374_6561);
        let mut left = self.spec.geometry.logical_pages * OVERWRITES;
        let mut batch = [0; 256];
        while left > 0 {
            let count = left.min(batch.len() as u64) as usize;
            batch[..count].fill_with(|| rng.below(self.spec.geometry.logical_pages) as u32);
            self.write_all_timeless(&batch[..count]);
            left -= count as u64;
        }
    }
}
