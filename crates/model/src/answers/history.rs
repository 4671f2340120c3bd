//! What became of a figure from run to run?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Interval;

/// Outcomes over time, as `iostack history` tells them.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct History {
    /// Version of the JSON layout, [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of iostack that told it.
    pub iostack: String,
    /// The folder it was read from.
    pub store: String,
    /// The figure in which steps were looked for.
    pub figure: HistoryFigure,
    /// Runs from before are left out, milliseconds since 1970 UTC.
    pub since_unix_ms: Option<u64>,
    /// Series that was asked for, as typed; `None` for every series.
    pub chosen: Option<String>,
    /// Each series, by machine, target and job.
    pub series: Vec<HistorySeries>,
    /// Problems with reading the store, in whole sentences.
    pub problems: Vec<String>,
}

words! {
    /// Figure that is followed from run to run.
    #[derive(Default)]
    #[serde(rename_all = "lowercase")]
    pub enum HistoryFigure {
        /// I/Os per second.
        #[default]
        Iops = "IOPS",
        /// Median latency of all I/Os.
        P50 = "p50 latency",
        /// 99th percentile of latency.
        P99 = "p99 latency",
    }
}

impl HistoryFigure {
    /// More of it is better.
    pub const fn higher_is_better(self) -> bool {
        matches!(self, HistoryFigure::Iops)
    }
}

/// Runs of one job on one target of one machine.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HistorySeries {
    /// Its place among all series of the store, from 1.
    pub number: u32,
    /// Machine, target and job.
    pub name: SeriesName,
    /// Its runs, in the order of time.
    pub runs: Vec<HistoryRun>,
    /// Changes of the figure's level that stayed, in the order of time.
    pub steps: Vec<HistoryStep>,
}

/// Name of a series: machine, target and job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
pub struct SeriesName {
    /// Name of the machine when it was added, or its processor; `SIMULATED` of virtual time.
    pub machine: String,
    /// Name of the target that answered.
    pub target: String,
    /// Name of the job.
    pub job: String,
}

/// One run of a series.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HistoryRun {
    /// Its start, milliseconds since 1970 UTC; in virtual time, which has no date, when it was added.
    pub unix_ms: u64,
    /// Version of iostack that ran it.
    pub iostack: String,
    /// I/Os per second.
    pub iops: Option<Interval>,
    /// Median latency, ns.
    pub p50_ns: Option<Interval>,
    /// 99th percentile of latency, ns.
    pub p99_ns: Option<Interval>,
    /// Number of caveats of the run.
    pub doubts: u32,
    /// The stored answer: the name of its file without the end.
    pub answer: String,
    /// Index of the outcome in the answer, from 0.
    pub outcome: u32,
}

impl HistoryRun {
    /// One figure of it, where it has one.
    pub fn figure(&self, figure: HistoryFigure) -> Option<Interval> {
        let value = match figure {
            HistoryFigure::Iops => self.iops,
            HistoryFigure::P50 => self.p50_ns,
            HistoryFigure::P99 => self.p99_ns,
        };
        value.filter(|value| value.mean > 0.0)
    }
}

/// A change of level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HistoryStep {
    /// The first run of the new level: its place in the series' runs, from 0.
    pub run: u32,
    /// The level before it.
    pub before: Interval,
    /// The level after it.
    pub after: Interval,
    /// Change from one level to the other, percent of the first, with its 95 % interval.
    pub change_percent: Interval,
    /// The new level is the worse one.
    pub worse: bool,
    /// Conditions that changed from the run before the step to the first of the new level.
    pub conditions: Vec<HistoryCondition>,
}

/// A condition that changed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HistoryCondition {
    /// Name of the condition.
    pub name: String,
    /// Text of the condition before the step.
    pub before: String,
    /// Text of the condition after the step.
    pub after: String,
}

impl History {
    /// The newest step of each series, where there is one.
    pub fn newest_steps(&self) -> impl Iterator<Item = (&HistorySeries, &HistoryStep)> {
        self.series.iter().filter_map(|series| Some((series, series.steps.last()?)))
    }
}
