//! How long does the arm take over a distance?

/// Time over distance in cylinders.
#[derive(Clone, Debug)]
pub(super) enum SeekCurve {
    /// Ruemmler and Wilkes 1994: `short + root sqrt(d)` below the boundary, where the arm is still speeding up, then
    /// `long + each d`.
    TwoPiece { short: u64, root: u64, boundary: u32, long: u64, each: u64 },
    /// Lee 1993: `single + root sqrt(d - 1) + each (d - 1)`, ns.
    ThreePoint { single: f64, root: f64, each: f64 },
    /// Distances that rise and their times, straight lines between them: measured points.
    Table(Vec<(u64, u64)>),
}

impl SeekCurve {
    /// The curve over `cylinders` that has these times (ns) for a single cylinder, on average over random pairs, and for the
    /// full stroke. Since sqrt(d) is 8/15 and d is 1/3 on average of their largest values, both factors follow. `None` when
    /// it would fall anywhere.
    pub(super) fn through(single: u64, average: u64, full: u64, cylinders: u32) -> Option<SeekCurve> {
        let [single, average, full] = [single, average, full].map(|time| time as f64);
        let wide = f64::from(cylinders);
        let root = (15.0 * average - 10.0 * single - 5.0 * full) / (3.0 * wide.sqrt());
        let each = (7.0 * single - 15.0 * average + 8.0 * full) / (3.0 * wide);
        (root >= 0.0 && each >= 0.0).then_some(SeekCurve::ThreePoint { single, root, each })
    }

    /// ns over `distance` cylinders.
    pub(super) fn time(&self, distance: u32) -> u64 {
        if distance == 0 {
            return 0;
        }
        match *self {
            SeekCurve::TwoPiece { short, root, boundary, .. } if distance < boundary => {
                short + (root as f64 * f64::from(distance).sqrt()).round() as u64
            }
            SeekCurve::Table(ref points) => between(points, u64::from(distance)),
            SeekCurve::TwoPiece { long, each, .. } => long + each * u64::from(distance),
            SeekCurve::ThreePoint { single, root, each } => {
                let further = f64::from(distance - 1);
                (single + root * further.sqrt() + each * further).round() as u64
            }
        }
    }

    /// Mean over pairs of cylinders at random, ns: each distance d has 2 (n - d) of n^2 pairs.
    #[cfg(test)]
    fn mean(&self, cylinders: u32) -> f64 {
        let n = f64::from(cylinders);
        (1..cylinders).map(|d| self.time(d) as f64 * 2.0 * (n - f64::from(d)) / (n * n)).sum()
    }
}

/// Time at a distance: on the line through the points beside it, the last two beyond all; before the first, as there.
fn between(points: &[(u64, u64)], distance: u64) -> u64 {
    let after = points.partition_point(|&(at, _)| at <= distance).min(points.len() - 1);
    let Some(&(from, first)) = after.checked_sub(1).and_then(|before| points.get(before)) else {
        return points[0].1;
    };
    let (to, last) = points[after];
    let share = distance.saturating_sub(from) as f64 / (to - from) as f64;
    (first as f64 + (last as f64 - first as f64) * share).round().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hp_97560_seeks_as_published() {
        let curve = SeekCurve::TwoPiece {
            short: 3_240_000,
            root: 400_000,
            boundary: 383,
            long: 8_000_000,
            each: 8_000,
        };
        assert_eq!([curve.time(0), curve.time(1), curve.time(100)], [0, 3_640_000, 7_240_000]);
        assert_eq!(curve.time(1961), 23_688_000);
        assert!((curve.mean(1962) / 12_832_000.0 - 1.0).abs() < 0.005, "{}", curve.mean(1962));
    }

    #[test]
    fn a_table_is_straight_between_its_points() {
        let curve = SeekCurve::Table(vec![(2, 1000), (4, 2000), (104, 3000)]);
        let times = [0, 1, 2, 3, 4, 54, 104, 204].map(|distance| curve.time(distance));
        assert_eq!(times, [0, 1000, 1000, 1500, 2000, 2500, 3000, 4000]);
        assert_eq!(SeekCurve::Table(vec![(1, 700)]).time(9), 700);
    }

    #[test]
    fn a_curve_through_three_figures_has_them() {
        let curve = SeekCurve::through(2_000_000, 8_900_000, 21_000_000, 100_000).expect("it rises");
        assert_eq!(curve.time(1), 2_000_000);
        assert!((curve.time(99_999) as f64 / 21e6 - 1.0).abs() < 1e-4);
        assert!((curve.mean(100_000) / 8.9e6 - 1.0).abs() < 1e-3, "{}", curve.mean(100_000));
        assert!(SeekCurve::through(2_000_000, 4_000_000, 21_000_000, 1000).is_none());
    }
}
