//! Whose turn is it, and what is dispatched as one command?
//!
//! A policy decides and touches nothing: it looks at what waits for a drive and says whose turn it is, what that one takes as
//! one command, and how the others wait. `steps.rs` does what it says, `staged.rs` where commands are prepared ahead.
//!
//! ```text
//!   hybrid:
//!   drive    │ c │ x x x x x x x │ c │ x x x x x │ c │ ..      busy but for one look between two commands
//!   winner   ring, poll ─────────► hand out │ ..
//!   heir         prepare │ spin, others join │ ring, poll ─► ..
//! ```
//!
//! The first that comes while a command is in the drive is the *heir*: it prepares the next command, waits awake, and takes all
//! that came by then the moment the drive is free. So what the host does for a command is hidden behind the one before it, and
//! gathering costs the drive nothing. When it is free and callers are expected back sooner than another command would cost,
//! the heir holds the doorbell for them: [`iostack_batch::Gathering::hold_ns`]. Else it leaves half of the callers to the next
//! command, so that the drive works for one half while the other is on its way back. Callers who have nothing else to do are winners
//! and heirs themselves, as in `stm`; for those who go on with their program, such as delayed writes, two threads of the
//! kernel take turns, and no threshold and no timer plugs them, as they do in `atm`. Where cores are few, the winner prepares for an
//! heir that sleeps on: `staged.rs`.

use std::collections::VecDeque;

use super::Subsystem;
use crate::engine::{Kind, RequestId, Time};

/// A request that waits for the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) id: RequestId,
    /// Thread that submitted it.
    pub(crate) thread: u32,
    pub(crate) kind: Kind,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// It waits since then.
    pub(crate) since: Time,
    /// Its thread stands in line for it, and may dispatch it.
    pub(crate) stands: bool,
    /// Its thread was told to dispatch it, and has not begun.
    pub(crate) called: bool,
    /// Its thread is on a core.
    pub(crate) awake: bool,
}

/// State of a gate as a policy sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits<'a> {
    pub(crate) now: Time,
    /// Requests in order of arrival; never empty.
    pub(crate) waiting: &'a VecDeque<Waiting>,
    /// No command is in the drive.
    pub(crate) idle: bool,
    /// A thread has the queue's lock while it polls for its command.
    pub(crate) held: bool,
    /// The thread of the last that came can do nothing before it is through.
    pub(crate) blocks: bool,
    /// So many share a command at most, that others are left to keep the drive busy.
    pub(crate) most: usize,
}

impl Waits<'_> {
    /// The first that nobody was told to dispatch, of those that pass.
    pub(super) fn first(&self, passes: impl Fn(&Waiting) -> bool) -> Option<&Waiting> {
        self.waiting.iter().find(|each| !each.called && passes(each))
    }

    fn at(&self, passes: impl Fn(&Waiting) -> bool) -> Option<usize> {
        self.waiting.iter().position(passes)
    }
}

/// The one who dispatches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueTurn {
    /// Nobody yet: something must come, or go.
    Nobody,
    /// Nobody before this moment, unless something comes.
    Not(Time),
    /// Whoever noticed that the drive has room: the thread that came, or the interrupt.
    Here,
    Thread(u32),
    /// The kernel's own thread.
    Worker,
}

/// Manner in which a thread waits whose request it does not dispatch itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It does not: it goes on with its program.
    Leaves,
    Spins,
    Sleeps,
}

/// Limits of what is gathered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Requests in an extended command.
    pub(crate) batch: usize,
    /// Bytes of neighbours that become one request.
    pub(crate) merge_bytes: u64,
    /// So many requests unplug a queue.
    pub(crate) unplug_count: usize,
    /// A queue is plugged so long at most, ns.
    pub(crate) unplug_ns: u64,
}

/// Rules of a subsystem.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) subsystem: Subsystem,
    pub(crate) limits: Limits,
}

impl Policy {
    /// The drive has room: who acts?
    pub(crate) fn turn(&self, waits: &Waits) -> QueueTurn {
        let call =
            |next: Option<&Waiting>| next.map_or(QueueTurn::Nobody, |next| QueueTurn::Thread(next.thread));
        let first = waits.first(|_| true);
        match self.subsystem {
            Subsystem::Async => QueueTurn::Here,
            Subsystem::Worker => QueueTurn::Worker,
            // A lock goes to who spins for it, not to who has lost its core meanwhile; that one tries again when it has one.
            Subsystem::Sync | Subsystem::Caller => call(waits.first(|each| each.awake)),
            Subsystem::Stm => call(first),
            Subsystem::Atm => match first {
                None => QueueTurn::Nobody,
                Some(first) if first.stands && first.kind != Kind::Write => {
                    call(waits.first(|each| each.stands && each.kind != Kind::Write && each.awake))
                }
                Some(first) => {
                    let unplugged = first.since + self.limits.unplug_ns;
                    let many = waits.waiting.len() >= self.limits.unplug_count;
                    let reads = waits.at(|each| each.kind != Kind::Write).is_some();
                    if many || reads || waits.now >= unplugged {
                        QueueTurn::Worker
                    } else {
                        QueueTurn::Not(unplugged)
                    }
                }
            },
            Subsystem::Hybrid => match first {
                Some(first) if !first.stands => QueueTurn::Worker,
                // Who is awake need not be woken; older ones ride with it.
                first => call(waits.first(|each| each.stands && each.awake).or(first)),
            },
        }
    }

