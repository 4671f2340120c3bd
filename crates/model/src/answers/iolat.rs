//! The outcome of `iostack iolat`: the tests of the 2008 tool, their profile by layer, and a comparison with a stored
//! reference.
//!
//! Every figure rests on rounds: the tests are made in turns, several times over, so that a drift of the machine shows
//! in the intervals instead of favouring one test.
use crate::{
    Bins, Bytes, Caveat, Direction, FunctionRow, Interval, Ladder, Layers, Machine, Nanos, Storage,
    TargetName,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::Scratch;

/// Everything `iostack iolat` found; also what a saved reference holds.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Iolat {
    /// Version of the file's form, [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of iostack that wrote it.
    pub iostack: String,
    /// Start, milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// Wall time in all.
    pub elapsed: Nanos,
    /// Seed of offsets and content.
    pub seed: u64,
    /// Name of the target that was tested.
    pub target: TargetName,
    /// Machine that ran the tests.
    pub machine: Machine,
    /// The storage behind the target.
    pub storage: Storage,
    /// The scratch file, `None` where the target itself was used.
    pub scratch: Option<Scratch>,
    /// The tests in their order.
    pub tests: Vec<IolatTest>,
    /// Tests of one kind together, as the screen of 2008 showed them; empty without layers.
    pub profiles: Vec<IolatProfile>,
    /// Rungs that this user may measure, and why not more.
    pub ladder: Ladder,
    /// Reason why there are no layers; `None` when there are.
    pub layers_missing: Option<String>,
    /// Against a reference, when one was named.
    pub comparison: Option<IolatComparison>,
    /// Notes for the reader, in whole sentences.
    pub notes: Vec<String>,
    /// Ctrl-C ended it early.
    pub interrupted: bool,
}

impl Iolat {
    /// The tests of one kind together: `direct` or `cached`.
    pub fn profile(&self, name: &str) -> Option<&IolatProfile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The test called `name`.
    pub fn test(&self, name: &str) -> Option<&IolatTest> {
        self.tests.iter().find(|test| test.name == name)
    }
}

/// Several tests taken together.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct IolatProfile {
    /// `direct` or `cached`.
    pub name: String,
    /// Samples in all.
    pub samples: u64,
    /// Each layer's share of all clocks, 0..=1, largest first.
    pub shares: Vec<(String, Interval)>,
    /// Functions, by samples with them on top.
    pub functions: Vec<FunctionRow>,
}

/// Figures of one test over all rounds.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct IolatTest {
    /// Name of 2008: `Small_direct_read`, ...
    pub name: String,
    /// Read or write.
    pub direction: Direction,
    /// Size of one I/O.
    pub bytes: Bytes,
    /// Opened with `O_DIRECT`; else through the page cache.
    pub direct: bool,
    /// fdatasync after so many writes; 0 never.
    pub sync_every: u32,
    /// I/Os in all rounds.
    pub ios: u64,
    /// Time measured in all rounds.
    pub elapsed: Nanos,
    /// Each round, in the order of time.
    pub rounds: Vec<IolatRound>,
    /// I/Os per second, over the rounds.
    pub iops: Interval,
    /// Mean time of a request, ns, over the rounds; an fdatasync is no part of it.
    pub request: Interval,
    /// Time-stamp-counter clocks per I/O of the load's thread, over the rounds; 0 without counter.
    pub clocks: Interval,
    /// Latency of all requests.
    pub latency: Bins,
    /// Latency of fdatasync.
    pub sync: Bins,
    /// Costs of layers over the rounds, largest first; empty without layers.
    pub layer_costs: Vec<LayerCost>,
    /// The profile of all rounds together.
    pub layers: Option<Layers>,
    /// Reasons to doubt the figures.
    pub caveats: Vec<Caveat>,
}

impl IolatTest {
    /// Distance from the slowest to the fastest round, as a share of the mean rate.
    pub fn spread(&self) -> f64 {
        let rates = || self.rounds.iter().map(|round| round.iops);
        let (low, high) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        if self.iops.mean > 0.0 && high >= low { (high - low) / self.iops.mean } else { 0.0 }
    }

    /// The cost of one layer.
    pub fn layer_cost(&self, layer: &str) -> Option<&LayerCost> {
        self.layer_costs.iter().find(|cost| cost.layer == layer)
    }
}

