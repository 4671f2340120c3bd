//! What does bfq do? Each process has a budget of bytes, and who has had the least of the drive is next.
//!
//! A process in service goes on until its budget or its time is used up, or it has nothing left; on a drive with an arm the
//! drive is kept idle for a moment then, if the process is likely to come back. Each is charged what it had, so that all get
//! the same share of bytes (Linux, `block/bfq-iosched.c`; equal weights, no bonus for programs that begin).

use std::collections::BTreeMap;

use super::process::Processes;
use super::sorted::Sorted;
use super::{Entry, Next, Scheduler, Tuning};
use crate::engine::Time;

const NOBODY: u32 = u32::MAX;

#[derive(Default)]
struct Queue {
    waiting: Sorted,
    /// Bytes it has been charged, in the time of all.
    finish: u64,
    in_flight: u64,
}

struct Service {
    owner: u32,
    /// Bytes that are left.
    budget: u64,
    until: Time,
    quiet_since: Time,
}

/// bfq.
pub(super) struct Bfq {
    tuning: Tuning,
    queues: BTreeMap<u32, Queue>,
    /// Bytes that a process which was busy all the time would have been charged.
    clock: u64,
    service: Option<Service>,
    processes: Processes,
    place: u64,
}

fn queue_of(entry: &Entry) -> u32 {
    if entry.sync { entry.owner } else { NOBODY }
}

impl Bfq {
    pub(super) fn new(tuning: Tuning) -> Bfq {
        Bfq {
            tuning,
            queues: BTreeMap::new(),
            clock: 0,
            service: None,
            processes: Processes::default(),
            place: 0,
        }
    }

    fn go(&mut self, owner: u32) -> Next {
        let queue = self.queues.get_mut(&owner).expect("it has some");
        let entry = queue.waiting.around(self.place).expect("it has some");
        queue.waiting.remove(&entry);
        queue.finish += entry.end - entry.offset;
        queue.in_flight += 1;
        self.place = entry.end;
        if let Some(service) = &mut self.service {
            service.budget = service.budget.saturating_sub(entry.end - entry.offset);
        }
        Next::Go(entry.slot)
    }

    /// Who has been charged least, of those that wait.
    fn least(&self) -> Option<u32> {
        let waiting = self.queues.iter().filter(|(_, queue)| !queue.waiting.is_empty());
        waiting.min_by_key(|(_, queue)| queue.finish).map(|(&owner, _)| owner)
    }

    fn kept(&self, service: &Service, now: Time) -> Option<Next> {
        if !self.tuning.rotates || service.owner == NOBODY || now >= service.until || service.budget == 0 {
            return None;
        }
        if self.queues[&service.owner].in_flight > 0 {
            return Some(Next::Idle(service.until));
        }
        let until = service.until.min(service.quiet_since + self.tuning.idle);
        (until > now && self.processes.comes_back(service.owner, self.tuning.idle))
            .then_some(Next::Idle(until))
    }
}

impl Scheduler for Bfq {
    fn add(&mut self, entry: Entry, now: Time) {
        self.processes.asks(entry.owner, entry.offset, entry.end, now);
        let clock = self.clock;
        let queue = self.queues.entry(queue_of(&entry)).or_default();
        if queue.waiting.is_empty() && queue.in_flight == 0 {
            // Who was away saves nothing up.
            queue.finish = queue.finish.max(clock);
        }
        queue.waiting.add(entry);
    }

    fn next(&mut self, now: Time) -> Next {
        if let Some(service) = &self.service {
            let owner = service.owner;
            let has_some = !self.queues[&owner].waiting.is_empty();
            if has_some && service.budget > 0 && now < service.until {
                return self.go(owner);
            }
            if !has_some && let Some(next) = self.kept(service, now) {
                return if self.least().is_none() { Next::Nothing } else { next };
            }
            self.service = None;
        }
        let Some(owner) = self.least() else { return Next::Nothing };
        self.clock = self.clock.max(self.queues[&owner].finish);
        self.service = Some(Service {
            owner,
            budget: self.tuning.budget,
            until: now + self.tuning.slice,
            quiet_since: now,
        });
        self.go(owner)
    }

    fn completed(&mut self, entry: &Entry, now: Time) {
        self.processes.gets(entry.owner, now);
        let owner = queue_of(entry);
        if let Some(queue) = self.queues.get_mut(&owner) {
            queue.in_flight = queue.in_flight.saturating_sub(1);
        }
        if let Some(service) = self.service.as_mut().filter(|service| service.owner == owner) {
            service.quiet_since = now;
        }
    }
}
