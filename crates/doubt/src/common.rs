//! What several doubts ask.

use iostack_model::{DeviceCount, Outcome};

use crate::Evidence;

/// A thread that works for this share of the time has none left.
pub(crate) const BUSY: f64 = 0.9;

/// Depth only means something where the job always has the next I/O at hand.
pub(crate) fn closed_loop(outcome: &Outcome) -> bool {
    !outcome.job.is_timed()
}

/// The device's count, where it counts and where all it counts is ours to explain.
pub(crate) fn counted(outcome: &Outcome) -> Option<&DeviceCount> {
    outcome.device.as_ref().filter(|_| counts(outcome) && outcome.job.engine.moves_data())
}

/// Accounting is on, or the driver counts anyway, as zram's does.
pub(crate) fn counts(outcome: &Outcome) -> bool {
    let moved = outcome.device.as_ref().is_some_and(|count| count.ios.iter().any(|&ios| ios > 0));
    moved || outcome.storage.top().is_some_and(|device| device.queue.counts_io)
}

/// Bytes of ours the device should have counted, by direction, and how far the borders may blur them.
pub(crate) fn ours(outcome: &Outcome, evidence: &Evidence) -> ([u64; 2], u64) {
    let blur = evidence.border_ios * outcome.job.block_sizes.largest().0;
    ([outcome.read.bytes.0, outcome.write.bytes.0], blur)
}
