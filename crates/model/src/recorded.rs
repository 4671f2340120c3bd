//! A trace whose I/Os a job does, in place of any of its own.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Bytes;
use crate::job::is_default;

with_defaults! {
    /// Trace that is replayed.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    pub struct Recorded {
        /// Path of the trace.
        pub file: PathBuf,
        /// Format of the trace; `None`: its first lines tell.
        #[serde(skip_serializing_if = "is_default")]
        pub format: Option<String>,
        /// Only this disk of it; `None`: all, one after the other.
        #[serde(skip_serializing_if = "is_default")]
        pub disk: Option<String>,
        /// I/Os behind the end of the target begin again at its start.
        #[serde(skip_serializing_if = "is_default")]
        pub wrap: bool,
        /// So many times as fast as it was recorded; `None`: as fast as the queue depth allows.
        pub speed: Option<f64> = Some(1.0),
        /// Reads, writes, trims and flushes that are left out (fio's `replay_skip`).
        #[serde(skip_serializing_if = "is_default")]
        pub skip: [bool; 4],
        /// Offsets are divided by it (fio's `replay_scale`).
        #[serde(skip_serializing_if = "is_one")]
        pub scale: u32 = 1,
        /// Offsets are rounded down to multiples of it; 0 leaves them (fio's `replay_align`).
        #[serde(skip_serializing_if = "is_default")]
        pub align: Bytes,
    }
}

impl Recorded {
    /// Place of an I/O of the trace on the target.
    pub fn place(&self, offset: u64) -> u64 {
        let scaled = offset / u64::from(self.scale.max(1));
        if self.align.0 == 0 { scaled } else { scaled - scaled % self.align.0 }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_one(scale: &u32) -> bool {
    *scale == 1
}
