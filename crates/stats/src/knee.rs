//! At which depth does more parallelism stop paying?
//!
//! ```text
//!   iops        ┌──────•──────•   plateau: within 5 % of the best
//!    │      •───┘
//!    │   •      ▲ the knee
//!    │ •
//!    └─────────────────────────── depth
//! ```
//!
//! A closed system follows min(N / S, X) with rounded corners (mean value analysis), so the knee is where the curve
//! has come close to its best and stays there. A curve that still rises at its last point has no knee yet.

use iostack_model::Interval;

/// A curve still rises when its rate grows at least half as fast as its depth, both as logarithms.
const RISING: f64 = 0.5;

/// Rise at a last point that is the only one near the best, half of the usual: 19 % for twice the depth, which
/// storage that drifts from one point to the next seldom feigns.
const RISING_LAST: f64 = RISING / 2.0;

/// The first point whose rate is `within` (0.05 for 5 %) of the best and stays there until the best is reached; a
/// fall beyond the best, from queueing too much, moves nothing. `None` when the curve is empty or still rises at its last
/// point. Points are `(depth, rate)` in rising order of depth.
pub fn knee(points: &[(f64, Interval)], within: f64) -> Option<usize> {
    let best = (0..points.len()).max_by(|&a, &b| points[a].1.mean.total_cmp(&points[b].1.mean))?;
    let enough = points[best].1.mean * (1.0 - within);
    if enough <= 0.0 {
        return None;
    }
    let knee = (0..=best).rev().take_while(|&i| points[i].1.mean >= enough).last()?;
    let last = points.len() - 1;
    let rises = match last.checked_sub(1) {
        Some(before) if knee == last => rises(points[before], points[last], RISING_LAST),
        _ => rises(points[knee], points[last], RISING),
    };
    (!rises).then_some(knee)
}

