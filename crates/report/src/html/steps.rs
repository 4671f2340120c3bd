//! What did each step of a check find?
//!
//! A step is a section: its note, its figures, all its numbers behind a fold. Which figures, decides [`DRAWINGS`].
//! Start reading at [`section`].

use std::collections::BTreeSet;

use iostack_model::{Axis as StepAxis, Bins, Check, Outcome, Point, Step, StepKind};

use super::compared;
use super::escape;
use super::figures::{self, Curve, RANK_BAND, RATE_BAND, curves, iops};
use super::numbers::Quantity;
use super::page::Section;
use super::plot::{Axis, Look, Mark, Plot, Series, Spot};
use super::scale::Scale;
use super::sheet::{Sheet, span};
use super::table;
use super::time::over_time;

/// What a drawing needs to know.
pub(super) struct Drawn<'a> {
    pub(super) check: &'a Check,
    pub(super) step: &'a Step,
}

type Drawing = fn(&Drawn<'_>, &mut Sheet) -> String;

/// Step, its word in the navigation, its figures: none for what has sections of its own (`attribution`).
const DRAWINGS: [(StepKind, &str, Drawing); 12] = [
    (StepKind::Latency, "Latency", latency),
    (StepKind::Places, "Places", |_, _| String::new()),
    (StepKind::Depth, "Depth", depth),
    (StepKind::Size, "Size", size),
    (StepKind::Paths, "Paths", compared::paths),
    (StepKind::Threads, "Threads", threads),
    (StepKind::Engines, "Engines", compared::engines),
    (StepKind::Sync, "Sync", sync),
    (StepKind::Sustained, "Sustained", sustained),
    (StepKind::Schedulers, "Schedulers", compared::schedulers),
    (StepKind::Cells, "Cells", compared::cells),
    (StepKind::Other, "Other", by_axis),
];

/// The section of a step.
pub(super) fn section(check: &Check, step: &Step, sheet: &mut Sheet) -> Section {
    let drawn = Drawn { check, step };
    let known = DRAWINGS.iter().find(|(id, ..)| *id == step.id);
    let (_, short, draw) = known.expect("each question has a row");
    let id = step.id.name().to_owned();
    let mut body = String::new();
    if let Some(note) = &step.note {
        let word = if step.points.is_empty() { "Skipped: " } else { "" };
        body += &format!("<p class=\"note\">{word}{}</p>", escape::text(note));
    } else if step.points.is_empty() {
        body += "<p class=\"note\">Skipped: no reason was recorded.</p>";
    }
    if !step.points.is_empty() {
        let figures = draw(&drawn, sheet);
        if !figures.is_empty() {
            body += &format!("<div class=\"figures\">{figures}</div>");
        }
        let named: Vec<(String, &Outcome)> =
            step.points.iter().map(|point| (point_name(point), &point.outcome)).collect();
        body += &table::outcomes(&named, &format!("{short}: "), &mut sheet.doubts);
        body += &format!("<p class=\"took\">This step took {}.</p>", span(step.elapsed));
    }
    Section::new(&format!("step-{id}"), short, &step.title, body)
}

/// The series and the place on the axis, once where they are the same.
pub(super) fn point_name(point: &Point) -> String {
    if point.series == point.label || point.label.is_empty() {
        return point.series.clone();
    }
    format!("{}, {}", point.series, point.label)
}

/// All outcomes of a step.
pub(super) fn all<'a>(drawn: &Drawn<'a>) -> Vec<&'a Outcome> {
    drawn.step.points.iter().map(|point| &point.outcome).collect()
}

/// A plot with the caption of all outcomes of its step.
fn captioned(mut plot: Plot, drawn: &Drawn<'_>, interval: &str, sheet: &mut Sheet) -> String {
    plot.caption = sheet.caption(&all(drawn), interval);
    sheet.figure(&plot)
}

/// The step's own axis.
fn step_axis(axis: &StepAxis) -> Axis {
    let bytes = axis.label.contains("bytes");
    let quantity = if bytes { Quantity::Bytes } else { Quantity::Count };
    Axis::new(axis.label.clone(), quantity, if axis.log { Scale::Log2 } else { Scale::Linear })
}

fn iops_axis(scale: Scale) -> Axis {
    Axis::new("IOPS (I/Os per second)", Quantity::Count, scale)
}

fn latency(drawn: &Drawn<'_>, sheet: &mut Sheet) -> String {
    distributions(drawn, "one I/O in flight", Outcome::latency, sheet)
}

/// Percentiles and histogram of every point.
fn distributions(
    drawn: &Drawn<'_>,
    when: &str,
    bins: impl Fn(&Outcome) -> Bins,
    sheet: &mut Sheet,
) -> String {
    let points = &drawn.step.points;
    let distinct = |key: fn(&Point) -> &String| points.iter().map(key).collect::<BTreeSet<_>>().len();
    let (series, labels) = (distinct(|point| &point.series), distinct(|point| &point.label));
    let name = |point: &Point| match points.len() {
        count if count == series => point.series.clone(),
        count if count == labels => point.label.clone(),
        _ => point_name(point),
    };
    let all: Vec<(String, Bins)> = points.iter().map(|point| (name(point), bins(&point.outcome))).collect();
    let named: Vec<(&str, &Bins)> = all.iter().map(|(name, bins)| (name.as_str(), bins)).collect();
    let until = format!("{RANK_BAND}; curves end where ten I/Os remain");
    let percentiles = figures::percentiles(&named, &format!("Latency by percentile, {when}"));
    let histogram = figures::histogram(&named, &format!("How often each latency came, {when}"));
    captioned(percentiles, drawn, &until, sheet) + &captioned(histogram, drawn, "exact counts", sheet)
}

