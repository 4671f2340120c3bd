//! The outcome of `iostack check`: many small outcomes, what they say together, and the verdict.
use crate::{Bytes, Caveat, Direction, Effort, Interval, Machine, Nanos, Outcome, Storage, TargetName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::{Against, Prediction};

/// Everything `iostack check` found.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Check {
    /// Version of the file's form, [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of iostack that wrote it.
    pub iostack: String,
    /// Start, milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// Wall time of the whole check.
    pub elapsed: Nanos,
    /// Effort that was asked for.
    pub effort: Effort,
    /// Seed of offsets and content.
    pub seed: u64,
    /// Name of the target that was checked.
    pub target: TargetName,
    /// Machine that was checked.
    pub machine: Machine,
    /// The storage behind the target.
    pub storage: Storage,
    /// The scratch file, `None` on a block device.
    pub scratch: Option<Scratch>,
    /// The measurements in the order they were made; a skipped step has no points and a note.
    pub steps: Vec<Step>,
    /// The figures people compare.
    pub summary: Summary,
    /// Costs of single parts of the path, beside published figures.
    #[serde(default)]
    pub path_costs: Vec<PathCost>,
    /// Ratings of the data sheet that was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
    /// Figures that were predicted beside those measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
    /// Verdict on all of it.
    pub verdict: Verdict,
    /// Doubts that concern the whole check.
    pub caveats: Vec<Caveat>,
    /// Ctrl-C ended it early.
    pub interrupted: bool,
}

impl Check {
    /// The step called `id`.
    pub fn step(&self, id: StepKind) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }
}

/// The scratch file of a check.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Scratch {
    /// Bytes of the scratch file.
    pub size: Bytes,
    /// Reason for this size.
    pub reason: String,
    /// Time it took to write.
    pub fill: Nanos,
}

words! {
    /// The questions of a check. Where [`Cell`]s and verdicts come from is found by these.
    #[serde(rename_all = "snake_case")]
    pub enum StepKind {
        /// One I/O alone.
        Latency = "latency",
        /// Stages and layers at depth 1 and 32.
        Places = "places",
        /// Throughput over queue depth.
        Depth = "depth",
        /// The figures people compare.
        Cells = "cells",
        /// Throughput over request size.
        Size = "size",
        /// Direct, buffered, the raw device.
        Paths = "paths",
        /// Throughput over threads.
        Threads = "threads",
        /// Throughput and CPU cost of each engine.
        Engines = "engines",
        /// Step that makes writes durable.
        Sync = "sync",
        /// Throughput of each I/O scheduler.
        Schedulers = "schedulers",
        /// Does the write rate last?
        Sustained = "sustained",
        /// One that this version does not know: the file is a later one's.
        #[serde(other)]
        Other = "other",
    }
}

/// One question of the check and its measurements.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Step {
    /// Kind of the step.
    pub id: StepKind,
    /// The question in words.
    pub title: String,
    /// Reason why it was skipped or cut short, or a note for the reader.
    pub note: Option<String>,
    /// Horizontal axis of its plot.
    pub axis: Axis,
    /// Measurements of the step, in the order they were made.
    pub points: Vec<Point>,
    /// Wall time of the step.
    pub elapsed: Nanos,
}

named! {
    /// Quantity that the horizontal axis of a step counts, with its unit.
    AxisName {
        /// Reads or writes.
        Direction = "direction",
        /// I/Os in flight of each thread.
        QueueDepth = "queue depth",
        /// The cells people compare.
        Cell = "cell",
        /// Bytes of an I/O.
        RequestSize = "request size (bytes)",
        /// Threads of the load.
        Threads = "threads",
        /// Interfaces of the kernel.
        Engine = "engine",
        /// System calls that make data durable.
        Call = "call",
        /// Names of I/O schedulers.
        Scheduler = "scheduler",
        /// Since the start of measuring.
        Time = "time (s)",
    }
}

