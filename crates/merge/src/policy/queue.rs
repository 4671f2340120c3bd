//! How do requests of many threads meet, and who sends them?
//!
//! ```text
//!   join(request) ── nobody leads? ──► lead ── hold, if the rule says so ── take ──► Batch
//!        │ else                          ▲                                            │ carried, delivered
//!        └── sleep on the one word ◄─────┴──── wakes its callers and the oldest ◄─────┘ dropped: leave
//! ```
//!
//! What holds, and `tests/loom.rs` tries: while a batch may go and requests wait, the oldest of them was woken since, or a thread
//! is on its way that will see them. Whoever is awake may lead, if its own request is in the batch: so nobody is left behind,
//! nobody works for others longer than one batch, and the device need not wait for a sleeper when another thread is there.
//! Requests leave in the order of coming, so each waits for no more batches than are full of older ones.
//!
//! A lock and a `VecDeque`: see `policy/mod.rs` for what a list without a lock gave.

use std::time::Duration;

use super::lineup::{Lineup, Load, bit};
use super::sync::{Futex, Mutex, MutexGuard, pause};

/// Rule that a queue asks and tells under its lock. The default is synchronous temporal merge: nothing is held back.
pub(crate) trait BatchRule {
    /// The time that it is told with the rest, ns.
    fn now(&self) -> u64 {
        0
    }

    /// A request came.
    fn came(&mut self, _now: u64) {}

    /// Time that a winner still holds its batch back, which could go, with so many requests of at most `room`.
    fn hold(&mut self, _now: u64, _waiting: usize, _room: usize) -> Option<Duration> {
        None
    }

    /// A batch goes, one of `active`.
    fn goes(&mut self, _requests: usize, _active: usize) {}

    /// A batch that went at `since` is through, and its callers are woken next. How many may be on their way from now on?
    fn served(&mut self, _now: u64, _since: u64, _requests: usize) -> Option<usize> {
        None
    }
}

/// Nothing is held back.
#[derive(Debug, Default)]
pub(crate) struct AtOnce;

impl BatchRule for AtOnce {}

/// Meeting place of the requests of one file.
#[derive(Debug)]
pub(crate) struct Queue<T, R> {
    state: Mutex<QueueState<T, R>>,
    sleep: Futex,
}

#[derive(Debug)]
struct QueueState<T, R> {
    lineup: Lineup<T>,
    rule: R,
}

impl<T, R: BatchRule> Queue<T, R> {
    pub(crate) fn new(active_max: usize, batch_max: usize, rule: R) -> Queue<T, R> {
        let state = QueueState { lineup: Lineup::new(active_max, batch_max), rule };
        Queue { state: Mutex::new(state), sleep: Futex::default() }
    }

    fn state(&self) -> MutexGuard<'_, QueueState<T, R>> {
        self.state.lock().expect("nothing panics with it")
    }

    /// Wakes all who wait for a request of these bits.
    pub(crate) fn wake(&self, bits: u32) {
        if bits != 0 {
            self.sleep.wake(bits);
        }
    }

    /// Brings a request, and returns when it is `done`, or with the batch that the caller is to carry, its own in it.
    pub(crate) fn join(&self, item: T, done: impl Fn() -> bool) -> Option<Batch<'_, T, R>> {
        let events = self.sleep.events();
        let mut state = self.state();
        let QueueState { lineup, rule } = &mut *state;
        let now = rule.now();
        rule.came(now);
        let mut item = item;
        if lineup.is_clear() && rule.hold(now, 1, lineup.batch_max).is_none() {
            match lineup.go_alone(item) {
                Ok(load) => {
                    rule.goes(1, lineup.active());
                    return Some(self.batch(load, now));
                }
                Err(back) => item = back,
            }
        }
        Some(self.wait(state, item, events, done)?.gather())
    }

    /// Brings a request, and returns when it is `done`, or as the one who leads.
    pub(crate) fn lead(&self, item: T, done: impl Fn() -> bool) -> Option<Lead<'_, T, R>> {
        let events = self.sleep.events();
        let mut state = self.state();
        let now = state.rule.now();
        state.rule.came(now);
        self.wait(state, item, events, done)
    }

    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'_, QueueState<T, R>>,
        item: T,
        mut events: u32,
        done: impl Fn() -> bool,
    ) -> Option<Lead<'a, T, R>> {
        let ticket = state.lineup.push(item);
        let mut leads = state.lineup.lead(ticket);
        drop(state);
        while !leads {
            self.sleep.wait(events, bit(ticket));
            events = self.sleep.events();
            if done() {
                return None;
            }
            leads = self.state().lineup.lead(ticket);
        }
        Some(Lead { queue: self, leads: true })
    }

    fn batch(&self, load: Load<T>, since: u64) -> Batch<'_, T, R> {
        let (bits, size) = (load.bits(), load.len());
        Batch { queue: self, load, bits, size, since }
    }
}

/// The right to take, which one thread has at a time. Dropping it wakes the next.
#[derive(Debug)]
pub(crate) struct Lead<'a, T, R: BatchRule> {
    queue: &'a Queue<T, R>,
    leads: bool,
}

impl<'a, T, R: BatchRule> Lead<'a, T, R> {
    /// Takes the oldest, at most `room`; the caller carries them, and wakes their owners.
    pub(crate) fn take(&mut self, room: usize) -> Load<T> {
        self.queue.state().lineup.take(room)
    }

    /// Takes what is there, now or when the rule says so, and lets another lead.
    fn gather(mut self) -> Batch<'a, T, R> {
        let queue = self.queue;
        loop {
            let mut state = queue.state();
            let QueueState { lineup, rule } = &mut *state;
            let now = rule.now();
            if rule.hold(now, lineup.waiting(), lineup.batch_max).is_some() {
                drop(state);
                pause();
                continue;
            }
            let load = lineup.go();
            rule.goes(load.len(), lineup.active());
            let heir = lineup.heir();
            drop(state);
            self.leads = false;
            let batch = queue.batch(load, now);
            // There may be room for another batch.
            queue.wake(heir.map_or(0, bit));
            return batch;
        }
    }
}

impl<T, R: BatchRule> Drop for Lead<'_, T, R> {
    fn drop(&mut self) {
        if !self.leads {
            return;
        }
        let mut state = self.queue.state();
        state.lineup.abdicate();
        let heir = state.lineup.heir();
        drop(state);
        self.queue.wake(heir.map_or(0, bit));
    }
}

/// A winner's. Dropping it wakes those whose requests it took, and the next winner; whether or not it unwinds.
#[derive(Debug)]
pub(crate) struct Batch<'a, T, R: BatchRule> {
    queue: &'a Queue<T, R>,
    /// Requests to carry.
    pub(crate) load: Load<T>,
    bits: u32,
    size: usize,
    since: u64,
}

impl<T, R: BatchRule> Drop for Batch<'_, T, R> {
    fn drop(&mut self) {
        // What was not carried is given up before its owners wake.
        self.load.clear();
        let mut state = self.queue.state();
        let QueueState { lineup, rule } = &mut *state;
        lineup.leave();
        if let Some(active_max) = rule.served(rule.now(), self.since, self.size) {
            lineup.active_max = active_max;
        }
        let heir = lineup.heir();
        drop(state);
        // One by itself was the caller's own: there is nobody to wake.
        let others = if self.size > 1 { self.bits } else { 0 };
        self.queue.wake(others | heir.map_or(0, bit));
    }
}
