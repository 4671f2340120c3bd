//! Does temporal merging pay on this device?
//!
//! ```text
//!   plan ──► a session's own measurement, round after round over all cells ──► gather ──► tables ──► advice
//!   pure      (the library's policies are called there)                         pure                    pure
//! ```
//!
//! A cell is one policy at one number of callers, or of requests in a group. All cells are measured in turns, in another order
//! each round, and held against plain calls of the same round. Start reading at `plan.rs`.

pub(crate) mod advice;
mod answer;
pub(crate) mod fit;
pub(crate) mod gather;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod simulated;

pub use answer::{MergeQuestion, answer};