/// One round of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct IolatRound {
    /// Its number, from 0: rounds of the same number of different tests were made one after the other.
    pub number: u32,
    /// I/Os per second.
    pub iops: f64,
    /// Mean time of a request, ns.
    pub request_ns: f64,
    /// Clocks per I/O of the load's thread.
    pub clocks: f64,
}

/// Cost of one layer, over the rounds.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LayerCost {
    /// Its name in the rule file.
    pub layer: String,
    /// Clocks per I/O.
    pub clocks: Interval,
    /// Its share of all clocks, 0..=1.
    pub share: Interval,
}

/// A published table of the 2008 tool, as it was printed.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedTable {
    /// Name that `--against` takes.
    pub name: String,
    /// Title of the measurement, in words.
    pub title: String,
    /// Publication that prints it.
    pub source: String,
    /// Machine as the source describes it, and what it leaves out.
    pub machine: String,
    /// One for each screen that was printed.
    pub runs: Vec<PublishedRun>,
    /// Names of today for the layers of then.
    pub mapping: Vec<LayerMapping>,
}

/// One printed screen.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRun {
    /// Version line of the screen.
    pub version: String,
    /// The upper table.
    pub tests: Vec<PublishedTest>,
    /// Layers with their percent of the samples, in the order printed.
    pub layers: Vec<(String, f64)>,
    /// Functions with their samples, in the order printed.
    pub functions: Vec<(String, u64)>,
}

/// One row of the upper table.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedTest {
    /// Name of the test, like `Small_direct_read`.
    pub name: String,
    /// The column "Direct".
    pub direct: bool,
    /// The column "bytes".
    pub bytes: u64,
    /// The column "IOPS".
    pub iops: f64,
    /// The column "+/-": percent against the reference of then.
    pub plus_minus_percent: i32,
    /// The column "Avg. req time", ms.
    pub request_ms: f64,
}

/// Name of today for a layer of 2008.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerMapping {
    /// Its name in the published table.
    pub theirs: String,
    /// Our layers that hold the same work.
    pub ours: Vec<String>,
    /// Reason for this mapping.
    pub why: String,
}

words! {
    /// Movement of a figure beyond what chance explains.
    #[serde(rename_all = "snake_case")]
    pub enum Moved {
        /// It got better, beyond the intervals and the number of figures compared.
        Better = "better",
        /// It got worse, likewise.
        Worse = "worse",
        /// It did not, or so little that nobody would care.
        Same = "same",
        /// The intervals are too wide to say.
        Unclear = "unclear",
    }
}

/// This run against a reference.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct IolatComparison {
    /// The reference as it was named.
    pub name: String,
    /// Source of the reference.
    pub source: String,
    /// The reference is a published table.
    pub published: bool,
    /// It was measured on another machine: a difference is that of two machines.
    pub another_machine: bool,
    /// Conditions that differ, one sentence each.
    pub conditions: Vec<String>,
    /// Tests that both have.
    pub tests: Vec<TestChange>,
    /// Layers, for each test (or for the direct tests together, where the reference holds no more), largest first.
    pub layers: Vec<LayerChange>,
    /// Layers of ours for those of the reference; empty when they are ours.
    pub mapping: Vec<LayerMapping>,
    /// A test is slower, beyond the intervals.
    pub slower: bool,
}

/// One test against the reference.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TestChange {
    /// Name of the test.
    pub name: String,
    /// I/Os per second of the reference.
    pub reference: Interval,
    /// Mean time of a request of the reference, ns.
    pub reference_request_ns: f64,
    /// Change from the reference to this run, in percent of the reference.
    pub change_percent: Interval,
    /// Meaning of the change.
    pub moved: Moved,
}

/// One layer against the reference.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LayerChange {
    /// Test, or what several are called together.
    pub test: String,
    /// Layer, in the words of the reference when it is published.
    pub layer: String,
    /// Clocks per I/O of the reference; `None` where it has only shares.
    pub reference_clocks: Option<Interval>,
    /// Clocks per I/O here; `None` where the reference has none.
    pub clocks: Option<Interval>,
    /// Share of the reference, 0..=1; `None` where it does not print the layer.
    pub reference_share: Option<Interval>,
    /// Share here, 0..=1.
    pub share: Interval,
    /// Clocks per I/O here minus there; `None` where there are none to subtract.
    pub clocks_change: Option<Interval>,
    /// Meaning for the clocks; a share alone is neither better nor worse.
    pub moved: Moved,
}
