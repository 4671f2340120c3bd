//! What is inside this drive? Each finding with its interval and its curve, and why the others cannot be told.

use iostack_model::answers::{Probe, ProbeCurve, ProbeFinding, ProbePart, ProbeUnit};
use iostack_model::{Effort, Interval, TargetKind};

use super::typed;
use crate::document::{Block, Document, Drawn, Section, Table};
use crate::html::plot::{Axis, Look, Plot, Quantity, Scale, Series, Spot};
use crate::lists::Joined;

/// Document of `iostack probe`, also of one that was cut short.
pub fn probe(probe: &Probe) -> Document {
    let mut all = Document::new(format!("iostack probe {}", probe.target));
    all.data(probe);
    let simulated = probe.target.kind == TargetKind::Sim;
    all.beside = if simulated { vec!["SIMULATED".to_owned()] } else { vec![probe.elapsed.to_string()] };
    all.beside.push(format!("{} effort", probe.effort.name()));
    all.beside.push(format!("seed {}", probe.seed));
    all.origin = vec![format!("iostack {}", probe.iostack)];
    all.interrupted = probe.interrupted.then_some("the questions");
    (all.answers, all.answer) = ("FOUND", answer(probe));
    all.of_all = all.doubts.note(&probe.caveats, "every finding");
    let writes = if probe.writes { "read and written" } else { "only read" };
    let file = if probe.is_file { ", a file: its addresses are the file's, not the drive's" } else { "" };
    all.head.fact("region", format!("{}, {writes}{file}", probe.region));
    if let Some(scratch) = &probe.scratch {
        all.head.fact("scratch", format!("a file of {}: {}", scratch.size, scratch.reason));
    }
    all.sections.extend([found(probe), untold(probe), evidence(probe)]);
    if !simulated {
        all.measured_on(probe.started_unix_ms, &probe.machine, &[(&probe.storage, &probe.target)]);
    }
    all.next = Some(next(probe));
    all
}

fn told(probe: &Probe) -> impl Iterator<Item = (&ProbeFinding, Interval)> {
    probe.findings.iter().filter_map(|finding| Some((finding, finding.value?)))
}

fn answer(probe: &Probe) -> String {
    let (count, all) = (told(probe).count(), probe.findings.len());
    format!("{count} of {all} questions are answered; the others cannot be told from here.")
}

/// A value in its unit.
fn say(unit: ProbeUnit, value: f64) -> String {
    match unit {
        _ if !value.is_finite() => "-".to_owned(),
        ProbeUnit::Share => format!("{value:.3}"),
        ProbeUnit::Count if value < 100.0 => format!("{value:.1}"),
        ProbeUnit::Seconds => format!("{} s", Quantity::Seconds.say(value)),
        ProbeUnit::Iops => format!("{}/s", Quantity::Count.say(value)),
        ProbeUnit::Bytes => rounded(value),
        other => quantity(other).say(value),
    }
}

/// Bytes: exact where they are whole, else to a tenth of their unit.
fn rounded(bytes: f64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.iter().find(|(size, _)| bytes >= *size as f64);
    let Some((size, name)) = unit else { return format!("{bytes:.0}B") };
    let value = bytes / *size as f64;
    if (value - value.round()).abs() < 1e-9 {
        format!("{value:.0}{name}")
    } else {
        format!("{value:.1}{name}")
    }
}

const fn quantity(unit: ProbeUnit) -> Quantity {
    match unit {
        ProbeUnit::Count | ProbeUnit::Iops | ProbeUnit::Share => Quantity::Count,
        ProbeUnit::Bytes => Quantity::Bytes,
        ProbeUnit::Nanos => Quantity::Nanos,
        ProbeUnit::Bandwidth => Quantity::Bandwidth,
        ProbeUnit::Seconds => Quantity::Seconds,
    }
}

/// The 95 % interval in words; empty of what is exact.
fn between(unit: ProbeUnit, value: Interval) -> String {
    if value.low < value.high {
        format!("{} to {}", say(unit, value.low), say(unit, value.high))
    } else {
        "exact".to_owned()
    }
}

fn found(probe: &Probe) -> Section {
    let mut section = Section::new("found", "Found", "What was found");
    let table = Table::over(told(probe))
        .words("finding", |(finding, _)| finding.name.clone())
        .number("value", |(finding, value)| say(finding.unit, value.mean))
        .number("95 % interval", |(finding, value)| between(finding.unit, value))
        .done();
    section.table(table);
    section
}

fn untold(probe: &Probe) -> Section {
    let mut section = Section::new("untold", "Cannot be told", "What cannot be told from here");
    let reasons = probe
        .findings
        .iter()
        .filter_map(|finding| finding.reason.as_ref().map(|reason| format!("{}: {reason}", finding.name)));
    section.screen(Block::Gap).screen(Block::Heading("Cannot be told from here".to_owned()));
    section.list(reasons.collect());
    section
}

/// The curve of each finding.
fn evidence(probe: &Probe) -> Section {
    let mut section = Section::new("evidence", "Evidence", "The curves that it was read from");
    let drawn = probe.findings.iter().filter(|finding| finding.curve.points.len() > 1);
    let plots: Vec<Drawn> = drawn.map(|finding| Drawn::new(plot(finding), counted(finding))).collect();
    section.page(Block::Plots(plots));
    section.page(Block::List(probe.notes.clone()));
    section
}

fn counted(finding: &ProbeFinding) -> String {
    let value = finding
        .value
        .map(|value| format!("{}, {}", say(finding.unit, value.mean), between(finding.unit, value)));
    let result = value.or_else(|| finding.reason.clone()).unwrap_or_default();
    let parts = finding
        .parts
        .iter()
        .map(|ProbePart { name, unit, value, .. }| format!("{name} {}", say(*unit, value.mean)));
    let all = [result, format!("how: {}", finding.how), parts.joined(", ")].into_iter();
    all.chain(finding.doubts.iter().cloned()).filter(|words| !words.is_empty()).joined("; ")
}

fn plot(finding: &ProbeFinding) -> Plot {
    let ProbeCurve { over, x_unit, of, y_unit, log, points } = &finding.curve;
    let spots = points.iter().map(|point| Spot::of_interval(point.x, point.y));
    let look = if points.len() > 60 { Look::Plain } else { Look::Line };
    let scale = if *log && points.iter().all(|point| point.x > 0.0) { Scale::Log2 } else { Scale::Linear };
    let x = Axis::new(over.clone(), quantity(*x_unit), scale);
    let y = Axis::linear(of.clone(), quantity(*y_unit));
    Plot::new(finding.name.clone(), x, y, [Series::new(of.clone(), 0, look, spots)])
}

fn next(probe: &Probe) -> (String, &'static str) {
    let target = typed(&probe.target);
    match probe.effort {
        _ if probe.interrupted => (format!("iostack probe {target}"), "to the end"),
        Effort::Quick => (format!("iostack probe {target}"), "every question"),
        _ => (format!("iostack check {target}"), "what the platform makes of it"),
    }
}
