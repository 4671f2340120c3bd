//! How do engines, paths, schedulers and calls compare?
//!
//! Steps whose points are alternatives become tables of bars: throughput beside CPU cost. Start reading at [`bars`].

use iostack_model::answers::{Point, Step, StepKind};
use iostack_model::{Bins, Interval, Outcome};

use super::drawings::{Figures, outcomes};
use super::point_name;
use crate::document::{Bar, Cell, Column, Doubts, Row, Table};
use crate::html::figures::{bandwidth, iops, quantile};
use crate::html::plot::{Plot, Quantity, slots};
use crate::lists::{distinct, grouped};
use crate::pages::numbers::{captioned, per_io};
use crate::text::format::{or_dash, percent, rate};

/// Measure that a column of bars stands for.
pub(super) struct BarMeasure {
    head: &'static str,
    quantity: Quantity,
    value: fn(&Outcome) -> Interval,
}

const RATE: BarMeasure = BarMeasure { head: "IOPS", quantity: Quantity::Count, value: iops };
const DURABLE: BarMeasure = BarMeasure { head: "durable writes per second", ..RATE };
const BANDWIDTH: BarMeasure =
    BarMeasure { head: "bandwidth, MB/s", quantity: Quantity::Bandwidth, value: bandwidth };
const CPU: BarMeasure = BarMeasure {
    head: "CPU time per I/O",
    quantity: Quantity::Nanos,
    value: |outcome| Interval::exact(outcome.cpu_ns_per_io().unwrap_or(f64::NAN)),
};
const TAIL: BarMeasure =
    BarMeasure { head: "p99 latency", value: |outcome| quantile(&outcome.latency(), 0.99), ..CPU };
const CALL_MEDIAN: BarMeasure =
    BarMeasure { head: "p50 latency", value: |outcome| quantile(&call_latency(outcome), 0.5), ..CPU };
const CALL_TAIL: BarMeasure = BarMeasure { value: |outcome| quantile(&call_latency(outcome), 0.99), ..TAIL };

const INTERVAL: &str = "\u{b1}: 95 % interval of the mean; of percentiles from order statistics";
/// Parts of the CPU time, each with its colour.
const CPU_PARTS: [(usize, &str); 3] = [(0, "user"), (4, "system"), (5, "kernel workers")];

/// Alternatives of a step: a row each, bars of these measures, then details in words.
pub(super) struct Comparison {
    of: &'static str,
    measures: &'static [BarMeasure],
    heads: &'static [&'static str],
    details: fn(&Outcome) -> Vec<String>,
    /// Rows are grouped by series and called by label, not the other way round.
    by_series: bool,
}

impl Comparison {
    const fn new(
        of: &'static str,
        measures: &'static [BarMeasure],
        heads: &'static [&'static str],
        details: fn(&Outcome) -> Vec<String>,
    ) -> Comparison {
        Comparison { of, measures, heads, details, by_series: false }
    }
}

const OF_ENGINES: [&str; 4] = ["clocks / I/O", "syscalls / I/O", "switches / I/O", "busiest thread"];
const OF_PATHS: [&str; 4] = ["CPU / KiB", "p50", "p99", "syscalls / I/O"];

pub(super) const ENGINES: Comparison = Comparison::new("engine", &[RATE, CPU], &OF_ENGINES, costs);
pub(super) const PATHS: Comparison = Comparison::new("path", &[BANDWIDTH, CPU], &OF_PATHS, byte_costs);
pub(super) const SCHEDULERS: Comparison = Comparison {
    by_series: true,
    ..Comparison::new("scheduler", &[RATE, TAIL], &["CPU / I/O", "p50"], short_costs)
};
pub(super) const CELLS: Comparison = Comparison::new("cell", &[BANDWIDTH, RATE], &["p50", "p99"], tails);
pub(super) const CALLS: Comparison =
    Comparison::new("call", &[DURABLE, CALL_MEDIAN, CALL_TAIL], &[], |_| Vec::new());

