//! How do engines, paths, schedulers and calls compare?
//!
//! Steps whose points are alternatives become tables of bars: throughput beside CPU cost. Start reading at [`bars`].

use iostack_model::Outcome;
use iostack_model::answers::{Point, Step, StepKind};

use super::drawings::{Figures, outcomes};
use super::point_name;
use super::summary::distinct;
use crate::document::{Bar, Cell, Column, Doubts, Row, Table};
use crate::html::figures::{bandwidth, iops, quantile};
use crate::html::numbers::Quantity;
use crate::html::plot::slots;
use crate::pages::numbers::{captioned, per_io};
use crate::text::format::{percent, rate};

/// Measure that a bar stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BarFigure {
    Rate(&'static str),
    Bandwidth,
    Cpu,
    Median,
    Tail,
}

const RATE: BarFigure = BarFigure::Rate("IOPS");
const INTERVAL: &str = "\u{b1}: 95 % interval of the mean; of percentiles from order statistics";
/// Parts of the CPU time, each with its colour.
const CPU_PARTS: [(usize, &str); 3] = [(0, "user"), (4, "system"), (5, "kernel workers")];

impl BarFigure {
    const fn head(self) -> &'static str {
        match self {
            BarFigure::Rate(head) => head,
            BarFigure::Bandwidth => "bandwidth, MB/s",
            BarFigure::Cpu => "CPU time per I/O",
            BarFigure::Median => "p50 latency",
            BarFigure::Tail => "p99 latency",
        }
    }

    const fn quantity(self) -> Quantity {
        match self {
            BarFigure::Rate(_) => Quantity::Count,
            BarFigure::Bandwidth => Quantity::Bandwidth,
            BarFigure::Cpu | BarFigure::Median | BarFigure::Tail => Quantity::Nanos,
        }
    }
}

/// Key of the groups of rows; a row is called by the other.
#[derive(Clone, Copy)]
enum Grouping {
    Label,
    Series,
}

/// Engines: what they reach and what they cost.
pub(super) fn engines(step: &Step, doubts: &mut Doubts) -> Figures {
    let details: Details = (&["clocks / I/O", "syscalls / I/O", "switches / I/O", "busiest thread"], costs);
    bars(step, "engine", &[RATE, BarFigure::Cpu], details, Grouping::Label, doubts)
}

/// Paths: the same, and the cost of a byte.
pub(super) fn paths(step: &Step, doubts: &mut Doubts) -> Figures {
    let details: Details = (&["CPU / KiB", "p50", "p99", "syscalls / I/O"], byte_costs);
    bars(step, "path", &[BarFigure::Bandwidth, BarFigure::Cpu], details, Grouping::Label, doubts)
}

/// Schedulers: rate and tail.
pub(super) fn schedulers(step: &Step, doubts: &mut Doubts) -> Figures {
    bars(
        step,
        "scheduler",
        &[RATE, BarFigure::Tail],
        (&["CPU / I/O", "p50"], short_costs),
        Grouping::Series,
        doubts,
    )
}

/// The cells of the summary, as they were measured.
pub(super) fn cells(step: &Step, doubts: &mut Doubts) -> Figures {
    bars(step, "cell", &[BarFigure::Bandwidth, RATE], (&["p50", "p99"], tails), Grouping::Label, doubts)
}

/// Calls that make data durable.
pub(super) fn sync(step: &Step, doubts: &mut Doubts) -> Figures {
    let figures = [BarFigure::Rate("durable writes per second"), BarFigure::Median, BarFigure::Tail];
    bars(step, "call", &figures, (&[], |_| Vec::new()), Grouping::Label, doubts)
}

type Details = (&'static [&'static str], fn(&Outcome) -> Vec<String>);

fn bars(
    step: &Step,
    of: &str,
    figures: &[BarFigure],
    details: Details,
    grouping: Grouping,
    doubts: &mut Doubts,
) -> Figures {
    let points = &step.points;
    let by_engine = step.id == StepKind::Engines;
    let hues = distinct(points.iter().map(|point| hue(point, by_engine)));
    let colours = slots(&hues);
    let series = distinct(points.iter().map(|point| point.series.name())).len();
    let key: fn(&Point) -> &str = match grouping {
        Grouping::Label => |point| &point.label,
        Grouping::Series => |point| point.series.name(),
    };
    let keys = distinct(points.iter().map(key));
    // A heading above each single bar would only repeat its name.
    let grouped = keys.len() > 1 && keys.len() < points.len();
    let columns = figures.iter().flat_map(|figure| [Column::bars(""), Column::number(figure.head())]);
    let columns = columns.chain(details.0.iter().map(|head| Column::number(*head)));
    let mut table = Table::new(std::iter::once(Column::words(of)).chain(columns).collect());
    let groups = if grouped { keys } else { vec![""] };
    for group in groups {
        let of_group: Vec<&Point> = points.iter().filter(|point| !grouped || key(point) == group).collect();
        if grouped {
            table.rows.push(Row { group: true, ..Row::of([group]) });
        }
        for point in &of_group {
            let colour =
                hues.iter().position(|name| *name == hue(point, by_engine)).map_or(0, |at| colours[at]);
            let marks = doubts.refer(&point.outcome.caveats);
            let mut row = vec![Cell::from(row_name(point, grouping, grouped, series)).marked(marks)];
            for figure in figures {
                row.extend(drawn_and_told(*figure, step, point, &of_group, colour));
            }
            row.extend(details.1(&point.outcome).into_iter().map(Cell::from));
            table.row(row);
        }
    }
    let caption = captioned(crate::html::plot::Plot::default(), &outcomes(step), INTERVAL, doubts);
    table.page_caption = caption.counted;
    Figures { table: Some(table), plots: Vec::new() }
}

