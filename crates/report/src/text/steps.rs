//! The steps that a check tells in a line each: size, threads, paths, sync, sustained, schedulers.

use iostack_model::{Bins, Caveat, Check, IntervalFlow, Nanos, Point, Step};

use super::format::{change, megabytes, paragraph, rate};
use super::glyphs::sparkline;
use super::notes::Notes;
use super::screen::{caveat_of_latency, caveat_of_rate};

/// Cells of the sparkline.
const SPARK: usize = 14;

/// Step, its word in the margin, and how its points are told.
type Teller = fn(&Step, &[&Caveat]) -> String;
const TOLD: [(&str, &str, Teller); 6] = [
    ("size", "size", sizes),
    ("threads", "threads", threads),
    ("paths", "paths", paths),
    ("sync", "flush", syncs),
    ("sustained", "sustained", sustained),
    ("schedulers", "scheduler", against_the_best),
];

/// Steps that a table shows; a line says when one was skipped.
const SHOWN: [(&str, &str); 4] =
    [("cells", "cells"), ("latency", "latency"), ("depth", "depth"), ("engines", "engines")];

/// One line or paragraph for each step, and what was skipped or not measured.
pub(super) fn lines(check: &Check, notes: &mut Notes) -> String {
    let mut text = String::new();
    let mut absent: Vec<&str> = Vec::new();
    for (id, word) in SHOWN {
        match check.step(id) {
            None => absent.push(id),
            Some(step) => {
                text += &step.note.as_ref().map_or_else(String::new, |note| noted(word, step, note));
            }
        }
    }
    for (id, word, tell) in TOLD {
        match check.step(id) {
            None => absent.push(id),
            Some(step) => text += &line(check, word, step, tell, notes),
        }
    }
    if !absent.is_empty() {
        text += &paragraph(&margin("unasked"), &format!("not measured in this check: {}", absent.join(", ")));
    }
    text
}

fn margin(word: &str) -> String {
    format!("{word:<11}")
}

fn noted(word: &str, step: &Step, note: &str) -> String {
    let skipped = if step.points.is_empty() { "skipped: " } else { "" };
    paragraph(&margin(word), &format!("{skipped}{note}"))
}

fn line(check: &Check, word: &str, step: &Step, tell: Teller, notes: &mut Notes) -> String {
    if step.points.is_empty() {
        let note = step.note.as_deref().unwrap_or("no reason given");
        return noted(word, step, note);
    }
    let of_points = step.points.iter().flat_map(|point| &point.outcome.caveats);
    // Doubts about the shape of a rate belong to the step that looks at it, wherever they were written down.
    let of_check = check.caveats.iter().filter(|caveat| step.id == "sustained" && caveat_of_rate(caveat));
    let caveats: Vec<&Caveat> =
        of_points.chain(of_check).filter(|caveat| !caveat_of_latency(caveat)).collect();
    let mark = notes.mark(caveats.iter().copied());
    let note = step.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    paragraph(&margin(word), &format!("{} {mark}{note}", tell(step, &caveats)))
}

/// Series names are said only where there are several.
fn by_series(step: &Step, tell: impl Fn(&Point) -> String) -> String {
    let mut parts: Vec<(&str, Vec<String>)> = Vec::new();
    for point in &step.points {
        match parts.iter_mut().find(|(name, _)| *name == point.series) {
            Some((_, told)) => told.push(tell(point)),
            None => parts.push((&point.series, vec![tell(point)])),
        }
    }
    let several = parts.len() > 1;
    let each = parts
        .iter()
        .map(|(name, told)| if several { format!("{name}: {}", told.join(", ")) } else { told.join(", ") });
    each.collect::<Vec<_>>().join("; ")
}

/// Sizes that stand for the curve on the screen; the page has all of them.
const SIZES: [f64; 3] = [4096.0, 65_536.0, 1_048_576.0];

