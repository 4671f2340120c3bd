//! What was published, and what comes of it here?

use serde::{Deserialize, Serialize};

use crate::{IoCost, Outcome};

/// Published experiments that were made again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repro {
    /// Version of the JSON layout, [`crate::SCHEMA`].
    pub schema: u32,
    /// Version of iostack that made it.
    pub iostack: String,
    /// In the order they were asked for.
    pub experiments: Vec<Reproduced>,
    /// It was cut short.
    pub interrupted: bool,
}

/// One experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduced {
    /// By which it is asked for.
    pub id: String,
    /// In words.
    pub title: String,
    /// Who published it, when, where in the text.
    pub source: String,
    /// What was measured there: device, job, time.
    pub measured: String,
    /// What is simulated here, and in what it differs.
    pub simulated: String,
    /// What was run.
    pub curves: Vec<ReproCurve>,
    /// What is drawn.
    pub plots: Vec<ReproPlot>,
    /// What was claimed, and what came of it.
    pub verdicts: Vec<ReproVerdict>,
}

/// Runs that belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproCurve {
    /// In words.
    pub name: String,
    /// The simulated device.
    pub device: String,
    /// What is varied from point to point; empty when nothing is.
    pub varied: String,
    /// In the order of what is varied.
    pub points: Vec<ReproPoint>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproPoint {
    /// The value of what is varied, as typed.
    pub at: String,
    /// Runs this point alone.
    pub command: String,
    /// Of the last job, which is the one that was measured; `None` when it failed or was not run.
    pub outcome: Option<Outcome>,
    /// What was counted, of an experiment of the lab; `None` when it failed or was not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<IoCost>,
    /// Why it failed.
    pub error: Option<String>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproPlot {
    /// What it shows.
    pub heading: String,
    /// What the horizontal axis counts: a varied key, or `time` in seconds.
    pub over: String,
    /// What the vertical axis counts, with its unit.
    pub figure: String,
    /// The curves.
    pub lines: Vec<ReproLine>,
}

/// A curve of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproLine {
    /// In words.
    pub name: String,
    /// `(x, y)` in order of x.
    pub points: Vec<(f64, f64)>,
}

/// What was claimed against what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproVerdict {
    /// Id of the claim.
    pub claim: String,
    /// The claim in words.
    pub says: String,
    /// How it is put to the test, in words.
    pub test: String,
    /// The published figure; `-` for a shape.
    pub claimed: String,
    /// Ours.
    pub ours: String,
    /// Ours over the published figure, less 1, where both are numbers.
    pub difference: Option<f64>,
    /// Whether it holds here; `None` when that could not be told.
    pub holds: Option<bool>,
    /// What of the device was fitted to this claim, so that agreement proves nothing; empty for a prediction.
    pub fitted: Vec<String>,
}

impl Reproduced {
    /// It was counted in the lab, not simulated.
    pub fn is_counted(&self) -> bool {
        self.curves.iter().any(|curve| curve.device.starts_with("lab:"))
    }

    /// Every claim holds.
    pub fn holds(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.holds == Some(true))
    }
}

impl Repro {
    /// All of it was counted in the lab, nothing simulated.
    pub fn is_counted(&self) -> bool {
        !self.experiments.is_empty() && self.experiments.iter().all(Reproduced::is_counted)
    }

    /// Every claim of every experiment holds.
    pub fn holds(&self) -> bool {
        self.experiments.iter().all(Reproduced::holds)
    }
}
