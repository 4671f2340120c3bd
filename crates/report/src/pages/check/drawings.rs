//! What did each step of a check find, drawn?
//!
//! A step is a section of the page: its note, its figures, all its numbers behind a fold. Which figures, decides
//! [`DRAWINGS`]. Start reading at [`section`].

use iostack_model::answers::{self, AxisName, Point, Step, StepKind};
use iostack_model::{Bins, Outcome};

use super::compared::{CALLS, CELLS, ENGINES, PATHS, SCHEDULERS, bars, call_latency};
use super::point_name;
use crate::document::{Block, Doubts, Drawn, Section, Table, To};
use crate::html::figures::{self, RANK_BAND, RATE_BAND, StepCurve, curves, iops};
use crate::html::plot::{Axis, Look, Plot, Quantity, Scale, Series, Spot};
use crate::html::time::over_time;
use crate::lists::distinct;
use crate::pages::numbers::{all_numbers, captioned as with_caption, heat_map};
use crate::text::format::{capitalised, time};

/// Table and plots in the section of a step.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) table: Option<Table>,
    pub(super) plots: Vec<Drawn>,
}

pub(super) fn outcomes(step: &Step) -> Vec<&Outcome> {
    step.points.iter().map(|point| &point.outcome).collect()
}

type Drawing = fn(&Step, &mut Doubts) -> Figures;

/// Step, its word in the navigation, its figures: none for what has sections of its own.
const DRAWINGS: [(StepKind, &str, Drawing); 12] = [
    (StepKind::Latency, "Latency", latency),
    (StepKind::Places, "Places", |_, _| Figures::default()),
    (StepKind::Depth, "Depth", depth),
    (StepKind::Size, "Size", size),
    (StepKind::Paths, "Paths", |step, doubts| bars(step, &PATHS, doubts)),
    (StepKind::Threads, "Threads", threads),
    (StepKind::Engines, "Engines", |step, doubts| bars(step, &ENGINES, doubts)),
    (StepKind::Sync, "Sync", sync),
    (StepKind::Sustained, "Sustained", sustained),
    (StepKind::Schedulers, "Schedulers", |step, doubts| bars(step, &SCHEDULERS, doubts)),
    (StepKind::Cells, "Cells", |step, doubts| bars(step, &CELLS, doubts)),
    (StepKind::Other, "Other", by_axis),
];

/// The section of a step, for a page.
pub(super) fn section(step: &Step, doubts: &mut Doubts) -> Section {
    let known = DRAWINGS.iter().find(|(id, ..)| *id == step.id);
    let (_, short, draw) = known.expect("each question has a row");
    let mut section = Section::new(&format!("step-{}", step.id.name()), short, &step.title);
    let skipped = if step.points.is_empty() { "Skipped: " } else { "" };
    if step.note.is_some() || step.points.is_empty() {
        let note = step.note.as_deref().unwrap_or("no reason was recorded.");
        section.page(Block::Note(format!("{skipped}{note}")));
    }
    if step.points.is_empty() {
        return section;
    }
    let figures = draw(step, doubts);
    section.blocks.extend(figures.table.map(|table| (To::Page, Block::Table(table))));
    if !figures.plots.is_empty() {
        section.page(Block::Plots(figures.plots));
    }
    for point in step.points.iter().filter(|_| step.id == StepKind::Sustained) {
        let what = format!("{}: latency over time", capitalised(&point_name(point)));
        heat_map(&point.outcome, &what, To::Page, &mut section, doubts);
    }
    let named: Vec<(String, &Outcome)> =
        step.points.iter().map(|point| (point_name(point), &point.outcome)).collect();
    section.page(all_numbers(&named, &format!("{short}: "), doubts));
    section.page(Block::Words(format!("This step took {}.", time(step.elapsed.0 as f64))));
    section
}

/// Plots, each with what its band means, captioned with all outcomes of their step.
fn captioned<const MANY: usize>(plots: [(Plot, &str); MANY], step: &Step, doubts: &mut Doubts) -> Figures {
    let plots = plots.into_iter().map(|(plot, band)| with_caption(plot, &outcomes(step), band, doubts));
    Figures { table: None, plots: plots.collect() }
}

/// The step's own axis.
pub(super) fn step_axis(axis: &answers::Axis) -> Axis {
    let bytes = axis.label == AxisName::RequestSize;
    let quantity = if bytes { Quantity::Bytes } else { Quantity::Count };
    Axis::new(axis.label.name(), quantity, if axis.log { Scale::Log2 } else { Scale::Linear })
}

pub(super) fn iops_axis(scale: Scale) -> Axis {
    Axis::new("IOPS (I/Os per second)", Quantity::Count, scale)
}

