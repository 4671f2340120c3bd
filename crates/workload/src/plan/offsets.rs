//! Where does the next I/O go?

use iostack_model::Distribution;

use super::envelope::Envelope;
use super::scatter::LANES;
use super::shuffle::Shuffle;
use crate::rng::stir;
use crate::{Op, Region, Result, Rng};

/// The places where I/O of one direction may start: `count` of them, `unit` bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) unit: u64,
    pub(super) count: u64,
}

/// Rule by which offsets follow each other, from the start of the region.
#[derive(Clone, Debug)]
pub(super) enum Offsets {
    /// Independent draws, all places of the direction's grid alike.
    Uniform([Grid; 3]),
    /// Each block once, for each file.
    EachOnce(Vec<Shuffle>),
    /// Independent draws, some places preferred; by direction.
    Skewed(Box<[Option<Skewed>; 3]>),
    /// One after the other.
    InSequence {
        /// Bytes left out behind each block.
        gap: u64,
        /// The next offset, for each file and direction.
        cursors: Vec<[u64; 3]>,
    },
    /// One before the other.
    Backward {
        /// Bytes from the end of a block to the start of the next.
        step: u64,
        /// End of the last block, for each file and direction; 0 before the first.
        ends: Vec<[u64; 3]>,
    },
}

/// A distribution over a grid.
#[derive(Clone, Debug)]
pub(super) struct Skewed {
    unit: u64,
    envelope: Envelope,
    /// Spreads the preferred ranks over the region; `None` where the distribution speaks of places.
    scatter: Option<Shuffle>,
}

impl Offsets {
    pub(super) fn in_sequence(gap: u64, files: u16) -> Offsets {
        Offsets::InSequence { gap, cursors: vec![[0; 3]; usize::from(files)] }
    }

    pub(super) fn backward(step: u64, files: u16) -> Offsets {
        Offsets::Backward { step, ends: vec![[0; 3]; usize::from(files)] }
    }

    pub(super) fn each_once(block: u64, length: u64, files: u16, rng: &mut Rng) -> Offsets {
        Offsets::EachOnce((0..files).map(|_| Shuffle::new(length / block, rng.next_u64())).collect())
    }

    pub(super) fn skewed(distribution: &Distribution, grids: &[Grid; 3], seed: u64) -> Result<Offsets> {
        let mut all = [None, None, None];
        for (skewed, grid) in all.iter_mut().zip(grids).filter(|(_, grid)| grid.count > 0) {
            let by_rank = matches!(distribution, Distribution::Zipf { .. } | Distribution::Pareto { .. });
            *skewed = Some(Skewed {
                unit: grid.unit,
                envelope: Envelope::new(distribution, grid.count)?,
                // By the seed alone: all threads, reads and writes share their hot blocks.
                scatter: by_rank.then(|| Shuffle::new(grid.count, stir(seed))),
            });
        }
        Ok(Offsets::Skewed(Box::new(all)))
    }

    pub(super) fn restart(&mut self, rng: &mut Rng) {
        match self {
            Offsets::Uniform(_) | Offsets::Skewed(_) => {}
            Offsets::EachOnce(shuffles) => shuffles.iter_mut().for_each(|shuffle| shuffle.restart(rng)),
            Offsets::InSequence { cursors: places, .. } | Offsets::Backward { ends: places, .. } => {
                places.fill([0; 3]);
            }
        }
    }

    /// True when a sequence with gaps ends before `op`, as in fio: the I/O before ended with the file, or this one begins in the
    /// file and does not fit into the region. One that would begin behind the file begins at the start.
    pub(super) fn is_over(&self, op: &Op, region: Region) -> bool {
        let Offsets::InSequence { gap: gap @ 1.., cursors } = self else { return false };
        let next = cursors[usize::from(op.file)][usize::from(op.direction)];
        let ended = next.checked_sub(*gap).is_some_and(|end| end >= region.file_length);
        ended || next < region.file_length && next + u64::from(op.length) > region.length
    }

    /// The offset of `op`, whose direction, length and file are set, in a region of `length` bytes.
    #[inline]
    pub(super) fn next(&mut self, op: &Op, length: u64, rng: &mut Rng) -> u64 {
        let (direction, file, op_length) =
            (usize::from(op.direction), usize::from(op.file), u64::from(op.length));
        match self {
            Offsets::Uniform(grids) => rng.below(grids[direction].count) * grids[direction].unit,
            Offsets::EachOnce(shuffles) => shuffles[file].next() * op_length,
            Offsets::Skewed(all) => {
                // `skewed` made one for every direction that the chooser draws.
                all[direction].as_ref().map_or(0, |skewed| skewed.draw(rng))
            }
            Offsets::InSequence { gap, cursors } => {
                let cursor = &mut cursors[file][direction];
                if *cursor + op_length > length {
                    *cursor = 0;
                }
                let offset = *cursor;
                *cursor += op_length + *gap;
                offset
            }
            Offsets::Backward { step, ends } => {
                let end = &mut ends[file][direction];
                // As in fio, the first is at the start; before the start is the end.
                let back = || end.checked_sub(*step).unwrap_or_else(|| length.saturating_sub(*step));
                let offset = if *end == 0 { 0 } else { back() };
                *end = offset + op_length;
                offset
            }
        }
    }
}

impl Skewed {
    /// Sets the offset of each operation. In two passes where blocks have 32 bits: many are scattered in fewer instructions
    /// than one by one.
    pub(super) fn draw_each(&self, ops: &mut [Op], start: u64, rng: &mut Rng) {
        let Some(scatter) = self.scatter.as_ref().filter(|scatter| scatter.is_narrow()) else {
            for op in ops {
                op.offset = start + self.draw(rng);
            }
            return;
        };
        for chunk in ops.chunks_mut(LANES) {
            let mut blocks = [0; LANES];
            for block in &mut blocks[..chunk.len()] {
                *block = self.envelope.draw(rng) as u32;
            }
            scatter.places(&mut blocks);
            for (op, block) in chunk.iter_mut().zip(&blocks) {
                op.offset = start + self.unit * u64::from(*block);
            }
        }
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        let rank = self.envelope.draw(rng);
        self.unit * self.scatter.as_ref().map_or(rank, |scatter| scatter.place(rank))
    }
}
