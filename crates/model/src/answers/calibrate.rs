//! The outcome of `iostack calibrate`: a sheet that was fitted to measurements, and how far it is off where it was not.
use crate::{Bytes, Interval, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything `iostack calibrate` found.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Calibration {
    /// Version of the file's form, [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of iostack that wrote it.
    pub iostack: String,
    /// Name of the platform, as in the sheet.
    pub name: String,
    /// Files that it rests on.
    pub files: Vec<String>,
    /// Kind of the simulated drive that fits best: `dram`, `flash` or `cloud`.
    pub drive: String,
    /// Numbers of the sheet, those that were measured first.
    pub numbers: Vec<CalibratedNumber>,
    /// Every point that was used, also those that were held out.
    pub points: Vec<CalibratedPoint>,
    /// Errors of the points that were held out, the sheet's first.
    pub scores: Vec<CalibrationScore>,
    /// Sentences about the result, such as where a simpler model is better.
    pub findings: Vec<String>,
    /// Faults of the input, and what can still be said.
    pub doubts: Vec<String>,
    /// The platform sheet, TOML.
    pub sheet: String,
}

/// A number of the sheet.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CalibratedNumber {
    /// Table and key, like `dram.access`.
    pub key: String,
    /// Value as it is written in the sheet.
    pub text: String,
    /// The value and its 95 % interval, of a number that was measured: ns, bytes per second, or as a plain number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// `ns`, `B`, `B/s`, `/s`, `I/Os`, `%`, `clocks`, or nothing.
    pub unit: String,
    /// Source in words: `measured, FILE`, or why it is assumed.
    pub source: String,
}

/// One measurement, and what was predicted of it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CalibratedPoint {
    /// File that it stands in.
    pub file: String,
    /// fio's word of its pattern: `randread`, `rw`.
    pub pattern: String,
    /// Reads among a hundred I/Os.
    #[serde(default)]
    pub read_percent: u8,
    /// Bytes of an I/O.
    pub block: Bytes,
    /// I/Os in flight of each thread.
    pub queue_depth: u32,
    /// Threads of the load.
    pub threads: u32,
    /// fio's name of the interface to the kernel.
    #[serde(default)]
    pub engine: String,
    /// It was not used to fit.
    pub held_out: bool,
    /// Measured I/Os per second.
    pub iops: f64,
    /// Shortest measured latency; none of the latencies where there were too few I/Os.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_min: Option<Nanos>,
    /// Measured median latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_p50: Option<Nanos>,
    /// Measured 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_p99: Option<Nanos>,
    /// Longest measured latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_max: Option<Nanos>,
    /// Measured CPU time of an I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_per_io: Option<Nanos>,
    /// I/Os per second that the sheet answers in the simulator.
    pub sheet_iops: f64,
    /// 99th percentile that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet_p99: Option<Nanos>,
    /// I/Os per second of the closed network of its curve; `None` where the curve has too few points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_iops: Option<f64>,
    /// I/Os per second of the roofline of its curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roofline_iops: Option<f64>,
}

/// Errors of a predictor over points that were held out, shares.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CalibrationScore {
    /// `the sheet`, `closed network`, `roofline`; the sheet also over the points that each of the others can answer.
    pub predictor: String,
    /// Number of points.
    pub points: u32,
    /// Median error of I/Os per second.
    pub iops_median: f64,
    /// Largest error of I/Os per second.
    pub iops_worst: f64,
    /// Median error of the 99th percentile, of what predicts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_median: Option<f64>,
    /// Largest error of the 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_worst: Option<f64>,
}
