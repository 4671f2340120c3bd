//! Rows of a parity array that I/Os are under way for, and how far a rebuild is.

use std::collections::BTreeMap;

use super::super::parameter::Pace;
use super::plan::{ByteSpan, Plan};
use crate::engine::{RequestId, Server, Time};

/// Wish of a request for a row.
pub(super) struct Wish {
    pub(super) owner: RequestId,
    /// Bytes to write; none of the rebuild.
    pub(super) pieces: Vec<ByteSpan>,
}

/// An I/O of a row that is under way.
pub(super) struct RowIo {
    pub(super) owners: Vec<RequestId>,
    pub(super) plan: Plan,
    /// The row is locked by it.
    pub(super) locked: Option<u64>,
    pub(super) cause: Cause,
}

/// Cause of an I/O of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    HostReads,
    HostWrites,
    Rebuild,
}

/// Rows that an I/O is under way for.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) under_way: Vec<Option<RowIo>>,
    /// Locked rows, and who waits for each.
    pub(super) locks: BTreeMap<u64, Vec<Wish>>,
    /// The server that computes parity, unless that takes no time.
    pub(super) mixer: Option<(Server, Pace)>,
}

/// Progress of the replacements of failed members.
#[derive(Default)]
pub(super) struct Rebuild {
    /// ns of a row at the asked rate.
    pub(super) pace: u64,
    pub(super) rows: u64,
    /// Rows begun, and rows done.
    pub(super) begun: u64,
    pub(super) done: u64,
    /// Beginning of the last row.
    pub(super) since: Time,
}