fn depth(drawn: &Drawn<'_>, sheet: &mut Sheet) -> String {
    let curves = curves(&drawn.step.points);
    let x = step_axis(&drawn.step.axis);
    let mut rate = figures::over(&curves, &x, iops_axis(Scale::Linear), &depth_heading(drawn.check), iops);
    rate.marks = knees(drawn.check, &curves);
    let latency = figures::latency_over(&curves, &x, "What waiting in the queue costs: latency over depth");
    let price = figures::latency_over_throughput(
        &curves,
        "The price of throughput: latency as depth grows (depth beside each point)",
    );
    captioned(rate, drawn, &format!("{RATE_BAND}; vertical line: knee"), sheet)
        + &captioned(latency, drawn, RANK_BAND, sheet)
        + &captioned(Plot { wide: true, ..price }, drawn, RANK_BAND, sheet)
}

/// `Random read saturates at depth 16 with 212 k IOPS`, or that it does not.
fn depth_heading(check: &Check) -> String {
    let Some(first) = check.summary.saturation.first() else { return "IOPS over queue depth".to_owned() };
    let most = Quantity::Count.show(first.iops_max);
    let series = capitalised(&first.series);
    match first.depth {
        Some(depth) => format!("{series} saturates at depth {depth}: {most} IOPS at most"),
        None => format!("{series} still rises at the largest depth: {most} IOPS so far"),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Curves that bend at the same depth share a line.
fn knees(check: &Check, curves: &[Curve<'_>]) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for saturation in &check.summary.saturation {
        let Some(depth) = saturation.depth else { continue };
        let Some(curve) = curves.iter().find(|curve| curve.name == saturation.series) else { continue };
        match marks.iter_mut().find(|mark| (mark.x - f64::from(depth)).abs() < f64::EPSILON) {
            Some(mark) => {
                mark.label = format!("{}, {}", mark.label, curve.name);
                mark.slot = None;
            }
            None => marks.push(Mark {
                x: f64::from(depth),
                label: format!("knee {depth}: {}", curve.name),
                slot: Some(curve.slot),
                leftward: true,
            }),
        }
    }
    marks
}

fn size(drawn: &Drawn<'_>, sheet: &mut Sheet) -> String {
    let curves = curves(&drawn.step.points);
    let x = step_axis(&drawn.step.axis);
    let bytes = Axis::new("bandwidth (bytes per second)", Quantity::Bandwidth, Scale::Linear);
    let bandwidth = figures::over(&curves, &x, bytes, "Bandwidth over request size", figures::bandwidth);
    let rate = figures::over(&curves, &x, iops_axis(Scale::Log10), "IOPS over request size", iops);
    captioned(bandwidth, drawn, RATE_BAND, sheet) + &captioned(rate, drawn, RATE_BAND, sheet)
}

fn threads(drawn: &Drawn<'_>, sheet: &mut Sheet) -> String {
    let curves = curves(&drawn.step.points);
    let x = step_axis(&drawn.step.axis);
    let mut rate = figures::over(
        &curves,
        &x,
        iops_axis(Scale::Linear),
        "IOPS over threads, and what perfect scaling would give",
        iops,
    );
    rate.series.extend(curves.iter().filter_map(ideal));
    let latency = figures::latency_over(&curves, &x, "Latency over threads");
    captioned(rate, drawn, &format!("{RATE_BAND}; thin line: first point times threads"), sheet)
        + &captioned(latency, drawn, RANK_BAND, sheet)
}

/// The first point's rate times the threads.
fn ideal(curve: &Curve<'_>) -> Option<Series> {
    let first = curve.points.first().filter(|point| point.x > 0.0)?;
    let each = iops(&first.outcome).mean / first.x;
    let spots = curve.points.iter().map(|point| Spot::at(point.x, each * point.x)).collect();
    Some(Series { name: format!("ideal, {}", curve.name), slot: curve.slot, look: Look::Ideal, spots })
}

fn sync(drawn: &Drawn<'_>, sheet: &mut Sheet) -> String {
    let of_the_call = |outcome: &Outcome| {
        if outcome.sync.count > 0 { outcome.sync.clone() } else { outcome.latency() }
    };
    compared::sync(drawn, sheet) + &distributions(drawn, "the call alone", of_the_call, sheet)
}

fn sustained(drawn: &Drawn<'_>, sheet: &mut Sheet) -> String {
    let mut out = String::new();
    for point in &drawn.step.points {
        let place = point_name(point);
        let Some((rates, latency, each)) = over_time(&point.outcome, &capitalised(&place)) else { continue };
        for plot in [rates, latency] {
            let caption = sheet.caption(&[&point.outcome], &each);
            out += &sheet.figure(&Plot { caption, wide: true, ..plot });
        }
    }
    if out.is_empty() { compared::schedulers(drawn, sheet) } else { out }
}

fn by_axis(drawn: &Drawn<'_>, sheet: &mut Sheet) -> String {
    if drawn.step.axis.categories {
        return compared::schedulers(drawn, sheet);
    }
    let curves = curves(&drawn.step.points);
    let x = step_axis(&drawn.step.axis);
    let rate = figures::over(&curves, &x, iops_axis(Scale::Linear), "IOPS", iops);
    let latency = figures::latency_over(&curves, &x, "Latency");
    captioned(rate, drawn, RATE_BAND, sheet) + &captioned(latency, drawn, RANK_BAND, sheet)
}
