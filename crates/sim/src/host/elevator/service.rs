//! Whose I/O goes next where each process has the drive for a while: what cfq and bfq have in common.

use std::collections::BTreeMap;

use super::process::Processes;
use super::sorted::Sorted;
use super::{NextIo, QueuedIo, SchedulerSpec};
use crate::engine::Time;

/// Owner of the writes that nobody waits for.
pub(super) const NOBODY: u32 = u32::MAX;

/// I/Os of one process.
#[derive(Default)]
pub(super) struct ProcessQueue {
    pub(super) waiting: Sorted,
    pub(super) in_flight: u64,
    /// Bytes that the process was charged by bfq, in the time of all.
    pub(super) finish: u64,
}

/// A process that has the drive.
pub(super) struct ProcessTurn {
    pub(super) owner: u32,
    pub(super) until: Time,
    /// Bytes that are left to it.
    pub(super) budget: u64,
    /// End of its last I/O.
    quiet_since: Time,
}

/// Queues of all processes, and whose turn it is.
pub(super) struct Service {
    pub(super) spec: SchedulerSpec,
    pub(super) queues: BTreeMap<u32, ProcessQueue>,
    pub(super) turn: Option<ProcessTurn>,
    processes: Processes,
    place: u64,
}

/// The queue of an I/O.
pub(super) fn queue_of(entry: &QueuedIo) -> u32 {
    if entry.sync { entry.owner } else { NOBODY }
}

impl Service {
    pub(super) fn new(spec: SchedulerSpec) -> Service {
        Service { spec, queues: BTreeMap::new(), turn: None, processes: Processes::default(), place: 0 }
    }

    pub(super) fn has_some(&self, owner: u32) -> bool {
        self.queues.get(&owner).is_some_and(|queue| !queue.waiting.is_empty())
    }

    /// An I/O comes; its queue, which it is not in yet.
    pub(super) fn asked(&mut self, entry: &QueuedIo, now: Time) -> &mut ProcessQueue {
        self.processes.asks(entry.owner, entry.offset, entry.end, now);
        self.queues.entry(queue_of(entry)).or_default()
    }

    /// The drive is this process's from now on; its next I/O goes.
    pub(super) fn begin(&mut self, owner: u32, slice: u64, now: Time) -> NextIo {
        self.turn =
            Some(ProcessTurn { owner, until: now + slice, budget: self.spec.budget, quiet_since: now });
        self.go(owner)
    }

    /// The process's I/O that lies next goes.
    pub(super) fn go(&mut self, owner: u32) -> NextIo {
        let queue = self.queues.get_mut(&owner).expect("it has some");
        let entry = queue.waiting.around(self.place).expect("it has some");
        queue.waiting.remove(&entry);
        let length = entry.end - entry.offset;
        queue.finish += length;
        queue.in_flight += 1;
        self.place = entry.end;
        if let Some(turn) = &mut self.turn {
            turn.budget = turn.budget.saturating_sub(length);
        }
        NextIo::Go(entry.slot)
    }

    /// Moment until which the drive is kept for a process that has no I/O: only if it has an arm and the process is likely
    /// to come back.
    pub(super) fn kept(&self, turn: &ProcessTurn, now: Time) -> Option<NextIo> {
        if !self.spec.rotates || turn.owner == NOBODY || now >= turn.until {
            return None;
        }
        if self.queues[&turn.owner].in_flight > 0 {
            return Some(NextIo::Idle(turn.until));
        }
        let until = turn.until.min(turn.quiet_since + self.spec.idle);
        (until > now && self.processes.comes_back(turn.owner, self.spec.idle)).then_some(NextIo::Idle(until))
    }

    pub(super) fn completed(&mut self, entry: &QueuedIo, now: Time) {
        self.processes.gets(entry.owner, now);
        let owner = queue_of(entry);
        if let Some(queue) = self.queues.get_mut(&owner) {
            queue.in_flight = queue.in_flight.saturating_sub(1);
        }
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.owner == owner) {
            turn.quiet_since = now;
        }
    }
}
