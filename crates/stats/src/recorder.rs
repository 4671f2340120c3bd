//! How is each I/O counted without disturbing it?
//!
//! A load generator records every I/O, so this is code that each I/O pays for: one conversion to a float gives the
//! bucket (exponent and the six highest bits of the mantissa, which is the geometry of [`iostack_model::bin_index`])
//! and the square. What can be had later is not kept here: the count is the sum over the buckets. One record is 16
//! instructions on x86-64; back to back it takes 2.6 ns (Xeon 6-85, 2.5 GHz), most of which is waiting for the sum of
//! squares of the record before. See `benches/record.rs`.
//!
//! Clearing, absorbing and quantiles walk only the buckets between the exact minimum and maximum, so that a generator
//! can keep one recorder for the current interval and absorb it into the total when the interval ends.

use std::fmt;

use iostack_model::{BIN_COUNT, BINS_PER_OCTAVE, Bins, bin_middle};

/// A latency histogram that is being filled: fio's geometry, error at most 1/128, with exact sum and extremes.
#[derive(Clone)]
pub struct Recorder {
    sum_ns: u64,
    sum_squares_ns2: f64,
    /// `u64::MAX` while empty, so that the first sample needs no special case.
    min_ns: u64,
    max_ns: u64,
    counts: [u64; BIN_COUNT],
}

const BITS_PER_OCTAVE: u32 = BINS_PER_OCTAVE.ilog2();
const _: () = assert!(1 << BITS_PER_OCTAVE == BINS_PER_OCTAVE);

/// Values below this are their own buckets; no octave is cut.
const EXACT: usize = BINS_PER_OCTAVE;

/// Bits of a double that are dropped so that only exponent and the highest bits of the mantissa stay.
const MANTISSA_CUT: u32 = f64::MANTISSA_DIGITS - 1 - BITS_PER_OCTAVE;

/// The cut bits of the double 64.0, which stand for bucket 64.
const BITS_FIRST: u64 = (EXACT as f64).to_bits() >> MANTISSA_CUT;

impl Recorder {
    /// An empty one.
    pub const fn new() -> Self {
        Recorder { sum_ns: 0, sum_squares_ns2: 0.0, min_ns: u64::MAX, max_ns: 0, counts: [0; BIN_COUNT] }
    }

    /// Counts one sample.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        match self.counts[EXACT..].get_mut(above_exact(ns)) {
            Some(count) => *count += 1,
            None => self.counts[bucket_outside(ns)] += 1,
        }
        self.sum_ns = self.sum_ns.wrapping_add(ns);
        self.sum_squares_ns2 += float(ns) * float(ns);
        // Branches, not min and max: they are taken a few times per interval, and otherwise nothing is stored.
        if ns < self.min_ns {
            self.lower(ns);
        }
        if ns > self.max_ns {
            self.raise(ns);
        }
    }

    #[cold]
    #[inline(never)]
    fn lower(&mut self, ns: u64) {
        self.min_ns = ns;
    }

    #[cold]
    #[inline(never)]
    fn raise(&mut self, ns: u64) {
        self.max_ns = ns;
    }

    /// Forgets all samples.
    pub fn clear(&mut self) {
        if let Some((first, last)) = self.used() {
            self.counts[first..=last].fill(0);
        }
        self.sum_ns = 0;
        self.sum_squares_ns2 = 0.0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
    }

    /// Adds all samples of `other`.
    pub fn absorb(&mut self, other: &Recorder) {
        let Some((first, last)) = other.used() else { return };
        for (count, more) in self.counts[first..=last].iter_mut().zip(&other.counts[first..=last]) {
            *count += more;
        }
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
        self.sum_squares_ns2 += other.sum_squares_ns2;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Samples so far. Sums the buckets in use (some hundred additions): ask once per interval, not once per I/O.
    pub fn count(&self) -> u64 {
        self.used_counts().iter().sum()
    }

    /// True before the first sample; costs nothing.
    pub fn is_empty(&self) -> bool {
        self.min_ns > self.max_ns
    }

    /// Exact sum of the samples, ns.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Exact smallest sample, ns.
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min_ns)
    }

    /// Exact largest sample, ns.
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max_ns)
    }

    /// The latency that `fraction` (0..=1) of the samples do not exceed: the same answer as
    /// [`Bins::quantile_ns`], nearest rank, within 1/128. `None` when empty.
    pub fn quantile_ns(&self, fraction: f64) -> Option<u64> {
        let (first, _) = self.used()?;
        let count = self.count();
        let rank = ((fraction * count as f64).ceil() as u64).clamp(1, count);
        let mut seen = 0;
        let place = self.used_counts().iter().position(|&here| {
            seen += here;
            seen >= rank
        });
        let index = first + place.expect("the rank is at most the sum of the buckets");
        Some(bin_middle(index).clamp(self.min_ns, self.max_ns))
    }

    /// The histogram as it is stored.
    pub fn bins(&self) -> Bins {
        let Some((first, _)) = self.used() else { return Bins::default() };
        let indexed = (first as u32..).zip(self.used_counts().iter().copied());
        Bins {
            counts: indexed.filter(|&(_, count)| count > 0).collect(),
            count: self.count(),
            sum_ns: self.sum_ns,
            sum_squares_ns2: self.sum_squares_ns2,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
        }
    }

    /// First and last bucket that counted something.
    fn used(&self) -> Option<(usize, usize)> {
        (!self.is_empty()).then(|| (bucket(self.min_ns), bucket(self.max_ns)))
    }

    fn used_counts(&self) -> &[u64] {
        self.used().map_or(&[], |(first, last)| &self.counts[first..=last])
    }
}