fn latency(step: &Step, doubts: &mut Doubts) -> Figures {
    distributions(step, "one I/O in flight", Outcome::latency, doubts)
}

/// Percentiles and histogram of every point.
fn distributions(step: &Step, when: &str, bins: impl Fn(&Outcome) -> Bins, doubts: &mut Doubts) -> Figures {
    let points = &step.points;
    let count = |key: fn(&Point) -> &str| distinct(points.iter().map(key)).len();
    let (series, labels) = (count(|point| point.series.name()), count(|point| &point.label));
    let name = |point: &Point| match points.len() {
        count if count == series => point.series.to_string(),
        count if count == labels => point.label.clone(),
        _ => point_name(point),
    };
    let all: Vec<(String, Bins)> = points.iter().map(|point| (name(point), bins(&point.outcome))).collect();
    let named: Vec<(&str, &Bins)> = all.iter().map(|(name, bins)| (name.as_str(), bins)).collect();
    let until = format!("{RANK_BAND}; curves end where ten I/Os remain");
    let percentiles = figures::percentiles(&named, &format!("Latency by percentile, {when}"));
    let histogram = figures::histogram(&named, &format!("How often each latency came, {when}"));
    captioned([(percentiles, &until), (histogram, "exact counts")], step, doubts)
}

/// The rest of the first picture, which has rate and latency over depth.
fn depth(step: &Step, doubts: &mut Doubts) -> Figures {
    let heading = "The price of throughput: latency as depth grows (depth beside each point)";
    let price = figures::latency_over_throughput(&curves(&step.points), heading);
    captioned([(Plot { wide: true, ..price }, RANK_BAND)], step, doubts)
}

fn size(step: &Step, doubts: &mut Doubts) -> Figures {
    let curves = curves(&step.points);
    let x = step_axis(&step.axis);
    let bytes = Axis::linear("bandwidth (bytes per second)", Quantity::Bandwidth);
    let bandwidth = figures::over(&curves, &x, bytes, "Bandwidth over request size", figures::bandwidth);
    let rate = figures::over(&curves, &x, iops_axis(Scale::Log10), "IOPS over request size", iops);
    captioned([(bandwidth, RATE_BAND), (rate, RATE_BAND)], step, doubts)
}

fn threads(step: &Step, doubts: &mut Doubts) -> Figures {
    let curves = curves(&step.points);
    let x = step_axis(&step.axis);
    let heading = "IOPS over threads, and what perfect scaling would give";
    let mut rate = figures::over(&curves, &x, iops_axis(Scale::Linear), heading, iops);
    rate.series.extend(curves.iter().filter_map(ideal));
    let latency = figures::latency_over(&curves, &x, "Latency over threads");
    let thin = format!("{RATE_BAND}; thin line: first point times threads");
    captioned([(rate, &thin), (latency, RANK_BAND)], step, doubts)
}

/// The first point's rate times the threads.
fn ideal(curve: &StepCurve<'_>) -> Option<Series> {
    let first = curve.points.first().filter(|point| point.x > 0.0)?;
    let each = iops(&first.outcome).mean / first.x;
    let spots = curve.points.iter().map(|point| Spot::at(point.x, each * point.x));
    Some(Series::new(format!("ideal, {}", curve.name), curve.slot, Look::Ideal, spots))
}

fn sync(step: &Step, doubts: &mut Doubts) -> Figures {
    let plots = distributions(step, "the call alone", call_latency, doubts).plots;
    Figures { plots, ..bars(step, &CALLS, doubts) }
}

fn sustained(step: &Step, doubts: &mut Doubts) -> Figures {
    let mut plots = Vec::new();
    for point in &step.points {
        let place = point_name(point);
        let Some((rates, latency, each)) = over_time(&point.outcome, &capitalised(&place)) else { continue };
        for plot in [rates, latency] {
            plots.push(with_caption(Plot { wide: true, ..plot }, &[&point.outcome], &each, doubts));
        }
    }
    if plots.is_empty() { bars(step, &SCHEDULERS, doubts) } else { Figures { table: None, plots } }
}

fn by_axis(step: &Step, doubts: &mut Doubts) -> Figures {
    if step.axis.categories {
        return bars(step, &SCHEDULERS, doubts);
    }
    let curves = curves(&step.points);
    let x = step_axis(&step.axis);
    let rate = figures::over(&curves, &x, iops_axis(Scale::Linear), "IOPS", iops);
    let latency = figures::latency_over(&curves, &x, "Latency");
    captioned([(rate, RATE_BAND), (latency, RANK_BAND)], step, doubts)
}
