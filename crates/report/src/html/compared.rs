//! How do engines, paths, schedulers and calls compare?
//!
//! Steps whose points are alternatives become tables of bars: throughput beside CPU cost. Start reading at [`bars`].

use iostack_model::{Interval, Outcome, Point, StepKind};

use super::bars::{Bar, Bars, Column, Row};
use super::figures::{bandwidth, iops, quantile};
use super::numbers::{NOTHING, Quantity};
use super::plot::slots;
use super::sheet::Sheet;
use super::steps::{Drawn, all};
use super::table::per_io;

const RATE: Column =
    Column { label: "IOPS (I/Os per second)", quantity: Quantity::Count, parts: &[], most: None };
const BANDWIDTH: Column =
    Column { label: "bandwidth", quantity: Quantity::Bandwidth, parts: &[], most: None };
const CPU: Column = Column {
    label: "CPU time per I/O",
    quantity: Quantity::Nanos,
    parts: &["user", "system", "kernel workers"],
    most: None,
};
const MEDIAN: Column = Column { label: "p50 latency", quantity: Quantity::Nanos, parts: &[], most: None };
const TAIL: Column = Column { label: "p99 latency", quantity: Quantity::Nanos, parts: &[], most: None };

const INTERVAL: &str = "whisker and ±: 95 % interval of the mean; for percentiles from order statistics";

/// By what the rows are grouped, and what a row is then called.
#[derive(Clone, Copy)]
enum Grouping {
    Label,
    Series,
}

/// Engines: what they reach and what they cost.
pub(super) fn engines(drawn: &Drawn<'_>, sheet: &mut Sheet) -> String {
    let details: Details = (&["clocks / I/O", "syscalls / I/O", "switches / I/O", "busiest thread"], costs);
    bars(drawn, "engine", vec![RATE, CPU], details, Grouping::Label, sheet)
}

/// Paths: the same, and the cost of a byte.
pub(super) fn paths(drawn: &Drawn<'_>, sheet: &mut Sheet) -> String {
    let details: Details = (&["CPU / KiB", "p50", "p99", "syscalls / I/O"], byte_costs);
    bars(drawn, "path", vec![BANDWIDTH, CPU], details, Grouping::Label, sheet)
}

/// Schedulers: rate and tail.
pub(super) fn schedulers(drawn: &Drawn<'_>, sheet: &mut Sheet) -> String {
    bars(drawn, "scheduler", vec![RATE, TAIL], (&["CPU / I/O", "p50"], short_costs), Grouping::Series, sheet)
}

/// The cells of the summary, as they were measured.
pub(super) fn cells(drawn: &Drawn<'_>, sheet: &mut Sheet) -> String {
    bars(drawn, "cell", vec![BANDWIDTH, RATE], (&["p50", "p99"], tails), Grouping::Label, sheet)
}

/// Calls that make data durable.
pub(super) fn sync(drawn: &Drawn<'_>, sheet: &mut Sheet) -> String {
    let columns = vec![Column { label: "durable writes per second", ..RATE }, MEDIAN, TAIL];
    bars(drawn, "call", columns, (&[], |_| Vec::new()), Grouping::Label, sheet)
}

type Details = (&'static [&'static str], fn(&Outcome) -> Vec<String>);

fn bars(
    drawn: &Drawn<'_>,
    of: &str,
    columns: Vec<Column>,
    details: Details,
    grouping: Grouping,
    sheet: &mut Sheet,
) -> String {
    let points = &drawn.step.points;
    let by_engine = drawn.step.id == StepKind::Engines;
    let hues = distinct(points, |point| hue(point, by_engine));
    let colours = slots(&hues);
    let series = distinct(points, |point| &point.series).len();
    let key: fn(&Point) -> &str = match grouping {
        Grouping::Label => |point| &point.label,
        Grouping::Series => |point| &point.series,
    };
    let keys = distinct(points, key).len();
    // A heading above each single bar would only repeat its name.
    let grouped = keys > 1 && keys < points.len();
    let mut groups: Vec<(String, Vec<Row>)> = Vec::new();
    for point in points {
        let group = if grouped { key(point) } else { "" };
        let row = Row {
            name: row_name(point, grouping, grouped, series),
            slot: hues
                .iter()
                .position(|name| *name == hue(point, by_engine))
                .map_or(0, |index| colours[index]),
            bars: columns.iter().map(|column| bar(column, drawn, &point.outcome)).collect(),
            details: details.1(&point.outcome),
            doubts: sheet.doubts.refer(&point.outcome.caveats),
        };
        match groups.iter_mut().find(|(name, _)| name == group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((group.to_owned(), vec![row])),
        }
    }
    let caption = sheet.caption(&all(drawn), INTERVAL);
    Bars { of: of.to_owned(), columns, details: details.0.to_vec(), groups, caption }.figure()
}

