//! What does mq-deadline do? The order of the drive in batches, reads before writes, and nobody waits for ever.
//!
//! A batch goes on upwards from the last I/O. A new one is of reads, unless writes were passed over often enough; it begins
//! with the oldest if that has waited too long (Linux, `block/mq-deadline.c`).

use super::sorted::Sorted;
use super::{NextIo, QueuedIo, Scheduler, SchedulerSpec};
use crate::engine::Time;

#[derive(Default)]
pub(super) struct Deadline {
    spec: SchedulerSpec,
    /// I/Os that wait: reads, writes.
    waiting: [Sorted; 2],
    /// The next I/O of each direction lies from here on.
    place: [u64; 2],
    direction: usize,
    batched: u64,
    starved: u64,
}

impl Deadline {
    pub(super) fn new(spec: SchedulerSpec) -> Deadline {
        Deadline { batched: spec.batch, spec, ..Deadline::default() }
    }

    /// The direction of the next batch.
    fn turn(&mut self) -> Option<usize> {
        let [reads, writes] = &self.waiting;
        if reads.is_empty() {
            return (!writes.is_empty()).then_some(1);
        }
        if writes.is_empty() {
            return Some(0);
        }
        self.starved += 1;
        Some(usize::from(self.starved > self.spec.starved))
    }

    fn choose(&mut self, now: Time) -> Option<QueuedIo> {
        if self.batched < self.spec.batch
            && let Some(entry) = self.waiting[self.direction].from(self.place[self.direction])
        {
            return Some(entry);
        }
        let direction = self.turn()?;
        if direction == 1 {
            self.starved = 0;
        }
        (self.direction, self.batched) = (direction, 0);
        let waiting = &self.waiting[direction];
        waiting
            .expired(now, self.spec.expire()[direction])
            .or_else(|| waiting.from(self.place[direction]))
            .or_else(|| waiting.oldest())
    }
}

impl Scheduler for Deadline {
    fn add(&mut self, entry: QueuedIo, _: Time) {
        self.waiting[usize::from(entry.write)].add(entry);
    }

    fn next(&mut self, now: Time) -> NextIo {
        let Some(entry) = self.choose(now) else { return NextIo::Nothing };
        self.waiting[self.direction].remove(&entry);
        self.place[self.direction] = entry.end;
        self.batched += 1;
        NextIo::Go(entry.slot)
    }
}
