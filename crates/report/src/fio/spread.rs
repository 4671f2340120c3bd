//! How throughput was spread over the run: fio's `bw_min` to `iops_samples`.

use iostack_model::{Direction, IntervalFlow, Outcome};

/// Least, most, mean and standard deviation of a rate over the elements of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spread {
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) mean: f64,
    pub(super) deviation: f64,
    pub(super) samples: u64,
}

/// Spread of an amount per second. A last element of less than half a slice would only add noise; it is left out when there are
/// others.
pub(super) fn spread(
    outcome: &Outcome,
    direction: Direction,
    amount: impl Fn(&IntervalFlow, usize) -> f64,
) -> Spread {
    if outcome.flow(direction).latency.count == 0 {
        return Spread::default();
    }
    let long = outcome.series.iter().filter(|slice| slice.length.0 * 2 >= outcome.job.slice.0);
    let rate =
        |slice: &IntervalFlow| amount(slice, direction as usize) / slice.length.as_secs_f64().max(1e-9);
    let rates: Vec<f64> = long.map(rate).collect();
    if rates.is_empty() {
        return Spread::default();
    }
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    Spread {
        min: rates.iter().copied().fold(f64::INFINITY, f64::min) as u64,
        max: rates.iter().copied().fold(0.0, f64::max) as u64,
        mean,
        deviation: if rates.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
        samples: rates.len() as u64,
    }
}
