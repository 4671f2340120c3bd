//! The steps that a check tells in a line each: size, threads, paths, sync, sustained, schedulers.

use iostack_model::answers::{Check, Point, Step, StepKind};
use iostack_model::{Caveat, IntervalFlow, Nanos};

use super::compared::call_latency;
use super::{of_latency, of_rate};
use crate::document::{Block, Document, Section};
use crate::html::figures::{StepCurve, curves};
use crate::lists::Joined;
use crate::text::format::{change, megabytes, rate};
use crate::text::glyphs::sparkline;

/// Cells of the sparkline.
const SPARK: usize = 14;

/// Step, its word in the margin, and how its points are told.
type StepTeller = fn(&Step, &[&Caveat]) -> String;
const TOLD: [(StepKind, &str, StepTeller); 6] = [
    (StepKind::Size, "size", sizes),
    (StepKind::Threads, "threads", threads),
    (StepKind::Paths, "paths", paths),
    (StepKind::Sync, "flush", syncs),
    (StepKind::Sustained, "sustained", sustained),
    (StepKind::Schedulers, "scheduler", against_the_best),
];

/// Steps that a table shows; a line says when one was skipped.
const SHOWN: [(StepKind, &str); 4] = [
    (StepKind::Cells, "cells"),
    (StepKind::Latency, "latency"),
    (StepKind::Depth, "depth"),
    (StepKind::Engines, "engines"),
];

/// A line for each step, and what was skipped or not measured.
pub(super) fn section(check: &Check, all: &mut Document) {
    let mut section = Section::new("steps", "", "The steps in a line each");
    let mut absent: Vec<&str> = Vec::new();
    let shown = SHOWN.into_iter().map(|(id, word)| (id, word, None));
    for (id, word, tell) in shown.chain(TOLD.into_iter().map(|(id, word, tell)| (id, word, Some(tell)))) {
        let Some(step) = check.step(id) else {
            absent.push(id.name());
            continue;
        };
        match tell {
            Some(tell) if !step.points.is_empty() => _ = section.put(line(check, word, step, tell, all)),
            None if step.note.is_none() => {}
            _ => _ = section.screen(noted(word, step)),
        }
    }
    if !absent.is_empty() {
        section.fact("unasked", format!("not measured in this check: {}", absent.join(", ")));
    }
    all.sections.push(section);
}

fn noted(word: &str, step: &Step) -> Block {
    let skipped = if step.points.is_empty() { "skipped: " } else { "" };
    let note = step.note.as_deref().unwrap_or("no reason given");
    Block::Fact(word.to_owned(), format!("{skipped}{note}"))
}

fn line(check: &Check, word: &str, step: &Step, tell: StepTeller, all: &mut Document) -> Block {
    let of_points = step.points.iter().flat_map(|point| &point.outcome.caveats);
    // Doubts about the shape of a rate belong to the step that looks at it, wherever they were written down.
    let of_check = check.caveats.iter().filter(|caveat| step.id == StepKind::Sustained && of_rate(caveat));
    let caveats: Vec<&Caveat> = of_points.chain(of_check).filter(|caveat| !of_latency(caveat)).collect();
    let marks = all.doubts.note(caveats.iter().copied(), word);
    let note = step.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    Block::Doubted(word.to_owned(), format!("{}{note}", tell(step, &caveats)), marks)
}

/// Each series with its points. A name is said only where there are several and the points do not say it themselves.
fn by_series(step: &Step, tell: impl Fn(&Point, &[&Point]) -> String) -> String {
    let curves = curves(&step.points);
    let each = curves.iter().map(|StepCurve { name, points, .. }| {
        let told = points.iter().map(|point| tell(point, points)).joined(", ");
        let says_itself = points.iter().all(|point| point.label == point.series.name());
        if curves.len() > 1 && !says_itself { format!("{name}: {told}") } else { told }
    });
    each.joined("; ")
}

/// A value within this share of a curve's largest is as good as the largest.
const AS_GOOD: f64 = 0.95;

/// The first place of a curve that is as good as its best, and its value there; the page has the whole curve.
fn first_as_good<'a>(curve: &[&'a Point], value: fn(&Point) -> f64) -> Option<(&'a Point, f64)> {
    let most = curve.iter().map(|point| value(point)).fold(0.0, f64::max);
    let first = curve.iter().find(|point| value(point) >= most * AS_GOOD)?;
    Some((first, value(first)))
}

