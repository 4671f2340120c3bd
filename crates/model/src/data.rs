//! What is written, when is it on the medium, and how is it proved to come back?

use std::ops::Not;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Proof that written data comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Verify {
    /// Time of the check.
    pub mode: VerifyMode,
    /// Stop the job at the first block that does not match.
    pub fatal: bool,
    /// Data is the job's pattern alone, without headers (fio's `verify=pattern`): what came from another place is not seen.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub pattern: bool,
    /// Reading back along the way, and not only at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Backlog>,
    /// Some of what was written is trimmed along the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trims: Option<Trims>,
}

impl Verify {
    /// All is read to its end, and headers tell.
    pub const fn of_mode(mode: VerifyMode) -> Verify {
        Verify { mode, fatal: false, pattern: false, backlog: None, trims: None }
    }
}

/// Written blocks that are trimmed (fio's `trim_percentage`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Trims {
    /// So many percent of them.
    pub percent: u8,
    /// Number of writes after which blocks are trimmed.
    pub writes: u32,
    /// Largest number of blocks trimmed then, the oldest first.
    pub blocks: u32,
    /// They must read as zeroes; else they are not read.
    pub read_zeroes: bool,
}

/// Pauses of the writing in which what was written is read back (fio's `verify_backlog`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Backlog {
    /// Number of blocks written and not read back at which it pauses.
    pub writes: u32,
    /// So many of them, the oldest first, are read back then.
    pub reads: u32,
}

/// Time of verification. Each block carries its offset, a generation and its crc32c, so that a later process can
/// check it without memory of the writing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyMode {
    /// Write with headers, then read everything written back (fio's `do_verify=1`).
    WriteThenRead,
    /// Write with headers only (fio's `do_verify=0`): a later job verifies.
    WriteOnly,
    /// A read job that checks the headers an earlier job wrote.
    ReadOnly,
}

/// Content of write buffers.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Data {
    /// Incompressible, different in every block.
    Random,
    /// Zeroes in every byte.
    Zeroes,
    /// This percent of each block compresses away.
    Compressible(u8),
    /// The same in pieces of so many bytes instead of 512 (fio's `buffer_compress_chunk`); 0: of whole blocks.
    CompressibleBy(u8, u32),
    /// This percent of the blocks of 4 KiB were written before (fio's `dedupe_percentage`).
    Duplicate(u8),
    /// The same, with what repeats or what compresses said apart.
    Repeated(Repeated),
    /// These bytes, repeated.
    Pattern(Vec<u8>),
}

/// Content of which part was written before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Repeated {
    /// Percent of the blocks of 4 KiB that were written before.
    pub percent: u8,
    /// They are drawn from so many different ones, in percent of the region's (fio's `dedupe_mode=working_set`); 0: what
    /// repeats is one at each place of the buffers.
    pub set_percent: u8,
    /// All threads and jobs of one seed draw from the same (fio's `dedupe_global`).
    pub shared: bool,
    /// Percent of each block that compresses away.
    pub compressible: u8,
    /// Bytes of the pieces that compress; 0: whole blocks.
    pub chunk: u32,
}

/// Acts on the pages of the writes since the last time (`sync_file_range(2)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RangeSync {
    /// Number of writes between two calls.
    pub every: u32,
    /// Waits for those that are on their way.
    pub wait_before: bool,
    /// Sends those that are dirty.
    pub write: bool,
    /// Waits for all.
    pub wait_after: bool,
}

/// Flushes asked for along the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Sync {
    /// fsync after this many writes; 0 never.
    pub fsync_every: u32,
    /// fdatasync after this many writes; 0 never.
    pub fdatasync_every: u32,
    /// Written pages are sent on their way along the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<RangeSync>,
    /// fsync once when the job ends.
    pub end_fsync: bool,
    /// Open with `O_SYNC`.
    pub o_sync: bool,
    /// Open with `O_DSYNC`.
    pub o_dsync: bool,
}
