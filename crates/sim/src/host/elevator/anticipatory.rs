//! What does the anticipatory scheduler do? After a read it waits a little for a near one of the same process.
//!
//! Reads and writes take turns by time, each in the order of the drive, the oldest first when it has waited
//! too long, which is looked at only so often as an I/O may wait: a long queue stays in order. While
//! reads have their turn, a read is through, and nothing of its process waits, the drive is kept idle for as long as the
//! process is likely to come back soon, unless what waits lies nearer than the process's own I/Os use to lie apart
//! (Linux 2.6, `block/as-iosched.c`). It asks for no drive without an arm: it knew of none.

use super::process::Processes;
use super::sorted::Sorted;
use super::{Entry, Next, Scheduler, Tuning};
use crate::engine::Time;

/// anticipatory.
pub(super) struct Anticipatory {
    tuning: Tuning,
    waiting: [Sorted; 2],
    processes: Processes,
    direction: usize,
    /// Its turn lasts until then.
    turn_until: Time,
    place: u64,
    in_flight: u64,
    /// Of each direction: when its oldest was last looked at.
    looked: [Time; 2],
    /// Of the read that was through last: its process, and when the wait for another one ends.
    awaited: Option<(u32, Time)>,
}

impl Anticipatory {
    pub(super) fn new(tuning: Tuning) -> Anticipatory {
        Anticipatory {
            tuning,
            waiting: [Sorted::default(), Sorted::default()],
            processes: Processes::default(),
            direction: 0,
            turn_until: 0,
            place: 0,
            in_flight: 0,
            looked: [0; 2],
            awaited: None,
        }
    }

    fn turn(&mut self, now: Time) -> bool {
        let other = 1 - self.direction;
        let change = !self.waiting[other].is_empty()
            && (self.waiting[self.direction].is_empty() || now >= self.turn_until);
        if change || (now >= self.turn_until && !self.waiting[self.direction].is_empty()) {
            self.direction = if change { other } else { self.direction };
            self.turn_until = now + self.tuning.batch_time[self.direction];
        }
        !self.waiting[self.direction].is_empty()
    }

    /// What would go if nothing were awaited.
    fn candidate(&self, direction: usize, now: Time) -> Option<Entry> {
        let waiting = &self.waiting[direction];
        let expire = self.tuning.expire[direction];
        let due = now - self.looked[direction] >= expire;
        let old = if due { waiting.expired(now, expire) } else { None };
        old.or_else(|| waiting.around(self.place))
    }

    /// The moment until which it is better to wait.
    fn awaits(&self, now: Time) -> Option<Time> {
        let (owner, until) = self.awaited?;
        if now >= until || self.in_flight > 0 || !self.processes.comes_back(owner, self.tuning.idle) {
            return None;
        }
        let strides = self.processes.habits(owner).strides.unwrap_or(0);
        let near = self.candidate(0, now).is_some_and(|entry| entry.offset.abs_diff(self.place) <= strides);
        let is_old = |way: usize| self.waiting[way].expired(now, self.tuning.expire[way]).is_some();
        let old = (0..2).any(is_old);
        (!near && !old).then_some(until)
    }

    fn go(&mut self, entry: &Entry, now: Time) -> Next {
        let direction = usize::from(entry.write);
        if now - self.looked[direction] >= self.tuning.expire[direction] {
            self.looked[direction] = now;
        }
        self.waiting[direction].remove(entry);
        self.place = entry.end;
        self.in_flight += 1;
        self.awaited = None;
        Next::Go(entry.slot)
    }
}

impl Scheduler for Anticipatory {
    fn add(&mut self, entry: Entry, now: Time) {
        self.processes.asks(entry.owner, entry.offset, entry.end, now);
        self.waiting[usize::from(entry.write)].add(entry);
    }

    fn next(&mut self, now: Time) -> Next {
        if self.waiting.iter().all(Sorted::is_empty) {
            return Next::Nothing;
        }
        if now >= self.turn_until && !self.waiting[1 - self.direction].is_empty() {
            self.awaited = None;
        }
        if let Some((owner, until)) = self.awaited
            && now < until
            && let Some(entry) = self.waiting[0].of(owner)
        {
            return self.go(&entry, now);
        }
        if let Some(until) = self.awaits(now) {
            return Next::Idle(until);
        }
        self.turn(now);
        match self.candidate(self.direction, now) {
            Some(entry) => self.go(&entry, now),
            None => Next::Nothing,
        }
    }

    fn completed(&mut self, entry: &Entry, now: Time) {
        self.processes.gets(entry.owner, now);
        self.in_flight -= 1;
        if !entry.write && self.direction == 0 {
            self.awaited = Some((entry.owner, now + self.tuning.idle));
        }
    }
}
