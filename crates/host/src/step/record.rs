//! What did a thread do while it was stepped?

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

/// Why stepping stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Enough instructions were counted.
    Enough,
    /// The thread ended.
    Thread,
    /// It took too long.
    Patience,
    /// The user asked for it.
    Interrupted,
}

/// One system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// Instructions counted when it returned, itself included.
    pub(super) at: u64,
    /// Its number.
    pub(super) number: u64,
    /// I/Os that it submitted.
    pub(super) ios: u64,
    /// Completions that it returned, where it does.
    pub(super) completions: u64,
    /// Index in [`Trace::files`] of the file it went to, where that is known.
    pub(super) file: Option<usize>,
}

/// What a thread did while it was stepped.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Instructions, from attaching on.
    pub(super) instructions: u64,
    /// Every system call, in order.
    pub(super) calls: Vec<Call>,
    /// [`Call::at`] of the I/O call from which on to count.
    pub(super) first: Option<u64>,
    /// Executions per address, since `first` where there is one.
    pub(super) addresses: HashMap<u64, u64>,
    /// Files that took I/O by the read and write family.
    pub(super) files: Vec<PathBuf>,
    /// Iterations of repeated string instructions that were not counted.
    pub(super) repeats: u64,
    /// Signals delivered.
    pub(super) signals: u64,
    /// Descriptor of the ring that the thread entered last.
    pub(super) ring: Option<u64>,
    /// Completions of the only ring, when a kernel thread submits: instructions so far, tail.
    pub(super) tails: Vec<(u64, u32)>,
    /// Bytes that reached the block layer from this thread between first and last I/O.
    pub(super) bytes: u64,
    /// Wall time of stepping.
    pub(super) elapsed: Duration,
    /// Why it stopped.
    pub(super) ended: Option<Ended>,
}