fn sizes(step: &Step, _: &[&Caveat]) -> String {
    let told = curves(&step.points).into_iter().filter_map(|StepCurve { name, points, .. }| {
        let (point, most) = first_as_good(&points, |point| point.outcome.bandwidth())?;
        Some(format!("{name} {} ({})", megabytes(most), point.label))
    });
    format!("MB/s: {}", told.joined(", "))
}

fn threads(step: &Step, _: &[&Caveat]) -> String {
    let told = curves(&step.points).into_iter().filter_map(|StepCurve { name, points, .. }| {
        let (point, most) = first_as_good(&points, |point| point.outcome.iops.mean)?;
        Some(format!("{} from {} ({name})", rate(most), point.label))
    });
    format!("most IOPS: {}", told.joined(", "))
}

/// The paths at the smallest size, where their cost per I/O shows.
fn paths(step: &Step, _: &[&Caveat]) -> String {
    let smallest = step.points.iter().map(|point| point.x).fold(f64::INFINITY, f64::min);
    let some: Vec<&Point> = step.points.iter().filter(|point| point.x <= smallest).collect();
    // Said once what the parentheses hold.
    let subjects = std::iter::once("CPU ").chain(std::iter::repeat(""));
    let told = some.iter().zip(subjects).map(|(point, what)| {
        let cost = point.outcome.cpu_ns_per_io().map(|ns| format!(" ({what}{})", Nanos(ns as u64)));
        format!("{} {}{}", point.series, rate(point.outcome.iops.mean), cost.unwrap_or_default())
    });
    format!("{}: {}", some.first().map_or("", |point| &point.label), told.joined("; "))
}

fn syncs(step: &Step, _: &[&Caveat]) -> String {
    by_series(step, |point, _| {
        let bins = call_latency(&point.outcome);
        let at = |fraction| Nanos(bins.quantile_ns(fraction).unwrap_or_default());
        format!("{} p50 {} p99 {}", point.label, at(0.5), at(0.99))
    })
}

/// The best of each series with its rate, the others against it: the same where the intervals share a value.
fn against_the_best(step: &Step, _: &[&Caveat]) -> String {
    by_series(step, |point, curve| {
        let best = curve.iter().map(|other| other.outcome.iops).max_by(|a, b| a.mean.total_cmp(&b.mean));
        let (iops, best) = (point.outcome.iops, best.unwrap_or_default());
        let standing = if iops == best {
            rate(iops.mean)
        } else if iops.samples >= 3 && iops.overlaps(best) {
            "the same".to_owned()
        } else {
            change((iops.mean / best.mean - 1.0) * 100.0)
        };
        format!("{} {standing}", point.label)
    })
}

/// The curve and its shape in words.
fn sustained(step: &Step, caveats: &[&Caveat]) -> String {
    let each = step.points.iter().map(|Point { outcome, series, .. }| {
        let rates: Vec<f64> = outcome.series.iter().map(rate_of).collect();
        format!("{} {series} {}", sparkline(&rates, SPARK), shape(caveats, &rates, outcome.elapsed))
    });
    each.joined("; ")
}

/// I/Os per second of one element of a series.
pub(crate) fn rate_of(slice: &IntervalFlow) -> f64 {
    if slice.length.0 == 0 { 0.0 } else { slice.ios.iter().sum::<u64>() as f64 / slice.length.as_secs_f64() }
}

/// Level, cliff, step or slope: as the outcome's caveats say, since they are what the statistics found.
fn shape(caveats: &[&Caveat], rates: &[f64], elapsed: Nanos) -> String {
    let moved = |word: &str, at: &Nanos, before: &f64, after: &f64| {
        Some(format!("{word} at {at}: {} to {} IOPS", rate(*before), rate(*after)))
    };
    let found = caveats.iter().find_map(|caveat| match caveat {
        Caveat::Cliff { at, before, after } => moved("falls", at, before, after),
        Caveat::RateStep { at, before, after } => moved("steps", at, before, after),
        Caveat::Slope { per_minute } => Some(format!("drifts by {} a minute", change(per_minute * 100.0))),
        Caveat::Unstable { relative } => Some(format!("is uneven, ±{:.0} %", relative * 100.0)),
        _ => None,
    });
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    found.unwrap_or_else(|| format!("is level at {} IOPS over {elapsed}", rate(mean)))
}
