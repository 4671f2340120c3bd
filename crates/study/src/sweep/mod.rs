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
pub(crate) mod axis;
pub(crate) mod command;
pub(crate) mod plan;
pub(crate) mod pool;
mod values;
pub(crate) mod watch;

pub use answer::{Asked, Ready};
