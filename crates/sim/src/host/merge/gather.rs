//! What waits, and what is dispatched now?
//!
//! A policy decides and touches nothing: it looks at what waits for a drive and says whose turn it is, what that one takes as
//! one command, and how the others wait. `steps.rs` does what it says. A new subsystem is a [`Gather`] and a row in `of`;
//! `hybrid.rs` is one that prepares commands ahead.

use super::Subsystem;
use super::hybrid::Hybrid;
use super::policy::{Gather, Limits, Manner, Turn, Waiting, Waits, all_like, moves_data};
use crate::engine::Kind;

/// The policy of a subsystem.
pub(crate) fn of(subsystem: Subsystem, limits: Limits) -> Box<dyn Gather> {
    match subsystem {
        Subsystem::Async => Box::new(Async { limits }),
        Subsystem::Sync | Subsystem::Caller => Box::new(Sync),
        Subsystem::Stm => Box::new(Stm { limits }),
        Subsystem::Atm => Box::new(Atm { limits }),
        Subsystem::Hybrid => Box::new(Hybrid { limits }),
        Subsystem::Worker => Box::new(Worker),
    }
}

/// A request queue, commands one by one, interrupts. Neighbours become one request.
struct Async {
    limits: Limits,
}

impl Gather for Async {
    fn turn(&self, _: &Waits) -> Turn {
        Turn::Here
    }

    fn take(&self, waits: &Waits, _: Option<u32>, picked: &mut Vec<usize>) {
        run_of_neighbours(waits, self.limits.merge_bytes, picked);
    }

    fn manner(&self, _: &Waits) -> Manner {
        Manner::Leaves
    }

    fn polls(&self) -> bool {
        false
    }
}

/// The first that waits, and those that follow it on the medium.
fn run_of_neighbours(waits: &Waits, bytes_most: u64, picked: &mut Vec<usize>) {
    let first = waits.waiting[0];
    let (mut end, mut bytes) = (first.offset + u64::from(first.length), u64::from(first.length));
    picked.push(0);
    if !moves_data(first.kind) {
        return;
    }
    for (index, each) in waits.waiting.iter().enumerate().skip(1) {
        let length = u64::from(each.length);
        if each.kind == first.kind && each.offset == end && bytes + length <= bytes_most {
            picked.push(index);
            (end, bytes) = (end + length, bytes + length);
        }
    }
}

/// Each thread takes the drive for itself, in order of arrival.
struct Sync;

impl Gather for Sync {
    fn turn(&self, waits: &Waits) -> Turn {
        // A lock goes to who spins for it, not to who has lost its core meanwhile; that one tries again when it has one.
        let spins = waits.waiting.iter().find(|each| !each.called && each.awake);
        spins.map_or(Turn::Nobody, |next| Turn::Thread(next.thread))
    }

    fn take(&self, waits: &Waits, who: Option<u32>, picked: &mut Vec<usize>) {
        picked.extend(waits.waiting.iter().position(|each| each.stands && Some(each.thread) == who));
    }

    fn manner(&self, _: &Waits) -> Manner {
        Manner::Spins
    }
}

/// Synchronous temporal merge: one winner takes all that waits, the others sleep; the next winner is the oldest that came
/// meanwhile.
struct Stm {
    limits: Limits,
}

impl Gather for Stm {
    fn turn(&self, waits: &Waits) -> Turn {
        waits.first().map_or(Turn::Nobody, |first| Turn::Thread(first.thread))
    }

    fn take(&self, waits: &Waits, who: Option<u32>, picked: &mut Vec<usize>) {
        let own = waits.waiting.iter().position(|each| Some(each.thread) == who).unwrap_or(0);
        all_like(waits, own, self.limits.batch, picked);
    }

    fn manner(&self, _: &Waits) -> Manner {
        Manner::Sleeps
    }
}

/// Asynchronous temporal merge: writes wait in a plugged queue, and the kernel's thread takes all of them. A read that finds
/// the drive idle is dispatched by its own thread, which keeps the queue's lock: who comes meanwhile spins.
struct Atm {
    limits: Limits,
}

impl Gather for Atm {
    fn turn(&self, waits: &Waits) -> Turn {
        let Some(first) = waits.first() else { return Turn::Nobody };
        if first.stands && first.kind != Kind::Write {
            let reads = |each: &&Waiting| each.stands && each.kind != Kind::Write && !each.called;
            let spins = waits.waiting.iter().filter(reads).find(|each| each.awake);
            return spins.map_or(Turn::Nobody, |next| Turn::Thread(next.thread));
        }
        let unplugged = first.since + self.limits.unplug_ns;
        let many = waits.waiting.len() >= self.limits.unplug_count;
        let reads = waits.waiting.iter().any(|each| each.kind != Kind::Write);
        if many || reads || waits.now >= unplugged { Turn::Worker } else { Turn::Not(unplugged) }
    }

    fn take(&self, waits: &Waits, who: Option<u32>, picked: &mut Vec<usize>) {
        match who {
            Some(_) => Sync.take(waits, who, picked),
            None => all_runs(waits, self.limits, picked),
        }
    }

    fn manner(&self, waits: &Waits) -> Manner {
        let last = waits.waiting.back().expect("something came");
        let reads = last.kind != Kind::Write && waits.idle;
        if waits.held || reads { Manner::Spins } else { Manner::Leaves }
    }
}

/// All that is of the first's kind; neighbours count as one request of the extended command.
fn all_runs(waits: &Waits, limits: Limits, picked: &mut Vec<usize>) {
    let kind = waits.waiting[0].kind;
    let inside = |each: &Waiting| each.kind == kind && !each.stands;
    let mut list: Vec<usize> =
        (0..waits.waiting.len()).filter(|&index| inside(&waits.waiting[index])).collect();
    if !moves_data(kind) {
        list.truncate(1);
    }
    list.sort_by_key(|&index| waits.waiting[index].offset);
    let (mut runs, mut end, mut bytes) = (0, None, 0);
    for index in list {
        let each = waits.waiting[index];
        let length = u64::from(each.length);
        if end != Some(each.offset) || bytes + length > limits.merge_bytes {
            (runs, bytes) = (runs + 1, 0);
        }
        if runs > limits.batch {
            break;
        }
        (end, bytes) = (Some(each.offset + length), bytes + length);
        picked.push(index);
    }
    picked.sort_unstable();
}

/// The driver's thread takes one request after another.
struct Worker;

impl Gather for Worker {
    fn turn(&self, _: &Waits) -> Turn {
        Turn::Worker
    }

    fn take(&self, _: &Waits, _: Option<u32>, picked: &mut Vec<usize>) {
        picked.push(0);
    }

    fn manner(&self, _: &Waits) -> Manner {
        Manner::Leaves
    }
}