/// What gives a row its colour: an engine keeps its own, whatever its depth and batches.
fn hue(point: &Point, by_engine: bool) -> &str {
    if by_engine { point.outcome.job.engine.name() } else { &point.series }
}

fn distinct<'a>(points: &'a [Point], key: impl Fn(&'a Point) -> &'a str) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for point in points {
        if !names.contains(&key(point)) {
            names.push(key(point));
        }
    }
    names
}

/// What sets the row apart from the others of its group.
fn row_name(point: &Point, grouping: Grouping, grouped: bool, series: usize) -> String {
    match (grouped, grouping) {
        (true, Grouping::Label) => point.series.clone(),
        (true, Grouping::Series) => point.label.clone(),
        (false, _) if series == 1 => point.label.clone(),
        (false, _) => super::steps::point_name(point),
    }
}

fn bar(column: &Column, drawn: &Drawn<'_>, outcome: &Outcome) -> Bar {
    let of_the_call = drawn.step.id == StepKind::Sync && outcome.sync.count > 0;
    let latency = || if of_the_call { outcome.sync.clone() } else { outcome.latency() };
    if column.label == CPU.label {
        return cpu(outcome);
    }
    Bar::whole(match column.label {
        label if label == BANDWIDTH.label => bandwidth(outcome),
        label if label == MEDIAN.label => quantile(&latency(), 0.5),
        label if label == TAIL.label => quantile(&latency(), 0.99),
        _ => iops(outcome),
    })
}

/// User, system and kernel workers, per I/O.
fn cpu(outcome: &Outcome) -> Bar {
    let ios = outcome.ios() as f64;
    let parts = [outcome.cpu.user, outcome.cpu.system, outcome.cpu.workers].map(|time| time.0 as f64 / ios);
    Bar { value: Interval::exact(outcome.cpu_ns_per_io().unwrap_or(f64::NAN)), parts: parts.to_vec() }
}

fn switches(outcome: &Outcome) -> f64 {
    (outcome.cpu.switches_voluntary + outcome.cpu.switches_involuntary) as f64
}

fn costs(outcome: &Outcome) -> Vec<String> {
    let clocks = outcome.cpu.clocks_per_io;
    vec![
        if clocks > 0.0 { Quantity::Count.show(clocks) } else { NOTHING.to_owned() },
        per_io(outcome.cpu.syscalls as f64, outcome),
        per_io(switches(outcome), outcome),
        format!("{:.0}\u{202f}%", outcome.cpu.busiest_thread * 100.0),
    ]
}

fn byte_costs(outcome: &Outcome) -> Vec<String> {
    let per_kib = outcome.cpu.total().0 as f64 / (outcome.bytes().0 as f64 / 1024.0);
    let mut all = vec![Quantity::Nanos.show(per_kib)];
    all.extend(tails(outcome));
    all.push(per_io(outcome.cpu.syscalls as f64, outcome));
    all
}

fn short_costs(outcome: &Outcome) -> Vec<String> {
    let cpu = outcome.cpu_ns_per_io().map_or(NOTHING.to_owned(), |ns| Quantity::Nanos.show(ns));
    vec![cpu, tails(outcome).swap_remove(0)]
}

fn tails(outcome: &Outcome) -> Vec<String> {
    let latency = outcome.latency();
    [0.5, 0.99].map(|fraction| Quantity::Nanos.show(quantile(&latency, fraction).mean)).to_vec()
}
