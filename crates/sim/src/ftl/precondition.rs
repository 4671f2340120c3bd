//! What does the flash hold at the start?

use iostack_workload::Rng;

use super::layout::Layout;
use super::map::Map;
use super::spec::State;
use super::{APART, Front, Ftl, Streams};

/// How a state is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// By writing where that takes no more than about a second.
    Auto,
    /// By writing.
    Written,
    /// By formula.
    Formula,
}

/// How a state was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// As a real drive gets there.
    Written,
    /// In words.
    Formula(String),
}

/// Drives with no more physical pages than this are written.
const WRITTEN_MAX: u64 = 1 << 20;
/// So often every logical page is overwritten, on average.
const OVERWRITES: u64 = 3;

impl Ftl {
    /// Puts an empty one into a state.
    pub fn precondition(&mut self, state: State) -> Made {
        self.precondition_by(state, Making::Auto)
    }

    /// The same, saying how.
    pub fn precondition_by(&mut self, state: State, how: Making) -> Made {
        assert!(self.written == super::WRITTEN_BEFORE, "it was already written to");
        let _ = how;
        let made = match state {
            State::Fresh => Made::Written,
            State::Filled => {
                self.fill();
                Made::Written
            }
            State::Steady => {
                self.fill();
                self.overwrite();
                Made::Written
            }
        };
        self.begin();
        made
    }

    /// Every logical page once, in order: just as writing it would, but for the order of streams, so nothing is written.
    fn fill(&mut self) {
        let geometry = self.spec.geometry;
        self.map = Map::new(
            geometry.logical_pages,
            geometry.pages(),
            self.spec.stamps,
            Layout::Filled(Box::new(self.rows.clone())),
        );
        for plane in 0..geometry.planes {
            let pages = self.rows.count(plane);
            let (full, rest) = self.per_block.split(pages);
            for _ in 0..full {
                let block = self.lay_out(plane, self.per_block.get());
                self.valid[block as usize] &= !APART;
                self.victims.lay_out(plane, block, self.written - u64::from(pages));
            }
            if rest > 0 {
                let block = self.lay_out(plane, self.per_block.get());
                let first = block * self.per_block.get();
                let lane = usize::from(self.spec.streams != Streams::One);
                let front = Front { next: first + rest, end: first + self.per_block.get() };
                self.planes[plane as usize].fronts[lane] = front;
            }
        }
        self.counts.mapped = geometry.logical_pages;
    }

    /// Takes a free block, which holds so many valid pages.
    fn lay_out(&mut self, plane: u32, valid: u32) -> u32 {
        let block = self.planes[plane as usize].free.pop_front().expect("more blocks than data");
        self.counts.free -= 1;
        self.valid[block as usize] = APART | valid as u16;
        if let Some(settled) = self.settled.get_mut(block as usize) {
            *settled = true;
        }
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
