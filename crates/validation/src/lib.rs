//! Does what was published come out again?
//!
//! ```text
//!   experiments/published.toml ──► claims ───────────────────────────┐
//!   experiments/ID.toml ──► experiment ──► tasks ──► (pool) ──► lines ──► predicates ──► Repro
//!                           curves, plots, verdicts             x, y      holds or not
//!                             └──► cases ──► (the lab) ──────────┘
//! ```
//!
//! Claims, jobs and tests are data; nothing here knows any of them. A shape is tested by a named predicate, a value by its
//! difference. Start reading at [`experiment::Experiment`], then [`predicate::judge`]; [`ReproRun`] runs all.

mod answer;
pub(crate) mod asked;
pub(crate) mod basis;
pub(crate) mod builtin;
pub mod count;
pub(crate) mod counted;
pub(crate) mod curve;
mod drawn;
pub(crate) mod experiment;
pub(crate) mod gather;
pub(crate) mod lines;
pub(crate) mod predicate;
pub(crate) mod published;
pub(crate) mod raw;
mod together;
pub(crate) mod worked;

#[cfg(test)]
mod predicate_tests;

pub use answer::{ReproRun, validated};
pub use asked::ReproRequest;
pub use experiment::Experiment;
