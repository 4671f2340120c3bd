//! What does flash look like after random writes without end?
//!
//! A block with v valid pages loses one at a rate of v per (logical pages) host writes. In a steady state as many blocks
//! come down to v - 1 as victims are taken from below, so that, with d-choices (one is random, all is greedy; Van Houdt 2013),
//!
//! ```text
//!   v n(v) = R (1 - G(v)^d)      n(v)  share of blocks with v valid pages
//!                                G(v)  share of blocks with v or more
//!   sum of v n(v) = pages of data per block       which decides R, the rate of victims
//! ```
//!
//! For greedy that is n(v) ~ 1/v from the victims' count to a full block, Desnoyers' model of 2012. Under first-in-first-out
//! all ages are equally frequent and v falls exponentially with age.
//!
//! Blocks of a plane lie in order of v. The pages of a plane, shuffled, fill them one after the other.

use super::divide::Divisor;
use super::rows::Rows;
use super::shuffle::Shuffle;
use super::spec::{FtlSpec, Victim};

/// Blocks of a plane with equally many valid pages.
#[derive(Clone, Debug)]
struct Class {
    /// Valid pages of a block.
    valid: Divisor,
    /// First block, in the plane.
    block: u32,
    /// Number of the first page in the shuffled order.
    page: u32,
}

/// Filling of the blocks of a plane: all planes alike.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    list: Vec<Class>,
    pages: u32,
    /// Blocks that hold data.
    blocks: u32,
    /// Pages of data in a plane, of that with the most.
    data: u32,
    per_block: Divisor,
    shuffles: Shuffles,
}

/// A page lives where the stripe has it, or anywhere.
#[derive(Clone, Debug)]
enum Shuffles {
    InPlane(Vec<Shuffle>),
    All(Shuffle),
}

impl Classes {
    /// `blocks` of each plane hold what the host wrote.
    pub(super) fn new(rows: &Rows, blocks: u32, spec: &FtlSpec) -> Classes {
        let (pages, victim, key) = (spec.geometry.pages_per_block, spec.victim, spec.seed);
        let logical = rows.logical;
        let (data, shuffles) = if spec.fixed {
            let data = (0..rows.planes.get()).map(|plane| rows.count(plane)).max().expect("a plane");
            let shuffle = |plane| Shuffle::new(data, key ^ u64::from(plane));
            (data, Shuffles::InPlane((0..rows.planes.get()).map(shuffle).collect()))
        } else {
            (logical.div_ceil(rows.planes.get()), Shuffles::All(Shuffle::new(logical, key)))
        };
        let mut classes: Vec<Class> = Vec::new();
        let mut page = 0;
        for (block, valid) in (0..).zip(valid_counts(blocks, pages, data, victim)) {
            if valid > 0 && classes.last().is_none_or(|class| class.valid.get() != valid) {
                classes.push(Class { valid: Divisor::new(valid), block, page });
            }
            page += valid;
        }
        assert_eq!(page, data, "each page of a plane has its place");
        Classes { list: classes, pages, blocks, data, per_block: Divisor::new(pages), shuffles }
    }

    #[inline]
    pub(super) fn place(&self, rows: &Rows, lpn: u32) -> u32 {
        let (plane, index) = match &self.shuffles {
            Shuffles::InPlane(shuffles) => {
                let (plane, index) = rows.split(lpn);
                (plane, shuffles[plane as usize].forward(index))
            }
            Shuffles::All(shuffle) => {
                let (index, plane) = rows.planes.split(shuffle.forward(lpn));
                (plane, index)
            }
        };
        let class = self.class_of_page(index);
        let (block, slot) = class.valid.split(index - class.page);
        let block = class.block + block;
        // Slots are spread evenly over a block, from another page on in each.
        let spread = (u64::from(slot) * u64::from(self.pages) / u64::from(class.valid.get())) as u32;
        let page = self.turn(block, spread);
        rows.first(plane) + block * self.pages + page
    }

