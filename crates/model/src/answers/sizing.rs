//! Which number of a platform matters most, and how much of it does a rate need?
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Limiting};

/// Numbers of a target by how much its rate depends on them, and what that leaves unsure.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Ranking {
    /// I/Os per second as it stands, in the window that every run of the ranking has.
    pub iops: f64,
    /// Share by which each number was raised and lowered, 0..1.
    pub step: f64,
    /// Numbers that were scaled, the largest elasticity first.
    pub numbers: Vec<RankedNumber>,
    /// Numbers that were not scaled.
    pub left_out: Vec<UnrankedNumber>,
    /// Range of the rate over all that is assumed; `None` when no number is.
    pub band: Option<RateBand>,
}

/// A number and what the rate makes of it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RankedNumber {
    /// Key of the number, like `platform.adapter.adapter.command`.
    pub key: String,
    /// Value as it is written.
    pub value: String,
    /// Meaning of the number.
    pub meaning: String,
    /// True when no document gives it: it is drawn for the band.
    pub assumed: bool,
    /// Change of the rate, per cent for each per cent of the number.
    pub elasticity: f64,
}

/// A number that was not scaled.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct UnrankedNumber {
    /// Key of the number.
    pub key: String,
    /// Reason, in a few words.
    pub why: String,
}

/// Rates of runs whose assumed numbers were drawn.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RateBand {
    /// Seed of the draws.
    pub seed: u64,
    /// Numbers that were drawn, each by itself.
    pub drawn: u32,
    /// Largest share by which a drawn number differs from its own value.
    pub spread: f64,
    /// I/Os per second of each draw, rising.
    pub iops: Vec<f64>,
    /// Draws that no target could be made of, or whose run failed.
    pub failed: u32,
}

/// Fewest drives, adapters and cores for a rate.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Sizing {
    /// I/Os per second that were asked for.
    pub wanted: f64,
    /// Sizes that were tried, in that order; the last is the answer.
    pub steps: Vec<SizingStep>,
    /// True when the last one reaches the rate.
    pub reached: bool,
    /// The limit of the last one, or what keeps more from being reached.
    pub why: String,
}

/// One size, and its rate.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SizingStep {
    /// Number of drives.
    pub drives: u64,
    /// Number of adapters.
    pub adapters: u64,
    /// Number of cores.
    pub cores: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Resource that is used up; empty when none is.
    pub full: String,
}

/// A short load on a drive, and the part of it that then limits.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The load in words: `random read 4 KiB, 32 in flight`.
    pub load: String,
    /// Bytes that are written to the drive before it behaves so; `None` where that makes no difference.
    pub after: Option<Bytes>,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Mean latency, ns.
    pub mean_ns: f64,
    /// Latency that 99 of 100 I/Os do not exceed, ns.
    pub p99_ns: Option<u64>,
    /// Its busiest part, and what that means.
    pub limit: Option<Limiting>,
    /// Command that runs it again.
    pub command: String,
}