/// Horizontal axis of a step's plot.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Axis {
    /// Quantity that the axis counts.
    pub label: AxisName,
    /// Logarithmic, base 2.
    pub log: bool,
    /// Points are categories (bars), their `x` is only an order.
    pub categories: bool,
}

named! {
    /// The curve that a measurement belongs to.
    Series {
        /// Reads at random.
        RandomRead = "random read",
        /// Writes at random.
        RandomWrite = "random write",
        /// Half of each, random.
        RandomHalf = "random 50/50",
        /// Reads in sequence.
        SequentialRead = "sequential read",
        /// Writes in sequence.
        SequentialWrite = "sequential write",
        /// Reads of a cell.
        Read = "read",
        /// Writes of a cell.
        Write = "write",
        /// Around the page cache.
        Direct = "direct",
        /// Around the file system too.
        RawDevice = "raw device",
        /// Through a page cache that has nothing of it.
        BufferedCold = "buffered, cold",
        /// Through a page cache that has all of it.
        BufferedCached = "buffered, cached",
        /// fsync after each write.
        Fsync = "fsync",
        /// fdatasync after each write.
        Fdatasync = "fdatasync",
    }
}

/// One measurement of a step.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Point {
    /// The curve it belongs to; one of engines is called by these.
    pub series: Series,
    /// Its place on the axis.
    pub x: f64,
    /// Its place in words: `32`, `4 KiB`, `kyber`.
    pub label: String,
    /// Outcome of the measurement.
    pub outcome: Outcome,
}

/// The figures people compare.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Summary {
    /// SEQ1M Q8, SEQ1M Q1, RND4K Q32, RND4K Q1, read and write.
    pub cells: Vec<Cell>,
    /// Depth-1 latency, read then write.
    pub depth_one: Vec<DepthOne>,
    /// Depth at which throughput saturates, for each curve of the depth step.
    pub saturation: Vec<Saturation>,
    /// CPU cost per I/O, for each engine.
    pub costs: Vec<Cost>,
}

named! {
    /// The cells people compare: size, order and I/Os in flight.
    CellName {
        /// 1 MiB sequential, 8 in flight.
        Sequential8 = "SEQ1M Q8",
        /// 1 MiB sequential, 1 in flight.
        Sequential1 = "SEQ1M Q1",
        /// 4 KiB random, 32 in flight.
        Random32 = "RND4K Q32",
        /// 4 KiB random, 1 in flight.
        Random1 = "RND4K Q1",
    }
}

/// One cell of the comparison table.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Cell {
    /// Name of the cell.
    pub name: CellName,
    /// Read or write.
    pub direction: Direction,
    /// Bytes per second.
    pub bandwidth: Interval,
    /// I/Os per second.
    pub iops: Interval,
    /// Mean latency of its I/Os.
    pub latency_mean: Nanos,
    /// Doubts of this cell.
    pub caveats: Vec<Caveat>,
}

/// Latency with one I/O in flight.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DepthOne {
    /// Read or write.
    pub direction: Direction,
    /// Number of I/Os measured.
    pub samples: u64,
    /// Mean latency of these I/Os.
    pub mean: Nanos,
    /// `(percent, latency)`; only percentiles that the samples support.
    pub percentiles: Vec<(f64, Nanos)>,
    /// Largest latency of these I/Os.
    pub max: Nanos,
}

/// Depth at which a throughput curve stops rising.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Saturation {
    /// Series whose curve it is.
    pub series: Series,
    /// Depth at which it saturates; `None` when it still rises at the largest depth.
    pub depth: Option<u32>,
    /// Largest throughput seen.
    pub iops_max: f64,
    /// I/Os the device works on at once: largest throughput times depth-1 latency (Little's law).
    pub parallelism: f64,
}

