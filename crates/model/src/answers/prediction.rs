//! What was predicted, beside what was measured? And which changes would pay most?
use crate::answers::{StepKind, WhatIfChange};
use crate::{Interval, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Predicted figures beside measured ones.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Prediction {
    /// File or sheet that predicts, as typed.
    pub origin: String,
    /// Draws of the sheet's numbers that the bands rest on; 0: there are no bands.
    pub draws: u32,
    /// Measurements that were predicted, in the order they were made.
    pub points: Vec<PredictedPoint>,
    /// Measurements that were not predicted, and why.
    pub unpaired: Vec<String>,
    /// Errors of I/Os per second.
    pub iops: PredictionScore,
    /// Errors of the 99th percentile.
    pub latency_p99: PredictionScore,
}

/// One measurement with what was predicted of it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PredictedPoint {
    /// Name of the job, or of the measurement of a check.
    pub name: String,
    /// The job in a few words: `randread 4KiB, depth 32`.
    pub asked: String,
    /// Step of a check that it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepKind>,
    /// Curve of the step; empty outside a check.
    pub series: String,
    /// Place on the axis of the step.
    pub x: f64,
    /// I/Os per second.
    pub iops: PredictedFigure,
    /// 99th percentile of the latency, ns; `None` where either side has too few I/Os for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_p99: Option<PredictedFigure>,
    /// Difference between the job that was predicted and the one that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One figure, predicted and measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PredictedFigure {
    /// Predicted value and its band; `samples` are draws, 0 without a band.
    pub predicted: Interval,
    /// Value that was measured.
    pub measured: Interval,
    /// Predicted less measured, in percent of measured; `None` where nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_percent: Option<f64>,
    /// The measured value lies in the band; `None` without a band.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<bool>,
}

/// Errors of one figure over all points.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PredictionScore {
    /// Points that have an error.
    pub points: u32,
    /// Median of the errors without their signs, in percent; `None` without points.
    pub median_percent: Option<f64>,
    /// Largest error without its sign, in percent.
    pub worst_percent: Option<f64>,
    /// Points whose prediction has a band.
    pub banded: u32,
    /// Points measured within their band.
    pub within: u32,
}

/// A job on a simulated target, and what each of several changes would give, most gain first.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WhatIfList {
    /// Version of the JSON layout, [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of iostack that made it.
    pub iostack: String,
    /// Name of the target, as typed behind `sim:`.
    pub device: String,
    /// Title in a few words.
    pub title: String,
    /// Seed of the draws.
    pub seed: u64,
    /// Draws of the sheet's numbers, the same before and after a change.
    pub draws: u32,
    /// Numbers that are not known exactly.
    pub drawn: Vec<DrawnNumber>,
    /// Command that runs the job on the target as it is.
    pub command: String,
    /// Outcome of the job on the target as it is; `None` when it was not run.
    pub outcome: Option<Outcome>,
    /// I/Os per second as it is, with the band of the draws.
    pub iops: Interval,
    /// 99th percentile as it is, ns; `None` where there are too few I/Os.
    pub latency_p99: Option<Interval>,
    /// Changes, most gain first; those that failed come last.
    pub gains: Vec<WhatIfGain>,
    /// Changes that were not tried, and why.
    pub notes: Vec<String>,
    /// It was cut short.
    pub interrupted: bool,
}

/// A number of a sheet that is drawn.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DrawnNumber {
    /// Key of the number, like `platform.os.os.syscall`.
    pub key: String,
    /// Value as it is written.
    pub text: String,
    /// Smallest and largest value that is drawn, over the value.
    pub range: [f64; 2],
}

/// Effect of one change.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WhatIfGain {
    /// The change in words.
    pub title: String,
    /// Numbers and options that change.
    pub changes: Vec<WhatIfChange>,
    /// Command that runs it alone.
    pub command: String,
    /// I/Os per second after the change, with the band of the draws.
    pub iops: Interval,
    /// 99th percentile after the change, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_p99: Option<Interval>,
    /// I/Os per second after over before, draw by draw; `None` when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Interval>,
    /// 99th percentile after over before, draw by draw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ratio: Option<Interval>,
    /// Part that limits after the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Error that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
