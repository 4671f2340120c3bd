//! How near was the prediction?

use std::cmp::Reverse;

use iostack_model::Interval;
use iostack_model::answers::{PredictedFigure, PredictedPoint, Prediction, PredictionScore, StepKind};

use crate::document::{Block, Cell, Drawn, Row, Section, Table};
use crate::html::numbers::Quantity;
use crate::html::plot::{Axis, Look, Plot, SLOTS, Scale, Series, Spot};
use crate::lists::grouped;
use crate::text::format::{change, or_dash, plus_minus, significant};

/// Rows on a screen, those that are most off first.
const ROWS: usize = 12;
/// Reasons on a screen for what was not predicted.
const REASONS: usize = 3;

/// Predicted beside measured, and curves of both on a page.
pub(super) fn section(prediction: &Prediction) -> Section {
    let mut section = Section::new("predicted", "Predicted", "How near was the prediction?");
    section.screen(Block::Heading("PREDICTED AND MEASURED".to_owned()));
    section.fact("predicted by", &prediction.origin);
    let band = match prediction.draws {
        0 => "none: the numbers of its sheet are taken as exact, or it is the outcome of one run".to_owned(),
        draws => format!("95 % of {draws} draws of the numbers that its sheet does not know exactly"),
    };
    section.fact("band", band);
    section.fact("IOPS", scored(&prediction.iops)).fact("p99 latency", scored(&prediction.latency_p99));
    if !prediction.points.is_empty() {
        section.table(points(prediction));
    }
    let plots: Vec<Drawn> = curves(prediction);
    if !plots.is_empty() {
        section.page(Block::Plots(plots));
    }
    unpaired(&prediction.unpaired, &mut section);
    section
}

/// `off by 3.1 % in the median, 9.0 % at most, of 12 points; 11 of 12 in the band`.
fn scored(score: &PredictionScore) -> String {
    let Some((median, worst)) = score.median_percent.zip(score.worst_percent) else {
        return "nothing to score".to_owned();
    };
    let [median, worst] = [median, worst].map(|percent| significant(percent, 3));
    let plural = if score.points == 1 { "point" } else { "points" };
    let off = format!("off by {median} % in the median, {worst} % at most, of {} {plural}", score.points);
    if score.banded == 0 { off } else { format!("{off}; {} of {} in the band", score.within, score.banded) }
}

fn points(prediction: &Prediction) -> Table {
    let mut order: Vec<&PredictedPoint> = prediction.points.iter().collect();
    let off = |point: &PredictedPoint| point.iops.error_percent.map_or(0, |error| (error.abs() * 1e3) as u64);
    order.sort_by_key(|point| Reverse(off(point)));
    let band = |figure: &PredictedFigure| {
        let told = if figure.within == Some(true) { "yes" } else { "NO" };
        or_dash(figure.within, |_| told)
    };
    let p99 =
        |point: &PredictedPoint, say: fn(&PredictedFigure) -> Cell| or_dash(point.latency_p99.as_ref(), say);
    let error = |figure: &PredictedFigure| Cell::from(or_dash(figure.error_percent, change));
    let table = Table::over(order)
        .words("asked", |point| point.asked.clone())
        .number("predicted", |point| with_band(Quantity::Count, point.iops.predicted))
        .number("IOPS", |point| Quantity::Count.say(point.iops.measured.mean))
        .number("off", |point| error(&point.iops))
        .words("in band", |point| band(&point.iops))
        .column(light("p99 predicted", 3), |point| {
            p99(point, |figure| with_band(Quantity::Nanos, figure.predicted))
        })
        .column(light("p99", 3), |point| {
            p99(point, |figure| Quantity::Nanos.say(figure.measured.mean).into())
        })
        .number("p99 off", |point| p99(point, |figure| or_dash(figure.error_percent, change).into()))
        .below(|point| point.note.iter().cloned().collect());
    let mut table = table.done();
    let folded = table.rows.len().saturating_sub(ROWS);
    if folded > 0 {
        table.shown = ROWS;
        table.rest = Some(Row::of([format!("... {folded} more")]));
    }
    "Off is predicted less measured, in percent of measured; most off first.".clone_into(&mut table.caption);
    table
}

fn light(head: &str, light: u8) -> crate::document::Column {
    crate::document::Column::number(head).light(light)
}

fn with_band(quantity: Quantity, value: Interval) -> Cell {
    let around = if value.samples >= 3 { plus_minus(value) } else { String::new() };
    Cell::from(quantity.say(value.mean)).small(around)
}

/// IOPS and 99th percentile over the axis of each step with numbers on it: measured, and predicted with its band.
fn curves(prediction: &Prediction) -> Vec<Drawn> {
    let axes = [
        (StepKind::Depth, "queue depth", Quantity::Count),
        (StepKind::Size, "request size", Quantity::Bytes),
        (StepKind::Threads, "threads", Quantity::Count),
    ];
    let mut plots = Vec::new();
    for (step, name, quantity) in axes {
        let of_step = prediction.points.iter().filter(|point| point.step == Some(step));
        let series = grouped(of_step.map(|point| (point.series.as_str(), point)));
        if series.iter().all(|(_, points)| points.len() < 2) {
            continue;
        }
        let x = || Axis::new(name, quantity, Scale::Log2);
        let rate = Axis::linear("IOPS (I/Os per second)", Quantity::Count);
        let tail = Axis::new("p99 latency", Quantity::Nanos, Scale::Log10);
        for (heading, y, figure) in [
            (
                format!("IOPS over {name}, predicted and measured"),
                rate,
                (|point| Some(&point.iops)) as FigureOf,
            ),
            (format!("p99 latency over {name}, predicted and measured"), tail, tail_of as FigureOf),
        ] {
            let plot = Plot::new(&heading, x(), y, both(&series, figure));
            if plot.has_points() {
                plots.push(Drawn::new(plot, "dashed: predicted, with its band; lines: measured"));
            }
        }
    }
    plots
}

