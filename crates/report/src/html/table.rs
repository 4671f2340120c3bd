//! What exactly was measured?
//!
//! Tables of numbers: the raw outcomes of a step behind a fold, and small ones of names and values.

use std::fmt::Write as _;

use iostack_model::{Interval, Outcome};

use super::doubts::Doubts;
use super::escape;
use super::figures::{bandwidth, iops};
use super::numbers::{NOTHING, Quantity, grouped, significant};

/// `name: value` pairs; values are HTML.
pub(super) fn pairs(rows: &[(&str, String)]) -> String {
    let rows: String = rows
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>"))
        .collect();
    format!("<dl>{rows}</dl>")
}

/// A table with a head; the first column names the row, the others are numbers. Cells are HTML.
pub(super) fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = String::from("<div class=\"scroll\"><table class=\"numbers\"><thead><tr>");
    for head in heads {
        write!(out, "<th>{head}</th>").expect("a string takes everything");
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let tag = if index == 0 { "th" } else { "td" };
            write!(out, "<{tag}>{cell}</{tag}>").expect("a string takes everything");
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// `212 k ±1.4 %`; the interval only where there is one.
pub(super) fn with_interval(quantity: Quantity, value: Interval) -> String {
    let text = quantity.show(value.mean);
    if value.low < value.high && value.mean > 0.0 {
        return format!("{text} <small>±{}\u{202f}%</small>", percent(value.relative() * 100.0));
    }
    text
}

fn percent(value: f64) -> String {
    if value >= 9.95 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// A share of a count per I/O, `–` without I/O.
pub(super) fn per_io(amount: f64, outcome: &Outcome) -> String {
    match outcome.ios() {
        0 => NOTHING.to_owned(),
        ios => significant(amount / ios as f64),
    }
}

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

/// All outcomes of a step with everything that was counted. `place` goes before each name in the list of doubts.
pub(super) fn outcomes(named: &[(String, &Outcome)], place: &str, doubts: &mut Doubts) -> String {
    let mut rows = Vec::new();
    for (name, outcome) in named {
        let links = doubts.note(&outcome.caveats, &format!("{place}{name}"));
        rows.push(row(&format!("{}{links}", escape::text(name)), outcome));
    }
    // A simulation has no processor.
    let simulated = !named.is_empty() && named.iter().all(|(_, outcome)| outcome.inside.is_some());
    let columns = if simulated { HEADS.len() - OF_CPU } else { HEADS.len() };
    for row in &mut rows {
        row.truncate(columns);
    }
    format!(
        "<details class=\"raw\"><summary>All numbers ({})</summary>{}</details>",
        named.len(),
        table(&HEADS[..columns], &rows)
    )
}

fn row(name: &str, outcome: &Outcome) -> Vec<String> {
    let latency = outcome.latency();
    let time = |ns: f64| Quantity::Nanos.show(ns);
    let quantile = |fraction: f64| {
        // The same rule as everywhere: ten samples beyond a percentile, or it is not printed.
        let supported = latency.count >= iostack_stats::samples_needed(fraction);
        latency.quantile_ns(fraction).filter(|_| supported).map_or(NOTHING.to_owned(), |ns| time(ns as f64))
    };
    let some = latency.count > 0;
    vec![
        name.to_owned(),
        with_interval(Quantity::Count, iops(outcome)),
        Quantity::Bandwidth.show(bandwidth(outcome).mean),
        if some { time(latency.mean_ns()) } else { NOTHING.to_owned() },
        quantile(0.5),
        quantile(0.99),
        quantile(0.999),
        if some { time(latency.max_ns as f64) } else { NOTHING.to_owned() },
        grouped(outcome.ios()),
        time(outcome.elapsed.0 as f64),
        significant(outcome.depth_achieved),
        outcome.cpu_ns_per_io().map_or(NOTHING.to_owned(), |ns| grouped(ns as u64)),
        if outcome.cpu.clocks_per_io > 0.0 {
            grouped(outcome.cpu.clocks_per_io as u64)
        } else {
            NOTHING.to_owned()
        },
        per_io(outcome.cpu.syscalls as f64, outcome),
        format!("{:.0}\u{202f}%", outcome.cpu.busiest_thread * 100.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_shown_only_where_there_is_one() {
        assert_eq!(with_interval(Quantity::Count, Interval::exact(97.0)), "97");
        let value = Interval { mean: 100.0, low: 98.0, high: 102.0, samples: 9 };
        assert_eq!(with_interval(Quantity::Count, value), "100 <small>±2.0\u{202f}%</small>");
    }
}
