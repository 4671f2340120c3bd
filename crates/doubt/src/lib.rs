//! Why should you not believe it?
//!
//! ```text
//!   outcome + evidence ──► DOUBTS, one after the other ──► caveats ──► says, changes, remedy
//!                          a file each
//! ```
//!
//! Each reason to doubt is a file: how it is detected, from which threshold on, what it says, what it changes, what to do about it.
//! All of it is pure: who ran the job gathers the [`Evidence`]. What several runs, a trace or a fit give to doubt is judged by the
//! function of that file. The manual's page is printed from the same table ([`page`]). Start reading at [`DOUBTS`].

/// Examples of the README, which must run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod buffered_writes;
pub mod cache_below;
mod cached_reads;
mod cliff;
pub mod clock;
mod common;
mod compressible;
pub mod cost_overlapped;
mod depth_below_asked;
mod device_count;
pub mod drift;
pub mod events_lost;
mod failed;
mod few_samples;
pub mod foreign_cpu;
mod foreign_io;
mod generator_bound;
pub mod inexact_clocks;
mod interrupted;
pub mod io_limit;
mod lab;
mod load_not_full;
mod no_data;
mod no_device_count;
pub mod not_linear;
mod not_simulated;
pub mod punted;
pub mod rate_missed;
mod rate_step;
mod simulated;
mod slope;
pub mod small_region;
mod stall;
mod state_by_formula;
pub mod steal;
mod trace_leap;
pub mod traced;
pub mod unclassified;
pub mod unmatched;
pub mod unstable;
mod unwritten;

use iostack_model::{Bytes, Caveat, Machine, Nanos, Outcome};

/// Weight of a doubt, the heaviest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// Evidence gathered beside the outcome itself. What is not there raises no doubt.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// A simulation answered: CPUs, counters and caches of this machine say nothing.
    pub simulated: bool,
    /// No other group of the run used the device.
    pub alone: bool,
    /// Part of the region never written before, and the region.
    pub unwritten: Option<(Bytes, Bytes)>,
    /// `io_uring` workers and pollers.
    pub workers: u32,
    /// The control group's limit.
    pub io_limit: Option<String>,
    /// The clock that was used, where it is not the time-stamp counter.
    pub clock_other: Option<String>,
    /// Machine on which the job ran.
    pub machine: Option<Machine>,
    /// Region that was read and written.
    pub region: Bytes,
    /// I/Os that may have been counted on one side of a border only.
    pub border_ios: u64,
}

/// Subject of a doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The doubt is of this figure alone.
    Run,
    /// The doubt is of the course of the rate in this run: too short a run does not show it, and runs in turns show it themselves.
    Rate,
    /// The doubt is of a percentile of this run.
    Percentile,
    /// The doubt is of what all runs of a study share: the machine, the place, the neighbours. It is told once.
    Machine,
    /// The doubt is of the target that answers: told once, as the first figure says it.
    Target,
    /// The doubt is of what the target leaves out: told once as the first figure says it, and by each figure that lacks something else.
    Omission,
}

/// Intention of a measurement: a doubt that says just this is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// A cache answers.
    PageCache,
    /// The thread is busy all the time.
    BusyThread,
}

/// Limit from which on a doubt is raised.
#[derive(Clone, Copy, Debug)]
enum Limit {
    /// A share, 0..=1.
    Share(f64),
    /// Limit that is a plain number.
    Times(f64),
    /// Limit that is a time.
    Time(Nanos),
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // Not 0.30000000000000004.
            Limit::Share(share) => write!(f, "{} %", (share * 1e4).round() / 100.0),
            Limit::Times(times) => write!(f, "{times}"),
            Limit::Time(time) => write!(f, "{time}"),
        }
    }
}

/// One reason to doubt.
struct Doubt {
    /// Name in JSON.
    kind: &'static str,
    /// Words of how it is detected, for the manual; `{}` stands for the limit.
    how: &'static str,
    limit: Option<Limit>,
    scope: Scope,
    intended: Option<Intent>,
    weight: Weight,
    /// Effect on the figures; empty where no verdict rests on it.
    changes: &'static str,
    /// Remedy, as one sentence.
    remedy: &'static str,
    /// The doubt as one sentence with its evidence; `None` for another's caveat.
    says: fn(&Caveat) -> Option<String>,
    /// Looks for it in one run; `None` where a run alone does not show it.
    of_run: Option<fn(&Outcome, &Evidence) -> Option<Caveat>>,
    /// Looked for in simulations too.
    in_simulation: bool,
}

/// Fields that most doubts have: of this figure, of several runs or a trace, and of what is real.
const PLAIN: Doubt = Doubt {
    kind: "",
    how: "",
    limit: None,
    scope: Scope::Run,
    intended: None,
    weight: Weight::None,
    changes: "",
    remedy: "",
    says: |_| None,
    of_run: None,
    in_simulation: false,
};

