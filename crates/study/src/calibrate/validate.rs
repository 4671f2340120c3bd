//! How near is the model on curves that were measured somewhere, and how near are two simpler ones?
//!
//! Each file is fitted by itself but for the points held out, a third and never the ends; all three models are tried on those.

use anyhow::Context;
use iostack_model::answers::{CalibratedPoint, ReproValidated};
use iostack_target::{Audience, Targets};

use super::points::PointSource;
use super::scores::scores;

/// Scores of each file over all points that were held out, then of each curve that has some.
///
/// # Errors
/// When a file has no measurement that can be fitted, or it was interrupted.
pub fn validate(
    files: &[(String, PointSource)],
    targets: &dyn Targets,
    talk: &dyn Audience,
) -> anyhow::Result<Vec<ReproValidated>> {
    let mut all = Vec::new();
    for one in files.chunks(1) {
        let file = &one[0].0;
        let found = super::answer(one, "validated", targets, talk).with_context(|| format!("`{file}`"))?;
        all.extend(validated(file, &found.points));
    }
    Ok(all)
}

fn validated(file: &str, points: &[CalibratedPoint]) -> Vec<ReproValidated> {
    let words = |point: &CalibratedPoint| format!("{} {}", point.pattern, point.block);
    let mut curves: Vec<String> = points.iter().map(words).collect();
    curves.sort();
    curves.dedup();
    let row = |curve: String, of: Vec<CalibratedPoint>| {
        let held = of.iter().filter(|point| point.held_out).count();
        let (scores, _) = scores(&of);
        let curve = format!("{curve}: {held} of {} points held out", of.len());
        ReproValidated { file: file.to_owned(), curve, scores }
    };
    let each = curves.iter().map(|curve| {
        let of = points.iter().filter(|point| words(point) == *curve);
        row(curve.clone(), of.cloned().collect())
    });
    let each: Vec<ReproValidated> = each.filter(|row| !row.scores.is_empty()).collect();
    std::iter::once(row("all".to_owned(), points.to_vec())).chain(each).collect()
}

#[cfg(test)]
mod tests {
    use iostack_model::Bytes;

    use super::*;

    #[test]
    fn each_curve_is_scored_by_its_own_points_and_one_without_any_held_out_is_left_out() {
        let point = |block: u64, held_out: bool, sheet_iops: f64| CalibratedPoint {
            pattern: "randread".to_owned(),
            block: Bytes(block),
            held_out,
            iops: 100.0,
            sheet_iops,
            network_iops: Some(150.0),
            ..CalibratedPoint::default()
        };
        let points = [
            point(4096, true, 110.0),
            point(4096, false, 500.0),
            point(65536, true, 130.0),
            point(8192, false, 1.0),
        ];
        let told = validated("a.json", &points);
        let curves: Vec<&str> = told.iter().map(|row| row.curve.as_str()).collect();
        let expected = [
            "all: 2 of 4 points held out",
            "randread 4 KiB: 1 of 2 points held out",
            "randread 64 KiB: 1 of 1 points held out",
        ];
        assert_eq!(curves, expected);
        let sheet: Vec<f64> = told.iter().map(|row| row.scores[0].iops_worst).collect();
        assert!(
            sheet.iter().zip([0.3, 0.1, 0.3]).all(|(own, wanted)| (own - wanted).abs() < 1e-9),
            "{sheet:?}"
        );
        assert_eq!(told[1].scores[1].predictor, "closed network");
    }
}
