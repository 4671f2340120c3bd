//! What does the anticipatory scheduler do? After a read it waits a little for a near one of the same process.
//!
//! Reads and writes take turns by time, each in the order of the drive, the oldest first when it has waited
//! too long, which is looked at only so often as an I/O may wait: a long queue stays in order. While
//! reads have their turn, a read is through, and nothing of its process waits, the drive is kept idle for as long as the
//! process is likely to come back soon, unless what waits lies nearer than the process's own I/Os use to lie apart
//! (Linux 2.6, `block/as-iosched.c`). It asks for no drive without an arm: it knew of none.

use super::process::Processes;
use super::sorted::Sorted;
use super::{NextIo, QueuedIo, Scheduler, SchedulerSpec};
use crate::engine::Time;

#[derive(Default)]
pub(super) struct Anticipatory {
    spec: SchedulerSpec,
    waiting: [Sorted; 2],
    processes: Processes,
    direction: usize,
    /// Its turn lasts until then.
    turn_until: Time,
    place: u64,
    in_flight: u64,
    /// Moment of the last look at the oldest of each direction.
    looked: [Time; 2],
    /// Process of the last read, and the moment when the wait for its next one ends.
    awaited: Option<(u32, Time)>,
}

impl Anticipatory {
    pub(super) fn new(spec: SchedulerSpec) -> Anticipatory {
        Anticipatory { spec, ..Anticipatory::default() }
    }

    fn turn(&mut self, now: Time) -> bool {
        let other = 1 - self.direction;
        let change = !self.waiting[other].is_empty()
            && (self.waiting[self.direction].is_empty() || now >= self.turn_until);
        if change || (now >= self.turn_until && !self.waiting[self.direction].is_empty()) {
            self.direction = if change { other } else { self.direction };
            let batch_times = [self.spec.read_batch, self.spec.write_batch];
            self.turn_until = now + batch_times[self.direction];
        }
        !self.waiting[self.direction].is_empty()
    }

    /// The I/O that would go if none were awaited.
    fn candidate(&self, direction: usize, now: Time) -> Option<QueuedIo> {
        let waiting = &self.waiting[direction];
        let expire = self.spec.expire()[direction];
        let due = now - self.looked[direction] >= expire;
        let old = if due { waiting.expired(now, expire) } else { None };
        old.or_else(|| waiting.around(self.place))
    }

    /// The moment until which it is better to wait.
    fn awaits(&self, now: Time) -> Option<Time> {
        let (owner, until) = self.awaited?;
        if now >= until || self.in_flight > 0 || !self.processes.comes_back(owner, self.spec.idle) {
            return None;
        }
        let strides = self.processes.habits(owner).strides.unwrap_or(0);
        let near = self.candidate(0, now).is_some_and(|entry| entry.offset.abs_diff(self.place) <= strides);
        let is_old = |way: usize| self.waiting[way].expired(now, self.spec.expire()[way]).is_some();
        let old = (0..2).any(is_old);
        (!near && !old).then_some(until)
    }

    fn go(&mut self, entry: &QueuedIo, now: Time) -> NextIo {
        let direction = usize::from(entry.write);
        if now - self.looked[direction] >= self.spec.expire()[direction] {
            self.looked[direction] = now;
        }
        self.waiting[direction].remove(entry);
        self.place = entry.end;
        self.in_flight += 1;
        self.awaited = None;
        NextIo::Go(entry.slot)
    }
}

impl Scheduler for Anticipatory {
    fn add(&mut self, entry: QueuedIo, now: Time) {
        self.processes.asks(entry.owner, entry.offset, entry.end, now);
        self.waiting[usize::from(entry.write)].add(entry);
    }

    fn next(&mut self, now: Time) -> NextIo {
        if self.waiting.iter().all(Sorted::is_empty) {
            return NextIo::Nothing;
        }
        if now >= self.turn_until && !self.waiting[1 - self.direction].is_empty() {
            self.awaited = None;
        }
        if let Some((owner, until)) = self.awaited
            && now < until
            && let Some(entry) = self.waiting[0].oldest_of(owner)
        {
            return self.go(&entry, now);
        }
        if let Some(until) = self.awaits(now) {
            return NextIo::Idle(until);
        }
        self.turn(now);
        match self.candidate(self.direction, now) {
            Some(entry) => self.go(&entry, now),
            None => NextIo::Nothing,
        }
    }

    fn completed(&mut self, entry: &QueuedIo, now: Time) {
        self.processes.gets(entry.owner, now);
        self.in_flight -= 1;
        if !entry.write && self.direction == 0 {
            self.awaited = Some((entry.owner, now + self.spec.idle));
        }
    }
}
