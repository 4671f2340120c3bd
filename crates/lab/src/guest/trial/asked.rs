//! What is tried, and what is found?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialKind {
    /// Random mixed I/O by several threads, every sector checked.
    Integrity,
    /// A range answers with medium errors: what touches it fails, all else is right.
    Refusals,
    /// Commands time out and completions get lost: I/O ends, and data is never wrong.
    Faults,
    /// The driver is unloaded and loaded again and again: nothing is left behind.
    Reload,
    /// The I/O subsystem is changed again and again under random mixed I/O, every sector checked.
    Subsystems,
}

/// Trial of a device, with its load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// Kind of the trial.
    pub kind: TrialKind,
    /// Bytes of random I/O.
    pub bytes: u64,
    /// Number of times that the driver is loaded anew.
    pub cycles: u32,
    /// Threads, each with one I/O at a time.
    pub threads: u32,
    /// Makes the same requests again.
    pub seed: u64,
    /// Module of the driver.
    pub module: String,
    /// True when discarded sectors must read as zeroes; otherwise they may read as anything.
    pub discards_to_zero: bool,
}

/// What a trial found.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Findings {
    /// Reads that were asked for.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Discards.
    pub discards: u64,
    /// Bytes of all of them that succeeded.
    pub bytes: u64,
    /// I/Os that ended in an error because a bad sector was touched, as they must.
    pub refused: u64,
    /// I/Os that ended in another error.
    pub errors: u64,
    /// Sectors that held something else than was written last.
    pub wrong_sectors: u64,
    /// Times that the driver was unloaded and loaded, that the subsystem was changed, or groups that were sent.
    pub cycles: u32,
    /// Bytes that the driver took and did not give back, from the fifth cycle to the last: what its functions, or those that
    /// they called, allocated as slabs or by vmalloc. Absent where the cycles are too few to tell, or the kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_bytes: Option<u64>,
    /// Why the device cannot be held to it: nothing was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_tried: Option<String>,
    /// What is wrong, in words; not all of it when there is much.
    pub wrong: Vec<String>,
    /// What the kernel complained of; with injected errors, only what is no report of them.
    pub complaints: Vec<String>,
}

/// Sentences that are kept.
pub(super) const WRONG_KEPT: usize = 20;

impl Findings {
    pub(super) fn wrong(&mut self, text: String) {
        if self.wrong.len() < WRONG_KEPT {
            self.wrong.push(text);
        }
    }

    pub(super) fn add(&mut self, other: Findings) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.discards += other.discards;
        self.bytes += other.bytes;
        self.refused += other.refused;
        self.errors += other.errors;
        self.wrong_sectors += other.wrong_sectors;
        other.wrong.into_iter().for_each(|text| self.wrong(text));
    }

    /// True when it was tried and nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.not_tried.is_none() && self.wrong.is_empty() && self.complaints.is_empty()
    }
}