    /// Puts what `who` (absent: an interrupt, or the kernel's thread) takes as one command into `picked`: indices, rising.
    pub(crate) fn take(&self, waits: &Waits, who: Option<u32>, picked: &mut Vec<usize>) {
        match (self.subsystem, who) {
            (Subsystem::Worker, _) => picked.push(0),
            (Subsystem::Async, _) => run_of_neighbours(waits, self.limits.merge_bytes, picked),
            (Subsystem::Sync | Subsystem::Caller, _) | (Subsystem::Atm, Some(_)) => {
                picked.extend(waits.at(|each| each.stands && Some(each.thread) == who));
            }
            (Subsystem::Atm, None) => self.all_runs(waits, picked),
            (Subsystem::Stm, _) => {
                let own = waits.at(|each| Some(each.thread) == who).unwrap_or(0);
                all_like(waits, own, self.limits.batch, picked);
            }
            (Subsystem::Hybrid, _) => {
                let own = |each: &Waiting| who.map_or(!each.called, |who| each.stands && each.thread == who);
                let Some(own) = waits.at(own) else { return };
                all_like(waits, own, waits.most, picked);
                if picked.len() > self.limits.batch
                    && moves_data(waits.waiting[own].kind)
                    && self.runs(waits, picked).1 > self.limits.batch
                {
                    picked.clear();
                    all_like(waits, own, self.limits.batch.min(waits.most), picked);
                }
                picked.sort_unstable();
            }
        }
    }

    /// Manner of the thread whose request came last.
    pub(crate) fn manner(&self, waits: &Waits) -> Manner {
        match self.subsystem {
            Subsystem::Sync | Subsystem::Caller => Manner::Spins,
            Subsystem::Stm => Manner::Sleeps,
            Subsystem::Hybrid if waits.blocks => Manner::Sleeps,
            Subsystem::Async | Subsystem::Worker | Subsystem::Hybrid => Manner::Leaves,
            Subsystem::Atm => {
                let last = waits.waiting.back().expect("something came");
                let reads = last.kind != Kind::Write && waits.idle;
                if waits.held || reads { Manner::Spins } else { Manner::Leaves }
            }
        }
    }

    /// Takes all that is of the first's kind; neighbours count as one request of the extended command.
    fn all_runs(&self, waits: &Waits, picked: &mut Vec<usize>) {
        let kind = waits.waiting[0].kind;
        let inside = |index: &usize| waits.waiting[*index].kind == kind && !waits.waiting[*index].stands;
        picked.extend((0..waits.waiting.len()).filter(inside));
        if !moves_data(kind) {
            picked.truncate(1);
        }
        let fits = self.runs(waits, picked).0;
        picked.truncate(fits);
        picked.sort_unstable();
    }

    /// Sorts by place, and counts requests of an extended command, of which neighbours are one: how many of `picked` are within
    /// the most, and the requests of all.
    fn runs(&self, waits: &Waits, picked: &mut [usize]) -> (usize, usize) {
        picked.sort_by_key(|&index| waits.waiting[index].offset);
        let (mut runs, mut end, mut bytes, mut fits) = (0, None, 0, 0);
        for &index in picked.iter() {
            let Waiting { offset, length, .. } = waits.waiting[index];
            let length = u64::from(length);
            if end != Some(offset) || bytes + length > self.limits.merge_bytes {
                (runs, bytes) = (runs + 1, 0);
            }
            (end, bytes) = (Some(offset + length), bytes + length);
            fits += usize::from(runs <= self.limits.batch);
        }
        (fits, runs)
    }
}

/// Takes the first that waits, and those that follow it on the medium.
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

fn moves_data(kind: Kind) -> bool {
    matches!(kind, Kind::Read | Kind::Write)
}

/// Takes that one, and others of its kind, the oldest first.
fn all_like(waits: &Waits, own: usize, batch: usize, picked: &mut Vec<usize>) {
    let kind = waits.waiting[own].kind;
    let room = if moves_data(kind) { batch - 1 } else { 0 };
    let others = waits
        .waiting
        .iter()
        .enumerate()
        .filter(|&(index, each)| index != own && each.kind == kind && !each.called);
    picked.extend(others.map(|(index, _)| index).take(room));
    picked.push(own);
    picked.sort_unstable();
}
