//! Why should you not believe it?
//!
//! ```text
//!   outcome + evidence ──► DETECTORS, one after the other ──► caveats ──► says, changes, remedy
//!                          device, load, machine, medium                   says.rs, doubts.toml
//! ```
//!
//! Each reason to doubt is detected by a function, has a sentence in `says.rs`, and a table in `doubts.toml`: of what it speaks, what it
//! changes, what to do about it. All of it is pure: who ran the job gathers the [`Evidence`]. What several runs, a trace or a fit give to
//! doubt is judged by a public function of that name ([`drift`], [`unmatched`]). The manual's page is printed from the same table
//! ([`page`]). Start reading at `DETECTORS`.

mod device;
mod load;
mod machine;
mod medium;
mod runs;
mod says;
mod tracing;

use std::sync::LazyLock;

use iostack_model::{Bytes, Caveat, Machine, Outcome};
use serde::Deserialize;

pub use load::{missed_rate, punted};
pub use machine::{clock_not_invariant, foreign_cpu_of_many, io_limit, steal};
pub use medium::{cache_below, small_region};
pub use runs::{cost_overlapped, drift, not_linear, unstable_of_many};
pub use says::says;
pub use tracing::{events_lost, inexact_clocks, traced, unclassified, unmatched};

/// Weight of a doubt, the heaviest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// A figure is of something else than it says.
    Wrong,
    /// A figure is too good or too bad, by an amount that is not known.
    Skewed,
    /// A figure holds, but not for all times and loads.
    Partial,
    /// No verdict rests on it: the figure's own interval, or its absence, says as much.
    None,
}

/// Evidence gathered beside the outcome itself. A field that is empty raises no doubt.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// A simulation answered: CPUs, counters and caches of this machine say nothing.
    pub simulated: bool,
    /// No other group of the run used the device.
    pub alone: bool,
    /// Bytes of the region that were never written before, and bytes of the region.
    pub unwritten: Option<(Bytes, Bytes)>,
    /// Number of the workers and pollers of `io_uring`.
    pub workers: u32,
    /// Line of the control group that limits I/O.
    pub io_limit: Option<String>,
    /// Name of the clock that was used, unless it is the time-stamp counter.
    pub clock_other: Option<String>,
    /// Machine that ran the job.
    pub machine: Option<Machine>,
    /// Bytes of the region that was read and written.
    pub region: Bytes,
    /// Number of the I/Os that may have been counted on one side of a border only.
    pub border_ios: u64,
}

/// Owner of a doubt: studies tell it once, or with each figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// It speaks of one figure.
    Run,
    /// It speaks of the course of the rate in this run: too short a run does not show it, and runs in turns show it themselves.
    Rate,
    /// It speaks of a percentile of this run.
    Percentile,
    /// It speaks of what all runs of a study share (machine, place, neighbours), and is told once.
    Machine,
    /// It speaks of the target that answers, and is told once, as the first figure says it.
    Target,
    /// It speaks of what the target leaves out: told once as the first figure says it, and by each figure that lacks something else.
    Omission,
}

/// Purpose of a measurement: a doubt that only says that it was reached is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// A cache shall answer.
    PageCache,
    /// The thread shall be busy all the time.
    BusyThread,
}

/// One table of `doubts.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Doubt {
    /// Name of the caveat in JSON.
    kind: String,
    /// Text of the manual on how it is detected; `{}` stands for the limit.
    how: String,
    scope: Scope,
    intended: Option<Intent>,
    weight: Weight,
    /// Sentence on what it changes; empty where no verdict rests on it.
    #[serde(default)]
    changes: String,
    remedy: String,
}

#[derive(Deserialize)]
struct DoubtFile {
    doubt: Vec<Doubt>,
}

static DOUBTS: LazyLock<Vec<Doubt>> = LazyLock::new(|| {
    let file: DoubtFile = toml::from_str(include_str!("doubts.toml")).expect("a test reads it");
    let with_limit = |mut doubt: Doubt| {
        doubt.how = doubt.how.replace("{}", &limit_of_kind(&doubt.kind));
        doubt
    };
    file.doubt.into_iter().map(with_limit).collect()
});

