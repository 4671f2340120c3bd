//! What does a policy see, and what does it say?

use std::collections::VecDeque;

use crate::engine::{Kind, RequestId, Time};

/// A request that waits for the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) id: RequestId,
    /// Who submitted it.
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

/// What a policy sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits<'a> {
    pub(crate) now: Time,
    /// In order of arrival; never empty.
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
    /// The first that nobody was told to dispatch.
    pub(super) fn first(&self) -> Option<&Waiting> {
        self.waiting.iter().find(|each| !each.called)
    }
}

/// Who dispatches?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nobody yet: something must come, or go.
    Nobody,
    /// Nobody before this moment, unless something comes.
    Not(Time),
    /// Whoever noticed that the drive has room: the thread that came, or the interrupt.
    Here,
    /// This thread.
    Thread(u32),
    /// The kernel's own thread.
    Worker,
}

/// How does a thread wait whose request came and is not dispatched by itself?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It does not: it goes on with its program.
    Leaves,
    /// On its core.
    Spins,
    Sleeps,
}

/// A policy.
pub(crate) trait Gather: Send {
    /// The drive has room: who acts?
    fn turn(&self, waits: &Waits) -> Turn;

    /// What `who` (absent: an interrupt, or the kernel's thread) takes as one command: indices, rising.
    fn take(&self, waits: &Waits, who: Option<u32>, picked: &mut Vec<usize>);

    /// How the thread waits whose request came last.
    fn manner(&self, waits: &Waits) -> Manner;

    /// Whoever dispatches polls for the end; else it is an interrupt that brings it.
    fn polls(&self) -> bool {
        true
    }

    /// The next command is prepared while the drive works on the present one.
    fn stages(&self) -> bool {
        false
    }
}

/// How much is gathered.
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

pub(super) fn moves_data(kind: Kind) -> bool {
    matches!(kind, Kind::Read | Kind::Write)
}

/// That one, and all others of its kind, the oldest first.
pub(super) fn all_like(waits: &Waits, own: usize, batch: usize, picked: &mut Vec<usize>) {
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
