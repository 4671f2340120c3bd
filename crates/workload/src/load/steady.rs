//! Is the rate steady enough to stop?
//!
//! As fio's `steadystate` asks: over the last elements of the series, the largest distance from their mean, or the slope of
//! the line through them from one to the next. As SNIA's test asks: the largest less the smallest, and what the line rises
//! or falls by over all of them. All in percent of the mean.

use iostack_model::{IntervalFlow, Nanos, Steadiness, Steady, SteadyFigure, SteadyLimit};

/// Result where nobody has looked.
pub const NOT_STEADY: Steady =
    Steady { attained: false, percent: None, slope_percent: None, since: Nanos(0) };

/// Steadiness of the last elements of `series`, each `element` long; `None` before there are enough.
pub fn look_for_steadiness(goal: &Steadiness, series: &[IntervalFlow], element: Nanos) -> Option<Steady> {
    let count = (goal.window.0.div_ceil(element.0.max(1)) as usize).max(1);
    let first = series.len().checked_sub(count)?;
    let window = &series[first..];
    let since = window[0].start;
    if since < goal.after {
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
    let percent = |distance: f64| distance * 100.0 / mean;
    let rise = || percent(slope(&rates, mean).abs() * (rates.len() - 1) as f64);
    let (seen, limit) = match goal.limit {
        SteadyLimit::Deviation(limit) => (percent(farthest(&rates, mean)), limit),
        SteadyLimit::Slope(limit) => (percent(slope(&rates, mean).abs()), limit),
        SteadyLimit::Snia { excursion, .. } => (percent(excursion_of(&rates)), excursion),
    };
    let (slope_percent, slopes_little) = match goal.limit {
        SteadyLimit::Snia { slope, .. } => (Some(rise()), rise() <= slope),
        _ => (None, true),
    };
    Some(Steady { attained: seen <= limit && slopes_little, percent: Some(seen), slope_percent, since })
}

/// The largest rate less the smallest.
fn excursion_of(rates: &[f64]) -> f64 {
    let most = rates.iter().copied().fold(f64::MIN, f64::max);
    most - rates.iter().copied().fold(f64::MAX, f64::min)
}

fn farthest(rates: &[f64], mean: f64) -> f64 {
    rates.iter().map(|rate| (rate - mean).abs()).fold(0.0, f64::max)
}

/// Slope of the line of least squares, from one element to the next.
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
        limit: SteadyLimit::Deviation(10.0),
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

    fn percent_of_goal(goal: Steadiness, ios: &[u64]) -> Option<f64> {
        look_for_steadiness(&goal, &series(ios), Nanos::secs(1)).and_then(|seen| seen.percent)
    }

    #[test]
    fn the_farthest_of_the_last_elements_counts() {
        assert_eq!(percent_of_goal(GOAL, &[100, 100]), None, "too few");
        assert_eq!(percent_of_goal(GOAL, &[900, 100, 100, 100]), Some(0.0));
        assert_eq!(percent_of_goal(GOAL, &[90, 100, 110]), Some(10.0));
        assert_eq!(
            percent_of_goal(Steadiness { figure: SteadyFigure::Bandwidth, ..GOAL }, &[90, 100, 110]),
            Some(10.0)
        );
        assert_eq!(percent_of_goal(GOAL, &[0, 0, 0]), None, "nothing is not steady");
    }

    #[test]
    fn a_slope_is_that_of_the_line_through_them() {
        let goal = Steadiness { limit: SteadyLimit::Slope(10.0), ..GOAL };
        assert_eq!(percent_of_goal(goal, &[90, 100, 110]), Some(10.0));
        assert_eq!(percent_of_goal(goal, &[110, 100, 90]), Some(10.0), "down is as far as up");
        assert_eq!(percent_of_goal(goal, &[100, 130, 100]), Some(0.0));
        assert_eq!(
            percent_of_goal(Steadiness { window: Nanos::secs(1), ..goal }, &[7]),
            Some(0.0),
            "one has no slope"
        );
    }

    #[test]
    fn what_came_too_early_does_not_count() {
        let goal = Steadiness { after: Nanos::secs(1), ..GOAL };
        assert_eq!(percent_of_goal(goal, &[100, 100, 100]), None);
        assert_eq!(percent_of_goal(goal, &[5, 100, 100, 100]), Some(0.0));
    }

    #[test]
    fn each_limit_holds_up_to_itself_and_snia_s_only_both_together() {
        let attained = |limit, ios: &[u64]| {
            let goal = Steadiness { limit, window: Nanos::secs(ios.len() as u64), ..GOAL };
            look_for_steadiness(&goal, &series(ios), Nanos::secs(1)).expect("there are enough")
        };
        for limit in [SteadyLimit::Deviation(10.0), SteadyLimit::Slope(10.0)] {
            assert!(attained(limit, &[900, 1000, 1100]).attained, "{limit:?}");
            assert!(!attained(limit, &[899, 1000, 1101]).attained, "{limit:?}");
        }
        let snia = SteadyLimit::Snia { excursion: 20.0, slope: 10.0 };
        for (ios, percent, slope, holds) in [
            ([1000, 900, 1000, 1100, 1000], 20.0, 8.0, true),
            ([1000, 899, 1001, 1100, 1000], 20.1, 8.04, false),
            ([950, 975, 1000, 1025, 1050], 10.0, 10.0, true),
            ([949, 976, 1000, 1024, 1051], 10.2, 10.08, false),
            ([1051, 1024, 1000, 976, 949], 10.2, 10.08, false),
        ] {
            let seen = attained(snia, &ios);
            let far = (seen.percent.expect("looked at"), seen.slope_percent.expect("asked for"));
            assert!((far.0 - percent).abs() < 1e-9 && (far.1 - slope).abs() < 1e-9, "{ios:?}: {far:?}");
            assert_eq!(seen.attained, holds, "{ios:?}");
        }
        let later =
            look_for_steadiness(&Steadiness { limit: snia, ..GOAL }, &series(&[5, 9, 9, 9]), Nanos::secs(1));
        assert_eq!(later.map(|seen| (seen.attained, seen.since)), Some((true, Nanos::secs(1))));
    }
}