/// True when the curve from one point to its last does not look flat: it grows at least so fast, or there is no depth between the two.
fn rises((depth, rate): (f64, Interval), (depth_last, rate_last): (f64, Interval), least: f64) -> bool {
    let deeper = (depth_last / depth).ln();
    let faster = (rate_last.mean / rate.mean).ln();
    deeper <= 0.0 || faster >= least * deeper
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Samples;

    const DEPTHS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

    fn curve(depths: &[f64], rate: impl Fn(f64) -> f64) -> Vec<(f64, Interval)> {
        depths.iter().map(|&depth| (depth, Interval::exact(rate(depth)))).collect()
    }

    /// Exact mean value analysis (Reiser and Lavenberg 1980) of a closed ring of equal stations, 100 us each.
    fn mva(depth: f64, stations: usize) -> f64 {
        let service = 100e-6;
        let mut queued = vec![0.0; stations];
        let mut rate = 0.0;
        for n in 1..=depth as u32 {
            let residence: Vec<f64> = queued.iter().map(|q| service * (1.0 + q)).collect();
            rate = f64::from(n) / residence.iter().sum::<f64>();
            queued = residence.iter().map(|r| rate * r).collect();
        }
        rate
    }

    #[test]
    fn a_last_point_that_is_best_by_drift_alone_is_no_rise() {
        let ended =
            |gain: f64| knee(&curve(&DEPTHS, |n| if n < 128.0 { 1000.0 } else { 1000.0 * gain }), 0.05);
        assert_eq!(ended(1.04), Some(0), "near the best from the first");
        assert_eq!(ended(1.06), Some(7));
        // 2 to the power of a quarter.
        assert_eq!(ended(1.189), Some(7));
        assert_eq!(ended(1.190), None);
        assert_eq!(knee(&curve(&[8.0], |_| 1000.0), 0.05), None, "one point tells nothing");
    }

    #[test]
    fn the_knee_of_an_ideal_device_is_its_parallelism() {
        for parallelism in [1.0, 4.0, 32.0, 64.0] {
            let points = curve(&DEPTHS, |n| (n / 90e-6).min(parallelism / 90e-6));
            let at = knee(&points, 0.05).unwrap();
            assert!((DEPTHS[at] - parallelism).abs() < 1e-9, "{parallelism}: {}", DEPTHS[at]);
        }
    }

    #[test]
    fn noise_within_the_tolerance_moves_the_knee_by_no_more_than_the_curve_does() {
        for seed in 1..=500 {
            let mut samples = Samples::new(seed);
            let noise: Vec<f64> = DEPTHS.iter().map(|_| 1.0 + 0.01 * samples.normal()).collect();
            let mut points = curve(&DEPTHS, |n| n.min(16.0) * 1e4);
            points.iter_mut().zip(noise).for_each(|(point, factor)| point.1.mean *= factor);
            assert_eq!(knee(&points, 0.05), Some(4), "seed {seed}");
        }
    }

    #[test]
    fn the_knee_of_a_closed_network_is_where_its_exact_solution_says() {
        // N balanced stations reach n / (n + N - 1) of the bound: X(64) is 97.8 % of X(128), X(32) is 93.6 %.
        let points = curve(&DEPTHS, |n| mva(n, 4));
        for &(depth, rate) in &points {
            assert!((rate.mean - 1e4 * depth / (depth + 3.0)).abs() < 1e-6, "{depth}");
        }
        assert_eq!(knee(&points, 0.05), Some(6));
        assert_eq!(knee(&curve(&DEPTHS, |n| mva(n, 1)), 0.05), Some(0));
    }

    #[test]
    fn a_curve_that_still_rises_has_no_knee() {
        assert_eq!(knee(&curve(&DEPTHS, |n| n * 1e4), 0.05), None);
        assert_eq!(knee(&curve(&DEPTHS, f64::sqrt), 0.05), None);
        assert_eq!(knee(&curve(&[120.0, 124.0, 128.0], |n| n * 1e4), 0.05), None);
        assert_eq!(knee(&curve(&[1.0], |n| n), 0.05), None);
        assert_eq!(knee(&[], 0.05), None);
        assert_eq!(knee(&curve(&DEPTHS, |_| 0.0), 0.05), None, "a rate of nothing saturates nowhere");
    }

    #[test]
    fn a_curve_rises_when_its_rate_grows_half_as_fast_as_its_depth() {
        // From the knee to the end: depth times 16, so that a rate times 4 is just half, as logarithms.
        let at = |last: f64| {
            let rates = [1.0, 2.0, 3.0, 3.5, last];
            let points: Vec<_> = DEPTHS.iter().copied().zip(rates.map(Interval::exact)).collect();
            knee(&points, 0.75)
        };
        assert_eq!(at(3.999), Some(0));
        assert_eq!(at(4.0), None, "at it, it rises");
        let falls = curve(&[1.0, 2.0, 4.0, 8.0], |depth| 100.0 - depth);
        assert_eq!(knee(&falls, 0.05), Some(0), "and a fall is flat enough");
    }

    #[test]
    fn the_plateau_begins_where_the_curve_stays_near_the_best() {
        let cases: [(&[f64], f64, Option<usize>); 4] = [
            // Just within a fourth of the best, and just not.
            (&[10.0, 75.0, 100.0, 100.0], 0.25, Some(1)),
            (&[10.0, 74.999, 100.0, 100.0], 0.25, Some(2)),
            // A dip before the best is not yet the plateau, and a fall beyond it moves nothing.
            (&[10.0, 97.0, 50.0, 96.0, 98.0, 100.0, 99.0, 97.0], 0.05, Some(3)),
            (&[10.0, 20.0, 40.0, 80.0, 100.0, 99.0, 90.0, 70.0], 0.05, Some(4)),
        ];
        for (rates, within, expected) in cases {
            let rates = rates.iter().map(|&rate| Interval::exact(rate));
            let points: Vec<_> = DEPTHS.iter().copied().zip(rates).collect();
            assert_eq!(knee(&points, within), expected, "{points:?}");
        }
    }
}
