//! What does cfq do? Each process has a queue, and the drive for a slice of time.
//!
//! Within its slice a process's I/Os go in the order of the drive. When it has none left, the drive is kept idle for a
//! moment, if it has an arm and the process is likely to come back soon. Writes that nobody waits for share one queue
//! (Linux 2.6, `block/cfq-iosched.c`).

use std::collections::VecDeque;

use super::service::{NOBODY, Service, queue_of};
use super::{NextIo, QueuedIo, Scheduler, SchedulerSpec};
use crate::engine::Time;

pub(super) struct Cfq {
    service: Service,
    /// Processes that wait for the drive, in turn.
    turns: VecDeque<u32>,
}

impl Cfq {
    pub(super) fn new(spec: SchedulerSpec) -> Cfq {
        Cfq { service: Service::new(spec), turns: VecDeque::new() }
    }
}

impl Scheduler for Cfq {
    fn add(&mut self, entry: QueuedIo, now: Time) {
        let owner = queue_of(&entry);
        let has_turn = self.service.turn.as_ref().is_some_and(|turn| turn.owner == owner);
        if !self.service.has_some(owner) && !has_turn {
            self.turns.push_back(owner);
        }
        self.service.asked(&entry, now).waiting.add(entry);
    }

    fn next(&mut self, now: Time) -> NextIo {
        if let Some(turn) = &self.service.turn {
            let owner = turn.owner;
            if self.service.has_some(owner) {
                if now < turn.until || self.turns.is_empty() {
                    return self.service.go(owner);
                }
                self.turns.push_back(owner);
            } else if let Some(next) = self.service.kept(turn, now) {
                return if self.turns.is_empty() { NextIo::Nothing } else { next };
            }
            self.service.turn = None;
        }
        let Some(owner) = self.turns.pop_front() else { return NextIo::Nothing };
        let spec = &self.service.spec;
        let slice = if owner == NOBODY { spec.slice_async } else { spec.slice };
        self.service.begin(owner, slice, now)
    }

    fn completed(&mut self, entry: &QueuedIo, now: Time) {
        self.service.completed(entry, now);
    }
}
