//! What does bfq do? Each process has a budget of bytes, and who has had the least of the drive is next.
//!
//! A process in service goes on until its budget or its time is used up, or it has nothing left; on a drive with an arm the
//! drive is kept idle for a moment then, if the process is likely to come back. Each is charged what it had, so that all get
//! the same share of bytes (Linux, `block/bfq-iosched.c`; equal weights, no bonus for programs that begin).

use super::service::Service;
use super::{NextIo, QueuedIo, Scheduler, SchedulerSpec};
use crate::engine::Time;

pub(super) struct Bfq {
    service: Service,
    /// Bytes that a process which was busy all the time would have been charged.
    clock: u64,
}

impl Bfq {
    pub(super) fn new(spec: SchedulerSpec) -> Bfq {
        Bfq { service: Service::new(spec), clock: 0 }
    }

    /// The waiting process that has been charged least.
    fn least(&self) -> Option<u32> {
        let waiting = self.service.queues.iter().filter(|(_, queue)| !queue.waiting.is_empty());
        waiting.min_by_key(|(_, queue)| queue.finish).map(|(&owner, _)| owner)
    }
}

impl Scheduler for Bfq {
    fn add(&mut self, entry: QueuedIo, now: Time) {
        let queue = self.service.asked(&entry, now);
        if queue.waiting.is_empty() && queue.in_flight == 0 {
            // Who was away saves nothing up.
            queue.finish = queue.finish.max(self.clock);
        }
        queue.waiting.add(entry);
    }

    fn next(&mut self, now: Time) -> NextIo {
        if let Some(turn) = &self.service.turn {
            let (owner, has_some) = (turn.owner, self.service.has_some(turn.owner));
            if has_some && turn.budget > 0 && now < turn.until {
                return self.service.go(owner);
            }
            if !has_some
                && turn.budget > 0
                && let Some(next) = self.service.kept(turn, now)
            {
                return if self.least().is_none() { NextIo::Nothing } else { next };
            }
            self.service.turn = None;
        }
        let Some(owner) = self.least() else { return NextIo::Nothing };
        self.clock = self.clock.max(self.service.queues[&owner].finish);
        self.service.begin(owner, self.service.spec.slice, now)
    }

    fn completed(&mut self, entry: &QueuedIo, now: Time) {
        self.service.completed(entry, now);
    }
}
