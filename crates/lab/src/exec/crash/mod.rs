//! Every crash point: which disks could a power cut have left, and does the program's own check pass on each?
//!
//! ```text
//!   run ──► record.rs: writes, flushes, what became safe ──► points.rs: legal disks ──► image.rs: pages, hash
//!                                                                                          │ equal ones once
//!   smallest set of lost writes ◄── the check failed ◄── far.rs: mount, check ◄── laid.rs ◄┘
//! ```
//!
//! One guest looks at all of them: it asks for an order, and while it stands still the content of its drives is swapped.

mod far;
mod image;
mod laid;
mod points;
mod prove;
mod record;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub(super) use far::look_at_all;
pub use prove::prove;

/// Values that the far side tells.
const CHECKED: &str = "looked";
const ENDLESS: &str = "endless";
const WHOSE: &str = "whose";

/// Crash points to check.
#[derive(Clone, Debug)]
pub struct CrashPlan {
    /// Command for a shell that checks that the disk holds what it must.
    pub check: String,
    /// Points to check.
    pub which: Which,
    /// Longest time of a check by the machine's own clock, seconds.
    pub limit_s: u64,
}

/// Choice among the legal points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// All, or a thousand of an epoch that has more.
    All,
    /// So many, of all epochs alike.
    Some(u64),
    /// The one of this name.
    Named(String),
}

/// The checks, as the far side needs to know of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ToCheck {
    command: String,
    limit_s: u64,
    /// File system; empty where none is mounted.
    kind: String,
    disks: usize,
}

/// Order to the far side; what the disks hold has been swapped.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CrashOrder {
    /// Lines that the program had written by then, more than before.
    said: Vec<String>,
    /// Lines of before are to be forgotten.
    anew: bool,
    /// The check is to be run.
    look: bool,
    /// Ranges of bytes whose files are asked for.
    whose: Vec<(u64, u64)>,
}
