//! How near was a prediction?
//!
//! ```text
//!   outcomes of a sheet, a list of changes ──► Predictions ──┐
//!   a sheet ──► draws ──► its answers to the jobs ───────────┴─► score ──► errors, and who lies within its band
//!                                     what was measured ─────────┘
//! ```
//!
//! Two points pair when they ask the same, whatever they are called. Start reading at [`score`].

pub(crate) mod draws;
mod score;
mod sheet;

#[cfg(test)]
mod tests;

pub use draws::{DRAWS, Draws, band_outcomes, drawn_tasks};
pub(crate) use score::latency_p99;
pub use score::{MeasuredPoint, Predicted, Predictions, measured_by_check, score};
pub use sheet::SheetPredictor;
