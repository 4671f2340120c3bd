//! What came of many runs that differ in what was varied?
use crate::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sweep over a simulated device.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Sweep {
    /// Version of the JSON layout, [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of iostack that made it.
    pub iostack: String,
    /// The device, or several with commas, as typed.
    pub device: String,
    /// Axes that were varied; the points are their product, in this order.
    pub axes: Vec<SweepAxis>,
    /// Every point that was asked for.
    pub points: Vec<SweepPoint>,
    /// It was cut short.
    pub interrupted: bool,
}

/// Something that is varied.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SweepAxis {
    /// A number of the device (with a dot), an option of the job, or [`SweepAxis::DEVICE`].
    pub key: String,
    /// Its values, as typed.
    pub values: Vec<String>,
}

impl SweepAxis {
    /// The key of what is varied when several devices are swept.
    pub const DEVICE: &str = "device";
}

/// Result of one run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SweepPoint {
    /// The value of each axis.
    pub settings: Vec<(String, String)>,
    /// Runs this point alone.
    pub command: String,
    /// One per report group; empty when it failed or was not run.
    pub outcomes: Vec<Outcome>,
    /// Error that ended the run; `None` when it did not fail.
    pub error: Option<String>,
}

impl SweepPoint {
    /// `queue_depth=4 flash.x=2`; `the only point` when nothing is varied.
    pub fn name(&self) -> String {
        if self.settings.is_empty() {
            return "the only point".to_owned();
        }
        let each: Vec<String> = self.settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        each.join(" ")
    }

    /// Neither run nor failed: the sweep was cut short.
    pub fn is_missing(&self) -> bool {
        self.outcomes.is_empty() && self.error.is_none()
    }
}

impl Sweep {
    /// Points that failed.
    pub fn failed(&self) -> impl Iterator<Item = &SweepPoint> {
        self.points.iter().filter(|point| point.error.is_some())
    }
}
