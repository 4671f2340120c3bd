//! The latency histogram's geometry, and its sparse form in files.
//!
//! The geometry is fio's, so that our JSON+ needs no conversion: 0..127 ns are exact, then each octave has 64 equal
//! buckets. The middle of a bucket is at most 1/128 away from any value in it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::possible::{Possible, guarded, not_an_amount};

/// Buckets in each octave above 127 ns.
pub const BINS_PER_OCTAVE: usize = 64;

const EXACT_BITS: u32 = 7;
/// fio's `FIO_IO_U_PLAT_GROUP_NR` is 29, whose last bucket collects everything beyond 2^34 ns (17 s). These reach the
/// largest value there is, and are fio's below.
const GROUPS: usize = u64::BITS as usize - EXACT_BITS as usize + 2;

/// Buckets in all.
pub const BIN_COUNT: usize = GROUPS * BINS_PER_OCTAVE;

/// The bucket that counts `ns`.
#[inline]
pub const fn bin_index(ns: u64) -> usize {
    // Below 128 the value is its own bucket. `| 1` spares ilog2 the case 0 without moving any other value
    // to another octave.
    let high_bit = (ns | 1).ilog2();
    if high_bit < EXACT_BITS {
        return ns as usize;
    }
    let shift = high_bit - (EXACT_BITS - 1);
    ((shift as usize) << (EXACT_BITS - 1)) + (ns >> shift) as usize
}

/// First value (inclusive) and last value (inclusive) of a bucket, in ns.
pub const fn bin_range(index: usize) -> (u64, u64) {
    if index < 2 * BINS_PER_OCTAVE {
        return (index as u64, index as u64);
    }
    let shift = (index / BINS_PER_OCTAVE - 1) as u32;
    let first = ((index % BINS_PER_OCTAVE + BINS_PER_OCTAVE) as u64) << shift;
    (first, first + ((1 << shift) - 1))
}

/// The value that stands for a bucket, in ns: the key of fio's JSON+ `bins`.
pub const fn bin_middle(index: usize) -> u64 {
    if index < 2 * BINS_PER_OCTAVE {
        return index as u64;
    }
    let shift = (index / BINS_PER_OCTAVE - 1) as u32;
    bin_range(index).0 + (1 << (shift - 1))
}

/// `(bucket, count)` in rising order of bucket.
pub(crate) type Counts = Vec<(u32, u64)>;

/// The sum of both.
pub(crate) fn together(a: &[(u32, u64)], b: &[(u32, u64)]) -> Counts {
    let mut both = BTreeMap::new();
    for &(index, count) in a.iter().chain(b) {
        *both.entry(index).or_insert(0) += count;
    }
    both.into_iter().collect()
}

/// Error in the order of counts of `field`, or in the last of them, where there are `most` of what `each` is.
pub(crate) fn disordered(field: &str, each: &str, counts: &[(u32, u64)], most: usize) -> Option<String> {
    if let Some(pair) = counts.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        return Some(format!("{field}: {each} {} stands behind {each} {}", pair[1].0, pair[0].0));
    }
    let beyond = counts.last().filter(|(index, _)| *index as usize >= most);
    beyond.map(|(index, _)| format!("{field}: there is no {each} {index}, the last is {}", most - 1))
}

/// A latency histogram as it is stored: only the buckets that counted something, with exact sum and extremes.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Bins {
    /// `(bucket, count)` in rising order of bucket; see [`bin_range`].
    pub counts: Vec<(u32, u64)>,
    /// Samples in all.
    pub count: u64,
    /// Exact sum of all samples, ns.
    pub sum_ns: u64,
    /// Exact sum of squares, ns²; as a float because it passes 2^64 in seconds.
    pub sum_squares_ns2: f64,
    /// Exact smallest sample, ns; 0 when there is none.
    pub min_ns: u64,
    /// Exact largest sample, ns; 0 when there is none.
    pub max_ns: u64,
}

guarded!(Bins);

