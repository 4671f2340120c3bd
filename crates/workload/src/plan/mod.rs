//! Which I/O comes next?
//!
//! ```text
//!   Chooser ──► direction, length ──► Offsets ──► offset ──► Op
//!   (mix, block sizes)               (uniform, each block once, skewed, in sequence)
//! ```
//!
//! A plan makes operations a batch at a time, so that the engine's loop only takes the next one from a slice. One block
//! size in one file, the common case, has a tight loop for each kind of access. User instructions per operation
//! (`examples/plan_cost.rs` under callgrind, region of 1 TiB, with AVX2): uniform 14, sequential 15, uniform reads and writes 25,
//! each block once 13 (26 when their number is far from a power of two), hot/cold 40, Zipf 49; several block sizes 29, of reads and
//! writes more.
//!
//! **A pass** is `region.length` bytes of I/O in each file, in whole blocks: then [`Filled::RegionDone`]. The engine
//! calls [`Plan::restart`] for `loops`, `time_based` and an `io_limit` above the size, and stops early for one below it.
//! A pass of a random job with independent draws is as many I/Os as there are blocks; it need not visit each.
//!
//! As in fio: reads and writes of a mixed sequential job each follow their own sequence; several files take turns; a
//! strided pass ends where the next block does not fit, and goes on at the start where it would lie behind the file; a trim and write job trims each block and then writes it.
//! Unlike fio: with several block sizes, "each block once" is not kept (fio shortens blocks to fit its map instead);
//! draws are independent then.
//!
//! Start reading at [`Plan::fill`].

mod chooser;
mod envelope;
mod follow;
mod offsets;
mod pointers;
pub(crate) mod scatter;
mod shuffle;
#[cfg(test)]
mod tests;
mod turns;
#[cfg(test)]
mod way_tests;
mod zones;

use iostack_model::{Access, Direction, Distribution, Job, Order};

use crate::{Filled, Op, Region, Result, Rng, WorkloadError};
use chooser::Chooser;
use follow::Following;
use offsets::{Grid, Offsets};
use pointers::Pointers;
use turns::Turns;
use zones::Zoned;

/// The operations of one thread of a job, in order. The same job, region, files and thread give the same operations; a
/// clone taken before the first [`Plan::fill`] repeats them.
#[derive(Clone, Debug)]
pub struct Plan {
    rng: Rng,
    /// Draws directions and lengths: from numbers of its own, so that the size of batches changes nothing.
    choices: Rng,
    region: Region,
    chooser: Chooser,
    offsets: Offsets,
    turns: Turns,
    following: Option<Following>,
    zoned: Option<Zoned>,
    pointers: Option<Pointers>,
    /// One file, and nothing that looks at the I/O before.
    plain: bool,
    /// Bytes of one pass, and those of it that are still to come.
    pass: u64,
    remaining: u64,
    /// The write that follows the trim of the same block.
    second_half: Option<Op>,
}

impl Plan {
    /// The plan of thread `thread` of `job`, over `region` of each of `files` files.
    ///
    /// The region is the thread's own: [`crate::region`] has already moved it by `offset_increment`. Threads draw
    /// different numbers, but agree on which blocks are hot.
    pub fn new(job: &Job, region: Region, files: u16, thread: u32) -> Result<Plan> {
        let files = files.max(1);
        let chooser = Chooser::new(job)?;
        let largest = chooser.largest();
        let region = pointers::whole_zones(job, region);
        if region.length < u64::from(largest) {
            return Err(WorkloadError::RegionTooSmall { length: region.length, block: u64::from(largest) });
        }
        let number = u64::from(job.thread_first) + u64::from(thread);
        let mut rng = Rng::stream(job.seed, number);
        let choices = Rng::stream(!job.seed, number);
        let zoned = job.zones.map(Zoned::new);
        // Offsets count from the start of a zone.
        let reach = zoned.as_ref().map_or(region.length, Zoned::reach).min(region.length);
        if reach < u64::from(largest) {
            return Err(WorkloadError::RegionTooSmall { length: reach, block: u64::from(largest) });
        }
        let offsets = offsets(job, Region { length: reach, ..region }, files, &chooser, &mut rng)?;
        let pass = match chooser.fixed_length {
            Some(length) => region.length / u64::from(length) * u64::from(length),
            None => region.length,
        };
        let following = Following::new(job, files);
        let turns = Turns::new(job, files, pass);
        let pointers = Pointers::new(job, region, files, chooser.smallest());
        let leaps = matches!(job.access, Access::Backward { .. } | Access::Strided { .. });
        let own_grid = job.align.is_zero();
        let plain = own_grid
            && files == 1
            && following.is_none()
            && zoned.is_none()
            && pointers.is_none()
            && !leaps
            && !chooser.trims_before_writes;
        let pass = pass * u64::from(files);
        Ok(Plan {
            rng,
            choices,
            region,
            chooser,
            offsets,
            turns,
            following,
            zoned,
            pointers,
            plain,
            pass,
            remaining: pass,
            second_half: None,
        })
    }

