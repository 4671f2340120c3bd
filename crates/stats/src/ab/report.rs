//! What came of running two alternatives in turns.

use iostack_model::{Caveat, Interval, Job, Machine, Nanos, Storage, TargetName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Judgement, Unit};

/// Everything `iostack ab` found.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AbReport {
    /// Version of the file's form, [`iostack_model::SCHEMA`].
    #[serde(deserialize_with = "iostack_model::schema")]
    pub schema: u32,
    /// Version of iostack that wrote it.
    pub iostack: String,
    /// Start, milliseconds since 1970 UTC; 0 in virtual time.
    pub started_unix_ms: u64,
    /// Wall time of the turns; 0 in virtual time.
    pub elapsed: Nanos,
    /// Machine that ran both; empty for a simulation.
    pub machine: Machine,
    /// The two sides, A first.
    pub arms: [AbArm; 2],
    /// Decisions made before the first run.
    pub design: AbDesign,
    /// Does one do better?
    pub answer: AbAnswer,
    /// Each figure of both, the primary one first.
    pub rows: Vec<AbRow>,
    /// All runs, so that everything above can be made anew. Figures are in the order of `design.figures`.
    pub blocks: Vec<AbBlock>,
    /// Reasons to doubt the figures.
    pub doubts: Vec<AbDoubt>,
    /// Notes for the reader, in whole sentences.
    pub notes: Vec<String>,
    /// Ctrl-C ended it early.
    pub interrupted: bool,
}

iostack_model::kinds! {
    AbReport: "ab";
}

impl AbReport {
    /// The figures are of virtual time.
    pub fn is_simulated(&self) -> bool {
        self.arms.iter().any(|arm| arm.simulated.is_some())
    }
}

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AbSide {
    /// The first side.
    A,
    /// The second side.
    B,
}

impl AbSide {
    /// `A` or `B`.
    pub const fn letter(self) -> char {
        match self {
            AbSide::A => 'A',
            AbSide::B => 'B',
        }
    }

    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            AbSide::A => AbSide::B,
            AbSide::B => AbSide::A,
        }
    }
}

/// Description of one side.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AbArm {
    /// Its jobs' names, and what sets it apart, as typed.
    pub name: String,
    /// Name of the target that answered.
    pub target: TargetName,
    /// The storage behind it; empty for a simulation.
    pub storage: Storage,
    /// Jobs of each run.
    pub jobs: Vec<Job>,
    /// Simulation that answered, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
}

/// Decisions made before the first run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AbDesign {
    /// Gives the order of every block and the seed of every run.
    pub seed: u64,
    /// Time of each run.
    pub run: Nanos,
    /// No block begins that would end later; `None` when blocks are counted instead.
    pub time: Option<Nanos>,
    /// Blocks, if it is never sure.
    pub blocks: u32,
    /// It looked when it had so many blocks, and at the end.
    pub looks: Vec<u32>,
    /// The difference that matters, percent: smaller ones need not be told from none.
    pub difference_percent: f64,
    /// The figures that were tested together, the primary one first.
    pub figures: Vec<AbFigure>,
}

/// One figure that is compared.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AbFigure {
    /// `IOPS`, `p99 latency`, ...
    pub name: String,
    /// Unit that it is counted in.
    pub unit: Unit,
    /// More of it is better.
    pub higher_is_better: bool,
}

/// Four runs, two of each side.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AbBlock {
    /// Order of the sides.
    pub order: [AbSide; 4],
    /// The runs, in that order.
    pub runs: [AbRun; 4],
}

/// Figures of one run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AbRun {
    /// Its job's seed.
    pub seed: u64,
    /// I/Os it made.
    pub ios: u64,
    /// Its figures; `None` where it was too short for one.
    pub figures: Vec<Option<f64>>,
}

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AbRow {
    /// Figure of the row.
    pub figure: AbFigure,
    /// Median of A's runs.
    pub a: f64,
    /// Median of B's runs.
    pub b: f64,
    /// Change from A to B, percent. The ends hold for all figures and all looks together, with 95 %; `samples` counts
    /// blocks and is 0 where there are too few for ends.
    pub change_percent: Interval,
    /// Distance of two runs of the same side in the same block, percent: one standard deviation of a run.
    pub noise_percent: f64,
    /// Meaning of the change for B.
    pub verdict: Judgement,
}

/// Does one do better?
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AbAnswer {
    /// Yes, in the primary figure.
    Better {
        /// Side that is better.
        side: AbSide,
        /// The primary figure of this side against the other one's, percent.
        by_percent: Interval,
    },
    /// The difference is small, if there is one.
    NoneLarger {
        /// It is not larger than this, percent.
        percent: f64,
    },
    /// It cannot be said yet.
    Undecided {
        /// So many blocks in all would make the interval about as wide as the difference that matters; `None` when there is no
        /// interval yet.
        blocks: Option<u32>,
    },
}

/// A doubt, and of how many runs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AbDoubt {
    /// Caveat as the first of these runs said it.
    pub caveat: Caveat,
    /// Runs of A and of B that said it.
    pub runs: [u32; 2],
}
