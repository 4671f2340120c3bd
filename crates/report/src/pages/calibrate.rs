//! Which platform answers as this machine did, and how far is it off?

use iostack_model::answers::{CalibratedNumber, CalibratedPoint, Calibration, CalibrationScore};
use iostack_model::{Bytes, Interval};

use crate::document::{Block, Column, Document, Drawn, Section, Table};
use crate::html::plot::{Axis, Look, Plot, Quantity, Scale, Series, Spot};
use crate::lists::grouped;
use crate::text::format::{or_dash, percent, rate, significant, time};

/// Document of `iostack calibrate`.
pub fn calibrate(report: &Calibration) -> Document {
    let files = match report.files.as_slice() {
        [first, _, _, ..] => format!("{first} and {} more", report.files.len() - 1),
        few => few.join(" "),
    };
    let mut all = Document::new(format!("iostack calibrate {files}"));
    let held = report.points.iter().filter(|point| point.held_out).count();
    all.beside = vec![format!("{} points", report.points.len()), format!("{held} held out")];
    all.origin = vec![format!("iostack {}", report.iostack)];
    all.unjudged = true;
    all.answers = "ANSWER";
    all.answer = answer(report);
    for doubt in &report.doubts {
        all.head.fact("doubt", doubt);
    }
    all.sections.extend([errors(report), numbers(report), curves(report), points(report)]);
    let mut sheet = Section::default();
    sheet.words(&report.sheet);
    let mut section = Section::new("sheet", "Sheet", "The sheet");
    section.page(Block::Fold("The platform as a file".to_owned(), sheet));
    all.sections.push(section);
    let next = format!("iostack sim show ./{}.toml", report.name);
    all.next = Some((next, "the platform, once -o has written it, and what is full in it"));
    all
}

fn answer(report: &Calibration) -> String {
    let measured = report.numbers.iter().filter(|number| number.interval.is_some()).count();
    let drive = &report.drive;
    match report.scores.first() {
        Some(score) => format!(
            "A platform of {measured} fitted numbers and a drive of the kind {drive}: off by {} of IOPS in the median and {} at \
             worst, on {} points that it was not fitted to.",
            share(score.iops_median),
            share(score.iops_worst),
            score.points
        ),
        None => format!(
            "A platform of {measured} fitted numbers and a drive of the kind {drive}. Nothing was held out, so that nobody \
             knows how far off it is."
        ),
    }
}

fn share(value: f64) -> String {
    format!("{} %", percent(value))
}

fn errors(report: &Calibration) -> Section {
    let mut section = Section::new("errors", "Errors", "Errors on the points that were held out");
    if !report.scores.is_empty() {
        let table = Table::over(&report.scores)
            .words("predictor", |score: &CalibrationScore| &score.predictor)
            .number("points", |score| score.points.to_string())
            .number("IOPS, median", |score| share(score.iops_median))
            .number("worst", |score| share(score.iops_worst))
            .number("p99, median", |score| or_dash(score.p99_median, share))
            .number("worst", |score| or_dash(score.p99_worst, share));
        section.table(table.done());
    }
    if !report.findings.is_empty() {
        section.list(report.findings.clone());
    }
    section
}

fn numbers(report: &Calibration) -> Section {
    let mut section = Section::new("numbers", "Numbers", "The numbers of the sheet");
    let (measured, assumed): (Vec<_>, Vec<_>) =
        report.numbers.iter().partition(|number| number.source.starts_with("measured"));
    let table = Table::over(measured)
        .words("number", |number: &CalibratedNumber| &number.key)
        .number("value", |number| {
            number.interval.map_or(number.text.clone(), |value| told(value.mean, &number.unit))
        })
        .number("95 % from", |number| end(number, |value| value.low))
        .number("to", |number| end(number, |value| value.high))
        .column(Column::words("source").page(), |number| &number.source);
    section.table(table.done());
    let table = Table::over(&assumed)
        .words("number", |number: &&CalibratedNumber| &number.key)
        .words("value", |number| &number.text)
        .words("assumed", |number| &number.source);
    section.folded(format!("Assumed ({})", assumed.len()), table.done());
    section
}

