//! What does a data sheet say of a device, and what was measured of it?
use crate::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A data sheet beside a check.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Against {
    /// Its name and title, or what was typed.
    pub sheet: String,
    /// Hint that the drive is another one by its name, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// One for each figure that the sheet rates.
    pub figures: Vec<AgainstFigure>,
}

/// A rated figure and what was measured.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AgainstFigure {
    /// Figure that is rated, in words, with its conditions where the sheet has them.
    pub what: String,
    /// `iops`, `bandwidth`, `latency_mean`, `latency_median`, `latency_p99`.
    pub figure: String,
    /// Rated value: per second, bytes per second, or ns.
    pub rated: f64,
    /// Source of the rating.
    pub source: String,
    /// Conditions under which it was measured, in words; empty when it was not.
    pub measured_at: String,
    /// Measured value in the unit of `rated`; `None` when nothing comparable was measured.
    pub measured: Option<Interval>,
    /// Measured over rated.
    pub ratio: Option<Interval>,
    /// Does it do what it says?
    pub verdict: Kept,
    /// Conditions of the rated figure that the check did not measure, and other things to know.
    pub notes: Vec<String>,
}

words! {
    /// Does a device do what its data sheet says?
    #[serde(rename_all = "snake_case")]
    pub enum Kept {
        /// Yes, and at no easier conditions than rated.
        Kept = "yes",
        /// No, at the rated conditions.
        Missed = "no",
        /// The interval holds both answers, or the rated conditions were not those that were measured.
        Unclear = "unclear",
        /// Nothing comparable was measured.
        NotMeasured = "not measured",
    }
}
