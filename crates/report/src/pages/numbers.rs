//! What exactly was measured: every figure of outcomes in one table.

use iostack_model::{Bins, Nanos, Outcome};

use crate::document::{Block, Cell, Doubts, Drawn, Marks, Section, Table, To};
use crate::heat::HeatMap;
use crate::html::figures::{bandwidth, iops};
use crate::html::numbers::Quantity;
use crate::html::plot::Plot;
use crate::text::format::{count, percent, significant, supported, time};

const HEADS: [&str; 15] = [
    "measurement",
    "IOPS",
    "bandwidth",
    "mean",
    "p50",
    "p99",
    "p99.9",
    "max",
    "I/Os",
    "time",
    "depth reached",
    "CPU ns per I/O",
    "clocks per I/O",
    "syscalls per I/O",
    "busiest thread",
];

/// The last columns, which are about the processor.
const OF_CPU: usize = 4;

/// All outcomes with everything that was counted, behind a fold. `place` goes before each name in the list of doubts.
pub(super) fn all_numbers(named: &[(String, &Outcome)], place: &str, doubts: &mut Doubts) -> Block {
    // A simulation has no processor.
    let simulated = !named.is_empty() && named.iter().all(|(_, outcome)| outcome.inside.is_some());
    let columns = if simulated { HEADS.len() - OF_CPU } else { HEADS.len() };
    let mut table = Table::of(&HEADS[..columns]);
    for (name, outcome) in named {
        let marks = doubts.note_on_page(&outcome.caveats, &format!("{place}{name}"));
        let name = Cell::from(name.as_str()).marked(marks);
        table.row(std::iter::once(name).chain(row(outcome)).take(columns));
    }
    let mut section = Section::default();
    section.put(Block::Table(table));
    Block::Fold(format!("All numbers ({})", named.len()), section)
}

fn row(outcome: &Outcome) -> impl Iterator<Item = Cell> {
    let (latency, cpu) = (outcome.latency(), &outcome.cpu);
    let some = |text: String| if latency.count > 0 { text } else { "-".to_owned() };
    let first = [
        Cell::interval(Quantity::Count, iops(outcome)),
        Quantity::Bandwidth.say(bandwidth(outcome).mean).into(),
    ];
    let others = [
        some(time(latency.mean_ns())),
        supported(&latency, 0.5),
        supported(&latency, 0.99),
        supported(&latency, 0.999),
        some(time(latency.max_ns as f64)),
        count(outcome.ios()),
        time(outcome.elapsed.0 as f64),
        significant(outcome.depth_achieved, 3),
        outcome.cpu_ns_per_io().map_or_else(|| "-".to_owned(), |ns| count(ns as u64)),
        if cpu.clocks_per_io > 0.0 { count(cpu.clocks_per_io as u64) } else { "-".to_owned() },
        per_io(cpu.syscalls as f64, outcome),
        format!("{} %", percent(cpu.busiest_thread)),
    ];
    first.into_iter().chain(others.map(Cell::from))
}

/// A share of a count per I/O, `-` without I/O.
pub(super) fn per_io(amount: f64, outcome: &Outcome) -> String {
    match outcome.ios() {
        0 => "-".to_owned(),
        ios => significant(amount / ios as f64, 3),
    }
}

/// A plot with what was counted, how sure it is, and its doubts.
pub(super) fn captioned(plot: Plot, outcomes: &[&Outcome], band: &str, doubts: &mut Doubts) -> Drawn {
    let (counted, marks) = counted(outcomes, band, doubts);
    Drawn { marks, ..Drawn::new(plot, counted) }
}

/// Caption: what was counted, how sure it is, and its doubts.
fn counted(outcomes: &[&Outcome], band: &str, doubts: &mut Doubts) -> (String, Marks) {
    let ios: u64 = outcomes.iter().map(|outcome| outcome.ios()).sum();
    let elapsed = outcomes.iter().fold(Nanos(0), |sum, outcome| sum + outcome.elapsed);
    let (ios, elapsed) = (count(ios), time(elapsed.0 as f64));
    let measured = match outcomes.len() {
        1 => format!("{ios} I/Os in {elapsed}"),
        many => format!("{ios} I/Os in {many} measurements, {elapsed} in all"),
    };
    let marks = doubts.refer(outcomes.iter().flat_map(|outcome| &outcome.caveats));
    (format!("{measured}; {band}"), marks)
}

/// Adds the heat map of latencies over time, with the counts behind a fold, where the outcome took some time.
pub(super) fn heat_map(outcome: &Outcome, what: &str, to: To, section: &mut Section, doubts: &mut Doubts) {
    let Some(map) = HeatMap::of(outcome) else { return };
    let mut numbers = Section::default();
    numbers.put(Block::Table(map.numbers()));
    let (counted, marks) = counted(&[outcome], "exact counts of all directions", doubts);
    section.to(to, Block::Heat(map, format!("{what}: how many I/Os took how long"), counted, marks));
    section.page(Block::Fold(format!("{what} in numbers"), numbers));
}

/// Latency of one direction: least, mean, percentiles that ten samples exceed, largest, how many.
pub(super) fn latency_row(name: &str, bins: &Bins) -> Vec<String> {
    let mut row = vec![name.to_owned(), time(bins.min_ns as f64), time(bins.mean_ns())];
    row.extend([0.5, 0.9, 0.99, 0.999, 0.9999].map(|fraction| supported(bins, fraction)));
    row.extend([time(bins.max_ns as f64), count(bins.count)]);
    row
}
