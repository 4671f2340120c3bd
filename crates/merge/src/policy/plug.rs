//! When do plugged requests go?
//!
//! As published for asynchronous temporal merge: when so many are there, or the oldest has waited for so long. A read that finds the
//! device idle is not plugged at all; one that finds it busy waits until it is idle and no longer, since somebody waits for it.
//! Pure: `tests/all/schedules.rs` tries arrivals by the thousand.

use std::collections::VecDeque;

use super::lineup::Load;

/// Requests that wait for company.
#[derive(Debug)]
pub(crate) struct Plug<T> {
    /// Requests, each with a note whether it is a read.
    waiting: VecDeque<(T, bool)>,
    reads: usize,
    /// Ticket of the oldest that waits, or of the next to come.
    first: u64,
    /// Moment at which the oldest came.
    since_ns: u64,
    /// Reads that their own threads carry.
    direct: usize,
    /// The worker carries a batch.
    carrying: bool,
    /// So many go at once.
    count: usize,
    /// The longest time that one waits for company, ns.
    unplug_ns: u64,
}

/// Next act of the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerAct {
    /// Takes what is there.
    Go,
    /// Looks again at this time, ns, or when something came.
    At(u64),
    /// Waits for something to come.
    Idle,
}

impl<T> Plug<T> {
    pub(crate) fn new(count: usize, unplug_ns: u64) -> Plug<T> {
        Plug {
            waiting: VecDeque::new(),
            reads: 0,
            first: 0,
            since_ns: 0,
            direct: 0,
            carrying: false,
            count: count.max(1),
            unplug_ns,
        }
    }

    /// A read that finds the device idle goes by its own thread, which says when it is through; else [`Plug::push`].
    pub(crate) fn go_alone(&mut self) -> bool {
        let idle = self.direct == 0 && !self.carrying;
        self.direct += usize::from(idle);
        idle
    }

    /// A read that went by its own thread is through.
    pub(crate) fn alone_is_through(&mut self) {
        assert!(self.direct > 0, "a read is through that never went");
        self.direct -= 1;
    }

    /// Adds a request: its ticket.
    pub(crate) fn push(&mut self, now_ns: u64, item: T, is_read: bool) -> u64 {
        if self.waiting.is_empty() {
            self.since_ns = now_ns;
        }
        self.reads += usize::from(is_read);
        self.waiting.push_back((item, is_read));
        self.first + self.waiting.len() as u64 - 1
    }

    /// Next act of the worker, which carries nothing.
    pub(crate) fn next(&self, now_ns: u64) -> WorkerAct {
        let until = self.since_ns.saturating_add(self.unplug_ns);
        if self.waiting.is_empty() {
            return WorkerAct::Idle;
        }
        if self.waiting.len() >= self.count || now_ns >= until || (self.reads > 0 && self.direct == 0) {
            return WorkerAct::Go;
        }
        WorkerAct::At(until)
    }

    /// True when the worker must hear of this at once: it sleeps without a time, or longer than it may.
    pub(crate) fn calls(&self, now_ns: u64) -> bool {
        !self.carrying && (self.waiting.len() == 1 || self.next(now_ns) == WorkerAct::Go)
    }

    /// The worker takes the oldest, at most so many. Those that stay have waited since then.
    pub(crate) fn take(&mut self, batch_max: usize) -> Load<T> {
        let (ticket, count) = (self.first, self.waiting.len().min(batch_max.max(1)));
        self.first += count as u64;
        self.carrying = true;
        let mut taken = self.waiting.drain(..count).map(|(item, is_read)| {
            self.reads -= usize::from(is_read);
            item
        });
        Load { ticket, first: taken.next(), others: taken.collect() }
    }

    /// The worker's batch is through.
    pub(crate) fn carried(&mut self) {
        self.carrying = false;
    }
}
