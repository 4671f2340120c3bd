//! What is a thread about?

use std::collections::VecDeque;

use crate::engine::{Caller, RequestId, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ThreadState {
    /// It waits for an I/O, or for its program.
    #[default]
    Out,
    /// It sleeps for part of the time that its I/O takes, to look for it afterwards.
    Naps,
    /// It waits for a core.
    Queued,
    /// It runs on a core, until the core's `end`.
    Running,
    /// It has just given an I/O back on its core, and may ask for the next at the same moment.
    Lingers,
    /// It looks for its completion again and again, on its core.
    Spins,
}

/// Task of a running thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ThreadStep {
    Submit,
    /// It holds the lock of the I/O scheduler.
    Locked,
    Reap,
    Complete,
    Compute,
    #[default]
    Look,
    /// Steps for the subsystem, see `merge`: into line, until the doorbell, the doorbell of what was prepared, after the end, results to others.
    Enter,
    Dispatch,
    Ring,
    Retire,
    HandOut,
}

/// Manner in which a thread waits for its I/Os.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It sleeps until an interrupt wakes it.
    #[default]
    Sleep,
    /// It looks again and again.
    Spin,
    /// It sleeps for half the time that its I/Os take, then looks again and again.
    Nap,
}

/// A thread that submits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thread {
    pub(crate) state: ThreadState,
    pub(crate) step: ThreadStep,
    /// The core that it runs on, or ran on last.
    pub(crate) core: u32,
    pub(crate) wait: Wait,
    /// Index of its [`super::paths::Steps`].
    pub(crate) way: usize,
    pub(crate) batch_most: usize,
    /// I/Os it keeps in flight; when they are, it waits for so many to be through.
    pub(crate) depth: usize,
    pub(crate) complete_min: usize,
    /// I/Os that it waits for: submitted, not ready.
    pub(crate) issued: usize,
    /// Completions of it in a handler that runs; which wakes it.
    pub(crate) coming: usize,
    pub(crate) is_woken: bool,
    /// Asked for, not begun.
    pub(crate) todo: VecDeque<RequestId>,
    /// Requests of the step that runs.
    pub(crate) batch: Vec<RequestId>,
    /// Through, not picked up.
    pub(crate) ready: Vec<RequestId>,
    /// It computes for the kernel.
    pub(crate) in_kernel: bool,
    /// Rest of a computation, ns.
    pub(crate) left_ns: u64,
    /// It was asleep, and pays for running again.
    pub(crate) slept: bool,
    /// It has slept for this submission.
    pub(crate) napped: bool,
    /// It polls in the kernel, and is not to be displaced.
    pub(crate) keeps_core: bool,
    /// It spins since then.
    pub(crate) spins_from: Time,
    /// It has its core since then.
    pub(crate) since: Time,
    /// Cores it may use; all when absent.
    pub(crate) allowed: Option<Box<[u32]>>,
    /// The thread of the kernel that submits for it.
    pub(crate) helper: Option<u32>,
    /// It is such a thread: it never sleeps.
    pub(crate) helps: bool,
    /// The line whose completions it handles when interrupts may do no more.
    pub(crate) completes: Option<u32>,
    /// Time that its I/Os were with the drive, and how many.
    pub(crate) flown_ns: u64,
    pub(crate) flown: u64,
}

impl Thread {
    /// The thread of a caller, at first on this core.
    pub(crate) fn new(caller: &Caller, core: u32, way: usize, wait: Wait) -> Thread {
        Thread {
            core,
            wait,
            way,
            batch_most: caller.batch_submit.max(1) as usize,
            depth: caller.queue_depth.max(1) as usize,
            complete_min: caller.complete_min.max(1) as usize,
            allowed: caller.cpus.clone().map(Vec::into_boxed_slice),
            ..Thread::default()
        }
    }

    /// The thread of the kernel that submits for a caller.
    pub(crate) fn helper(caller: &Caller, core: u32, way: usize, wait: Wait) -> Thread {
        Thread {
            helps: true,
            batch_most: caller.queue_depth.max(1) as usize,
            complete_min: 1,
            allowed: None,
            ..Thread::new(caller, core, way, wait)
        }
    }

    /// A thread of the kernel's own.
    pub(crate) fn of_kernel(core: u32, way: usize) -> Thread {
        Thread { core, way, batch_most: 1, depth: 1, complete_min: 1, ..Thread::default() }
    }

    /// It has what it waits for, with so many more through.
    #[inline]
    pub(crate) fn has_enough(&self, more: usize) -> bool {
        let through = self.ready.len() + more;
        let most = self.issued + self.ready.len();
        through > 0 && (most < self.depth || through >= self.complete_min.min(most))
    }

    /// It has something to do on a core.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.todo.is_empty() || self.left_ns > 0 || self.has_enough(0)
    }

    /// It only looks, and may leave its core to others.
    #[inline]
    pub(crate) fn may_yield(&self) -> bool {
        self.state == ThreadState::Spins && !self.keeps_core
    }

    #[inline]
    pub(crate) fn may_use(&self, core: u32) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(&core))
    }
}
