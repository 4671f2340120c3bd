//! What does the next I/O do, and how long is it?

use iostack_model::{Direction, Job};

use crate::{Op, Result, Rng, refuse_if};

/// Draws direction and length by the job's shares.
#[derive(Clone, Debug, Default)]
pub(super) struct Chooser {
    /// The operation all are like, apart from the offset; `None` when there is a choice.
    only: Option<Op>,
    /// Direction is read below the first, write below the second, else trim; in 2^32nds.
    directions: [u64; 2],
    /// The length of each hundredth of the draws, by direction; none of a direction that is not used.
    lengths: [Vec<u32>; 3],
    pub(super) smallest: [u32; 3],
    pub(super) largest: [u32; 3],
    /// The length of all operations, if they are equally long.
    pub(super) fixed_length: Option<u32>,
    /// A batch of what all operations are like.
    templates: Vec<Op>,
    pub(super) trims_before_writes: bool,
    /// Any length from the smallest to the largest, or, with `in_steps`, any multiple of the smallest.
    pub(super) any_length: bool,
    in_steps: bool,
}

const NOTHING: Op = Op { offset: 0, length: 0, direction: 0, file: 0 };

/// Number of I/Os that the engine asks for at once.
const TEMPLATES: usize = 256;

const WHOLE: u64 = 1 << 32;

impl Chooser {
    pub(super) fn new(job: &Job) -> Result<Chooser> {
        let mix = job.mix;
        let shares = u32::from(mix.read) + u32::from(mix.write) + u32::from(mix.trim);
        let what = format!("reads, writes and trims add up to {shares} %");
        refuse_if(shares != 100, what, "make them add up to 100")?;
        let trims_before_writes = mix.read == 0 && mix.write > 0 && mix.trim > 0;
        let mut chooser = Chooser {
            directions: [share(u64::from(mix.read)), share(u64::from(mix.read) + u64::from(mix.write))],
            trims_before_writes,
            any_length: job.any_size || job.any_multiple,
            in_steps: job.any_multiple,
            ..Chooser::default()
        };
        if trims_before_writes {
            // Each block is trimmed first and written afterwards: the choice is always a trim.
            chooser.directions = [0, 0];
        }
        for direction in Direction::ALL {
            let used = if trims_before_writes { direction == Direction::Trim } else { mix.of(direction) > 0 };
            if used {
                chooser.add(job, direction)?;
            }
        }
        let mut all = chooser.lengths.iter().flatten().copied();
        let first = all.next();
        if all.all(|length| Some(length) == first) {
            chooser.fixed_length = first;
        }
        let mut used = (0..3u8).filter(|&d| !chooser.lengths[usize::from(d)].is_empty());
        if let (Some(length), Some(direction), None) = (chooser.fixed_length, used.next(), used.next())
            && !trims_before_writes
        {
            chooser.only = Some(Op { length, direction, ..NOTHING });
        }
        let template = chooser.only.unwrap_or(Op { length: chooser.largest(), ..NOTHING });
        chooser.templates = vec![template; TEMPLATES];
        Ok(chooser)
    }

    fn add(&mut self, job: &Job, direction: Direction) -> Result<()> {
        let (index, name) = (direction as usize, direction.name());
        let mut below = 0;
        for &(size, percent) in job.block_sizes.of(direction) {
            if percent == 0 {
                continue;
            }
            let length = u32::try_from(size.0).unwrap_or(0);
            let what = format!("a {name} of {} bytes is not possible", size.0);
            refuse_if(length == 0, what, "use 1 byte to 4 GiB less one")?;
            below += u64::from(percent);
            self.lengths[index].extend(std::iter::repeat_n(length, usize::from(percent)));
            self.largest[index] = self.largest[index].max(length);
            let smallest = self.smallest[index];
            self.smallest[index] = if smallest == 0 { length } else { smallest.min(length) };
        }
        let what = format!("the shares of the {name} block sizes add up to {below} %");
        refuse_if(below != 100, what, "make them add up to 100")
    }

    /// Direction of all, where they go one way, and the length of each hundredth of the draws. Behind them are as
    /// many as a mask needs.
    pub(super) fn one_way(&self) -> Option<(u8, [u32; 128])> {
        let mut used = (0..3u8).filter(|&direction| !self.lengths[usize::from(direction)].is_empty());
        let (direction, None) = (used.next()?, used.next()) else { return None };
        let mut lengths = [0; 128];
        lengths[..100].copy_from_slice(&self.lengths[usize::from(direction)]);
        Some((direction, lengths))
    }

    /// The length of a draw among them: as [`Chooser::draw`] takes it.
    #[inline]
    pub(super) fn length_of(lengths: &[u32; 128], bits: u64) -> u32 {
        lengths[(((bits & (WHOLE - 1)) * 100) >> 32) as usize & 127]
    }

    /// Distance of the lengths that are drawn.
    pub(super) fn step_of(&self, direction: u8) -> u32 {
        if self.in_steps { self.smallest[usize::from(direction)].max(1) } else { 1 }
    }

    /// Appends `count` operations of one length, with everything but the offset.
    ///
    /// Copied from ready ones and completed afterwards: a copy moves two operations per instruction, where making
    /// them one at a time takes a store for each field (measured: 5 instructions per operation less).
    pub(super) fn append(&self, ops: &mut Vec<Op>, count: usize, rng: &mut Rng) {
        let old = ops.len();
        let mut missing = count;
        while missing > 0 {
            let next = missing.min(self.templates.len());
            ops.extend_from_slice(&self.templates[..next]);
            missing -= next;
        }
        if self.only.is_some() {
            return;
        }
        // In a register; through the reference each number would be stored and loaded again.
        let (mut here, [read, write]) = (rng.clone(), self.directions);
        if write == WHOLE {
            for op in &mut ops[old..] {
                op.direction = u8::from(here.next_u64() >> 32 >= read);
            }
        } else {
            for op in &mut ops[old..] {
                let bits = here.next_u64() >> 32;
                op.direction = u8::from(bits >= read) + u8::from(bits >= write);
            }
        }
        *rng = here;
    }

    pub(super) fn smallest(&self) -> u32 {
        self.smallest.into_iter().filter(|&length| length > 0).min().unwrap_or(0)
    }

    pub(super) fn largest(&self) -> u32 {
        self.largest.into_iter().max().unwrap_or(0)
    }

    /// The next direction and length; offset and file are left 0. One random number serves both.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> Op {
        if let Some(op) = self.only {
            return op;
        }
        let bits = rng.next_u64();
        let (for_direction, for_length) = (bits >> 32, bits & (WHOLE - 1));
        let [read, write] = self.directions;
        let direction = usize::from(for_direction >= read) + usize::from(for_direction >= write);
        if self.any_length {
            let (least, most) = (self.smallest[direction], self.largest[direction]);
            let step = self.step_of(direction as u8);
            let steps = ((for_length * u64::from((most - least) / step + 1)) >> 32) as u32;
            let length = least + steps * step;
            return Op { length, direction: direction as u8, ..NOTHING };
        }
        // Shares add up to a hundred, so that there is one for each draw; `smallest` is never needed.
        let length = *self.lengths[direction]
            .get(((for_length * 100) >> 32) as usize)
            .unwrap_or(&self.smallest[direction]);
        Op { length, direction: direction as u8, ..NOTHING }
    }
}

fn share(percent: u64) -> u64 {
    percent * WHOLE / 100
}
