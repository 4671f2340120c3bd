//! What did a job do in one direction, as every form of the report tells it?

use iostack_model::{Direction, Flow, Nanos, Outcome, VerifyMode};

use super::spread::{Spread, spread};

/// One direction of an outcome.
pub(super) struct Side<'a> {
    pub(super) flow: &'a Flow,
    /// Time that it took.
    pub(super) elapsed: Nanos,
    /// I/Os and bytes that were read back and are not in `flow`.
    pub(super) back: (u64, u64),
    /// KiB/s.
    pub(super) bandwidth: Spread,
    /// I/Os per second.
    pub(super) iops: Spread,
}

impl Side<'_> {
    pub(super) fn of_outcome(outcome: &Outcome, direction: Direction) -> Side<'_> {
        let (flow, elapsed) = flow(outcome, direction);
        let is_counted = direction == Direction::Read && std::ptr::eq(flow, &raw const outcome.read);
        Side {
            flow,
            elapsed,
            back: if is_counted { read_back(outcome) } else { (0, 0) },
            bandwidth: spread(outcome, direction, |slice, each| slice.bytes[each] as f64 / 1024.0),
            iops: spread(outcome, direction, |slice, each| slice.ios[each] as f64),
        }
    }

    pub(super) fn ios(&self) -> u64 {
        self.flow.latency.count
    }

    /// Bytes per second.
    pub(super) fn rate(&self) -> f64 {
        per_second(self.flow.bytes.0, self.elapsed)
    }

    /// 0 for a direction that did nothing, at least 1 otherwise: readers divide by it.
    pub(super) fn runtime_ms(&self) -> u64 {
        if self.ios() == 0 { 0 } else { millis(self.elapsed).max(1) }
    }
}

/// A direction of an outcome, and the time that it took. As in fio, the reads of a job that wrote and read that back are those
/// of the reading back, which has a time of its own.
fn flow(outcome: &Outcome, direction: Direction) -> (&Flow, Nanos) {
    let back = outcome.read_back.as_ref().filter(|_| direction == Direction::Read);
    match back.filter(|_| outcome.read.latency.count == 0) {
        Some(back) => (&back.flow, back.elapsed),
        None => (outcome.flow(direction), outcome.elapsed),
    }
}

/// I/Os and bytes that were read to verify what the job wrote: fio counts them as reads.
fn read_back(outcome: &Outcome) -> (u64, u64) {
    let read_back = outcome.job.verify.is_some_and(|verify| verify.mode == VerifyMode::WriteThenRead);
    let writes = outcome.write.latency.count;
    if !read_back || writes == 0 {
        return (0, 0);
    }
    let wrong = outcome.failures.iter().filter(|failure| failure.errno == 0).map(|failure| failure.count);
    // Those between the writes are reads already.
    let ios = (outcome.verified + wrong.sum::<u64>()).saturating_sub(outcome.read_between);
    (ios, (u128::from(outcome.write.bytes.0) * u128::from(ios) / u128::from(writes)) as u64)
}

/// I/Os or bytes per second; 0 without time.
pub(super) fn per_second(amount: u64, elapsed: Nanos) -> f64 {
    if elapsed.0 == 0 { 0.0 } else { amount as f64 / elapsed.as_secs_f64() }
}

pub(super) fn millis(span: Nanos) -> u64 {
    span.0 / 1_000_000
}