    /// Appends up to `at_most` operations to `ops`. After [`Filled::RegionDone`] nothing more comes until
    /// [`Plan::restart`].
    pub fn fill(&mut self, ops: &mut Vec<Op>, at_most: usize) -> Filled {
        if !self.fill_alike(ops, at_most) {
            ops.reserve(at_most);
            let drawn = self.fill_drawn(ops, at_most);
            for _ in drawn..at_most {
                let Some(op) = self.next() else { break };
                ops.push(op);
            }
        }
        let rest = self.remaining < u64::from(self.chooser.smallest()) && self.second_half.is_none();
        if rest { Filled::RegionDone } else { Filled::More }
    }

    /// Begins the next pass: sequences from their start, each-block-once in another order. Draws go on where they were.
    pub fn restart(&mut self) {
        self.remaining = self.pass;
        self.second_half = None;
        self.turns.restart();
        self.offsets.restart(&mut self.rng);
    }

    /// Bytes of one pass over all files.
    pub fn pass_bytes(&self) -> u64 {
        self.pass
    }

    /// The tight loops, for one file and one block size; false when this plan has more.
    fn fill_alike(&mut self, ops: &mut Vec<Op>, at_most: usize) -> bool {
        let Some(length) = self.chooser.fixed_length else { return false };
        if !self.plain {
            return false;
        }
        let length = u64::from(length);
        let old = ops.len();
        let count = at_most.min((self.remaining / length) as usize);
        // Copies in registers; through `self` each number would be stored and loaded again.
        let (start, mut rng) = (self.region.offset, self.rng.clone());
        self.chooser.append(ops, count, &mut self.choices);
        let new = &mut ops[old..];
        match &mut self.offsets {
            Offsets::Uniform(blocks) => {
                let blocks = blocks[usize::from(new.first().map_or(0, |op| op.direction))].count;
                for op in new {
                    op.offset = start + rng.below(blocks) * length;
                }
            }
            Offsets::EachOnce(shuffles) if shuffles[0].is_narrow() => {
                let mut new = &mut *new;
                while !new.is_empty() {
                    let blocks = shuffles[0].next_many(new.len());
                    let (now, later) = new.split_at_mut(blocks.len());
                    for (op, &block) in now.iter_mut().zip(blocks) {
                        op.offset = start + u64::from(block) * length;
                    }
                    new = later;
                }
            }
            Offsets::EachOnce(shuffles) => {
                for op in new {
                    op.offset = start + shuffles[0].next() * length;
                }
            }
            Offsets::Skewed(all) => {
                // One block size is one grid, so the directions' envelopes are alike.
                let Some(skewed) = all.iter().flatten().next() else { return true };
                skewed.draw_each(new, start, &mut rng);
            }
            Offsets::InSequence { cursors, .. } => {
                let (mut next, last) = (cursors[0], self.region.length - length);
                for op in new {
                    let cursor = &mut next[usize::from(op.direction)];
                    *cursor = if *cursor > last { 0 } else { *cursor };
                    op.offset = start + *cursor;
                    *cursor += length;
                }
                cursors[0] = next;
            }
            // Not plain.
            Offsets::Backward { .. } => return false,
        }
        self.rng = rng;
        self.remaining -= count as u64 * length;
        true
    }

    /// The tight loop for one file, several block sizes and independent draws; how many it appended. Those near the end
    /// of the pass, which may be cut, are left to [`Plan::next`].
    fn fill_drawn(&mut self, ops: &mut Vec<Op>, at_most: usize) -> usize {
        let Offsets::Uniform(grids) = &self.offsets else { return 0 };
        if !self.plain || self.chooser.any_length {
            return 0;
        }
        let count = at_most.min((self.remaining / u64::from(self.chooser.largest())) as usize);
        let (start, mut rng, mut choices) = (self.region.offset, self.rng.clone(), self.choices.clone());
        let mut bytes = 0;
        if let Some((direction, lengths)) = self.chooser.one_way() {
            let Grid { unit, count: places } = grids[usize::from(direction)];
            ops.extend((0..count).map(|_| {
                let length = Chooser::length_of(&lengths, choices.next_u64());
                bytes += u64::from(length);
                Op { offset: start + rng.below(places) * unit, length, direction, file: 0 }
            }));
        } else {
            ops.extend((0..count).map(|_| {
                let op = self.chooser.draw(&mut choices);
                let grid = grids[usize::from(op.direction)];
                bytes += u64::from(op.length);
                Op { offset: start + rng.below(grid.count) * grid.unit, ..op }
            }));
        }
        (self.rng, self.choices) = (rng, choices);
        self.remaining -= bytes;
        count
    }