impl Possible for Bins {
    fn impossible(&self) -> Option<String> {
        let Bins { counts, count, sum_ns, sum_squares_ns2, min_ns, max_ns } = self;
        let disordered = disordered("counts", "bucket", counts, BIN_COUNT);
        if disordered.is_some() {
            return disordered;
        }
        let sum: u128 = counts.iter().map(|&(_, count)| u128::from(count)).sum();
        if sum != u128::from(*count) {
            return Some(format!("count {count} is not the sum of counts, {sum}"));
        }
        if min_ns > max_ns {
            return Some(format!("min_ns {min_ns} is above max_ns {max_ns}"));
        }
        // Only where buckets begin: the last one of an older geometry collects all that is above it.
        let begins = |(bucket, _): &(u32, u64)| bin_range(*bucket as usize).0;
        if let Some(begins) = counts.first().map(begins).filter(|begins| min_ns < begins) {
            return Some(format!("min_ns {min_ns} is not of the first bucket, which begins at {begins}"));
        }
        if let Some(begins) = counts.last().map(begins).filter(|begins| max_ns < begins) {
            return Some(format!("max_ns {max_ns} is not of the last bucket, which begins at {begins}"));
        }
        let ends = [min_ns, max_ns].map(|end| u128::from(*end) * u128::from(*count));
        if !(ends[0]..=ends[1]).contains(&u128::from(*sum_ns)) {
            return Some(format!("sum_ns {sum_ns} is no sum of {count} from {min_ns} to {max_ns}"));
        }
        not_an_amount(&[("sum_squares_ns2", *sum_squares_ns2)])
    }
}

impl Bins {
    /// Arithmetic mean in ns; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// Standard deviation (n - 1) in ns; 0 below two samples.
    pub fn stddev_ns(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let n = self.count as f64;
        let variance = (self.sum_squares_ns2 - self.sum_ns as f64 * self.mean_ns()) / (n - 1.0);
        variance.max(0.0).sqrt()
    }

    /// The latency that `fraction` (0..=1) of the samples do not exceed, by the nearest-rank rule, in ns.
    /// Never outside the exact minimum and maximum. `None` when empty.
    pub fn quantile_ns(&self, fraction: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((fraction * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        for &(index, count) in &self.counts {
            seen += count;
            if seen >= rank {
                return Some(bin_middle(index as usize).clamp(self.min_ns, self.max_ns));
            }
        }
        Some(self.max_ns)
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Bins) {
        if other.count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_squares_ns2 += other.sum_squares_ns2;
        self.counts = together(&self.counts, &other.counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_bucket_is_within_one_128th() {
        for ns in (0..4_000)
            .chain((12..64).flat_map(|bit| (0..97).map(move |i| (1u64 << bit) + i * ((1 << bit) / 97))))
        {
            let index = bin_index(ns);
            let (first, last) = bin_range(index);
            assert!((first..=last).contains(&ns), "{ns} in bucket {index} {first}..={last}");
            assert!(bin_middle(index).abs_diff(ns) as f64 <= ns as f64 / 128.0, "{ns}");
        }
    }

    #[test]
    fn buckets_follow_each_other_without_gap() {
        for index in 1..BIN_COUNT {
            assert_eq!(bin_range(index).0, bin_range(index - 1).1 + 1);
        }
        assert_eq!(bin_index(u64::MAX), BIN_COUNT - 1);
        assert_eq!(bin_range(BIN_COUNT - 1).1, u64::MAX);
    }

    #[test]
    fn quantiles_of_known_samples() {
        let bins = Bins {
            counts: vec![(10, 98), (20, 2)],
            count: 100,
            sum_ns: 1020,
            sum_squares_ns2: 10_600.0,
            min_ns: 10,
            max_ns: 20,
        };
        assert_eq!(bins.quantile_ns(0.5), Some(10));
        assert_eq!(bins.quantile_ns(0.98), Some(10));
        assert_eq!(bins.quantile_ns(0.99), Some(20));
        assert_eq!(Bins::default().quantile_ns(0.5), None);
    }

    #[test]
    fn merging_keeps_every_sample() {
        let mut a =
            Bins { counts: vec![(1, 2)], count: 2, sum_ns: 2, sum_squares_ns2: 2.0, min_ns: 1, max_ns: 1 };
        let b = Bins {
            counts: vec![(1, 1), (3, 1)],
            count: 2,
            sum_ns: 4,
            sum_squares_ns2: 10.0,
            min_ns: 1,
            max_ns: 3,
        };
        a.merge(&b);
        assert_eq!(a.counts, [(1, 3), (3, 1)]);
        assert_eq!((a.count, a.sum_ns, a.min_ns, a.max_ns), (4, 6, 1, 3));
    }
}
