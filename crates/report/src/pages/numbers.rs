//! What exactly was measured: every figure of outcomes in one table.

use iostack_model::{Bins, Nanos, Outcome};

use crate::document::{Block, Cell, Doubts, Drawn, Marks, Section, Table, To};
use crate::heat::HeatMap;
use crate::html::figures::{bandwidth, iops};
use crate::html::numbers::Quantity;
use crate::html::plot::Plot;
use crate::text::format::{count, or_dash, percent, significant, supported, time};

/// All outcomes with everything that was counted, behind a fold. `place` goes before each name in the list of doubts.
pub(super) fn all_numbers(named: &[(String, &Outcome)], place: &str, doubts: &mut Doubts) -> Block {
    let latency: Vec<Bins> = named.iter().map(|(_, outcome)| outcome.latency()).collect();
    let each = named.iter().zip(&latency).map(|((name, outcome), bins)| (name, *outcome, bins));
    let some = |bins: &Bins, ns: f64| if bins.count > 0 { time(ns) } else { "-".to_owned() };
    let name = |(name, outcome, _): (&String, &Outcome, &Bins)| {
        Cell::from(name).marked(doubts.note_on_page(&outcome.caveats, &format!("{place}{name}")))
    };
    let mut table = Table::over(each)
        .words("measurement", name)
        .number("IOPS", |(_, outcome, _)| Cell::interval(Quantity::Count, iops(outcome)))
        .number("bandwidth", |(_, outcome, _)| Quantity::Bandwidth.say(bandwidth(outcome).mean))
        .number("mean", |(.., bins)| some(bins, bins.mean_ns()))
        .number("p50", |(.., bins)| supported(bins, 0.5))
        .number("p99", |(.., bins)| supported(bins, 0.99))
        .number("p99.9", |(.., bins)| supported(bins, 0.999))
        .number("max", |(.., bins)| some(bins, bins.max_ns as f64))
        .number("I/Os", |(_, outcome, _)| count(outcome.ios()))
        .number("time", |(_, outcome, _)| time(outcome.elapsed.0 as f64))
        .number("depth reached", |(_, outcome, _)| significant(outcome.depth_achieved, 3));
    // A simulation has no processor.
    if named.is_empty() || named.iter().any(|(_, outcome)| outcome.inside.is_none()) {
        let clocks = |outcome: &Outcome| Some(outcome.cpu.clocks_per_io).filter(|clocks| *clocks > 0.0);
        table = table
            .number("CPU ns per I/O", |(_, one, _)| or_dash(one.cpu_ns_per_io(), |ns| count(ns as u64)))
            .number("clocks per I/O", |(_, one, _)| or_dash(clocks(one), |clocks| count(clocks as u64)))
            .number("syscalls per I/O", |(_, one, _)| per_io(one.cpu.syscalls as f64, one))
            .number("busiest thread", |(_, one, _)| format!("{} %", percent(one.cpu.busiest_thread)));
    }
    let mut section = Section::default();
    section.table(table.done());
    Block::Fold(format!("All numbers ({})", named.len()), section)
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
    let (counted, marks) = counted(&[outcome], "exact counts of all directions", doubts);
    let numbers = map.numbers();
    section.to(to, Block::Heat(map, format!("{what}: how many I/Os took how long"), counted, marks));
    section.folded(format!("{what} in numbers"), numbers);
}
