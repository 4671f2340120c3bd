//! Does merging pay here, for whom, and at what price? From the tables to sentences. Pure.
//!
//! | rule | in numbers |
//! | --- | --- |
//! | a policy is *faster* than the base at a column | the 95 % interval of the ratio of their IOPS lies above 1.05, and it takes at most 1.1 times the CPU per I/O |
//! | it is *cheaper* | the interval of the ratio of CPU per I/O lies below 0.8, and that of the IOPS above 0.95 |
//! | it is recommended | it is faster or cheaper at two columns, or at one of at most two; the one with the highest IOPS ratio over those wins |
//! | it is worse at a column | the interval of the IOPS ratio lies below 0.95: said, if it is recommended |
//! | the price | p99 of a call over the base's, where it is best |
//!
//! Below three rounds there is no interval, and no recommendation. `auto` is not recommended but held to its promise: it is told
//! how close to the base it stays.

use iostack_model::answers::{MergeAsk, MergeCell, MergeRatio, MergeTable, MergeVerdict};

const FASTER: f64 = 1.05;
const FASTER_CPU: f64 = 1.1;
const CHEAPER: f64 = 0.8;
const AS_FAST: f64 = 0.95;

/// Name of the policy that decides by itself, and so is no candidate.
const AUTO: &str = "auto";

/// One verdict for each table.
pub(crate) fn verdicts(tables: &[MergeTable], simulated: bool) -> Vec<MergeVerdict> {
    tables.iter().map(|table| verdict(table, simulated)).collect()
}

/// A policy over the columns where it is better.
struct Candidate<'a> {
    policy: &'a str,
    better: Vec<(u32, MergeRatio)>,
    worse: Vec<u32>,
}

impl<'a> Candidate<'a> {
    fn of_policy(table: &'a MergeTable, policy: &'a str) -> Candidate<'a> {
        let cells = table.cells.iter().filter(|cell| cell.policy == policy && cell.failures.is_empty());
        let ratios: Vec<(u32, MergeRatio)> =
            cells.filter_map(|cell| Some((cell.column, cell.against?))).collect();
        Candidate {
            policy,
            worse: ratios.iter().filter(|(_, ratio)| ratio.iops.high < AS_FAST).map(|(at, _)| *at).collect(),
            better: ratios.into_iter().filter(|(_, ratio)| is_better(ratio)).collect(),
        }
    }

    fn best(&self) -> (u32, MergeRatio) {
        let most = |a: &&(u32, MergeRatio), b: &&(u32, MergeRatio)| a.1.iops.mean.total_cmp(&b.1.iops.mean);
        *self.better.iter().max_by(most).expect("a candidate is better somewhere")
    }

    fn mean(&self) -> f64 {
        let sum: f64 = self.better.iter().map(|(_, ratio)| ratio.iops.mean).sum();
        sum / self.better.len() as f64
    }
}

fn is_better(ratio: &MergeRatio) -> bool {
    let faster = ratio.iops.low > FASTER && ratio.cpu.mean <= FASTER_CPU;
    let cheaper = ratio.cpu.high < CHEAPER && ratio.iops.low > AS_FAST;
    faster || cheaper
}

fn verdict(table: &MergeTable, simulated: bool) -> MergeVerdict {
    let with = |policy: Option<&str>, text: String| MergeVerdict {
        ask: table.ask,
        policy: policy.map(str::to_owned),
        text,
    };
    if !simulated && table.cells.iter().all(|cell| cell.against.is_none_or(|ratio| ratio.iops.samples < 3)) {
        return with(None, "not known: fewer than three rounds were made.".to_owned());
    }
    let needed = if table.columns().len() > 2 { 2 } else { 1 };
    let candidates = table.policies().into_iter().filter(|policy| *policy != AUTO && *policy != table.base);
    let best = candidates
        .map(|policy| Candidate::of_policy(table, policy))
        .filter(|candidate| candidate.better.len() >= needed)
        .max_by(|a, b| a.mean().total_cmp(&b.mean()));
    let auto = auto(table);
    match best {
        Some(candidate) => with(Some(candidate.policy), recommended(table, &candidate) + &auto),
        None => with(None, nothing(table) + &auto),
    }
}