/// [`iostack_model::bin_index`] without its shifts.
fn bucket(ns: u64) -> usize {
    let index = above_exact(ns).wrapping_add(EXACT);
    if (EXACT..BIN_COUNT).contains(&index) { index } else { bucket_outside(ns) }
}

/// The bucket less [`EXACT`]: exponent and highest bits of the mantissa. Beyond the table when `ns` is, at either end.
#[inline]
fn above_exact(ns: u64) -> usize {
    (float(ns).to_bits() >> MANTISSA_CUT).wrapping_sub(BITS_FIRST) as usize
}

/// The buckets that no latency of a real device falls into: below 64 ns, and from 292 years on.
#[cold]
fn bucket_outside(ns: u64) -> usize {
    if ns < EXACT as u64 { ns as usize } else { BIN_COUNT - 1 }
}

/// Signed on the way, because x86 converts signed integers in one instruction. What turns negative is 292 years, and
/// the sign bit sorts it into the last bucket, whatever octave it is of.
#[inline]
fn float(ns: u64) -> f64 {
    ns.cast_signed() as f64
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder::new()
    }
}

/// Count and extremes; nobody reads 3776 buckets.
impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Recorder");
        shown.field("count", &self.count()).field("sum_ns", &self.sum_ns);
        shown.field("min_ns", &self.min_ns()).field("max_ns", &self.max_ns()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Samples;
    use iostack_model::bin_index;

    fn filled(samples: &[u64]) -> Recorder {
        let mut recorder = Recorder::new();
        for &ns in samples {
            recorder.record(ns);
        }
        recorder
    }

    /// Latencies over seven decades, from cache hits to timeouts.
    fn wide(seed: u64, count: usize) -> Vec<u64> {
        let mut samples = Samples::new(seed);
        (0..count).map(|_| (10f64.powf(samples.uniform() * 9.0 + 1.0)) as u64).collect()
    }

    #[test]
    fn buckets_are_the_models_buckets() {
        let edges = (0..64).flat_map(|bit| {
            let step = 1u64 << bit;
            (0..130).map(move |i| step.saturating_add((step >> 6).max(1).saturating_mul(i)))
        });
        let around = edges.flat_map(|ns| [ns.saturating_sub(1), ns, ns.saturating_add(1)]);
        for ns in (0..100_000).chain(around).chain([u64::MAX]) {
            match ns {
                // A float is exact.
                0..0x20_0000_0000_0000 => assert_eq!(bucket(ns), bin_index(ns), "{ns}"),
                // It rounds: at most to the first value of the next bucket.
                0x20_0000_0000_0000..0x8000_0000_0000_0000 => {
                    assert!(bucket(ns).wrapping_sub(bin_index(ns)) <= 1, "{ns}");
                }
                // Negative.
                _ => assert_eq!(bucket(ns), BIN_COUNT - 1, "{ns}"),
            }
        }
    }

    #[test]
    fn a_percentile_beyond_17_seconds_is_as_close_as_any_other() {
        for seconds in [17, 18, 4_096, 86_400, 31_557_600, 9_000_000_000_u64] {
            let ns = seconds * 1_000_000_000;
            let recorder = filled(&[ns / 2, ns, ns, ns + ns / 3]);
            let told = recorder.quantile_ns(0.5).expect("four samples");
            assert!(told.abs_diff(ns) as f64 <= ns as f64 / 128.0, "{told} for {ns}");
            assert_eq!(recorder.bins().quantile_ns(0.5), Some(told));
        }
    }

    #[test]
    fn quantiles_are_within_one_128th_of_the_sorted_samples() {
        for seed in 1..=20 {
            let mut samples = wide(seed, 5_000);
            let recorder = filled(&samples);
            samples.sort_unstable();
            for fraction in [0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0] {
                let rank = ((fraction * 5_000.0_f64).ceil() as usize).clamp(1, 5_000);
                let exact = samples[rank - 1];
                let told = recorder.quantile_ns(fraction).unwrap();
                let near = told.abs_diff(exact) as f64 <= exact as f64 / 128.0;
                assert!(near, "seed {seed}: {told} for {exact}");
                assert_eq!(recorder.bins().quantile_ns(fraction), Some(told), "seed {seed}");
            }
        }
    }

    #[test]
    fn sums_and_extremes_are_exact() {
        let samples = wide(7, 10_000);
        let bins = filled(&samples).bins();
        assert_eq!(bins.count, 10_000);
        assert_eq!(bins.counts.iter().map(|&(_, count)| count).sum::<u64>(), 10_000);
        assert_eq!(bins.sum_ns, samples.iter().sum::<u64>());
        assert_eq!(bins.min_ns, *samples.iter().min().unwrap());
        assert_eq!(bins.max_ns, *samples.iter().max().unwrap());
        let squares: u128 = samples.iter().map(|&ns| u128::from(ns).pow(2)).sum();
        assert!((bins.sum_squares_ns2 / squares as f64 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn absorbing_the_intervals_gives_the_total() {
        let samples = wide(3, 6_000);
        let (mut total, mut interval) = (Recorder::new(), Recorder::new());
        for part in samples.chunks(700) {
            for &ns in part {
                interval.record(ns);
            }
            total.absorb(&interval);
            interval.clear();
            assert_eq!(interval.bins(), Bins::default());
        }
        let (told, expected) = (total.bins(), filled(&samples).bins());
        assert_eq!(Bins { sum_squares_ns2: 0.0, ..told }, Bins { sum_squares_ns2: 0.0, ..expected });
    }

    #[test]
    fn absorbing_adds_every_sum() {
        let mut all = filled(&[3, 4]);
        all.absorb(&filled(&[12, 2]));
        let bins = all.bins();
        assert_eq!((bins.count, bins.sum_ns, bins.min_ns, bins.max_ns), (4, 21, 2, 12));
        assert!((bins.sum_squares_ns2 - (9.0 + 16.0 + 144.0 + 4.0)).abs() < 1e-9, "{}", bins.sum_squares_ns2);
        all.absorb(&Recorder::new());
        assert_eq!(all.bins(), bins, "nothing adds nothing");
    }

    #[test]
    fn an_empty_recorder_says_nothing() {
        let mut recorder = Recorder::new();
        recorder.absorb(&Recorder::new());
        assert!(recorder.is_empty());
        assert_eq!((recorder.count(), recorder.quantile_ns(0.5)), (0, None));
        assert_eq!(recorder.bins(), Bins::default());
        assert_eq!((recorder.min_ns(), recorder.max_ns()), (None, None));
    }

    #[test]
    fn zero_and_the_largest_value_are_counted() {
        let recorder = filled(&[0, u64::MAX]);
        assert_eq!(recorder.count(), 2);
        assert_eq!(recorder.bins().counts, [(0, 1), (BIN_COUNT as u32 - 1, 1)]);
        assert_eq!((recorder.min_ns(), recorder.max_ns()), (Some(0), Some(u64::MAX)));
    }
}