    /// Any plan, one operation at a time; `None` at the end of the pass.
    fn next(&mut self) -> Option<Op> {
        loop {
            let op = self.drawn()?;
            let Some(pointers) = &mut self.pointers else { return Some(op) };
            if pointers.passes_over(&op) {
                continue;
            }
            let Some(placed) = pointers.place(op) else {
                self.remaining = 0;
                return None;
            };
            self.remaining += u64::from(op.length - placed.length);
            return Some(placed);
        }
    }

    /// The next one, where it was drawn.
    fn drawn(&mut self) -> Option<Op> {
        if let Some(op) = self.second_half.take() {
            return Some(op);
        }
        let mut op = self.chooser.draw(&mut self.choices);
        if u64::from(op.length) > self.remaining {
            let smallest = self.chooser.smallest[usize::from(op.direction)];
            let step = self.chooser.step_of(op.direction);
            let rest = self.remaining as u32 / step * step;
            op.length = if self.chooser.any_length { smallest.max(rest) } else { smallest };
            if u64::from(op.length) > self.remaining {
                return None;
            }
        }
        loop {
            op.file = self.turns.next(op.length, &mut self.choices);
            if self.zoned.is_some() || !self.offsets.is_over(&op, self.region) {
                break;
            }
            if !self.turns.close(op.file, op.length) {
                self.remaining = 0;
                return None;
            }
        }
        if self.pointers.as_ref().is_some_and(|pointers| pointers.must_write(&op)) {
            op.direction = Direction::Write as u8;
        }
        op.offset = self.region.offset + self.place(&op);
        self.remaining -= u64::from(op.length);
        if self.chooser.trims_before_writes {
            self.second_half = Some(Op { direction: Direction::Write as u8, ..op });
        }
        Some(op)
    }
}

impl Plan {
    fn place(&mut self, op: &Op) -> u64 {
        let mut length = self.region.length;
        let mut base = 0;
        if let Some(zoned) = &mut self.zoned {
            if zoned.moves_on(length) {
                self.offsets.restart(&mut self.rng);
                self.following.iter_mut().for_each(Following::restart);
            }
            (base, length) = (zoned.base(op.length), zoned.reach().min(length));
        }
        base + self.place_in(op, length)
    }

    fn place_in(&mut self, op: &Op, length: u64) -> u64 {
        let Some(following) = &mut self.following else {
            return self.offsets.next(op, length, &mut self.rng);
        };
        let place = following.next(op, length, &mut self.choices);
        let place = place.unwrap_or_else(|| self.offsets.next(op, length, &mut self.rng));
        following.went(op, place);
        place
    }
}

fn offsets(job: &Job, region: Region, files: u16, chooser: &Chooser, rng: &mut Rng) -> Result<Offsets> {
    let grids = Direction::ALL.map(|direction| {
        let smallest = u64::from(chooser.smallest[direction as usize]);
        let unit = if job.align.is_zero() { smallest } else { job.align.0 };
        let longest = u64::from(chooser.largest[direction as usize]);
        Grid { unit, count: (region.length - longest).checked_div(unit).map_or(0, |steps| steps + 1) }
    });
    match &job.access {
        Access::Sequential => Ok(Offsets::in_sequence(0, files)),
        Access::Strided { gap } => Ok(Offsets::in_sequence(gap.0, files)),
        Access::Backward { step } => Ok(Offsets::backward(step.0, files)),
        Access::Random { order, distribution: Distribution::Uniform } => match chooser.fixed_length {
            Some(length)
                if *order == Order::Permutation
                    && (job.align.is_zero() || job.align.0 == u64::from(length)) =>
            {
                Ok(Offsets::each_once(u64::from(length), region.length, files, rng))
            }
            _ => Ok(Offsets::Uniform(grids)),
        },
        Access::Random { distribution, .. } => Offsets::skewed(distribution, &grids, job.seed),
    }
}
