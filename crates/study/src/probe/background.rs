//! Does something come back every so often and take the rate away? Pure.

use iostack_model::answers::{ProbeFinding, ProbePoint, ProbeUnit};
use iostack_model::{Direction, Interval, IntervalFlow, Outcome};

use super::finding::{ProbeSubject, curve, median};

pub(crate) const DIPS: ProbeSubject = ProbeSubject {
    key: "background",
    name: "period of dips",
    unit: ProbeUnit::Seconds,
    direction: Direction::Read,
    how: "slices of a steady load of reads that are clearly slower, and the time between them",
};

/// A slice below this share of the median is a dip.
const DIP: f64 = 0.85;
/// Dips of a period.
const LEAST: usize = 4;
/// Distances between dips that are one period differ by no more, as a share of it.
const EVEN: f64 = 0.25;
/// Share of the distances that are one period.
const MOST_GAPS: f64 = 0.75;

/// The period of the dips of a run.
pub(crate) fn of_run(outcome: Option<&Outcome>, missing: &str) -> ProbeFinding {
    let Some(outcome) = outcome else { return DIPS.untold(missing) };
    let rates = rates(outcome);
    let points = rates.iter().map(|&(x, y)| ProbePoint { x, y: Interval::exact(y) }).collect();
    let over = curve(("time", ProbeUnit::Seconds), ("rate", ProbeUnit::Iops), points);
    DIPS.finding(period(&rates), outcome.job.block_sizes.largest(), over)
}

/// Rates of slices, by their start.
fn rates(outcome: &Outcome) -> Vec<(f64, f64)> {
    let slices = iostack_stats::whole(&outcome.series).iter().filter(|slice| slice.length.0 > 0);
    let rate = |slice: &IntervalFlow| slice.ios.iter().sum::<u64>() as f64 / slice.length.as_secs_f64();
    slices.map(|slice| (slice.start.as_secs_f64(), rate(slice))).collect()
}

/// The rate between dips over that of the whole run.
pub(crate) fn between(outcome: &Outcome) -> f64 {
    (median(rates(outcome).into_iter().map(|rate| rate.1)) / outcome.rate().max(f64::MIN_POSITIVE)).max(1.0)
}

/// Time between dips, where it is always the same.
fn period(rates: &[(f64, f64)]) -> Result<Interval, String> {
    let level = median(rates.iter().map(|rate| rate.1));
    let low: Vec<bool> = rates.iter().map(|rate| rate.1 < DIP * level).collect();
    let begins = (1..low.len()).filter(|&at| low[at] && !low[at - 1]).map(|at| rates[at].0);
    let begins: Vec<f64> = begins.collect();
    let whole = rates.last().map_or(0.0, |rate| rate.0);
    if begins.len() < LEAST {
        let count = begins.len();
        return Err(format!("{count} dips in {whole:.2} s: no period is seen"));
    }
    let gaps: Vec<f64> = begins.windows(2).map(|two| two[1] - two[0]).collect();
    let typical = median(gaps.iter().copied());
    let even = gaps.iter().filter(|gap| (**gap / typical - 1.0).abs() < EVEN).count();
    if (even as f64) < MOST_GAPS * gaps.len() as f64 {
        return Err(format!("{} dips in {whole:.2} s, not evenly apart", begins.len()));
    }
    // A dip that was missed makes a gap of two periods, and one that looks like two a gap of none.
    let periods: f64 = gaps.iter().map(|gap| (gap / typical).round()).sum();
    let mean = (begins[begins.len() - 1] - begins[0]) / periods;
    let reach = EVEN * typical / (gaps.len() as f64);
    Ok(Interval { mean, low: mean - reach, high: mean + reach, samples: gaps.len() as u32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dip_each_second_is_a_period_and_dips_by_chance_are_none() {
        let rates = |dips: &[i32]| -> Vec<(f64, f64)> {
            (0..100).map(|at| (f64::from(at) / 10.0, if dips.contains(&at) { 50.0 } else { 100.0 })).collect()
        };
        let found = period(&rates(&[5, 15, 25, 35, 45, 55])).expect("every second");
        assert!((found.mean - 1.0).abs() < 1e-9 && found.high > 1.0, "{found:?}");
        let missed = period(&rates(&[5, 15, 25, 45, 55, 65])).expect("one is missed");
        assert!((missed.mean - 1.0).abs() < 1e-9, "{missed:?}");
        assert!(period(&rates(&[5, 7, 45, 60, 61, 90])).expect_err("by chance").contains("not evenly"));
        assert!(period(&rates(&[])).expect_err("none").contains("0 dips"));
    }
}
