//! Which executor gets a task, and how does it learn of it?

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

use crate::sys::{Stack, Start, Task};

/// The executors of a scope, as others see them.
pub(crate) struct Pool {
    pub(crate) inboxes: Vec<Arc<Inbox>>,
    pub(crate) stack_bytes: usize,
    next: AtomicUsize,
}

impl Pool {
    pub(crate) fn new(executors: usize, stack_bytes: usize) -> Pool {
        let inboxes = (0..executors).map(|_| Arc::default()).collect();
        Pool { inboxes, stack_bytes, next: AtomicUsize::new(0) }
    }

    /// A task that an executor with nothing to do takes from another.
    pub(crate) fn steal(&self) -> Option<Task> {
        self.inboxes.iter().find_map(|inbox| inbox.pop())
    }

    /// No task comes any more.
    pub(crate) fn close(&self) {
        for inbox in &self.inboxes {
            inbox.lock().closed = true;
            inbox.bell.notify_all();
        }
    }
}

impl Start for Pool {
    /// Those that sleep first, else one after the other.
    fn start(&self, task: Task) {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let turn = |step| &self.inboxes[(first + step) % self.inboxes.len()];
        let asleep = (0..self.inboxes.len()).find(|&step| turn(step).asleep.load(Ordering::Relaxed));
        turn(asleep.unwrap_or(0)).put(|state| state.tasks.push_back(task));
    }
}

/// Inbox in which others leave work for an executor.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<InboxState>,
    bell: Condvar,
    /// Something may be in it: looked at before the lock is taken.
    filled: AtomicBool,
    asleep: AtomicBool,
}

#[derive(Default)]
struct InboxState {
    tasks: VecDeque<Task>,
    /// Coroutines whose waker was called.
    woken: Vec<usize>,
    closed: bool,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, put: impl FnOnce(&mut InboxState)) {
        let mut state = self.lock();
        put(&mut state);
        self.filled.store(true, Ordering::Relaxed);
        if self.asleep.swap(false, Ordering::Relaxed) {
            self.bell.notify_one();
        }
    }

    pub(crate) fn pop(&self) -> Option<Task> {
        if !self.filled.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = self.lock();
        let task = state.tasks.pop_front();
        self.filled.store(!state.tasks.is_empty() || !state.woken.is_empty(), Ordering::Relaxed);
        task
    }

    /// Those that were woken since.
    pub(crate) fn woken(&self, ready: &mut VecDeque<usize>) {
        if self.filled.load(Ordering::Relaxed) {
            ready.extend(self.lock().woken.drain(..));
        }
    }

    /// Sleeps until something is in it; whether more may come.
    pub(crate) fn sleep(&self) -> bool {
        let mut state = self.lock();
        loop {
            if !state.tasks.is_empty() || !state.woken.is_empty() {
                self.asleep.store(false, Ordering::Relaxed);
                return true;
            }
            if state.closed {
                return false;
            }
            self.asleep.store(true, Ordering::Relaxed);
            state = self.bell.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Wakes one coroutine. A call too many makes it look once more at what it waits for.
pub(crate) struct Wakes {
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) coroutine: usize,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.inbox.put(|state| state.woken.push(self.coroutine));
    }
}

/// Stacks that are kept from one scope to the next.
static KEPT: Mutex<Vec<Stack>> = Mutex::new(Vec::new());
const KEPT_MAX: usize = 256;

/// Takes kept stacks of this size.
pub(crate) fn take_stacks(bytes: usize, count: usize) -> Vec<Stack> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.extract_if(.., |stack| stack.bytes() == bytes).take(count).collect()
}

/// Keeps them for the next scope, as far as there is room.
pub(crate) fn keep_stacks(mut stacks: Vec<Stack>) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let room = KEPT_MAX - kept.len().min(KEPT_MAX);
    kept.extend(stacks.drain(..stacks.len().min(room)));
}
