//! Is the rate steady enough to stop?
//!
//! As fio's `steadystate` asks: over the last elements of the series, the largest distance from their mean, or the slope of
//! the line through them from one to the next, both in percent of the mean.

use iostack_model::{IntervalFlow, Nanos, Steadiness, SteadyFigure};

/// How far from steady the last elements of `series`, each `element` long, were; `None` before there are enough.
pub(crate) fn percent(goal: &Steadiness, series: &[IntervalFlow], element: Nanos) -> Option<f64> {
    let count = (goal.window.0.div_ceil(element.0.max(1)) as usize).max(1);
    let first = series.len().checked_sub(count)?;
    let window = &series[first..];
    if window[0].start < goal.after {
        return None;
    }
    let sum = |counts: &[u64; 3]| counts.iter().sum::<u64>() as f64;
    let rates: Vec<f64> = match goal.figure {
        SteadyFigure::Iops => window.iter().map(|slice| sum(&slice.ios)).collect(),
        SteadyFigure::Bandwidth => window.iter().map(|slice| sum(&slice.bytes)).collect(),
    };
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    if mean == 0.0 {
        return None;
    }
    let distance = if goal.slope { slope(&rates, mean).abs() } else { farthest(&rates, mean) };
    Some(distance * 100.0 / mean)
}

fn farthest(rates: &[f64], mean: f64) -> f64 {
    rates.iter().map(|rate| (rate - mean).abs()).fold(0.0, f64::max)
}

/// Of the line of least squares, from one element to the next.
fn slope(rates: &[f64], mean: f64) -> f64 {
    let middle = (rates.len() as f64 - 1.0) / 2.0;
    let places = || (0..rates.len()).map(|place| place as f64 - middle);
    let square: f64 = places().map(|place| place * place).sum();
    let product: f64 = places().zip(rates).map(|(place, rate)| place * (rate - mean)).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOAL: Steadiness = Steadiness {
        figure: SteadyFigure::Iops,
        slope: false,
        percent: 1.0,
        window: Nanos::secs(3),
        after: Nanos(0),
    };

    fn series(ios: &[u64]) -> Vec<IntervalFlow> {
        let of = |(second, &ios)| IntervalFlow {
            start: Nanos::secs(second),
            ios: [ios, 0, 0],
            bytes: [0, 2 * ios, 0],
            ..IntervalFlow::default()
        };
        (0..).zip(ios).map(of).collect()
    }

    fn of(goal: Steadiness, ios: &[u64]) -> Option<f64> {
        percent(&goal, &series(ios), Nanos::secs(1))
    }

    #[test]
    fn the_farthest_of_the_last_elements_counts() {
        assert_eq!(of(GOAL, &[100, 100]), None, "too few");
        assert_eq!(of(GOAL, &[900, 100, 100, 100]), Some(0.0));
        assert_eq!(of(GOAL, &[90, 100, 110]), Some(10.0));
        assert_eq!(of(Steadiness { figure: SteadyFigure::Bandwidth, ..GOAL }, &[90, 100, 110]), Some(10.0));
        assert_eq!(of(GOAL, &[0, 0, 0]), None, "nothing is not steady");
    }

    #[test]
    fn a_slope_is_that_of_the_line_through_them() {
        let goal = Steadiness { slope: true, ..GOAL };
        assert_eq!(of(goal, &[90, 100, 110]), Some(10.0));
        assert_eq!(of(goal, &[110, 100, 90]), Some(10.0), "down is as far as up");
        assert_eq!(of(goal, &[100, 130, 100]), Some(0.0));
        assert_eq!(of(Steadiness { window: Nanos::secs(1), ..goal }, &[7]), Some(0.0), "one has no slope");
    }

    #[test]
    fn what_came_too_early_does_not_count() {
        let goal = Steadiness { after: Nanos::secs(1), ..GOAL };
        assert_eq!(of(goal, &[100, 100, 100]), None);
        assert_eq!(of(goal, &[5, 100, 100, 100]), Some(0.0));
    }
}
