//! What may be measured here, and what lifts it?
//!
//! ```text
//!   /proc, /sys, the kernel's answers to real attempts ──► Facts ──► judge ──► Ladder
//!                       gather                           (pure, tested with made-up facts)
//! ```
//!
//! Each rung is tried, not concluded: an event is opened and a sample waited for, a BPF program is loaded and attached.
//! Settings and capabilities only explain a refusal and choose its remedy.

mod facts;
mod gather;
mod judge;
#[cfg(test)]
mod judge_tests;

use iostack_model::Ladder;

pub use facts::{Attempt, Capabilities, Facts};
pub(crate) use gather::{cpu_ticks, parse_cpus};
pub use judge::judge;

/// Tries every rung on this machine, for this user: some tens of milliseconds.
pub fn probe() -> Ladder {
    judge(&Facts::gather())
}
