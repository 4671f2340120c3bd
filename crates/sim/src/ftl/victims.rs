//! Which block is collected next?
//!
//! Greedy keeps lists of blocks by valid pages, but only of blocks with few: most overwrites hit blocks that are far from
//! being victims, and then cost one comparison. When the lists run empty, the plane is looked through and about a
//! sixteenth of its blocks listed anew, in a steady state hardly ever.

use std::collections::VecDeque;

use iostack_workload::Rng;

use super::spec::{Geometry, Victim};

/// Set in a count of valid pages: the block is free, open or being collected, no candidate.
pub(super) const APART: u16 = 1 << 15;

const NONE: u32 = u32::MAX;
/// So many blocks of a plane, as a share of one, are listed at least.
const LISTED: usize = 16;

/// The candidates of all planes.
#[derive(Clone, Debug)]
pub(super) struct Victims {
    policy: Victim,
    pages: u16,
    blocks: usize,
    rng: Rng,
    /// Greedy: blocks with fewer valid pages than this are in the lists.
    bound: Vec<u16>,
    lists: Lists,
    /// First filled first.
    queues: Vec<VecDeque<u32>>,
    /// Cost-benefit: host writes when it was filled.
    filled_at: Vec<u64>,
}

/// Double-linked lists of blocks, one for each plane and count of valid pages.
#[derive(Clone, Debug, Default)]
struct Lists {
    levels: usize,
    heads: Vec<u32>,
    links: Vec<[u32; 2]>,
    /// No list below this one has a block, for each plane.
    least: Vec<u16>,
    listed: Vec<u32>,
    /// Number of listed blocks above which the bound is too high.
    listed_max: Vec<u32>,
}

impl Victims {
    pub(super) fn new(geometry: &Geometry, policy: Victim, seed: u64) -> Victims {
        let (planes, blocks) = (geometry.planes as usize, geometry.blocks_per_plane as usize);
        let levels = geometry.pages_per_block as usize + 1;
        let greedy = policy == Victim::Greedy;
        let lists = Lists {
            levels,
            heads: vec![NONE; if greedy { planes * levels } else { 0 }],
            links: vec![[NONE; 2]; if greedy { planes * blocks } else { 0 }],
            least: vec![0; planes],
            listed: vec![0; planes],
            listed_max: vec![0; planes],
        };
        Victims {
            policy,
            pages: geometry.pages_per_block as u16,
            blocks,
            rng: Rng::stream(seed, 0x7669_6374),
            bound: vec![0; planes],
            lists,
            queues: vec![VecDeque::new(); if policy == Victim::Fifo { planes } else { 0 }],
            filled_at: vec![0; if policy == Victim::CostBenefit { planes * blocks } else { 0 }],
        }
    }

    /// A block is full, and a candidate from now on.
    pub(super) fn filled(&mut self, plane: u32, block: u32, valid: u16, written: u64) {
        match self.policy {
            Victim::Greedy if valid < self.bound[plane as usize] => self.lists.link(plane, block, valid),
            Victim::Fifo => self.queues[plane as usize].push_back(block),
            Victim::CostBenefit => self.filled_at[block as usize] = written,
            _ => (),
        }
    }

    /// One page fewer of a block is valid.
    #[inline]
    pub(super) fn lowered(&mut self, plane: u32, block: u32, valid: u16) {
        let bound = self.bound[plane as usize];
        if valid >= bound {
            return;
        }
        if valid + 1 < bound {
            self.lists.unlink(plane, block, valid + 1);
        }
        self.lists.link(plane, block, valid);
    }

    /// Takes a block out that something else has chosen.
    pub(super) fn take(&mut self, plane: u32, block: u32, valid: u16) {
        match self.policy {
            Victim::Greedy if valid < self.bound[plane as usize] => self.lists.unlink(plane, block, valid),
            Victim::Fifo => self.queues[plane as usize].retain(|&other| other != block),
            _ => (),
        }
    }

    /// Takes a candidate out; `None` when no block of the plane is worth it. `valid` are the counts of all blocks.
    pub(super) fn choose(&mut self, plane: u32, valid: &[u16], written: u64) -> Option<u32> {
        let first = plane as usize * self.blocks;
        let of_plane = &valid[first..first + self.blocks];
        let block = match self.policy {
            Victim::Greedy => return self.fewest(plane, valid),
            Victim::Fifo => *self.queues[plane as usize].front()?,
            Victim::Random => self.any(first, valid)?,
            Victim::Choices(count) => {
                let mut best = self.any(first, valid)?;
                for _ in 1..count {
                    let other = self.any(first, valid).expect("there is one");
                    if valid[other as usize] < valid[best as usize] {
                        best = other;
                    }
                }
                best
            }
            Victim::CostBenefit => return self.most_benefit(first, of_plane, written),
        };
        // A full block gains nothing. The policy still takes it, as long as there is something to gain elsewhere.
        if valid[block as usize] == self.pages && !of_plane.iter().any(|&count| count < self.pages) {
            return None;
        }
        if self.policy == Victim::Fifo {
            self.queues[plane as usize].pop_front();
        }
        Some(block)
    }