    #[inline]
    pub(super) fn page(&self, rows: &Rows, at: u32) -> Option<u32> {
        let (plane, within) = rows.within(at);
        let (block, page) = self.per_block.split(within);
        let after = self.list.partition_point(|class| class.block <= block);
        let class = &self.list[after.checked_sub(1)?];
        if block >= self.blocks {
            return None;
        }
        let spread = self.turn_back(block, page);
        let valid = u64::from(class.valid.get());
        let slot = (u64::from(spread) * valid).div_ceil(u64::from(self.pages));
        if slot >= valid || slot * u64::from(self.pages) / valid != u64::from(spread) {
            return None;
        }
        let index = class.page + (block - class.block) * class.valid.get() + slot as u32;
        match &self.shuffles {
            Shuffles::InPlane(shuffles) => rows.join(plane, shuffles[plane as usize].backward(index)),
            Shuffles::All(shuffle) => {
                let page = u64::from(index) * u64::from(rows.planes.get()) + u64::from(plane);
                (page < u64::from(rows.logical)).then(|| shuffle.backward(page as u32))
            }
        }
    }

    /// Valid pages of each block of a plane, from the first.
    pub(super) fn valid(&self) -> impl Iterator<Item = u32> {
        let ends = self.list.iter().skip(1).map(|class| class.block).chain([self.blocks]);
        let empty = self.list.first().map_or(self.blocks, |class| class.block);
        let full = self.list.iter().zip(ends);
        let full = full.flat_map(|(class, end)| (class.block..end).map(|_| class.valid.get()));
        std::iter::repeat_n(0, empty as usize).chain(full)
    }

    /// Blocks of a plane that lack a page of those they have by their class, once for each: the plane has less data than
    /// others.
    pub(super) fn holes(&self, rows: &Rows, plane: u32) -> Vec<u32> {
        let index = |number: u32| match &self.shuffles {
            Shuffles::InPlane(shuffles) => {
                rows.join(plane, number).is_none().then(|| shuffles[plane as usize].forward(number))
            }
            Shuffles::All(_) => {
                let page = u64::from(number) * u64::from(rows.planes.get()) + u64::from(plane);
                (page >= u64::from(rows.logical)).then_some(number)
            }
        };
        let last = self.data.saturating_sub(rows.unit.get())..self.data;
        let block_of_page = |index: u32| {
            let class = self.class_of_page(index);
            class.block + class.valid.quotient(index - class.page)
        };
        last.filter_map(index).map(block_of_page).collect()
    }

    #[inline]
    fn class_of_page(&self, index: u32) -> &Class {
        &self.list[self.list.partition_point(|class| class.page <= index) - 1]
    }

    /// Page of a block in which a slot lies: slots begin elsewhere in each block.
    #[inline]
    fn turn(&self, block: u32, page: u32) -> u32 {
        let turned = page + self.offset(block);
        if turned < self.pages { turned } else { turned - self.pages }
    }

    #[inline]
    fn turn_back(&self, block: u32, page: u32) -> u32 {
        let offset = self.offset(block);
        if page >= offset { page - offset } else { page + self.pages - offset }
    }

    #[inline]
    fn offset(&self, block: u32) -> u32 {
        // The golden ratio scatters best.
        let fraction = u64::from(block.wrapping_mul(0x9e37_79b9));
        ((fraction * u64::from(self.pages)) >> 32) as u32
    }
}

/// Valid pages of each block, the fewest first; `data` in all.
fn valid_counts(blocks: u32, pages: u32, data: u32, victim: Victim) -> Vec<u32> {
    let mean = f64::from(data) / f64::from(blocks);
    let at_least = match victim {
        Victim::Fifo => ages(pages, mean),
        Victim::Random => flows(pages, mean, 1.0),
        Victim::Choices(count) => flows(pages, mean, f64::from(count)),
        Victim::Greedy | Victim::CostBenefit => flows(pages, mean, f64::INFINITY),
    };
    // Share of blocks with at least v pages, v = 1, 2, ..: so many blocks have a v-th page. Some pages are
    // lost or won by rounding, and given to or taken from as many blocks.
    let mut counts = vec![0u32; blocks as usize];
    for share in at_least {
        let with = (share * f64::from(blocks)).round().min(f64::from(blocks)) as usize;
        counts[blocks as usize - with..].iter_mut().for_each(|count| *count += 1);
    }
    let mut sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    while sum != u64::from(data) {
        for count in &mut counts {
            if sum < u64::from(data) && *count < pages {
                *count += 1;
                sum += 1;
            } else if sum > u64::from(data) && *count > 0 {
                *count -= 1;
                sum -= 1;
            }
        }
    }
    counts.sort_unstable();
    counts
}

