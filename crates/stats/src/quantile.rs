//! How well is a percentile known?
//!
//! Whatever the distribution of latencies, the number of samples below a quantile is binomial. So two order
//! statistics enclose it with known probability (David and Nagaraja, Order Statistics, 3rd edition, 7.1), and a
//! percentile with hardly a sample beyond it is known from chance only. Samples count as independent here;
//! [`crate::compare`] widens the interval where the series of intervals shows that they are not.

use iostack_model::{Bins, Caveat, Interval, Nanos, bin_range};

use crate::distribution::{UPPER, binomial_below, student_quantile};

/// Samples that must lie beyond a percentile before it is printed without a caveat.
pub const SAMPLES_BEYOND: f64 = 10.0;

/// The latency that `fraction` of the I/Os do not exceed, ns, with its 95 % interval. The ends are edges of buckets:
/// the interval also covers the resolution of the histogram. `None` when the samples are too few for both ends to
/// exist (below 6 for the median).
pub fn quantile_interval(bins: &Bins, fraction: f64) -> Option<Interval> {
    let mean = bins.quantile_ns(fraction)? as f64;
    let (rank_low, rank_high) = enclosing_ranks(bins.count, fraction)?;
    let (low, _) = bucket_of_rank(bins, rank_low)?;
    let (_, high) = bucket_of_rank(bins, rank_high)?;
    let samples = u32::try_from(bins.count).unwrap_or(u32::MAX);
    Some(Interval { mean, low: low.max(bins.min_ns) as f64, high: high.min(bins.max_ns) as f64, samples })
}

/// Ranks (from 1) of the two samples that enclose the quantile in at least 95 % of all runs.
fn enclosing_ranks(count: u64, fraction: f64) -> Option<(u64, u64)> {
    let expected = count as f64 * fraction;
    let deviation = (expected * (1.0 - fraction)).sqrt();
    if deviation > 1_000.0 {
        // The normal distribution is exact enough: 1e6 samples of the median.
        let reach = student_quantile(UPPER, 1e6) * deviation;
        return Some(((expected - reach).floor() as u64, (expected + reach).ceil() as u64 + 1));
    }
    // Largest rank with P(at most rank - 1 samples below) <= 2.5 %, smallest with P >= 97.5 %.
    let low = first_rank(count, |rank| binomial_below(rank - 1, count, fraction) > 1.0 - UPPER) - 1;
    let high = first_rank(count, |rank| binomial_below(rank - 1, count, fraction) >= UPPER);
    (low >= 1 && high <= count).then_some((low, high))
}