    fn fewest(&mut self, plane: u32, valid: &[u16]) -> Option<u32> {
        let at = plane as usize;
        let (lists, bound) = (&mut self.lists, self.bound[at]);
        let first = lists.first(plane, bound);
        let (block, level) = if let Some(found) = first.filter(|_| lists.listed[at] <= lists.listed_max[at]) {
            found
        } else {
            if first.is_none() && bound == self.pages {
                return None;
            }
            self.list_anew(plane, valid);
            self.lists.first(plane, self.bound[at])?
        };
        self.lists.unlink(plane, block, level);
        Some(block)
    }

    #[cold]
    fn list_anew(&mut self, plane: u32, valid: &[u16]) {
        let at = plane as usize;
        let first = at * self.blocks;
        let of_plane = &valid[first..first + self.blocks];
        let mut histogram = vec![0usize; usize::from(self.pages)];
        for &count in of_plane.iter().filter(|&&count| count < self.pages) {
            histogram[usize::from(count)] += 1;
        }
        let (mut bound, mut sum) = (0, 0);
        while bound < histogram.len() && (sum == 0 || sum < self.blocks / LISTED) {
            sum += histogram[bound];
            bound += 1;
        }
        let bound = bound as u16;
        self.bound[at] = bound;
        self.lists.clear(plane);
        self.lists.listed_max[at] = (self.blocks / 4).max(2 * sum) as u32 + 16;
        for (block, &count) in (first as u32..).zip(of_plane).filter(|&(_, &count)| count < bound) {
            self.lists.link(plane, block, count);
        }
    }

    fn any(&mut self, first: usize, valid: &[u16]) -> Option<u32> {
        const TRIES: usize = 32;
        let mut block = first;
        for _ in 0..TRIES {
            block = first + self.rng.below(self.blocks as u64) as usize;
            if valid[block] < APART {
                return Some(block as u32);
            }
        }
        let around = (block..first + self.blocks).chain(first..block);
        around.map(|block| block as u32).find(|&block| valid[block as usize] < APART)
    }

    fn most_benefit(&self, first: usize, of_plane: &[u16], written: u64) -> Option<u32> {
        let mut best = None;
        for (index, &count) in of_plane.iter().enumerate().filter(|&(_, &count)| count < self.pages) {
            let age = (written - self.filled_at[first + index] + 1) as f64;
            let benefit = age * f64::from(self.pages - count) / f64::from(count.max(1) * 2);
            if count == 0 {
                return Some((first + index) as u32);
            }
            if best.is_none_or(|(_, most)| benefit > most) {
                best = Some((first + index, benefit));
            }
        }
        best.map(|(block, _)| block as u32)
    }
}

impl Lists {
    fn head(&self, plane: u32, level: u16) -> usize {
        plane as usize * self.levels + usize::from(level)
    }

    #[inline]
    fn link(&mut self, plane: u32, block: u32, level: u16) {
        let head = self.head(plane, level);
        let next = self.heads[head];
        self.links[block as usize] = [NONE, next];
        if next != NONE {
            self.links[next as usize][0] = block;
        }
        self.heads[head] = block;
        let least = &mut self.least[plane as usize];
        *least = level.min(*least);
        self.listed[plane as usize] += 1;
    }

    #[inline]
    fn unlink(&mut self, plane: u32, block: u32, level: u16) {
        let [before, next] = self.links[block as usize];
        if next != NONE {
            self.links[next as usize][0] = before;
        }
        if before == NONE {
            let head = self.head(plane, level);
            debug_assert_eq!(self.heads[head], block);
            self.heads[head] = next;
        } else {
            self.links[before as usize][1] = next;
        }
        self.listed[plane as usize] -= 1;
    }

    /// A block of the lowest list below `bound`, and its level.
    fn first(&mut self, plane: u32, bound: u16) -> Option<(u32, u16)> {
        let mut level = self.least[plane as usize];
        let found = loop {
            if level >= bound {
                break None;
            }
            let block = self.heads[self.head(plane, level)];
            if block != NONE {
                break Some((block, level));
            }
            level += 1;
        };
        self.least[plane as usize] = level;
        found
    }

    fn clear(&mut self, plane: u32) {
        let first = plane as usize * self.levels;
        self.heads[first..first + self.levels].fill(NONE);
        self.least[plane as usize] = 0;
        self.listed[plane as usize] = 0;
    }
}
