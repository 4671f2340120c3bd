//! When is it worth waiting for one more?
//!
//! Hybrid temporal merge. A winner goes at once when nobody else is expected. Else it holds its batch back for those who were just
//! served, while they come back sooner than what a batch less would save (`iostack_batch::Gathering`); c, the cost of a batch,
//! is fitted on the way. It never holds back for longer than c, and not at all while batches overlap, where c is hidden.
//!
//! How many batches may overlap is learnt as well (`policy/learn.rs`): on a device that serves one command at a time one, as with
//! synchronous temporal merge; on one that works in parallel up to one for each caller, as with plain calls, which is tried within
//! the first hundred requests. With one caller each request is a plain call.

use std::time::{Duration, Instant};

use iostack_batch::{Gathering, Returns};

use super::learn::{Costs, Stay, Width};
use super::queue::BatchRule;

/// The rule, and what it goes by. All times are ns since it was made.
#[derive(Debug)]
pub(super) struct Adaptive {
    made: Instant,
    costs: Costs,
    /// Returns of callers after a batch of one, whose caller was awake all the time, and after larger ones, whose callers
    /// wake first.
    returns: [Returns; 2],
    /// Index of the returns that are meant now.
    together: usize,
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

    pub(super) fn new() -> Adaptive {
        Adaptive {
            made: Instant::now(),
            costs: Costs::default(),
            returns: Default::default(),
            together: 0,
            stay: Stay::default(),
            width: Width::new(Self::WIDTH_MAX),
            active: 0,
            overlapped: false,
            held_since: None,
        }
    }

    /// Time saved by having all `callers` in one batch, ns.
    ///
    /// If none were held back, batches of one, the winner who is back first, and of all would alternate: 2 c for n + 1 requests. All
    /// in one is c for n, after the device was idle for r; that is less while r < c (n - 1) / (n + 1).
    fn saved_ns(&self, callers: u32) -> f64 {
        if self.width.now() > 1 {
            return 0.0;
        }
        let callers = f64::from(callers);
        self.costs.fixed_ns() * (callers - 1.0) / (callers + 1.0)
    }
}

impl BatchRule for Adaptive {
    fn now(&self) -> u64 {
        self.made.elapsed().as_nanos() as u64
    }

    fn came(&mut self, now: u64) {
        self.stay.came(now);
        self.returns[self.together].came(now);
    }

    fn hold(&mut self, now: u64, waiting: usize, room: usize) -> Option<Duration> {
        let since = *self.held_since.get_or_insert(now);
        let (waiting, returns) = (waiting as u32, &self.returns[self.together]);
        let gathering = Gathering {
            waiting,
            room: room as u32,
            expected: returns.expected(),
            return_ns: returns.return_ns(),
            idle_ns: now.saturating_sub(since) as f64,
        };
        gathering
            .hold_ns(self.saved_ns(waiting + gathering.expected))
            .map(|ns| Duration::from_nanos(ns as u64))
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
        let together = usize::from(requests > 1);
        if together != self.together {
            // Who is not back yet is not waited for any more.
            self.returns[self.together].served(now, 0);
            self.together = together;
        }
        self.returns[together].served(now, requests);
        self.stay.served(now, requests);
        self.width.look(&mut self.stay);
        Some(self.width.now())
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::AtOnce;
    use super::super::world::{Crowd, CrowdWorld, Machine, Outcome};
    use super::*;

    /// A polled command of the DRAM-SSD: 1.65 us of its own, 5.35 us of the host, 5.85 us a page.
    const POLLED: Machine = Machine::Serial { fixed_ns: 7000, each_ns: 5850 };

    /// Learns for a while, then shows.
    fn shown<R: BatchRule>(rule: R, machine: Machine, crowd: Crowd) -> Outcome {
        let mut world = CrowdWorld::new(rule, machine, crowd, 64);
        world.run(60_000);
        world.run(50_000)
    }

    fn iops(outcome: &Outcome) -> f64 {
        outcome.requests as f64 * 1e9 / outcome.ns as f64
    }

    #[test]
    fn one_caller_waits_for_nobody() {
        for machine in [POLLED, Machine::Parallel { fixed_ns: 80_000, each_ns: 500 }] {
            let crowd = Crowd { callers: 1, think_ns: 500, wake_ns: 5000 };
            let outcome = shown(Adaptive::new(), machine, crowd);
            assert_eq!((outcome.held_ns_max, outcome.batches), (0, outcome.requests));
        }
    }

    #[test]
    fn it_loses_nothing_to_synchronous_merge_and_holds_no_longer_than_c() {
        for callers in [2, 4, 8, 16, 32] {
            for wake_ns in [100, 3000, 20_000] {
                let crowd = Crowd { callers, think_ns: 500, wake_ns };
                let stm = iops(&shown(AtOnce, POLLED, crowd));
                let outcome = shown(Adaptive::new(), POLLED, crowd);
                let hybrid = iops(&outcome);
                assert!(hybrid > 0.98 * stm, "{callers} callers, {wake_ns} ns: {hybrid} of {stm}");
                // The guess before two sizes were seen is no more than the true one; trials blur the fit.
                assert!(outcome.held_ns_max <= 8000, "held for {}", outcome.held_ns_max);
            }
        }
    }

    #[test]
    fn callers_that_are_back_soon_travel_together() {
        for (callers, gain) in [(2, 1.3), (4, 1.15), (8, 1.08)] {
            let crowd = Crowd { callers, think_ns: 500, wake_ns: 100 };
            let (stm, hybrid) = (shown(AtOnce, POLLED, crowd), shown(Adaptive::new(), POLLED, crowd));
            assert!(iops(&hybrid) > gain * iops(&stm), "{callers}: {stm:?} {hybrid:?}");
            assert!(hybrid.requests as f64 / hybrid.batches as f64 > 0.9 * callers as f64, "{hybrid:?}");
        }
    }

    #[test]
    fn a_device_that_works_in_parallel_is_used_as_by_plain_calls() {
        let machine = Machine::Parallel { fixed_ns: 80_000, each_ns: 500 };
        for callers in [2, 8, 32] {
            let crowd = Crowd { callers, think_ns: 1000, wake_ns: 5000 };
            let hybrid = iops(&shown(Adaptive::new(), machine, crowd));
            let plain = callers as f64 * 1e9 / 81_500.0;
            assert!(hybrid > 0.95 * plain, "{callers} callers: {hybrid} of {plain}");
        }
    }
}