/// Time of the call that makes data durable, else of the I/O.
pub(super) fn call_latency(outcome: &Outcome) -> Bins {
    if outcome.sync.count > 0 { outcome.sync.clone() } else { outcome.latency() }
}

/// The table of a comparison.
pub(super) fn bars(step: &Step, compared: &Comparison, doubts: &mut Doubts) -> Figures {
    let points = &step.points;
    let by_engine = step.id == StepKind::Engines;
    let hues = distinct(points.iter().map(|point| hue(point, by_engine)));
    let colours = slots(&hues);
    let colour = |point: &Point| {
        hues.iter().position(|name| *name == hue(point, by_engine)).map_or(0, |at| colours[at])
    };
    let series = distinct(points.iter().map(|point| point.series.name())).len();
    let key = |point: &Point| if compared.by_series { point.series.to_string() } else { point.label.clone() };
    let groups = grouped(points.iter().map(|point| (key(point), point)));
    // A heading above each single bar would only repeat its name.
    let are_headed = groups.len() > 1 && groups.len() < points.len();
    let groups = if are_headed { groups } else { vec![(String::new(), points.iter().collect())] };
    let columns = compared.measures.iter().flat_map(|one| [Column::bars(""), Column::number(one.head)]);
    let columns = columns.chain(compared.heads.iter().map(|head| Column::number(*head)));
    let mut table = Table::new(std::iter::once(Column::words(compared.of)).chain(columns).collect());
    for (group, of_group) in &groups {
        if are_headed {
            table.rows.push(Row { group: true, ..Row::of([group]) });
        }
        for &point in of_group {
            let name = row_name(point, compared.by_series, are_headed, series);
            let name = Cell::from(name).marked(doubts.refer(&point.outcome.caveats));
            let bars = compared.measures.iter();
            let bars = bars.flat_map(|measure| drawn_and_told(measure, point, of_group, colour(point)));
            let details = (compared.details)(&point.outcome).into_iter().map(Cell::from);
            table.row(std::iter::once(name).chain(bars).chain(details));
        }
    }
    let caption = captioned(Plot::default(), &outcomes(step), INTERVAL, doubts);
    table.page_caption = caption.counted;
    Figures { table: Some(table), plots: Vec::new() }
}

/// Name that gives a row its colour: an engine keeps its own, whatever its depth and batches.
fn hue(point: &Point, by_engine: bool) -> &str {
    if by_engine { point.outcome.job.engine.name() } else { point.series.name() }
}

/// Name that sets a row apart from the others of its group.
fn row_name(point: &Point, by_series: bool, grouped: bool, series: usize) -> String {
    match (grouped, by_series) {
        (true, false) => point.series.to_string(),
        (true, true) => point.label.clone(),
        (false, _) if series == 1 => point.label.clone(),
        (false, _) => point_name(point),
    }
}

/// A bar, as long as its share of the longest of its group, and its number.
fn drawn_and_told(measure: &BarMeasure, point: &Point, group: &[&Point], colour: usize) -> [Cell; 2] {
    let value = |point: &Point| (measure.value)(&point.outcome);
    let most =
        group.iter().map(|point| value(point).mean).filter(|mean| mean.is_finite()).fold(0.0, f64::max);
    let own = value(point);
    let bar = if measure.head == CPU.head {
        Bar { parts: cpu_parts(&point.outcome), most }
    } else {
        Bar::whole(own.mean, most, colour)
    };
    let mut told = Cell::interval(measure.quantity, own);
    if let Some(bare) = told.text.strip_suffix(" MB/s") {
        told.text = bare.to_owned();
    }
    [bar.into(), told]
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
    let cpu = or_dash(outcome.cpu_ns_per_io(), |ns| Quantity::Nanos.say(ns));
    vec![cpu, tails(outcome).swap_remove(0)]
}

fn tails(outcome: &Outcome) -> Vec<String> {
    let latency = outcome.latency();
    [0.5, 0.99].map(|fraction| Quantity::Nanos.say(quantile(&latency, fraction).mean)).to_vec()
}