/// Name that gives a row its colour: an engine keeps its own, whatever its depth and batches.
fn hue(point: &Point, by_engine: bool) -> &str {
    if by_engine { point.outcome.job.engine.name() } else { point.series.name() }
}

/// Name that sets a row apart from the others of its group.
fn row_name(point: &Point, grouping: Grouping, grouped: bool, series: usize) -> String {
    match (grouped, grouping) {
        (true, Grouping::Label) => point.series.to_string(),
        (true, Grouping::Series) => point.label.clone(),
        (false, _) if series == 1 => point.label.clone(),
        (false, _) => point_name(point),
    }
}

/// A bar, as long as its share of the longest of its group, and its number.
fn drawn_and_told(
    figure: BarFigure,
    step: &Step,
    point: &Point,
    group: &[&Point],
    colour: usize,
) -> [Cell; 2] {
    let value = |point: &Point| value(figure, step, &point.outcome);
    let most =
        group.iter().map(|point| value(point).mean).filter(|mean| mean.is_finite()).fold(0.0, f64::max);
    let own = value(point);
    let bar = if figure == BarFigure::Cpu {
        Bar { parts: cpu_parts(&point.outcome), most }
    } else {
        Bar::whole(own.mean, most, colour)
    };
    let mut told = Cell::interval(figure.quantity(), own);
    if let Some(bare) = told.text.strip_suffix(" MB/s") {
        told.text = bare.to_owned();
    }
    [Cell::of_bar(bar), told]
}

fn value(figure: BarFigure, step: &Step, outcome: &Outcome) -> iostack_model::Interval {
    let of_the_call = step.id == StepKind::Sync && outcome.sync.count > 0;
    let latency = || if of_the_call { outcome.sync.clone() } else { outcome.latency() };
    match figure {
        BarFigure::Rate(_) => iops(outcome),
        BarFigure::Bandwidth => bandwidth(outcome),
        BarFigure::Cpu => iostack_model::Interval::exact(outcome.cpu_ns_per_io().unwrap_or(f64::NAN)),
        BarFigure::Median => quantile(&latency(), 0.5),
        BarFigure::Tail => quantile(&latency(), 0.99),
    }
}

/// User, system and kernel workers, per I/O.
fn cpu_parts(outcome: &Outcome) -> Vec<(usize, f64, String)> {
    let times = [outcome.cpu.user, outcome.cpu.system, outcome.cpu.workers];
    let each = CPU_PARTS.iter().zip(times).filter(|(_, time)| time.0 > 0);
    each.map(|((slot, name), time)| (*slot, time.0 as f64 / outcome.ios() as f64, (*name).to_owned()))
        .collect()
}

fn switches(outcome: &Outcome) -> f64 {
    (outcome.cpu.switches_voluntary + outcome.cpu.switches_involuntary) as f64
}

fn costs(outcome: &Outcome) -> Vec<String> {
    let clocks = outcome.cpu.clocks_per_io;
    vec![
        if clocks > 0.0 { rate(clocks) } else { "-".to_owned() },
        per_io(outcome.cpu.syscalls as f64, outcome),
        per_io(switches(outcome), outcome),
        format!("{} %", percent(outcome.cpu.busiest_thread)),
    ]
}

fn byte_costs(outcome: &Outcome) -> Vec<String> {
    let per_kib = outcome.cpu.total().0 as f64 / (outcome.bytes().0 as f64 / 1024.0);
    let mut all = vec![Quantity::Nanos.say(per_kib)];
    all.extend(tails(outcome));
    all.push(per_io(outcome.cpu.syscalls as f64, outcome));
    all
}

fn short_costs(outcome: &Outcome) -> Vec<String> {
    let cpu = outcome.cpu_ns_per_io().map_or("-".to_owned(), |ns| Quantity::Nanos.say(ns));
    vec![cpu, tails(outcome).swap_remove(0)]
}

fn tails(outcome: &Outcome) -> Vec<String> {
    let latency = outcome.latency();
    [0.5, 0.99].map(|fraction| Quantity::Nanos.say(quantile(&latency, fraction).mean)).to_vec()
}
