//! What does cfq do? Each process has a queue, and the drive for a slice of time.
//!
//! Within its slice a process's I/Os go in the order of the drive. When it has none left, the drive is kept idle for a
//! moment, if it has an arm and the process is likely to come back soon. Writes that nobody waits for share one queue
//! (Linux 2.6, `block/cfq-iosched.c`).

use std::collections::{BTreeMap, VecDeque};

use super::process::Processes;
use super::sorted::Sorted;
use super::{Entry, Next, Scheduler, Tuning};
use crate::engine::Time;

/// The queue of writes that nobody waits for.
const NOBODY: u32 = u32::MAX;

/// A process that has the drive.
struct Active {
    owner: u32,
    until: Time,
    /// Its last I/O was through then.
    quiet_since: Time,
}

/// cfq.
pub(super) struct Cfq {
    tuning: Tuning,
    queues: BTreeMap<u32, Sorted>,
    /// Those who wait for the drive, in turn.
    turns: VecDeque<u32>,
    active: Option<Active>,
    processes: Processes,
    place: u64,
    /// Of the active process, in the drive.
    in_flight: BTreeMap<u32, u64>,
}

fn queue_of(entry: &Entry) -> u32 {
    if entry.sync { entry.owner } else { NOBODY }
}

impl Cfq {
    pub(super) fn new(tuning: Tuning) -> Cfq {
        Cfq {
            tuning,
            queues: BTreeMap::new(),
            turns: VecDeque::new(),
            active: None,
            processes: Processes::default(),
            place: 0,
            in_flight: BTreeMap::new(),
        }
    }

    fn has_some(&self, owner: u32) -> bool {
        self.queues.get(&owner).is_some_and(|queue| !queue.is_empty())
    }

    fn go(&mut self, owner: u32) -> Next {
        let queue = self.queues.get_mut(&owner).expect("it has some");
        let entry = queue.around(self.place).expect("it has some");
        queue.remove(&entry);
        self.place = entry.end;
        *self.in_flight.entry(owner).or_default() += 1;
        Next::Go(entry.slot)
    }

    /// Until when the drive is kept for a process that has none: a moment, or the present if it is not.
    fn kept(&self, active: &Active, now: Time) -> Option<Next> {
        if !self.tuning.rotates || active.owner == NOBODY || now >= active.until {
            return None;
        }
        if self.in_flight.get(&active.owner).is_some_and(|&count| count > 0) {
            return Some(Next::Idle(active.until));
        }
        let until = active.until.min(active.quiet_since + self.tuning.idle);
        (until > now && self.processes.comes_back(active.owner, self.tuning.idle))
            .then_some(Next::Idle(until))
    }
}

impl Scheduler for Cfq {
    fn add(&mut self, entry: Entry, now: Time) {
        self.processes.asks(entry.owner, entry.offset, entry.end, now);
        let owner = queue_of(&entry);
        let is_active = self.active.as_ref().is_some_and(|active| active.owner == owner);
        if !self.has_some(owner) && !is_active {
            self.turns.push_back(owner);
        }
        self.queues.entry(owner).or_default().add(entry);
    }

    fn next(&mut self, now: Time) -> Next {
        if let Some(active) = &self.active {
            let owner = active.owner;
            if self.has_some(owner) {
                if now < active.until || self.turns.is_empty() {
                    return self.go(owner);
                }
                self.turns.push_back(owner);
            } else if let Some(next) = self.kept(active, now) {
                return if self.turns.is_empty() { Next::Nothing } else { next };
            }
            self.active = None;
        }
        let Some(owner) = self.turns.pop_front() else { return Next::Nothing };
        let slice = if owner == NOBODY { self.tuning.slice_async } else { self.tuning.slice };
        self.active = Some(Active { owner, until: now + slice, quiet_since: now });
        self.go(owner)
    }

    fn completed(&mut self, entry: &Entry, now: Time) {
        self.processes.gets(entry.owner, now);
        let owner = queue_of(entry);
        let count = self.in_flight.entry(owner).or_default();
        *count = count.saturating_sub(1);
        if let Some(active) = self.active.as_mut().filter(|active| active.owner == owner) {
            active.quiet_since = now;
        }
    }
}
