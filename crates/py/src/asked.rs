//! What was asked, in the words of the command line.

use std::path::PathBuf;

use iostack_model::Effort;
use serde::Deserialize;

/// Everything that can be asked; each command takes what is its own, and Python offers no more than that.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PythonQuestion {
    /// Job files; none: one job from `options`.
    pub(crate) jobs: Vec<PathBuf>,
    /// Only these sections of them; none: all.
    pub(crate) sections: Vec<String>,
    /// Options of every job.
    pub(crate) options: Vec<(String, String)>,
    /// Skip options that are not supported.
    pub(crate) lenient: bool,
    /// The target, platform or device.
    pub(crate) on: Option<String>,
    /// Changes of the simulated device, each `KEY=VALUE`.
    pub(crate) set: Vec<String>,
    /// Existing data may be written over.
    pub(crate) destroy_data: bool,
    /// Latency by stage.
    pub(crate) stages: bool,
    /// Clocks by layer.
    pub(crate) layers: bool,
    /// Time that a check may take.
    pub(crate) effort: Effort,
    /// Size of a check's scratch file or region.
    pub(crate) size: Option<String>,
    /// Seed of a check.
    pub(crate) seed: Option<u64>,
    /// Data sheet beside a check.
    pub(crate) against: Option<String>,
    /// Variations of a sweep, each `KEY=VALUES`.
    pub(crate) vary: Vec<String>,
    /// Points of a sweep at once.
    pub(crate) parallel: Option<u16>,
    /// Changes on top of each other, each `KEY=VALUE[,KEY=VALUE]`.
    pub(crate) step: Vec<String>,
    /// Numbers that differ in every run of a what-if.
    pub(crate) base: Vec<String>,
    /// Improvement with a name.
    pub(crate) named: Option<String>,
    /// Changes of the first side of a comparison alone, and of the second.
    pub(crate) own: [Vec<String>; 2],
    /// Time of a comparison.
    pub(crate) time: Option<String>,
    /// Blocks of a comparison at most.
    pub(crate) blocks: Option<u32>,
    /// Difference that matters in a comparison.
    pub(crate) difference: Option<String>,
}