/// The limit from which on a doubt is raised, as the manual says it; empty where the text names none.
fn limit_of_kind(kind: &str) -> String {
    let share = match kind {
        "cached_reads" | "buffered_writes" => medium::MOVED_LEAST,
        "depth_below_asked" => load::DEPTH_ENOUGH,
        "device_count_differs" => device::DIFFERENCE_MOST,
        "drift" => runs::DRIFT_MOST,
        "foreign_cpu" => machine::FOREIGN_CPU_MOST,
        "foreign_io" => device::FOREIGN_LEAST,
        "generator_bound" => load::BUSY,
        "load_not_full" => iostack_model::Load::RESIDUAL_MOST,
        "punted" => load::PUNTED_LEAST,
        "rate_missed" => load::RATE_ENOUGH,
        "steal" => machine::STEAL_MOST,
        "unclassified" => tracing::UNCLASSIFIED_MOST,
        "unmatched" => tracing::UNMATCHED_MOST,
        "unstable" => iostack_stats::UNSTABLE,
        "cache_below" => return medium::NO_HEADS.to_string(),
        "stall" => return load::STALL_LEAST.to_string(),
        "cost_overlapped" => return runs::OVERLAP_LEAST.to_string(),
        "few_samples" => return iostack_stats::SAMPLES_BEYOND.to_string(),
        _ => return String::new(),
    };
    // Not 30.000000000000004 %.
    format!("{} %", (share * 1e4).round() / 100.0)
}

type Detect = fn(&Outcome, &Evidence) -> Option<Caveat>;

/// Functions that look for a doubt in one run, in the order in which they are told; true of those that look at
/// simulations too.
const DETECTORS: [(Detect, bool); 23] = [
    (load::failed, true),
    (load::interrupted, true),
    (medium::no_data, false),
    (medium::unwritten, false),
    (medium::cached_reads, false),
    (medium::buffered_writes, false),
    (medium::compressible, false),
    (device::foreign_io, false),
    (device::count_differs, false),
    (device::no_count, false),
    (medium::cache_below_reads, false),
    (medium::small_region_read, false),
    (load::not_full, true),
    (load::depth_below_asked, true),
    (load::queue_too_small, false),
    (load::generator_bound, false),
    (load::punted_ios, false),
    (load::stall, false),
    (load::rate_missed, true),
    (|_, evidence| io_limit(evidence.io_limit.as_deref()), false),
    (|outcome, _| steal(outcome.cpu.steal), false),
    (machine::foreign_cpu, false),
    (|_, evidence| Some(Caveat::ClockNotInvariant { source: evidence.clock_other.clone()? }), false),
];

/// All reasons to doubt the outcome, those of its series included.
pub fn doubts_of_outcome(outcome: &Outcome, evidence: &Evidence) -> Vec<Caveat> {
    doubts_of_run(outcome, evidence).chain(iostack_stats::doubts_of_series(outcome)).collect()
}

/// All reasons to doubt the outcome but those of its series.
pub fn doubts_of_run(outcome: &Outcome, evidence: &Evidence) -> impl Iterator<Item = Caveat> {
    let looking = DETECTORS.iter().filter(|(_, in_simulation)| *in_simulation || !evidence.simulated);
    looking.filter_map(|(detect, _)| detect(outcome, evidence))
}

fn doubt_of_caveat(caveat: &Caveat) -> &'static Doubt {
    let json = serde_json::to_value(caveat).expect("plain data");
    DOUBTS.iter().find(|doubt| json["kind"] == doubt.kind).expect("each caveat has a table")
}

/// The remedy of a doubt, as one sentence.
pub fn remedy(caveat: &Caveat) -> &'static str {
    &doubt_of_caveat(caveat).remedy
}

/// Weight of a doubt, and what it changes. [`Weight::None`] comes without a sentence.
pub fn changes(caveat: &Caveat) -> (Weight, &'static str) {
    let doubt = doubt_of_caveat(caveat);
    (doubt.weight, &doubt.changes)
}

/// Owner of a doubt.
pub fn scope(caveat: &Caveat) -> Scope {
    doubt_of_caveat(caveat).scope
}

/// The purpose of a measurement that this doubt would only confirm.
pub fn intended(caveat: &Caveat) -> Option<Intent> {
    doubt_of_caveat(caveat).intended
}

/// The rows of the manual's page: kind, how it is detected, what it changes, what to do.
pub fn page() -> String {
    let row = |Doubt { kind, how, changes, remedy, .. }: &Doubt| {
        format!("| `{kind}` | {how} | {changes} | {remedy} |\n")
    };
    let head = "| kind | how it is detected | what it changes | what to do |\n| --- | --- | --- | --- |\n";
    head.to_owned() + &DOUBTS.iter().map(row).collect::<String>()
}

#[cfg(test)]
mod tests;