fn end(number: &CalibratedNumber, of: fn(&Interval) -> f64) -> String {
    or_dash(number.interval.as_ref().map(of), |value| told(value, &number.unit))
}

fn told(value: f64, unit: &str) -> String {
    match unit {
        _ if value > 1e18 => "huge".to_owned(),
        "ns" => time(value),
        "B/s" => format!("{} MB/s", significant(value / 1e6, 4)),
        "/s" => format!("{} /s", rate(value)),
        unit => format!("{} {unit}", significant(value, 4)).trim_end().to_owned(),
    }
}

fn name(point: &CalibratedPoint) -> String {
    format!("{} of {}", point.pattern, Bytes(point.block.0))
}

fn flown(point: &CalibratedPoint) -> f64 {
    f64::from(point.queue_depth) * f64::from(point.threads)
}

/// Each curve of several depths: measured, the sheet's, and the baselines'.
fn curves(report: &Calibration) -> Section {
    let mut section = Section::new("curves", "Curves", "Measured and predicted");
    let mut plots = Vec::new();
    for (name, points) in grouped(report.points.iter().map(|point| (name(point), point))) {
        let mut points = points;
        points.sort_by(|a, b| flown(a).total_cmp(&flown(b)));
        points.dedup_by(|a, b| flown(a).total_cmp(&flown(b)).is_eq());
        let flights: Vec<f64> = points.iter().map(|point| flown(point)).collect();
        if flights.len() < 3 {
            continue;
        }
        let curve = |label: &str, slot: usize, look: Look, of: &dyn Fn(&CalibratedPoint) -> Option<f64>| {
            let spots = points.iter().filter_map(|point| {
                let label = if point.held_out { format!("{label}, held out") } else { label.to_owned() };
                Some(Spot { label, ..Spot::of_interval(flown(point), Interval::exact(of(point)?)) })
            });
            Series::new(label, slot, look, spots.collect::<Vec<_>>())
        };
        let series = [
            curve("measured", 0, Look::Line, &|point| Some(point.iops)),
            curve("the sheet", 1, Look::Dashed, &|point| Some(point.sheet_iops)),
            curve("closed network", 2, Look::Dashed, &|point| point.network_iops),
            curve("roofline", 3, Look::Dashed, &|point| point.roofline_iops),
        ];
        let x = Axis::new("I/Os in flight".to_owned(), Quantity::Count, Scale::of(&flights));
        let plot = Plot::new(&name, x, Axis::linear("I/Os per second", Quantity::Count), series);
        plots.push(Drawn::new(plot, "measured; all others are predicted"));
    }
    if !plots.is_empty() {
        section.page(Block::Plots(plots));
    }
    section
}

fn points(report: &Calibration) -> Section {
    let mut section = Section::new("points", "Points", "Every point");
    let off = |predicted: f64, point: &CalibratedPoint| {
        let share = 100.0 * (predicted / point.iops - 1.0);
        if share.abs() < 1e4 { format!("{share:+.1} %") } else { "-".to_owned() }
    };
    let table = Table::over(&report.points)
        .words("pattern", |point: &CalibratedPoint| &point.pattern)
        .number("block", |point| point.block.to_string())
        .number("depth", |point| point.queue_depth.to_string())
        .number("threads", |point| point.threads.to_string())
        .words("", |point| if point.held_out { "held out" } else { "" })
        .number("IOPS", |point| rate(point.iops))
        .number("sheet", |point| off(point.sheet_iops, point))
        .number("network", |point| or_dash(point.network_iops, |iops| off(iops, point)))
        .number("roofline", |point| or_dash(point.roofline_iops, |iops| off(iops, point)))
        .number("p99", |point| or_dash(point.latency_p99, |ns| time(ns.0 as f64)))
        .number("sheet", |point| or_dash(point.sheet_p99, |ns| time(ns.0 as f64)));
    section.folded(format!("Every point ({})", report.points.len()), table.done());
    section
}
