//! Rate, p99 and the gauges of a run over the measured time, a line each.

use iostack_model::{Nanos, Outcome};

use super::format::{brief, cut, rate};
use super::glyphs::sparkline;

/// Cells of a sparkline.
const SPARK: usize = 50;
/// Columns of a curve's name.
const NAME: usize = 15;

/// A name, its values, and how one is written.
type Curve<'a> = (&'a str, &'a [f64], fn(f64) -> String);

/// The lines, when there is a time to speak of.
pub(crate) fn sparks(outcome: &Outcome) -> String {
    if outcome.series.len() < 3 {
        return String::new();
    }
    let series = iostack_stats::whole(&outcome.series);
    let rates: Vec<f64> = series.iter().map(crate::pages::rate_of).collect();
    let tails: Vec<f64> = series.iter().map(|slice| slice.p99.0 as f64).collect();
    let time = |ns: f64| Nanos(ns as u64).to_string();
    let mut curves: Vec<Curve> = vec![("rate", &rates, rate), ("p99", &tails, time)];
    let gauges = outcome.inside.iter().flat_map(|inside| &inside.gauges);
    let gauges =
        gauges.filter(|gauge| gauge.values.windows(2).any(|pair| pair[0].to_bits() != pair[1].to_bits()));
    curves.extend(gauges.map(|gauge| (gauge.name.as_str(), &gauge.values[..], brief as fn(f64) -> String)));
    // The longest name decides where the curves begin, so that they stand below each other.
    let name = curves.iter().map(|curve| curve.0.chars().count().min(NAME) + 1).fold(11, usize::max);
    let mut text = String::new();
    for (curve, values, show) in curves {
        // A slice without I/O has no p99.
        let counted: Vec<f64> = values.iter().copied().filter(|&ns| curve != "p99" || ns > 0.0).collect();
        let (least, most) = extremes(if counted.is_empty() { values } else { &counted });
        let drawn = sparkline(values, SPARK + 9 - name);
        text += &format!("{:<name$}{drawn} {} to {}\n", cut(curve, NAME), show(least), show(most));
    }
    let slice = outcome.job.slice;
    text + &format!("{:<name$}(each of {} slices of {slice})\n", "", rates.len())
}

fn extremes(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use iostack_model::IntervalFlow;

    use super::*;

    #[test]
    fn the_rate_of_the_last_moment_is_not_among_those_of_slices() {
        let slice = |start, length, ios| IntervalFlow {
            start: Nanos::millis(start),
            length,
            ios: [ios, 0, 0],
            ..IntervalFlow::default()
        };
        let half = Nanos::millis(500);
        let series = vec![
            slice(0, half, 500),
            slice(500, half, 600),
            slice(1000, half, 550),
            slice(1500, Nanos(4000), 1),
        ];
        let job = iostack_model::Job { slice: half, ..iostack_model::Job::default() };
        let text = sparks(&Outcome { series, job, ..Outcome::default() });
        assert!(text.contains("1.000k to 1.200k") && text.contains("each of 3 slices of 500 ms"), "{text}");
    }
}
