//! What does a gate know of its drive and its callers?

use iostack_batch::{BatchFit, Returns};

use crate::engine::Time;

/// What a gate knows of its drive and its callers.
#[derive(Clone, Debug, Default)]
pub(super) struct Lore {
    pub(super) returns: Returns,
    pub(super) fit: BatchFit,
    /// The last doorbell, and the pages it was for.
    pub(super) rung: Time,
    pub(super) pages: u32,
    /// Requests in the drive.
    pub(super) inside: usize,
    /// The drive ends the requests of a command one after another; the last was ended at this moment.
    pub(super) streams: bool,
    pub(super) ended: Time,
    /// The drive is free since then; the command that is prepared is ready since then.
    pub(super) free_since: Time,
    pub(super) ready_since: Time,
}
