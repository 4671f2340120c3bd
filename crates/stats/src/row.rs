//! What is one figure of two outcomes?

use iostack_model::Interval;

use crate::judgement::Judgement;
use crate::unit::Unit;

/// One figure of two outcomes.
#[derive(Clone, Debug, PartialEq, schemars::JsonSchema, serde::Serialize)]
pub struct ComparisonRow {
    /// `IOPS`, `read p99 latency`, ...
    pub name: String,
    /// Unit that it is counted in.
    pub unit: Unit,
    /// Figure of the first outcome.
    pub a: Interval,
    /// Figure of the second outcome.
    pub b: Interval,
    /// Change from the first to the second, in percent of the first.
    pub change_percent: f64,
    /// Lower end of its 95 % interval; equal to the change when it could not be had.
    pub change_percent_low: f64,
    /// Upper end of its 95 % interval.
    pub change_percent_high: f64,
    /// 0..=1. Same: that the change is within 5 %. Otherwise: that the two differ at all. 0 when a run was too short
    /// to know.
    pub confidence: f64,
    /// Judgement of the second.
    pub verdict: Judgement,
}
