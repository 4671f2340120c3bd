//! How far may the mean rate be from the truth?
//!
//! Slices of a run are not independent: a garbage collection or a busy neighbour spans several. Treating them as
//! independent makes the interval too narrow, so it rests on fewer pieces than there are slices:
//!
//! ```text
//!   pieces = slices / tau,   tau = 1 + 2 (sum of the autocorrelations)
//! ```
//!
//! Two estimates of tau are made and the larger one is believed. The first takes the series for an AR(1) process and
//! corrects the known bias of its coefficient (Kendall 1954), which matters below a hundred slices. The second is
//! Geyer's initial monotone sequence (1992), which also sees slow drifts under fast noise.

use iostack_model::{Interval, IntervalFlow};

use crate::distribution::{UPPER, student_quantile};

/// Fewer values than this have no interval.
const FEWEST: usize = 3;

/// Below this, a correlation cannot be told from chance, and the values count as independent.
const FEWEST_FOR_CORRELATION: usize = 6;

/// However correlated the slices look, they count as this many pieces at least. In a short series the estimate of the
/// correlation is mostly chance: without this floor one in five runs of ten independent slices would get an interval
/// more than 2.5 times too wide; with it one in twenty does, and slices with memory 0.6 lose 5 % of coverage.
const PIECES_LEAST: f64 = 5.0;

/// An AR(1) coefficient beyond this would leave less than one piece of a thousand slices.
const MEMORY_MAX: f64 = 0.95;

/// A last element shorter than this share of the others is dropped.
const WHOLE: f64 = 0.9;

