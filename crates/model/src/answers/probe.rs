//! The outcome of `iostack probe`: what is inside a drive, from timing alone.
//!
//! A finding is a number with its 95 % interval, or the reason why it cannot be told from here; never a guess. Its curve is what
//! it was read from.
use crate::{Bytes, Caveat, Direction, Effort, Interval, Machine, Nanos, Storage, TargetName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::Scratch;

/// Everything `iostack probe` found.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Probe {
    /// Version of the file's form, [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of iostack that wrote it.
    pub iostack: String,
    /// Start, milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// Time of all measurements, by the clock of the target.
    pub elapsed: Nanos,
    /// Effort that was asked for.
    pub effort: Effort,
    /// Seed of offsets and content.
    pub seed: u64,
    /// Name of the target that was probed.
    pub target: TargetName,
    /// Machine before the drive.
    pub machine: Machine,
    /// The storage behind the target.
    pub storage: Storage,
    /// The scratch file, `None` where the target itself was used.
    pub scratch: Option<Scratch>,
    /// Bytes that were probed.
    pub region: Bytes,
    /// Writes were allowed; without them half of the questions stay open.
    pub writes: bool,
    /// A file system is between the load and the device: addresses are those of a file.
    pub is_file: bool,
    /// Findings, in the order of the questions.
    pub findings: Vec<ProbeFinding>,
    /// Reasons to doubt the whole.
    pub caveats: Vec<Caveat>,
    /// Notes for the reader, in whole sentences.
    pub notes: Vec<String>,
    /// Ctrl-C ended it early.
    pub interrupted: bool,
}

impl Probe {
    /// The finding of this key.
    pub fn finding(&self, key: &str) -> Option<&ProbeFinding> {
        self.findings.iter().find(|finding| finding.key == key)
    }
}

words! {
    /// Unit of a finding, or of an axis of its curve.
    #[serde(rename_all = "snake_case")]
    pub enum ProbeUnit {
        /// A plain number: requests, dies.
        Count = "count",
        /// A number of bytes.
        Bytes = "bytes",
        /// A time in nanoseconds.
        Nanos = "ns",
        /// I/Os per second.
        Iops = "I/Os per second",
        /// Bytes per second.
        Bandwidth = "bytes per second",
        /// Share, 0..=1, or a ratio.
        Share = "share",
        /// Seconds since the start of the measurement.
        Seconds = "s",
    }
}

/// One question about the inside of the drive, with what came of it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ProbeFinding {
    /// Key of the finding, such as `parallelism.4096`, `latency.4096`, `buffer`, `slc`, `over_provisioning`, `cap.iops`.
    pub key: String,
    /// Name in words.
    pub name: String,
    /// Unit of the value.
    pub unit: ProbeUnit,
    /// The value with its 95 % interval; `None`: it cannot be told from here.
    pub value: Option<Interval>,
    /// The reason why it cannot be told; `None` where there is a value.
    pub reason: Option<String>,
    /// The inference, in a sentence.
    pub how: String,
    /// Direction of the I/Os that it was read from.
    pub direction: Direction,
    /// Size of these I/Os; 0 where it is what the curve goes over.
    pub request: Bytes,
    /// The curve that it was read from; without points where nothing was measured.
    pub curve: ProbeCurve,
    /// Further numbers of the same curve, such as percentiles of a latency, or the rates before and after a step.
    pub parts: Vec<ProbePart>,
    /// Reasons why the interval is wider than its points say, in whole sentences.
    pub doubts: Vec<String>,
}

impl ProbeFinding {
    /// The value of one of its further numbers.
    pub fn part(&self, key: &str) -> Option<Interval> {
        self.parts.iter().find(|part| part.key == key).map(|part| part.value)
    }
}

/// The measurements behind a finding.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ProbeCurve {
    /// Quantity of the horizontal axis, such as `queue depth`.
    pub over: String,
    /// Unit of that axis.
    pub x_unit: ProbeUnit,
    /// Quantity of the vertical axis, such as `rate`.
    pub of: String,
    /// Unit of that axis.
    pub y_unit: ProbeUnit,
    /// Logarithmic horizontal axis, base 2.
    pub log: bool,
    /// Points in the order of the horizontal axis.
    pub points: Vec<ProbePoint>,
}

/// Result of one measurement.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ProbePoint {
    /// Place on the horizontal axis.
    pub x: f64,
    /// Measured value there, with its interval.
    pub y: Interval,
}

/// A further number of a finding.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ProbePart {
    /// Key in the finding: `p50`, `p99`, `service`, `before`, `after`, `drain`.
    pub key: String,
    /// Name in words.
    pub name: String,
    /// Unit of the value.
    pub unit: ProbeUnit,
    /// The value with its 95 % interval.
    pub value: Interval,
}
