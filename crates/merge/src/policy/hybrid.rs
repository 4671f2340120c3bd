//! When is it worth waiting for one more?
//!
//! Hybrid temporal merge. A winner goes at once when nobody else is expected. Else it holds its batch back for those who were just
//! served, while they come back sooner than what a batch less would save (`iostack_model::Gathering`); c, the cost of a batch,
//! is fitted on the way. It never holds back for longer than c, and not at all while batches overlap, where c is hidden.
//!
//! How many batches may overlap is learnt as well (`policy/learn.rs`): on a device that serves one command at a time one, as with
//! synchronous temporal merge; on one that works in parallel up to one for each caller, as with plain calls. With one caller
//! each request is a plain call.

use std::time::{Duration, Instant};

use iostack_model::{Gathering, Returns};

use crate::sys::{Device, Pending, Request};

use super::Carry;
use super::learn::{Costs, Stay, Width};
use super::queue::{Queue, Rule};
use super::send::send;

/// Winners by what was learnt of device and callers.
pub(crate) struct Hybrid {
    queue: Queue<Request, Adaptive>,
}

impl Hybrid {
    pub(crate) fn new(batch_max: usize) -> Hybrid {
        Hybrid { queue: Queue::new(1, batch_max, Adaptive::new()) }
    }
}

impl Carry for Hybrid {
    fn carry(&self, device: &dyn Device, request: Request, pending: &Pending<'_>) {
        if let Some(mut batch) = self.queue.join(request, || pending.is_done()) {
            send(device, &mut batch.load);
        }
    }
}

/// The rule, and what it goes by. All times are ns since it was made.
#[derive(Debug)]
struct Adaptive {
    made: Instant,
    costs: Costs,
    returns: Returns,
    stay: Stay,
    width: Width,
    active: usize,
    /// Some batch overlapped another since the device was last idle.
    overlapped: bool,
    /// Since when a batch that could go is held back.
    held_since: Option<u64>,
}

impl Adaptive {
    /// Batches at a time, at most.
    const WIDTH_MAX: usize = 64;

    fn new() -> Adaptive {
        Adaptive {
            made: Instant::now(),
            costs: Costs::default(),
            returns: Returns::default(),
            stay: Stay::default(),
            width: Width::new(Self::WIDTH_MAX),
            active: 0,
            overlapped: false,
            held_since: None,
        }
    }

    /// What a batch less would save, ns.
    fn saved_ns(&self) -> f64 {
        if self.width.now() > 1 {
            return 0.0;
        }
        self.costs.cost().map_or(0.0, |cost| cost.fixed_ns)
    }
}

impl Rule for Adaptive {
    fn now(&self) -> u64 {
        self.made.elapsed().as_nanos() as u64
    }

    fn came(&mut self, now: u64) {
        self.stay.came(now);
        self.returns.came(now);
    }

    fn hold(&mut self, now: u64, waiting: usize, room: usize) -> Option<Duration> {
        let since = *self.held_since.get_or_insert(now);
        let gathering = Gathering {
            waiting: waiting as u32,
            room: room as u32,
            expected: self.returns.expected(),
            return_ns: self.returns.return_ns(),
            idle_ns: now.saturating_sub(since) as f64,
        };
        gathering.hold_ns(self.saved_ns()).map(|ns| Duration::from_nanos(ns as u64))
    }

    fn goes(&mut self, _: usize, active: usize) {
        self.active = active;
        self.overlapped |= active > 1;
        self.held_since = None;
    }

    fn served(&mut self, now: u64, since: u64, requests: usize) -> Option<usize> {
        let requests = requests as u32;
        if !self.overlapped {
            self.costs.observe(requests, now.saturating_sub(since) as f64);
        }
        self.active -= 1;
        self.overlapped &= self.active > 0;
        self.returns.served(now, requests);
        self.stay.served(now, requests);
        self.width.look(&mut self.stay);
        Some(self.width.now())
    }
}