type FigureOf = fn(&PredictedPoint) -> Option<&PredictedFigure>;

fn tail_of(point: &PredictedPoint) -> Option<&PredictedFigure> {
    point.latency_p99.as_ref()
}

fn both(series: &[(&str, Vec<&PredictedPoint>)], figure: FigureOf) -> Vec<Series> {
    let one = |(slot, (name, points)): (usize, &(&str, Vec<&PredictedPoint>))| {
        let mut points = points.clone();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let spots = |value: fn(&PredictedFigure) -> Interval| {
            let spots =
                points.iter().filter_map(|point| Some(Spot::of_interval(point.x, value(figure(point)?))));
            spots.collect::<Vec<_>>()
        };
        [
            Series::new(format!("{name}, measured"), slot % SLOTS, Look::Line, spots(|one| one.measured)),
            Series::new(format!("{name}, predicted"), slot % SLOTS, Look::Dashed, spots(|one| one.predicted)),
        ]
    };
    series.iter().enumerate().flat_map(one).collect()
}

/// Lists what was not predicted: some of it on a screen, all of it on a page.
fn unpaired(lines: &[String], section: &mut Section) {
    if lines.is_empty() {
        return;
    }
    let mut some = lines[..lines.len().min(REASONS)].to_vec();
    if lines.len() > REASONS {
        some.push(format!("... {} more measurements that were not predicted", lines.len() - REASONS));
    }
    section.screen(Block::List(some)).page(Block::List(lines.to_vec()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::pages::tests::sound::{assert_fits, assert_sound};

    fn figure(predicted: f64, measured: f64, banded: bool) -> PredictedFigure {
        let (low, high) = if banded { (predicted * 0.9, predicted * 1.1) } else { (predicted, predicted) };
        PredictedFigure {
            predicted: Interval { mean: predicted, low, high, samples: if banded { 20 } else { 0 } },
            measured: Interval::exact(measured),
            error_percent: (measured > 0.0).then(|| (predicted / measured - 1.0) * 100.0),
            within: banded.then_some(low <= measured && measured <= high),
        }
    }

    fn prediction(count: u32, banded: bool) -> Prediction {
        let point = |depth: u32| PredictedPoint {
            name: format!("depth: random read, {depth}"),
            asked: format!("randread 4 KiB, depth {depth}"),
            step: Some(StepKind::Depth),
            series: "random read".to_owned(),
            x: f64::from(depth),
            iops: figure(1100.0 * f64::from(depth), 1000.0 * f64::from(depth), banded),
            latency_p99: (depth > 1).then(|| figure(5e5, 1e6, banded)),
            note: (depth == 2).then(|| "predicted for libaio, measured with io_uring".to_owned()),
        };
        let all = PredictionScore {
            points: count,
            median_percent: Some(10.0),
            worst_percent: Some(10.0),
            banded: if banded { count } else { 0 },
            within: if banded { count } else { 0 },
        };
        Prediction {
            origin: "my.toml".to_owned(),
            draws: if banded { 20 } else { 0 },
            points: (1..=count).map(point).collect(),
            unpaired: vec!["sync: fsync, 4 KiB (randwrite 4 KiB, depth 1): not predicted".to_owned(); 5],
            iops: all,
            latency_p99: PredictionScore::default(),
        }
    }

    fn drawn(prediction: Prediction) -> (String, String) {
        let file = iostack_model::OutcomeFile { prediction: Some(prediction), ..fixture::outcome_file() };
        let told = crate::run(&file);
        let (text, page) = (told.text(), told.html());
        assert_fits(&text);
        assert_sound(&page);
        (text, page)
    }

    #[test]
    fn a_screen_has_errors_and_bands_and_a_page_both_curves() {
        let (text, page) = drawn(prediction(20, true));
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let told = "off by 10.0 % in the median, 10.0 % at most, of 20 points; 20 of 20 in the band";
        assert!(words.contains(told), "{text}");
        assert!(text.contains("... 8 more") && text.contains("+10 %") && text.contains("±10%"), "{text}");
        assert!(text.contains("... 2 more measurements that were not predicted"), "{text}");
        for curve in ["random read, measured", "random read, predicted"] {
            assert!(page.contains(curve), "no curve `{curve}`");
        }
    }

    #[test]
    fn without_a_band_and_without_points_it_is_said() {
        let (text, _) = drawn(prediction(2, false));
        assert!(text.contains("none: the numbers of its sheet are taken as exact"), "{text}");
        assert!(!text.contains("in the band"), "{text}");
        let (text, _) = drawn(Prediction { iops: PredictionScore::default(), ..prediction(0, false) });
        assert!(text.contains("nothing to score"), "{text}");
    }
}
