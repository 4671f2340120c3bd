//! How sure are we?
//!
//! ```text
//!   each I/O ──► Recorder ──► Bins ──► quantile_interval ─┐
//!   each slice ──► series ──► series_interval ────────────┼──► compare ──► Comparison
//!                     └─────► shape ──► doubts_of_series ─┘
//! ```
//!
//! A load generator makes numbers; this crate says how far to trust them: how wide the 95 % interval is, whether the
//! percentile rests on enough I/Os, whether the rate held, and whether two runs differ. It is pure: no clock, no I/O,
//! no random numbers but those of a seed.
//!
//! Start reading at [`Recorder`] for the hot path, at [`rate_interval`] for the uncertainty, at [`shape`] for the
//! doubts, at [`compare`] for the use of all three, at [`AbTest`] for two that ran in turns.

/// Examples of the README, which must run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod ab;
mod change;
mod compare;
mod conditions;
mod difference;
mod distribution;
mod doubts;
mod figures;
mod interval;
mod judgement;
mod knee;
mod quantile;
mod random;
mod recorder;
mod row;
#[cfg(test)]
mod sample;
mod segment;
mod series;
mod steps;
mod unit;
mod wording;

pub use ab::{
    AB_BLOCKS_LEAST, AbAnswer, AbArm, AbBlock, AbDesign, AbDoubt, AbFigure, AbReport, AbRow, AbRun, AbSide,
    AbTest, ab_looks, ab_order, ab_seed,
};
pub use change::{Shape, shape};
pub use compare::{Comparison, compare, compare_figure, stands_out};
pub use conditions::Difference;
pub use difference::{difference, paired_difference};
pub use doubts::{UNSTABLE, doubts_of_series};
pub use figures::followed;
pub use interval::{rate_interval, series_interval, whole};
pub use judgement::Judgement;
pub use knee::knee;
pub use quantile::{SAMPLES_BEYOND, quantile_interval, samples_needed, supported_percentiles};
pub use random::Random;
pub use recorder::Recorder;
pub use row::ComparisonRow;
pub use series::{SERIES_MOST, halve_series};
pub use steps::{LEVEL_RUNS_LEAST, LevelStep, level_steps};
pub use unit::Unit;
