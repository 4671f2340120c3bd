//! What if this were varied?
//!
//! ```text
//!   --vary KEY=VALUES ──► axes ──► points ──► plan: one task a point ──► pool: several at once ──► Sweep
//!        values            axis              device, changes, jobs        progress, failures
//! ```
//!
//! A point is a whole run of its own: the same command without the sweep gives the same bytes. Start reading at
//! [`plan::plan`], then [`pool::run`].

mod answer;
pub mod axis;
pub mod command;
pub mod plan;
pub mod pool;
pub(crate) mod values;
pub mod watch;

pub use answer::{PlannedSweep, SweepQuestion};