fn recommended(table: &MergeTable, candidate: &Candidate<'_>) -> String {
    let (at, ratio) = candidate.best();
    let text = format!(
        "{}: {} the IOPS of {} at {}, at {:.2} times its CPU per I/O",
        candidate.policy,
        times(ratio),
        base(table),
        counted(at, table.ask),
        ratio.cpu.mean
    );
    let columns: Vec<u32> = candidate.better.iter().map(|(at, _)| *at).collect();
    let worse = match candidate.worse.as_slice() {
        [] => String::new(),
        worse => format!(", worse at {}", list(worse)),
    };
    let text = format!("{text}; better at {}{worse}.", list(&columns));
    match ratio.tail {
        Some(tail) if tail > 1.0 => {
            format!("{text} The price: p99 of a call is {tail:.2} times as long there.")
        }
        Some(tail) => format!("{text} p99 of a call is {tail:.2} times as long there."),
        None => text,
    }
}

fn times(ratio: MergeRatio) -> String {
    let iops = ratio.iops;
    if iops.samples < 3 {
        format!("{:.2} times", iops.mean)
    } else {
        format!("{:.2} ({:.2} to {:.2}) times", iops.mean, iops.low, iops.high)
    }
}

fn nothing(table: &MergeTable) -> String {
    let ratios = table.cells.iter().filter(|cell| cell.policy != AUTO && cell.failures.is_empty());
    let nearest = ratios
        .filter_map(|cell| cell.against.map(|ratio| (cell, ratio)))
        .max_by(|a, b| a.1.iops.mean.total_cmp(&b.1.iops.mean));
    let nearest = nearest.map(|(cell, ratio)| {
        format!(
            " The nearest is {} at {}: {} its IOPS, at {:.2} times its CPU per I/O.",
            cell.policy,
            counted(cell.column, table.ask),
            times(ratio),
            ratio.cpu.mean
        )
    });
    format!("{}: nothing here is better.{}", base(table), nearest.unwrap_or_default())
}

/// `8 callers`, `1 request in a group`.
fn counted(column: u32, ask: MergeAsk) -> String {
    let over = ask.over();
    let one = over.replacen("callers", "caller", 1).replacen("requests", "request", 1);
    format!("{column} {}", if column == 1 { &one } else { over })
}

/// The base as people call it.
fn base(table: &MergeTable) -> &str {
    match table.ask {
        MergeAsk::Groups => "plain calls one by one",
        _ if table.base == super::plan::PLAIN => "plain pread",
        _ => &table.base,
    }
}

/// Sentence about how close auto stays to the base.
fn auto(table: &MergeTable) -> String {
    let cells: Vec<&MergeCell> = table.cells.iter().filter(|cell| cell.policy == AUTO).collect();
    let range = |figure: fn(&MergeRatio) -> f64| {
        let values = cells.iter().filter_map(|cell| cell.against.as_ref().map(figure));
        values.fold((f64::MAX, 0.0f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    if cells.iter().all(|cell| cell.against.is_none()) {
        return String::new();
    }
    let (iops, cpu) = (range(|ratio| ratio.iops.mean), range(|ratio| ratio.cpu.mean));
    format!(
        " auto has {:.2} to {:.2} of {}'s IOPS at {:.2} to {:.2} of its CPU per I/O.",
        iops.0,
        iops.1,
        base(table),
        cpu.0,
        cpu.1
    )
}

/// `1`, `1 and 2`, `1, 2 and 4`.
fn list(columns: &[u32]) -> String {
    let words: Vec<String> = columns.iter().map(u32::to_string).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => "none".to_owned(),
    }
}

#[cfg(test)]
#[path = "advice_tests.rs"]
mod tests;
