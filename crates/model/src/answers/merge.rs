//! The outcome of `iostack merge`: what a command of several requests costs here, and what came of letting requests travel
//! together.
//!
//! Every figure rests on rounds: all cells are measured in turns, several times over, and each round is held against the plain
//! calls of the same round, so that a drift of the machine moves both.
use crate::{
    Bins, Bytes, Caveat, Direction, Effort, Interval, Machine, Nanos, Storage, TargetKind, TargetName,
};
use iostack_batch::BatchCost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::Scratch;

/// Everything `iostack merge` found.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MergeReport {
    /// Version of the file's form, [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of iostack that wrote it.
    pub iostack: String,
    /// Start, milliseconds since 1970 UTC; 0 in virtual time.
    pub started_unix_ms: u64,
    /// Wall time in all; 0 in virtual time.
    pub elapsed: Nanos,
    /// Effort that was asked for.
    pub effort: Effort,
    /// Seed of offsets and content.
    pub seed: u64,
    /// Name of the target that was measured.
    pub target: TargetName,
    /// Numbers of a simulated target that were changed, as typed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<(String, String)>,
    /// Machine that was measured; empty for a simulation.
    pub machine: Machine,
    /// The storage behind the target; empty for a simulation.
    pub storage: Storage,
    /// The scratch file, `None` where the target itself was used.
    pub scratch: Option<Scratch>,
    /// Bytes of a request.
    pub request: Bytes,
    /// Reads or writes.
    pub direction: Direction,
    /// Around the page cache.
    pub direct: bool,
    /// Cost of a command; `None` when it was not measured.
    pub fit: Option<MergeFit>,
    /// Results of each policy, a table for each way to ask.
    pub tables: Vec<MergeTable>,
    /// Verdicts on whether merging pays, one for each table.
    pub verdicts: Vec<MergeVerdict>,
    /// Reasons to doubt the figures.
    pub caveats: Vec<Caveat>,
    /// Notes for the reader, in whole sentences.
    pub notes: Vec<String>,
    /// Ctrl-C ended it early.
    pub interrupted: bool,
}

impl MergeReport {
    /// The figures are of a simulation, where one run says all; the lab measures like a real machine.
    pub fn is_simulated(&self) -> bool {
        self.target.kind == TargetKind::Sim
    }

    /// The table of one way to ask.
    pub fn table(&self, ask: MergeAsk) -> Option<&MergeTable> {
        self.tables.iter().find(|table| table.ask == ask)
    }
}

/// c + b x of this device, as seen by one caller.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MergeFit {
    /// Means by which requests were sent as one command.
    pub how: String,
    /// Time of commands of several sizes, in order of size.
    pub points: Vec<MergePoint>,
    /// The line through them.
    pub cost: BatchCost,
    /// c, ns, over the rounds.
    pub fixed: Interval,
    /// x, ns, over the rounds.
    pub each: Interval,
    /// (c + x) / x, over the rounds; ends at infinity are left out.
    pub gain_max: Interval,
    /// The largest distance of a point from the line, as a share of the point.
    pub residual: f64,
    /// Ratio of what one request more costs in large commands to what it costs in small ones: 1 on a line.
    pub bend: f64,
    /// The line describes the points: both of the above are small.
    pub holds: bool,
}

impl MergeFit {
    /// Percent of itself that no point is further than from the line: whole, and 1 at least.
    pub fn residual_percent(&self) -> f64 {
        // What is whole but for rounding is not one more.
        (self.residual * 100.0 - 1e-9).ceil().max(1.0)
    }
}

/// Time of a command.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MergePoint {
    /// Requests in it.
    pub requests: u32,
    /// Time of a command until all of it is there, ns: the mean over the rounds of each round's median.
    pub time: Interval,
    /// Commands that were timed.
    pub commands: u64,
}

words! {
    /// Way in which programs ask for several requests.
    #[serde(rename_all = "lowercase")]
    pub enum MergeAsk {
        /// Threads that each wait for one request at a time.
        Calls = "single calls",
        /// Threads that each ask for several requests at once and wait for all.
        Groups = "groups",
        /// Coroutines that each wait for one request at a time, on few threads.
        Scope = "coroutines",
    }
}

impl MergeAsk {
    /// Quantity that the columns count.
    pub const fn over(self) -> &'static str {
        match self {
            MergeAsk::Calls | MergeAsk::Scope => "callers",
            MergeAsk::Groups => "requests in a group",
        }
    }
}

