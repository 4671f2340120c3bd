//! What did a thread do while it was stepped?

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

/// Reason why stepping stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
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
pub(crate) struct Call {
    /// Instructions counted when it returned, itself included.
    pub(crate) at: u64,
    pub(crate) number: u64,
    /// I/Os that it submitted.
    pub(crate) ios: u64,
    /// Completions that it returned, where it does.
    pub(crate) completions: u64,
    /// Index in [`Trace::files`] of the file it went to, where that is known.
    pub(crate) file: Option<usize>,
}

/// Deeds of a thread while it was stepped.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// Instructions, from attaching on.
    pub(crate) instructions: u64,
    /// Every system call, in order.
    pub(crate) calls: Vec<Call>,
    /// [`Call::at`] of the I/O call from which on to count.
    pub(crate) first: Option<u64>,
    /// Executions per address, since `first` where there is one.
    pub(crate) addresses: HashMap<u64, u64>,
    /// Files that took I/O by the read and write family.
    pub(crate) files: Vec<PathBuf>,
    /// Iterations of repeated string instructions that were not counted.
    pub(crate) repeats: u64,
    pub(crate) signals: u64,
    /// Descriptor of the ring that the thread entered last.
    pub(crate) ring: Option<u64>,
    /// Completions of the only ring, when a kernel thread submits: instructions so far, tail.
    pub(crate) tails: Vec<(u64, u32)>,
    /// Bytes that reached the block layer from this thread between first and last I/O.
    pub(crate) bytes: u64,
    /// Wall time of stepping.
    pub(crate) elapsed: Duration,
    /// Reason why it stopped.
    pub(crate) ended: Option<Ended>,
}