/// Smallest rank in 1..=`count` that `holds`, `count` + 1 when none does; once it holds it must go on holding.
fn first_rank(count: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (1, count + 1);
    while low < high {
        let middle = u64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// First and last value of the bucket that holds the sample of this rank.
fn bucket_of_rank(bins: &Bins, rank: u64) -> Option<(u64, u64)> {
    let mut seen = 0;
    let place = bins.counts.iter().find(|&&(_, count)| {
        seen += count;
        seen >= rank
    });
    place.map(|&(index, _)| bin_range(index as usize))
}

/// Samples it takes so that at least ten lie beyond the quantile, on its rarer side. The extremes themselves
/// (0 and 1) are facts about the samples and take one.
pub fn samples_needed(fraction: f64) -> u64 {
    let rarer = fraction.min(1.0 - fraction);
    if rarer <= 0.0 {
        return 1;
    }
    // 1 - 0.999 is not 0.001; a billionth of slack keeps 10 000 from becoming 10 001.
    (SAMPLES_BEYOND / rarer * (1.0 - 1e-9)).ceil() as u64
}

/// The percentiles (in percent) that the samples support, and a caveat for each that they do not.
pub fn supported_percentiles(bins: &Bins, wanted: &[f64]) -> (Vec<(f64, Nanos)>, Vec<Caveat>) {
    let mut supported = Vec::new();
    let mut caveats = Vec::new();
    for &percentile in wanted {
        let needed = samples_needed(percentile / 100.0);
        match bins.quantile_ns(percentile / 100.0) {
            Some(ns) if bins.count >= needed => supported.push((percentile, Nanos(ns))),
            _ => caveats.push(Caveat::FewSamples { percentile, samples: bins.count, needed }),
        }
    }
    (supported, caveats)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorder;
    use crate::sample::Samples;

    /// Log-normal latencies around 80 us, and the true value of a quantile given as a normal deviate.
    fn latencies(seed: u64, count: u64) -> Bins {
        let mut samples = Samples::new(seed);
        let mut recorder = Recorder::new();
        (0..count).for_each(|_| recorder.record(latency(samples.normal())));
        recorder.bins()
    }

    fn latency(deviate: f64) -> u64 {
        (80_000.0 * (0.9 * deviate).exp()) as u64
    }

    /// Percent of seeded repetitions whose interval holds the true quantile.
    fn coverage(fraction: f64, deviate: f64, count: u64) -> f64 {
        let truth = latency(deviate) as f64;
        let holds = |seed: &u64| {
            let told = quantile_interval(&latencies(*seed, count), fraction).unwrap();
            assert!(told.low <= told.mean && told.mean <= told.high, "seed {seed}: {told:?}");
            (told.low..=told.high).contains(&truth)
        };
        (1..=2_000).filter(holds).count() as f64 / 20.0
    }

    #[test]
    fn the_interval_holds_the_true_quantile_95_times_of_100() {
        // Deviates from the table of the normal distribution; seeds are 1..=2000.
        for (fraction, deviate, count) in
            [(0.5, 0.0, 1_000), (0.25, -0.674_490, 400), (0.99, 2.326_348, 6_000), (0.999, 3.090_232, 20_000)]
        {
            let percent = coverage(fraction, deviate, count);
            assert!((93.0..=97.8).contains(&percent), "{fraction}: {percent} %");
        }
    }

    #[test]
    fn too_few_samples_have_no_interval() {
        assert_eq!(quantile_interval(&Bins::default(), 0.5), None);
        assert_eq!(quantile_interval(&latencies(1, 5), 0.5), None);
        assert!(quantile_interval(&latencies(1, 6), 0.5).is_some());
        assert_eq!(quantile_interval(&latencies(1, 3_000), 0.999), None);
    }

    #[test]
    fn the_ranks_around_the_median_are_those_of_the_tables() {
        // Conover, Practical Nonparametric Statistics, 3rd edition, 3.2, from the binomial: at least 95 % between them.
        let small = [(6, 1, 6), (10, 2, 9), (15, 4, 12), (20, 6, 15)];
        let large = [(25, 8, 18), (30, 10, 21), (50, 18, 33), (100, 40, 61)];
        for (count, low, high) in small.into_iter().chain(large) {
            assert_eq!(enclosing_ranks(count, 0.5), Some((low, high)), "{count}");
        }
    }

    #[test]
    fn the_ranks_around_any_quantile_leave_out_at_most_a_fortieth_on_each_side_and_no_less_than_they_can() {
        for (count, fraction) in [(40_u64, 0.75), (200, 0.9), (150, 0.97), (73, 0.31)] {
            let (low, high) = enclosing_ranks(count, fraction).expect("enough");
            // Chances that at most so many lie below, term by term.
            let mut chance = (1.0 - fraction).powi(count as i32);
            let mut below = vec![chance];
            for at in 0..count {
                chance *= (count - at) as f64 / (at + 1) as f64 * fraction / (1.0 - fraction);
                below.push(below[at as usize] + chance);
            }
            let at_most = |rank: u64| below[rank as usize - 1];
            assert!(at_most(low) <= 0.025 && at_most(low + 1) > 0.025, "{count} {fraction}: {low}");
            assert!(at_most(high) >= 0.975 && at_most(high - 1) < 0.975, "{count} {fraction}: {high}");
        }
    }

    #[test]
    fn beyond_the_exact_rule_the_ranks_are_those_of_the_normal_distribution() {
        // A deviation of 2,000 samples around 8,000,000: 1.959964 of them on each side.
        assert_eq!(enclosing_ranks(16_000_000, 0.5), Some((7_996_080, 8_003_921)));
    }

    #[test]
    fn a_rank_lies_in_the_bucket_that_reaches_it() {
        let mut recorder = Recorder::new();
        for ns in [10, 10, 10, 20, 20] {
            recorder.record(ns);
        }
        let bins = recorder.bins();
        let first = |rank| bucket_of_rank(&bins, rank).map(|(first, _)| first);
        assert_eq!([1, 3, 4, 5, 6].map(first), [Some(10), Some(10), Some(20), Some(20), None]);
    }

    #[test]
    fn the_ends_of_an_interval_are_the_enclosing_samples() {
        let mut recorder = Recorder::new();
        (1..=10).for_each(|ns| recorder.record(ns * 6));
        let told = quantile_interval(&recorder.bins(), 0.5).expect("ten are enough");
        // Ranks 2 and 9 of exact buckets.
        assert_eq!((told.low, told.mean, told.high, told.samples), (12.0, 30.0, 54.0, 10));
    }

    #[test]
    fn the_large_run_agrees_with_the_exact_rule() {
        // 3.9e6 is ruled by the exact sum, 4.1e6 by the normal distribution.
        let (low, high) = enclosing_ranks(3_900_000, 0.5).unwrap();
        let (low_large, high_large) = enclosing_ranks(4_100_000, 0.5).unwrap();
        let reach = |rank: u64, count: f64| (rank as f64 - count / 2.0) / count.sqrt();
        assert!((reach(low, 3.9e6) - reach(low_large, 4.1e6)).abs() < 2e-3);
        assert!((reach(high, 3.9e6) - reach(high_large, 4.1e6)).abs() < 2e-3);
    }

    #[test]
    fn ten_samples_lie_beyond_a_supported_percentile() {
        let cases = [(0.5, 20), (0.9, 100), (0.99, 1_000), (0.999, 10_000), (0.9999, 100_000), (0.01, 1_000)];
        for (fraction, needed) in cases {
            assert_eq!(samples_needed(fraction), needed, "{fraction}");
        }
        assert_eq!((samples_needed(0.0), samples_needed(1.0)), (1, 1));
    }

    #[test]
    fn unsupported_percentiles_become_caveats() {
        let (supported, caveats) = supported_percentiles(&latencies(5, 1_000), &[50.0, 99.0, 99.9, 100.0]);
        assert_eq!(supported.iter().map(|&(p, _)| p).collect::<Vec<_>>(), [50.0, 99.0, 100.0]);
        assert_eq!(caveats, [Caveat::FewSamples { percentile: 99.9, samples: 1_000, needed: 10_000 }]);
        let (none, caveats) = supported_percentiles(&Bins::default(), &[50.0]);
        assert!(none.is_empty() && caveats.len() == 1);
    }
}