/// The 95 % interval of the mean, for rates of equal slices in the order of time. Below three values there is none:
/// the ends are the mean. `samples` is the number of independent pieces, never less than 3 where there is an
/// interval. A rate is not negative, and neither are the ends when no value is.
pub fn rate_interval(rates: &[f64]) -> Interval {
    let count = rates.len();
    let mean = if count == 0 { 0.0 } else { rates.iter().sum::<f64>() / count as f64 };
    if count < FEWEST {
        return Interval { samples: count as u32, ..Interval::exact(mean) };
    }
    let deviations: Vec<f64> = rates.iter().map(|rate| rate - mean).collect();
    let variance = covariance(&deviations, 0);
    let tau = correlation_time(&deviations);
    let pieces = count as f64 / tau;
    // The mean follows the correlated values, so their deviations from it look smaller than they are.
    let unbiased = variance * count as f64 / (count as f64 - tau);
    let freedom = (pieces - 1.0).max(2.0);
    let reach = student_quantile(UPPER, freedom) * (unbiased / pieces).sqrt();
    let floor = if rates.iter().all(|&rate| rate >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
    Interval {
        mean,
        low: (mean - reach).max(floor),
        high: mean + reach,
        samples: (pieces.round() as u32).max(FEWEST as u32),
    }
}

/// I/Os per second of a run with its 95 % interval, from the outcome's series. A last element that is clearly shorter
/// than the first is dropped: it covers the end of the run, where the depth runs dry.
pub fn series_interval(series: &[IntervalFlow]) -> Interval {
    rate_interval(&rates(series))
}

/// I/Os per second of each whole element.
pub(crate) fn rates(series: &[IntervalFlow]) -> Vec<f64> {
    whole(series)
        .iter()
        .filter(|element| element.length.0 > 0)
        .map(|element| element.ios.iter().sum::<u64>() as f64 / element.length.as_secs_f64())
        .collect()
}

/// The series without a last element that is clearly shorter than the first: its rate is that of few I/Os.
pub fn whole(series: &[IntervalFlow]) -> &[IntervalFlow] {
    match series {
        [first, .., last] if (last.length.0 as f64) < first.length.0 as f64 * WHOLE => {
            &series[..series.len() - 1]
        }
        _ => series,
    }
}

/// Mean product of deviations `lag` apart; lag 0 is the variance. Divided by the count, which keeps the
/// autocorrelations from adding up to more than they can.
fn covariance(deviations: &[f64], lag: usize) -> f64 {
    let products = deviations.iter().zip(&deviations[lag..]).map(|(a, b)| a * b);
    products.sum::<f64>() / deviations.len() as f64
}

/// Slices that make one independent piece: at least 1, at most a fifth of them all.
fn correlation_time(deviations: &[f64]) -> f64 {
    let count = deviations.len() as f64;
    let variance = covariance(deviations, 0);
    if deviations.len() < FEWEST_FOR_CORRELATION || variance <= 0.0 {
        return 1.0;
    }
    let one_step = covariance(deviations, 1) / variance;
    // Kendall: the expected estimate is memory - (1 + 4 memory) / count.
    let memory = ((one_step + 1.0 / count) / (1.0 - 4.0 / count)).clamp(0.0, MEMORY_MAX);
    let by_memory = (1.0 + memory) / (1.0 - memory);
    by_memory.max(monotone_sum(deviations, variance)).clamp(1.0, count / PIECES_LEAST)
}

/// Geyer's initial monotone sequence: sums of neighbouring autocorrelations are positive and fall, so the sum ends
/// where they no longer do.
fn monotone_sum(deviations: &[f64], variance: f64) -> f64 {
    let noise = 2.0 / (deviations.len() as f64).sqrt();
    let mut sum = -1.0;
    let mut last = f64::INFINITY;
    for lag in (0..deviations.len() / 2 - 1).step_by(2) {
        let pair = (covariance(deviations, lag) + covariance(deviations, lag + 1)) / variance;
        let enough = if lag == 0 { 0.0 } else { noise };
        if pair <= enough {
            break;
        }
        last = last.min(pair);
        sum += 2.0 * last;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Samples;
    use iostack_model::Nanos;

    /// Percent of 2000 seeded series whose interval holds the true mean.
    fn coverage(count: usize, memory: f64) -> f64 {
        let holds = |seed: &u64| {
            let told = rate_interval(&Samples::new(*seed).series(count, 50_000.0, 0.05, memory));
            told.samples >= 3 && (told.low..=told.high).contains(&50_000.0)
        };
        (1..=2_000).filter(holds).count() as f64 / 20.0
    }

    #[test]
    fn independent_slices_are_covered_95_times_of_100() {
        for count in [10, 60, 200] {
            let percent = coverage(count, 0.0);
            assert!((93.5..=98.0).contains(&percent), "{count} slices, seeds 1..=2000: {percent} %");
        }
    }

    #[test]
    fn correlated_slices_are_covered_too() {
        for (count, memory, least) in [(60, 0.6, 93.0), (200, 0.6, 94.0), (60, 0.9, 91.0), (30, 0.6, 90.5)] {
            let percent = coverage(count, memory);
            let range = least..=97.5;
            assert!(range.contains(&percent), "{count} slices, memory {memory}, seeds 1..=2000: {percent} %");
        }
    }

    #[test]
    fn a_naive_interval_would_not_cover_correlated_slices() {
        // The check of the check: independent pieces assumed, as batch-free tools do.
        let series = Samples::new(11).series(200, 50_000.0, 0.05, 0.6);
        let told = rate_interval(&series);
        assert!(told.samples < 100, "{told:?}");
        let deviations: Vec<f64> = series.iter().map(|rate| rate - told.mean).collect();
        let naive = 1.972 * (covariance(&deviations, 0) / 199.0).sqrt();
        assert!((told.high - told.low) / 2.0 > 1.5 * naive);
    }

    #[test]
    fn below_three_values_there_is_no_interval() {
        assert_eq!(rate_interval(&[]), Interval::exact(0.0));
        assert_eq!(rate_interval(&[7.0]), Interval { samples: 1, ..Interval::exact(7.0) });
        assert_eq!(rate_interval(&[7.0, 9.0]), Interval { samples: 2, ..Interval::exact(8.0) });
    }

    #[test]
    fn a_constant_rate_is_known_exactly() {
        let told = rate_interval(&[1000.0; 20]);
        assert_eq!((told.mean, told.low, told.high, told.samples), (1000.0, 1000.0, 1000.0, 20));
    }

    #[test]
    fn a_drift_leaves_few_pieces_and_no_negative_rate() {
        let drift: Vec<f64> = (0..60).map(|i| 100.0 * f64::from(i)).collect();
        let told = rate_interval(&drift);
        assert!(told.samples == 5 && told.relative() > 0.5 && told.low >= 0.0, "{told:?}");
    }

    fn element(index: u64, length: Nanos, ios: u64) -> IntervalFlow {
        IntervalFlow { start: Nanos::secs(index), length, ios: [ios, 0, 0], ..IntervalFlow::default() }
    }

    /// A wave of 40 elements under an alternation: five pairs of autocorrelations count, as a second program found.
    #[test]
    fn all_pairs_of_a_slow_wave_count() {
        let wave = |i: u32| {
            let fast = if i % 2 == 1 { 3.0 } else { -3.0 };
            10.0 * (std::f64::consts::TAU * f64::from(i) / 40.0).sin() + fast
        };
        let deviations: Vec<f64> = (0..80).map(wave).collect();
        let sum = monotone_sum(&deviations, covariance(&deviations, 0));
        assert!((sum - 10.857_462_881).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn a_last_element_of_nine_tenths_is_whole() {
        let elements =
            |last| [element(0, Nanos(1000), 1), element(1, Nanos(1000), 1), element(2, Nanos(last), 1)];
        assert_eq!((whole(&elements(899)).len(), whole(&elements(900)).len()), (2, 3));
    }

    #[test]
    fn a_short_last_element_is_dropped() {
        let mut series: Vec<_> = (0..10).map(|i| element(i, Nanos::secs(1), 1000 + i % 2)).collect();
        let told = series_interval(&series);
        series.push(element(10, Nanos::millis(300), 20));
        assert_eq!(series_interval(&series), told);
        series.push(element(11, Nanos::secs(1), 20));
        assert!(series_interval(&series).low < told.low, "only the last one may be dropped");
    }

    #[test]
    fn a_run_of_one_short_element_still_has_its_rate() {
        let told = series_interval(&[element(0, Nanos::millis(500), 50)]);
        assert!((told.mean - 100.0).abs() < 1e-9);
        assert_eq!(series_interval(&[element(0, Nanos(0), 0)]), Interval::exact(0.0));
    }
}
