//! Which I/O comes next?
//!
//! ```text
//!   Chooser ──► direction, length ──► Offsets ──► offset ──► Op
//!   (mix, block sizes)               (uniform, each block once, skewed, in sequence)
//! ```
//!
//! A plan makes operations a batch at a time, so that the engine's loop only takes the next one from a slice. What is
//! common is a tight loop of its own: one block size, one direction, one file, uniform or each block once. Measured with
//! `examples/plan_cost.rs`, instructions per operation: see there.
//!
//! **A pass** is `region.length` bytes of I/O in each file, in whole blocks: then [`Filled::RegionDone`]. The engine
//! calls [`Plan::restart`] for `loops`, `time_based` and an `io_limit` above the size, and stops early for one below it.
//! A pass of a random job with independent draws is as many I/Os as there are blocks; it need not visit each.
//!
//! As in fio: reads and writes of a mixed sequential job each follow their own sequence; several files take turns; a
//! strided pass that reaches the end goes on at the start; a trim and write job trims each block and then writes it.
//! Unlike fio: with several block sizes, "each block once" is not kept (fio shortens blocks to fit its map instead);
//! draws are independent then.
//!
//! Start reading at [`Plan::fill`].

mod chooser;
mod envelope;
mod offsets;
mod shuffle;
#[cfg(test)]
mod tests;

use iostack_model::{Access, Direction, Distribution, Job, Order};

use crate::{Filled, Op, Region, Rng, WorkloadError};
use chooser::Chooser;
use offsets::{Grid, Offsets};

/// The operations of one thread of a job, in order. The same job, region, files and thread give the same operations; a
/// clone taken before the first [`Plan::fill`] repeats them.
#[derive(Clone, Debug)]
pub struct Plan {
    rng: Rng,
    region: Region,
    chooser: Chooser,
    offsets: Offsets,
    files: u16,
    /// The file whose turn it is.
    turn: u16,
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
    pub fn new(job: &Job, region: Region, files: u16, thread: u32) -> Result<Plan, WorkloadError> {
        let files = files.max(1);
        let chooser = Chooser::new(job)?;
        let largest = chooser.largest();
        if region.length < u64::from(largest) {
            return Err(WorkloadError::RegionTooSmall { length: region.length, block: u64::from(largest) });
        }
        let mut rng = Rng::stream(job.seed, u64::from(job.thread_first) + u64::from(thread));
        let offsets = offsets(job, region, files, &chooser, &mut rng)?;
        let pass = match chooser.fixed_length() {
            Some(length) => region.length / u64::from(length) * u64::from(length),
            None => region.length,
        } * u64::from(files);
        Ok(Plan { rng, region, chooser, offsets, files, turn: 0, pass, remaining: pass, second_half: None })
    }

    /// Appends up to `at_most` operations to `ops`. After [`Filled::RegionDone`] nothing more comes until
    /// [`Plan::restart`].
    pub fn fill(&mut self, ops: &mut Vec<Op>, at_most: usize) -> Filled {
        let filled_by_tight_loop = self.files == 1 && self.fill_alike(ops, at_most);
        if !filled_by_tight_loop {
            for _ in 0..at_most {
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
        self.offsets.restart(&mut self.rng);
    }

    /// Bytes of one pass over all files.
    pub fn pass_bytes(&self) -> u64 {
        self.pass
    }

    /// The tight loops; false when none fits this plan.
    fn fill_alike(&mut self, ops: &mut Vec<Op>, at_most: usize) -> bool {
        let Some(model) = self.chooser.only() else { return false };
        let length = u64::from(model.length);
        let count = at_most.min((self.remaining / length) as usize);
        let start = self.region.offset;
        match &mut self.offsets {
            Offsets::Uniform(grids) => {
                let blocks = grids[usize::from(model.direction)].count;
                // A copy in registers; through `self` each number would be stored and loaded again.
                let mut rng = self.rng.clone();
                ops.extend((0..count).map(|_| Op { offset: start + rng.below(blocks) * length, ..model }));
                self.rng = rng;
            }
            Offsets::EachOnce(shuffles) => {
                let mut shuffle = shuffles[0].clone();
                ops.extend((0..count).map(|_| Op { offset: start + shuffle.next() * length, ..model }));
                shuffles[0] = shuffle;
            }
            Offsets::Skewed(_) | Offsets::InSequence { .. } => return false,
        }
        self.remaining -= count as u64 * length;
        true
    }

    /// Any plan, one operation at a time; `None` at the end of the pass.
    fn next(&mut self) -> Option<Op> {
        if let Some(op) = self.second_half.take() {
            return Some(op);
        }
        let mut op = self.chooser.draw(&mut self.rng);
        if u64::from(op.length) > self.remaining {
            op.length = self.chooser.smallest_of(op.direction);
            if u64::from(op.length) > self.remaining {
                return None;
            }
        }
        op.file = self.turn;
        self.turn = if self.turn + 1 == self.files { 0 } else { self.turn + 1 };
        op.offset = self.region.offset + self.offsets.next(&op, self.region.length, &mut self.rng);
        self.remaining -= u64::from(op.length);
        if self.chooser.trims_before_writes() {
            self.second_half = Some(Op { direction: Direction::Write as u8, ..op });
        }
        Some(op)
    }
}

fn offsets(
    job: &Job,
    region: Region,
    files: u16,
    chooser: &Chooser,
    rng: &mut Rng,
) -> Result<Offsets, WorkloadError> {
    let grids = Direction::ALL.map(|direction| {
        let unit = u64::from(chooser.smallest_of(direction as u8));
        let longest = u64::from(chooser.largest_of(direction as u8));
        Grid { unit, count: (region.length - longest).checked_div(unit).map_or(0, |steps| steps + 1) }
    });
    match &job.access {
        Access::Sequential => Ok(Offsets::in_sequence(0, files)),
        Access::Strided { gap } => Ok(Offsets::in_sequence(gap.0, files)),
        Access::Random { order, distribution: Distribution::Uniform } => match chooser.fixed_length() {
            Some(length) if *order == Order::Permutation => {
                Ok(Offsets::each_once(u64::from(length), region.length, files, rng))
            }
            _ => Ok(Offsets::Uniform(grids)),
        },
        Access::Random { distribution, .. } => Offsets::skewed(distribution, &grids, job.seed),
    }
}
