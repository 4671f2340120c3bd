//! By how much, and within which ends?
//!
//! The median of the averages of all pairs (Walsh's) is the shift that leaves ranks balanced; the ends are the shifts that
//! the signed-rank test just does not refuse (Hodges and Lehmann 1963).

/// A shift and its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shift {
    pub(super) middle: f64,
    /// `None` where so few values exclude nothing.
    pub(super) ends: Option<(f64, f64)>,
}

/// The signed ranks of values, scaled so that the sum of their squares is 1: zeros have none, equal sizes share theirs.
pub(super) fn signed_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).filter(|&at| values[at] != 0.0).collect();
    order.sort_by(|&a, &b| values[a].abs().total_cmp(&values[b].abs()));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let size = values[order[from]].abs();
        let alike = order[from..].iter().take_while(|&&at| values[at].abs() <= size).count();
        // Ranks count from 1: those of `alike` values after `from` smaller ones are from + 1 to from + alike.
        let shared = from as f64 + f64::midpoint(alike as f64, 1.0);
        for &at in &order[from..from + alike] {
            ranks[at] = shared.copysign(values[at]);
        }
        from += alike;
    }
    let length = ranks.iter().map(|rank| rank * rank).sum::<f64>().sqrt();
    if length > 0.0 {
        for rank in &mut ranks {
            *rank /= length;
        }
    }
    ranks
}

/// The shift of these values, and the shifts at which the test's statistic does not exceed `critical`.
pub(super) fn shift(values: &[f64], critical: f64) -> Shift {
    let count = values.len();
    let mut averages = Vec::with_capacity(count * (count + 1) / 2);
    for (at, &one) in values.iter().enumerate() {
        averages.extend(values[at..].iter().map(|&other| f64::midpoint(one, other)));
    }
    averages.sort_by(f64::total_cmp);
    let pairs = averages.len();
    if pairs == 0 {
        return Shift { middle: 0.0, ends: None };
    }
    let middle = f64::midpoint(averages[(pairs - 1) / 2], averages[pairs / 2]);
    // The sum of positive ranks at a shift is the number of averages above it; all ranks together are `pairs`.
    let n = count as f64;
    let reach = critical * (n * (n + 1.0) * (2.0 * n + 1.0) / 6.0).sqrt();
    let above = (f64::midpoint(pairs as f64, reach) + 1e-9).floor() as usize;
    let ends = (above < pairs).then(|| (averages[pairs - 1 - above], averages[above]));
    Shift { middle, ends }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Samples;

    #[test]
    fn ranks_are_those_of_sizes_and_keep_signs() {
        let ranks = signed_ranks(&[-3.0, 0.0, 1.0, -1.0, 7.0]);
        // Ranks -3, none, 1.5, -1.5, 4; the sum of squares is 29.5.
        let scaled: Vec<f64> = ranks.iter().map(|rank| rank * 29.5_f64.sqrt()).collect();
        let wanted = [-3.0, 0.0, 1.5, -1.5, 4.0];
        assert!(scaled.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{scaled:?}");
        assert_eq!(signed_ranks(&[0.0, 0.0]), [0.0, 0.0]);
        assert!(signed_ranks(&[]).is_empty());
    }

    #[test]
    fn the_ends_are_those_of_the_published_test() {
        // Hollander and Wolfe, Nonparametric Statistical Methods, example 3.1 (Salsburg's depression scores): the estimate
        // is -0.46, and the 96 % interval, which leaves out six averages at each end, is -0.786 .. -0.010.
        let scores = [-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010];
        // Refused when the smaller rank sum is 5 or less: |2 * 5 - 45| = 35 is refused, 33 is not.
        let critical = 33.0 / (9.0_f64 * 10.0 * 19.0 / 6.0).sqrt();
        let told = shift(&scores, critical);
        let (low, high) = told.ends.expect("nine values are enough");
        assert!((told.middle + 0.46).abs() < 1e-9, "{told:?}");
        assert!((low + 0.786).abs() < 1e-9 && (high + 0.010).abs() < 1e-9, "{told:?}");
    }

    #[test]
    fn the_interval_excludes_nothing_exactly_when_the_test_is_sure() {
        let mut sure = 0;
        for seed in 1..=500 {
            let mut samples = Samples::new(seed);
            let values: Vec<f64> = (0..12).map(|_| 0.5 + samples.normal()).collect();
            let statistic = signed_ranks(&values).iter().sum::<f64>().abs();
            let (low, high) = shift(&values, 2.0).ends.expect("twelve are enough");
            assert_eq!(statistic > 2.0, low > 0.0 || high < 0.0, "seed {seed}: {statistic} {low} {high}");
            sure += usize::from(statistic > 2.0);
        }
        assert!((50..450).contains(&sure), "both happen: {sure}");
    }

    #[test]
    fn few_values_exclude_nothing() {
        assert_eq!(shift(&[1.0, 2.0], 2.0), Shift { middle: 1.5, ends: None });
        assert_eq!(shift(&[], 2.0), Shift { middle: 0.0, ends: None });
        assert_eq!(shift(&[0.0; 8], 2.0), Shift { middle: 0.0, ends: Some((0.0, 0.0)) });
    }
}
