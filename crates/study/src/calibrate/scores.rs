//! How far off is each predictor on what it has not seen, and who is better?

use iostack_model::answers::{CalibratedPoint, CalibrationScore};

/// A predictor: its name, and the rate that it gives a point, where it gives one.
type Predictor = (&'static str, fn(&CalibratedPoint) -> Option<f64>);

const BASELINES: [Predictor; 2] =
    [("closed network", |point| point.network_iops), ("roofline", |point| point.roofline_iops)];

/// Name of the sheet among the predictors.
const SHEET: &str = "the sheet";

fn off(predicted: f64, measured: f64) -> f64 {
    (predicted / measured - 1.0).abs()
}

/// Median and largest; `None` of none.
fn ends(mut errors: Vec<f64>) -> Option<(f64, f64)> {
    errors.sort_by(f64::total_cmp);
    let middle = errors.len() / 2;
    let upper = *errors.get(middle)?;
    let median =
        if errors.len().is_multiple_of(2) { f64::midpoint(errors[middle - 1], upper) } else { upper };
    Some((median, *errors.last()?))
}

fn score(
    name: &str,
    points: &[&CalibratedPoint],
    of: &dyn Fn(&CalibratedPoint) -> Option<f64>,
) -> Option<CalibrationScore> {
    let errors: Vec<f64> = points.iter().filter_map(|point| Some(off(of(point)?, point.iops))).collect();
    let count = errors.len() as u32;
    let (iops_median, iops_worst) = ends(errors)?;
    let is_sheet = name == SHEET;
    let tails = points.iter().filter(|_| is_sheet).filter_map(|point| {
        Some(off(point.sheet_p99?.0 as f64, point.latency_p99.filter(|ns| ns.0 > 0)?.0 as f64))
    });
    let tails = ends(tails.collect());
    Some(CalibrationScore {
        predictor: name.to_owned(),
        points: count,
        iops_median,
        iops_worst,
        p99_median: tails.map(|(median, _)| median),
        p99_worst: tails.map(|(_, worst)| worst),
    })
}

/// Scores over the points that were held out, and sentences where a baseline is better.
pub(crate) fn scores(points: &[CalibratedPoint]) -> (Vec<CalibrationScore>, Vec<String>) {
    let held: Vec<&CalibratedPoint> = points.iter().filter(|point| point.held_out).collect();
    let own = |point: &CalibratedPoint| Some(point.sheet_iops);
    let mut all: Vec<CalibrationScore> = score(SHEET, &held, &own).into_iter().collect();
    let mut said = Vec::new();
    for (name, of) in BASELINES {
        let there: Vec<&CalibratedPoint> = held.iter().copied().filter(|point| of(point).is_some()).collect();
        let (Some(sheet), Some(other)) = (score("the sheet there", &there, &own), score(name, &there, &of))
        else {
            continue;
        };
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        for (what, sheet, other) in
            [("median", sheet.iops_median, other.iops_median), ("worst", sheet.iops_worst, other.iops_worst)]
        {
            if other < sheet {
                said.push(format!(
                    "The {name} is better in the {what} error of IOPS, {} against {} of the sheet, on the {} points held \
                     out that it answers.",
                    percent(other),
                    percent(sheet),
                    there.len()
                ));
            }
        }
        let is_part = there.len() < held.len();
        all.push(other);
        all.extend(Some(sheet).filter(|_| is_part));
    }
    (all, said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Nanos;

    fn point(measured: f64, sheet: f64, network: Option<f64>) -> CalibratedPoint {
        CalibratedPoint {
            held_out: true,
            iops: measured,
            latency_p99: Some(Nanos(100)),
            sheet_iops: sheet,
            sheet_p99: Some(Nanos(150)),
            network_iops: network,
            ..CalibratedPoint::default()
        }
    }

    #[test]
    fn a_better_baseline_is_said_and_a_worse_one_is_not() {
        let points =
            [point(100.0, 90.0, Some(99.0)), point(100.0, 120.0, Some(100.0)), point(100.0, 100.0, None)];
        let (scores, said) = scores(&points);
        let names: Vec<_> = scores.iter().map(|score| (score.predictor.as_str(), score.points)).collect();
        assert_eq!(names, [("the sheet", 3), ("closed network", 2), ("the sheet there", 2)]);
        assert!((scores[0].iops_median - 0.1).abs() < 1e-9 && (scores[0].iops_worst - 0.2).abs() < 1e-9);
        assert_eq!(scores[0].p99_worst, Some(0.5));
        assert_eq!(said.len(), 2, "{said:?}");
        assert_eq!(super::scores(&[point(100.0, 99.0, Some(90.0))]).1, Vec::<String>::new());
    }
}