impl Doubt {
    /// The words of how it is detected, with the limit.
    fn how(&self) -> String {
        self.limit.map_or_else(|| self.how.to_owned(), |limit| self.how.replace("{}", &limit.to_string()))
    }
}

/// The same doubt from other evidence: a queue that is too small for the depth.
const QUEUE: Doubt =
    Doubt { of_run: Some(depth_below_asked::of_queue), in_simulation: false, ..depth_below_asked::DOUBT };

/// All doubts, in the order in which they are told: what makes a figure wrong before what makes it uncertain.
const DOUBTS: [&Doubt; 41] = [
    &failed::DOUBT,
    &interrupted::DOUBT,
    &no_data::DOUBT,
    &unwritten::DOUBT,
    &cached_reads::DOUBT,
    &buffered_writes::DOUBT,
    &compressible::DOUBT,
    &foreign_io::DOUBT,
    &device_count::DOUBT,
    &no_device_count::DOUBT,
    &cache_below::DOUBT,
    &small_region::DOUBT,
    &load_not_full::DOUBT,
    &depth_below_asked::DOUBT,
    &QUEUE,
    &generator_bound::DOUBT,
    &punted::DOUBT,
    &stall::DOUBT,
    &rate_missed::DOUBT,
    &io_limit::DOUBT,
    &steal::DOUBT,
    &foreign_cpu::DOUBT,
    &clock::DOUBT,
    &rate_step::DOUBT,
    &cliff::DOUBT,
    &slope::DOUBT,
    &unstable::DOUBT,
    &few_samples::DOUBT,
    &drift::DOUBT,
    &traced::DOUBT,
    &events_lost::DOUBT,
    &unmatched::DOUBT,
    &unclassified::DOUBT,
    &inexact_clocks::DOUBT,
    &simulated::DOUBT,
    &not_simulated::DOUBT,
    &state_by_formula::DOUBT,
    &trace_leap::DOUBT,
    &lab::DOUBT,
    &not_linear::DOUBT,
    &cost_overlapped::DOUBT,
];

/// All reasons to doubt the outcome, those of its series included.
pub fn doubts_of_outcome(outcome: &Outcome, evidence: &Evidence) -> Vec<Caveat> {
    doubts_of_run(outcome, evidence).chain(iostack_stats::doubts_of_series(outcome)).collect()
}

/// All but those of its series.
pub fn doubts_of_run(outcome: &Outcome, evidence: &Evidence) -> impl Iterator<Item = Caveat> {
    let looked_for = DOUBTS.iter().filter(|doubt| doubt.in_simulation || !evidence.simulated);
    looked_for.filter_map(|doubt| doubt.of_run?(outcome, evidence))
}

fn find(caveat: &Caveat) -> (&'static Doubt, String) {
    let found = DOUBTS.iter().find_map(|doubt| Some((*doubt, (doubt.says)(caveat)?)));
    found.expect("each caveat is a row of DOUBTS")
}

/// The doubt as one sentence with its evidence.
pub fn says(caveat: &Caveat) -> String {
    find(caveat).1
}

/// Remedy of a doubt, as one sentence.
pub fn remedy(caveat: &Caveat) -> &'static str {
    find(caveat).0.remedy
}

/// Effect of a doubt on the figures, and its weight. [`Weight::None`] comes without a sentence.
pub fn changes(caveat: &Caveat) -> (Weight, &'static str) {
    let (doubt, _) = find(caveat);
    (doubt.weight, doubt.changes)
}

/// Subject of a doubt.
pub fn scope(caveat: &Caveat) -> Scope {
    find(caveat).0.scope
}

/// Intention that a measurement may have, of which this only says that it came to pass.
pub fn intended(caveat: &Caveat) -> Option<Intent> {
    find(caveat).0.intended
}

/// The rows of the manual's page: kind, how it is detected, what it changes, what to do.
pub fn page() -> String {
    let row = |doubt: &&Doubt| {
        let Doubt { kind, changes, remedy, .. } = doubt;
        format!("| `{kind}` | {} | {changes} | {remedy} |\n", doubt.how())
    };
    let mut rows: Vec<String> = DOUBTS.iter().map(row).collect();
    // The same doubt from other evidence stands beside it.
    rows.dedup();
    let head = "| kind | how it is detected | what it changes | what to do |\n| --- | --- | --- | --- |\n";
    head.to_owned() + &rows.concat()
}

/// `12 %`, `0.4 %`.
fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() >= 10.0 { format!("{value:.0} %") } else { format!("{value:.1} %") }
}

#[cfg(test)]
mod edge_tests;
#[cfg(test)]
mod tests;