/// Share of blocks with at least v valid pages, for v = 1, 2, ..; `mean` is the mean of v. See the module.
fn flows(pages: u32, mean: f64, choices: f64) -> Vec<f64> {
    let shares = |rate: f64| {
        let (mut above, mut shares) = (0.0, vec![0.0; pages as usize]);
        for valid in (1..=pages).rev() {
            let share = share_at(rate / f64::from(valid), above, choices);
            above = f64::min(above + share, 1.0);
            shares[valid as usize - 1] = above;
        }
        shares
    };
    bisect(0.0, f64::from(pages), |rate| shares(rate).iter().sum::<f64>() - mean, shares)
}

/// The n of n = f (1 - (above + n)^d).
fn share_at(factor: f64, above: f64, choices: f64) -> f64 {
    if choices.is_infinite() {
        return factor.min(1.0 - above);
    }
    if choices <= 1.0 {
        return factor * (1.0 - above) / (1.0 + factor);
    }
    bisect(0.0, 1.0 - above, |share| share - factor * (1.0 - (above + share).powf(choices)), |share| share)
}

/// The same for blocks of all ages: of a block's pages exp(-rate x) are valid, x its share of the longest age.
fn ages(pages: u32, mean: f64) -> Vec<f64> {
    let share = |valid: u32, rate: f64| {
        let age = (f64::from(pages) / (f64::from(valid) - 0.5)).ln() / rate;
        age.min(1.0)
    };
    let shares = |slowness: f64| (1..=pages).map(|valid| share(valid, 1.0 / slowness)).collect::<Vec<_>>();
    bisect(0.0, 1e6, |slowness| shares(slowness).iter().sum::<f64>() - mean, shares)
}

/// `result` where the rising `error` is zero.
fn bisect<T>(mut low: f64, mut high: f64, error: impl Fn(f64) -> f64, result: impl Fn(f64) -> T) -> T {
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if error(middle) < 0.0 { low = middle } else { high = middle }
    }
    result(f64::midpoint(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_victims_have_what_the_theory_says() {
        // Desnoyers 2012: A = Np / (Np - (X0 - 1)) is 7.596 at 7 % and 256 pages, so that victims have 222.3.
        let shares = flows(256, 256.0 / 1.07, f64::INFINITY);
        let fewest = shares.iter().take_while(|&&share| share > 0.999_999).count() as f64;
        assert!((fewest - 222.3).abs() < 1.0, "{fewest}");
    }

    #[test]
    fn random_victims_leave_a_power_law() {
        // Share of blocks with a valid share of at most u: u^(A - 1), A - 1 = 1 / (alpha - 1).
        let shares = flows(1024, 1024.0 / 1.28, 1.0);
        for (at, expected) in [(512, 0.5), (768, 0.75), (922, 0.9)] {
            let below = 1.0 - shares[at];
            let power = f64::powf(expected, 1.0 / 0.28);
            assert!((below - power).abs() < 0.01, "{at}: {below}, expected {power}");
        }
    }

    #[test]
    fn every_block_gets_what_it_should() {
        for victim in [Victim::Greedy, Victim::Fifo, Victim::Random, Victim::Choices(3)] {
            for (blocks, pages, data) in [(10, 4, 30), (1000, 64, 60_000), (37, 256, 9000), (5, 8, 1)] {
                let counts = valid_counts(blocks, pages, data, victim);
                assert_eq!(counts.iter().sum::<u32>(), data, "{victim:?} {blocks} {pages} {data}");
                assert!(counts.is_sorted() && counts.iter().all(|&count| count <= pages));
            }
        }
    }
}