fn sizes(step: &Step, _: &[&Caveat]) -> String {
    let some = Step {
        points: step.points.iter().filter(|point| SIZES.contains(&point.x)).cloned().collect(),
        ..step.clone()
    };
    let told = by_series(&some, |point| format!("{} {}", point.label, megabytes(point.outcome.bandwidth())));
    format!("MB/s of {told}")
}

fn threads(step: &Step, _: &[&Caveat]) -> String {
    let told = by_series(step, |point| format!("{}: {}", point.label, rate(point.outcome.iops.mean)));
    format!("IOPS with {told}")
}

fn paths(step: &Step, _: &[&Caveat]) -> String {
    let told = by_series(step, |point| {
        let cost = point.outcome.cpu_ns_per_io().map_or_else(String::new, |ns| format!(" ({ns:.0} ns CPU)"));
        format!("{} {}{cost}", point.label, rate(point.outcome.iops.mean))
    });
    format!("IOPS {told}")
}

fn syncs(step: &Step, _: &[&Caveat]) -> String {
    by_series(step, |point| {
        let bins = if point.outcome.sync.count > 0 { &point.outcome.sync } else { &point.outcome.latency() };
        format!("{} {}", point.label, percentiles(bins))
    })
}

fn percentiles(bins: &Bins) -> String {
    let at = |fraction| Nanos(bins.quantile_ns(fraction).unwrap_or_default());
    format!("p50 {} p99 {}", at(0.5), at(0.99))
}

/// Each point against the best: the same where the intervals share a value.
fn against_the_best(step: &Step, _: &[&Caveat]) -> String {
    let Some(best) = step.points.iter().max_by(|a, b| a.outcome.iops.mean.total_cmp(&b.outcome.iops.mean))
    else {
        return String::new();
    };
    let best = best.outcome.iops;
    by_series(step, |point| {
        let iops = point.outcome.iops;
        let standing = if iops == best {
            "best".to_owned()
        } else if iops.samples >= 3 && iops.overlaps(best) {
            "the same".to_owned()
        } else {
            change((iops.mean / best.mean - 1.0) * 100.0).replace(' ', "")
        };
        format!("{} {} ({standing})", point.label, rate(iops.mean))
    })
}

/// The curve and its shape in words.
fn sustained(step: &Step, caveats: &[&Caveat]) -> String {
    let each = step.points.iter().map(|point| {
        let series = &point.outcome.series;
        let rates: Vec<f64> = series.iter().map(rate_of).collect();
        format!(
            "{} {} {}",
            sparkline(&rates, SPARK),
            point.series,
            shape(caveats, &rates, point.outcome.elapsed)
        )
    });
    each.collect::<Vec<_>>().join("; ")
}

/// I/Os per second of one element of a series.
pub(super) fn rate_of(slice: &IntervalFlow) -> f64 {
    if slice.length.0 == 0 { 0.0 } else { slice.ios.iter().sum::<u64>() as f64 / slice.length.as_secs_f64() }
}

/// Level, cliff, step or slope: as the outcome's caveats say, since they are what the statistics found.
fn shape(caveats: &[&Caveat], rates: &[f64], elapsed: Nanos) -> String {
    let found = caveats.iter().find_map(|caveat| match caveat {
        Caveat::Cliff { at, before, after } => {
            Some(format!("falls at {at}: {} to {} IOPS", rate(*before), rate(*after)))
        }
        Caveat::RateStep { at, before, after } => {
            Some(format!("steps at {at}: {} to {} IOPS", rate(*before), rate(*after)))
        }
        Caveat::Slope { per_minute } => Some(format!("drifts by {} a minute", change(per_minute * 100.0))),
        Caveat::Unstable { relative } => Some(format!("is uneven, ±{:.0} %", relative * 100.0)),
        _ => None,
    });
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    found.unwrap_or_else(|| format!("is level at {} IOPS over {elapsed}", rate(mean)))
}
