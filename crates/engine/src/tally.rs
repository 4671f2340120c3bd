//! Counts that a thread hands on: to its board a few times a second, and to its report at the end.

use iostack_host::counters::Usage;
use iostack_model::Nanos;
use iostack_stats::Recorder;

use crate::failures::Failures;

/// Counts of one direction between two publications.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub(crate) latency: Recorder,
    pub(crate) bytes: u64,
}

/// Rarer counts between two publications.
#[derive(Default)]
pub(crate) struct SideTally {
    /// Time in the submitting call, by direction; absent for engines that submit and wait in one call.
    pub(crate) submit: Option<Box<[Recorder; 3]>>,
    /// Time from the submission to the completion, where the job keeps it apart.
    pub(crate) after_submit: Option<Box<[Recorder; 3]>>,
    pub(crate) sync: Option<Box<Recorder>>,
    pub(crate) short: [u64; 3],
    /// Ready to run, without a CPU; kept until there is an I/O to tell it with.
    pub(crate) waiting: Nanos,
}

/// Data that a thread read back; times are ticks.
#[derive(Debug)]
pub(crate) struct BackTally {
    pub(crate) latency: Box<Recorder>,
    pub(crate) bytes: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// Counts of a whole thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadResult {
    /// Moment from which on I/Os counted, ticks.
    pub(crate) border: u64,
    /// Moment of the last completion, ticks; the border when there was none.
    pub(crate) last: u64,
    pub(crate) usage: Usage,
    pub(crate) syscalls: u64,
    pub(crate) failures: Failures,
    pub(crate) interrupted: bool,
}