/// One way to ask, with every policy.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MergeTable {
    /// Way in which programs ask.
    pub ask: MergeAsk,
    /// The policy that all others are held against: what programs do without merging.
    pub base: String,
    /// Policy by policy, each in order of the columns.
    pub cells: Vec<MergeCell>,
}

impl MergeTable {
    /// The policies in their order.
    pub fn policies(&self) -> Vec<&str> {
        self.distinct(|cell| cell.policy.as_str())
    }

    /// The columns in their order.
    pub fn columns(&self) -> Vec<u32> {
        let mut columns = self.distinct(|cell| cell.column);
        columns.sort_unstable();
        columns
    }

    /// The cell of a policy at a column.
    pub fn cell(&self, policy: &str, column: u32) -> Option<&MergeCell> {
        self.cells.iter().find(|cell| cell.policy == policy && cell.column == column)
    }

    fn distinct<'a, T: PartialEq>(&'a self, of: impl Fn(&'a MergeCell) -> T) -> Vec<T> {
        let mut found = Vec::new();
        for cell in &self.cells {
            let value = of(cell);
            if !found.contains(&value) {
                found.push(value);
            }
        }
        found
    }
}

/// One policy at one number of callers, or of requests in a group.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MergeCell {
    /// `pread`, `stm`, `scope`, ...
    pub policy: String,
    /// Callers, or requests in a group ([`MergeAsk::over`]).
    pub column: u32,
    /// Threads that asked.
    pub threads: u32,
    /// Requests that were counted, in all rounds.
    pub ios: u64,
    /// Each round by itself.
    pub rounds: Vec<MergeRound>,
    /// Requests per second.
    pub iops: Interval,
    /// CPU time of the whole process per request, ns.
    pub cpu_ns: Interval,
    /// Context switches of the whole process per request.
    pub switches: Interval,
    /// Time that a caller waited for a call: one request, or a whole group.
    pub latency: Bins,
    /// Against the base at the same column, round by round; `None` for the base.
    pub against: Option<MergeRatio>,
    /// Requests per second over those of a device that does nothing but x, 0..=1; simulated only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_of_peak: Option<f64>,
    /// Requests that failed, or that brought other data than was there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// One round of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MergeRound {
    /// Number of the round, from 0.
    pub number: u32,
    /// Number of requests done.
    pub ios: u64,
    /// Time, from the first request to the last.
    pub elapsed: Nanos,
    /// CPU time of the process meanwhile, user and system.
    pub cpu: Nanos,
    /// Its context switches meanwhile, voluntary and not.
    pub switches: u64,
}

impl MergeRound {
    /// Requests per second.
    pub fn iops(&self) -> f64 {
        if self.elapsed.0 == 0 { 0.0 } else { self.ios as f64 / self.elapsed.as_secs_f64() }
    }

    /// CPU time per request, ns.
    pub fn cpu_ns(&self) -> f64 {
        self.cpu.0 as f64 / self.ios.max(1) as f64
    }

    /// Context switches per request.
    pub fn switches_each(&self) -> f64 {
        self.switches as f64 / self.ios.max(1) as f64
    }
}

/// A cell over its base: 1 is as good, 2 twice as much.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MergeRatio {
    /// Requests per second.
    pub iops: Interval,
    /// CPU time per request.
    pub cpu: Interval,
    /// Median time of a call.
    pub median: f64,
    /// 99th percentile of the time of a call; `None` where too few calls were timed.
    pub tail: Option<f64>,
}

/// Verdict on merging for one way to ask.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MergeVerdict {
    /// Way in which programs ask.
    pub ask: MergeAsk,
    /// The policy to use; `None`: what programs do without merging is as good.
    pub policy: Option<String>,
    /// The answer, in sentences.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_knows_its_rows_and_columns_in_their_order() {
        let cell =
            |policy: &str, column| MergeCell { policy: policy.to_owned(), column, ..MergeCell::default() };
        let cells = vec![cell("pread", 1), cell("pread", 4), cell("stm", 2), cell("stm", 1)];
        let table = MergeTable { ask: MergeAsk::Calls, base: "pread".to_owned(), cells };
        assert_eq!(table.policies(), ["pread", "stm"]);
        assert_eq!(table.columns(), [1, 2, 4]);
        assert!(table.cell("stm", 4).is_none() && table.cell("stm", 2).is_some());
    }

    #[test]
    fn a_round_without_requests_is_no_division_by_nothing() {
        let round = MergeRound::default();
        assert_eq!((round.iops(), round.cpu_ns(), round.switches_each()), (0.0, 0.0, 0.0));
    }
}
