//! What does a command of b requests cost, and is it c + b x?

use iostack_model::Interval;
use iostack_model::answers::{BatchCost, MergeFit, MergePoint};
use iostack_stats::rate_interval;
use iostack_target::MergeFitRound;

/// A point may lie this far off the line.
const RESIDUAL: f64 = 0.15;
/// A request more may cost this many times as much in large commands as in small ones, or the other way round.
const BEND: f64 = 1.5;

/// The line through the rounds; `None` where they do not give one.
pub(crate) fn fit(rounds: &[MergeFitRound], how: &str) -> Option<MergeFit> {
    let sizes: Vec<u32> = rounds.first()?.iter().map(|(size, ..)| *size).collect();
    let whole: Vec<&MergeFitRound> = rounds.iter().filter(|round| round.len() == sizes.len()).collect();
    let points: Vec<MergePoint> = (0..sizes.len())
        .map(|index| MergePoint {
            requests: sizes[index],
            time: rate_interval(&whole.iter().map(|round| round[index].1).collect::<Vec<_>>()),
            commands: whole.iter().map(|round| round[index].2).sum(),
        })
        .collect();
    let of_rounds: Vec<BatchCost> = whole.iter().filter_map(|round| line(round)).collect();
    let over = |figure: fn(&BatchCost) -> f64| {
        rate_interval(&of_rounds.iter().map(figure).filter(|value| value.is_finite()).collect::<Vec<_>>())
    };
    let (fixed, each) = (over(|cost| cost.fixed_ns), over(|cost| cost.each_ns));
    of_points(points, how).map(|fit| MergeFit { fixed, each, gain_max: over(BatchCost::gain_max), ..fit })
}

fn line(round: &MergeFitRound) -> Option<BatchCost> {
    BatchCost::fit(&round.iter().map(|&(size, ns, _)| (size, ns)).collect::<Vec<_>>())
}

/// The line through points that have no rounds.
pub(crate) fn of_points(points: Vec<MergePoint>, how: &str) -> Option<MergeFit> {
    let cost =
        BatchCost::fit(&points.iter().map(|point| (point.requests, point.time.mean)).collect::<Vec<_>>())?;
    let off = |point: &MergePoint| {
        (cost.time_ns(f64::from(point.requests)) - point.time.mean).abs() / point.time.mean
    };
    let residual = points.iter().map(off).fold(0.0, f64::max);
    let bend = bend(&points);
    let exact = Interval::exact;
    Some(MergeFit {
        how: how.to_owned(),
        cost,
        fixed: exact(cost.fixed_ns),
        each: exact(cost.each_ns),
        gain_max: exact(cost.gain_max()),
        residual,
        bend,
        holds: residual <= RESIDUAL && (1.0 / BEND..=BEND).contains(&bend),
        points,
    })
}

/// The slope of the upper half over that of the lower one.
fn bend(points: &[MergePoint]) -> f64 {
    let slope = |part: &[MergePoint]| match part {
        [first, .., last] => {
            (last.time.mean - first.time.mean)
                / f64::from(last.requests.saturating_sub(first.requests).max(1))
        }
        _ => f64::NAN,
    };
    let middle = points.len() / 2;
    let ratio = slope(&points[middle..]) / slope(&points[..points.len().min(middle + 1)]);
    // A half that does not rise has no slope to compare with.
    if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::super::plan::SIZES;
    use super::*;

    fn rounds(law: impl Fn(f64) -> f64) -> Vec<MergeFitRound> {
        let round = |drift: f64| SIZES.iter().map(|&size| (size, law(f64::from(size)) * drift, 10)).collect();
        [0.98, 1.01, 1.0, 1.02, 0.99].map(round).to_vec()
    }

    #[test]
    fn a_line_is_found_again_with_its_uncertainty() {
        let fit = fit(&rounds(|b| 7000.0 + 5850.0 * b), "by formula").expect("seven sizes");
        assert!(fit.holds && fit.residual < 0.001, "{fit:?}");
        assert!((fit.bend - 1.0).abs() < 0.01, "{}", fit.bend);
        let Interval { low, high, samples, .. } = fit.fixed;
        assert!((low..=high).contains(&7000.0) && samples == 5, "{low} {high} {samples}");
        assert!((fit.gain_max.mean - 2.197).abs() < 0.01, "a drift of all sizes leaves the gain alone");
        assert_eq!(fit.points[0].commands, 50);
    }

    #[test]
    fn a_curve_is_no_line() {
        // A device that does 16 at a time: a step every 16.
        let steps = fit(&rounds(|b| 80_000.0 * (b / 16.0).ceil()), "by formula").expect("seven sizes");
        assert!(!steps.holds && steps.residual > RESIDUAL, "{steps:?}");
        let curved = fit(&rounds(|b| 10_000.0 + 1_000.0 * b + 100.0 * b * b), "by formula").expect("seven");
        assert!(!curved.holds && curved.bend > BEND, "{curved:?}");
    }

    #[test]
    fn a_round_that_was_cut_short_is_left_out_and_nothing_is_no_fit() {
        let mut some = rounds(|b| 100.0 + b);
        some[4].truncate(3);
        assert_eq!(fit(&some, "").expect("four rounds").fixed.samples, 4);
        assert!(fit(&[], "").is_none() && fit(&[vec![(1, 5.0, 1)]], "").is_none());
    }
}