/// Cost of one I/O in the processor.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Cost {
    /// Engine and depth in words.
    pub label: String,
    /// CPU time per I/O, ns, kernel workers included.
    pub cpu_ns_per_io: f64,
    /// TSC clocks per I/O.
    pub clocks_per_io: f64,
    /// I/Os per second that one fully used core would carry: 1e9 / `cpu_ns_per_io`.
    pub iops_per_core: f64,
    /// System calls per I/O.
    pub syscalls_per_io: f64,
    /// Context switches per I/O.
    pub switches_per_io: f64,
}

named! {
    /// The parts of the path whose cost is measured.
    PathPart {
        /// System call into the kernel and back.
        SystemCall = "syscall",
        /// Surplus of a file over its device.
        FileSystem = "file_system",
        /// Copying to and from the page cache.
        Buffering = "buffering",
        /// Waking a thread and switching to it.
        Switch = "switch",
        /// The device's interrupt.
        Interrupt = "interrupt",
    }
}

/// Cost of one part of the path: a difference of two measurements made in turns.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PathCost {
    /// Part of the path.
    pub id: PathPart,
    /// Its name in words.
    pub name: String,
    /// Measurement that was subtracted from another, in words.
    pub how: String,
    /// `clocks` (of the time-stamp counter, per I/O) or `clocks/byte`.
    pub unit: String,
    /// `None` when it could not be measured; `note` says why.
    pub measured: Option<Interval>,
    /// The figure of the paper, in the same unit; `None` where it gives none.
    pub published: Option<f64>,
    /// Publication of the figure, and the machine it is of.
    pub published_where: Option<String>,
    /// Reason why it was not measured, or a note for comparing.
    pub note: Option<String>,
}

/// Limit of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The device itself.
    Device,
    /// One core's clocks.
    OneCore,
    /// All cores' clocks.
    AllCores,
    /// One queue or too few tags between host and device.
    OneQueue,
    /// The I/O scheduler; another one is better here.
    Scheduler,
    /// The engine in use; another one is better here. Read from older reports; today that is advice, because what ends the best
    /// engine is the limit.
    Engine,
    /// A cap: token bucket, cgroup, provisioned rate.
    Cap,
    /// The load generator: the platform can do more than was asked.
    Generator,
    /// The measurements do not tell.
    Unknown,
}

/// Verdict on the storage and the path to it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Verdict {
    /// Limit of small random reads at full depth.
    pub limit: Limit,
    /// The answer in one sentence.
    pub answer: String,
    /// The measurements it rests on, one sentence each.
    pub evidence: Vec<String>,
    /// Advice in the order of its gain, the largest first.
    pub advice: Vec<Advice>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Advice {
    /// Act that is advised, as a sentence.
    pub act: String,
    /// Measured or bounded gain in percent of throughput, where there is one.
    pub gain_percent: Option<f64>,
    /// Source of the gain: `measured here` or how it was bounded.
    pub basis: String,
    /// The command that does or shows it.
    pub command: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::{Series, StepKind};

    #[test]
    fn a_step_is_called_in_json_what_it_is_called_elsewhere() {
        let names = "latency places depth cells size paths threads engines sync schedulers sustained other";
        for name in names.split(' ') {
            let kind: StepKind = serde_json::from_str(&format!("\"{name}\"")).expect("a name");
            assert_eq!(kind.name(), name);
            assert_eq!(serde_json::to_string(&kind).expect("plain data"), format!("\"{name}\""));
        }
    }

    #[test]
    fn a_series_is_stored_by_its_name_whether_it_is_known_or_not() {
        for (name, series) in [
            ("random 50/50", Series::RandomHalf),
            ("psync, 32 threads", Series::Other("psync, 32 threads".to_owned())),
        ] {
            let stored = format!("\"{name}\"");
            assert_eq!(serde_json::from_str::<Series>(&stored).expect("any name"), series);
            assert_eq!(serde_json::to_string(&series).expect("plain data"), stored);
            assert_eq!(format!("{series:>20}"), format!("{name:>20}"));
        }
    }
}
