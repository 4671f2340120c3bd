//! What waits for an interrupt?

use crate::engine::{RequestId, Time};

/// A source of interrupts: an adapter, or a queue of one.
#[derive(Clone, Debug, Default)]
pub(crate) struct InterruptLine {
    /// Requests that came since the handler looked last.
    pub(crate) pending: Vec<RequestId>,
    /// Requests that are being handled.
    pub(crate) batch: Vec<RequestId>,
    /// The handler runs, or waits to.
    pub(crate) raised: bool,
    pub(crate) core: u32,
    /// Completions since an interrupt was raised, and when that was.
    pub(crate) handled: u64,
    pub(crate) from: Time,
    /// The thread that goes on when interrupts may do no more.
    pub(crate) thread: Option<u32>,
    /// It does so now.
    pub(crate) by_thread: bool,
}

impl InterruptLine {
    /// Completions that may be handled now become the batch.
    #[cold]
    pub(crate) fn take_some(&mut self, budget: Option<(u64, Time)>, fresh: bool, now: Time) {
        if fresh {
            (self.handled, self.from) = (0, now);
        }
        let most = budget.map_or(u64::MAX, |(most, _)| most - self.handled);
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(self.pending.len());
        self.batch.extend(self.pending.drain(..most));
        self.handled += most as u64;
    }
}

/// Counts over all lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct InterruptCount {
    pub(crate) interrupts: u64,
    pub(crate) completions: u64,
}
