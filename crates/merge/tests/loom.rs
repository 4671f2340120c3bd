//! Is anybody left behind in the combining queue, whatever the order of the threads' steps?
//!
//! A process of its own: loom's lock and threads stand where others' tests would have the real ones. The same source as the library's, on loom's lock and on a model of the futex: every order of steps with a few preemptions.

#[path = "../src/policy/lineup.rs"]
mod lineup;
#[path = "../src/policy/queue.rs"]
mod queue;

/// Lock and futex of the model.
mod sync {
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    pub(crate) use loom::thread::yield_now as pause;

    use loom::sync::Condvar;
    use loom::sync::atomic::{AtomicU32, Ordering};

    /// Model of the kernel's: comparing and falling asleep is one step, a wake-up takes all whose bits are meant.
    #[derive(Debug)]
    pub(crate) struct Futex {
        word: AtomicU32,
        sleepers: Mutex<Vec<(u32, u32)>>,
        woken: Condvar,
    }

    impl Default for Futex {
        fn default() -> Futex {
            Futex { word: AtomicU32::new(0), sleepers: Mutex::new(Vec::new()), woken: Condvar::new() }
        }
    }

    impl Futex {
        pub(crate) fn events(&self) -> u32 {
            self.word.load(Ordering::Acquire)
        }

        pub(crate) fn wait(&self, events: u32, bits: u32) {
            let mut sleepers = self.sleepers.lock().expect("nothing panics with it");
            if self.word.load(Ordering::Relaxed) != events {
                return;
            }
            let number = sleepers.iter().map(|&(number, _)| number + 1).max().unwrap_or(0);
            sleepers.push((number, bits));
            while sleepers.contains(&(number, bits)) {
                sleepers = self.woken.wait(sleepers).expect("nothing panics with it");
            }
        }

        pub(crate) fn wake(&self, bits: u32) {
            self.word.fetch_add(1, Ordering::Release);
            let mut sleepers = self.sleepers.lock().expect("nothing panics with it");
            sleepers.retain(|&(_, theirs)| theirs & bits == 0);
            drop(sleepers);
            self.woken.notify_all();
        }
    }
}

use std::time::Duration;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use queue::{AtOnce, BatchRule, Queue};

/// A request: it is completed once, or given up once.
struct Item(Arc<AtomicU32>);

impl Item {
    fn complete(self) {
        drop(self);
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        assert_eq!(self.0.fetch_add(1, Ordering::Release), 0, "completed twice");
    }
}

fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// A caller's request goes through the queue as with `Stm`.
fn call<R: BatchRule>(queue: &Queue<Item, R>) {
    let state = Arc::new(AtomicU32::new(0));
    let done = || state.load(Ordering::Acquire) == 1;
    if let Some(mut batch) = queue.join(Item(state.clone()), done) {
        batch.load.drain().for_each(Item::complete);
    }
    assert!(done(), "returned before its request was completed");
}

/// The same with a leader that sends for all until its own is done.
fn follow(queue: &Queue<Item, AtOnce>) {
    let state = Arc::new(AtomicU32::new(0));
    let done = || state.load(Ordering::Acquire) == 1;
    if let Some(mut lead) = queue.lead(Item(state.clone()), done) {
        while !done() {
            let mut load = lead.take(1);
            let mut bits = 0;
            for (item, bit) in load.drain_with_bits() {
                item.complete();
                bits |= bit;
            }
            queue.wake(bits);
        }
    }
    assert!(done(), "returned before its request was completed");
}

fn run<R: BatchRule + Send + 'static>(callers: usize, queue: Queue<Item, R>, call: fn(&Queue<Item, R>)) {
    let queue = Arc::new(queue);
    let others: Vec<_> = (1..callers)
        .map(|_| {
            let queue = queue.clone();
            thread::spawn(move || call(&queue))
        })
        .collect();
    call(&queue);
    for other in others {
        other.join().expect("it does not panic");
    }
}

#[test]
fn nobody_is_left_behind_by_a_winner() {
    explore(2, || run(3, Queue::new(1, 8, AtOnce), call));
}

#[test]
fn nobody_is_left_behind_when_a_batch_is_full() {
    explore(2, || run(3, Queue::new(1, 1, AtOnce), call));
}

#[test]
fn nobody_is_left_behind_by_two_winners() {
    explore(2, || run(3, Queue::new(2, 8, AtOnce), call));
}

#[test]
fn nobody_is_left_behind_by_a_leader() {
    explore(2, || run(3, Queue::new(1, 8, AtOnce), follow));
}

/// Holds the first batch back for a while.
struct Once(bool);

impl BatchRule for Once {
    fn hold(&mut self, _now: u64, _waiting: usize, _room: usize) -> Option<Duration> {
        std::mem::take(&mut self.0).then_some(Duration::from_nanos(1))
    }
}

#[test]
fn nobody_is_left_behind_by_a_winner_that_holds_its_batch_back() {
    explore(3, || run(2, Queue::new(1, 8, Once(true)), call));
}

#[test]
fn a_winner_that_gives_up_wakes_all_whose_requests_it_had() {
    explore(2, || {
        run(3, Queue::new(1, 8, AtOnce), |queue| {
            let state = Arc::new(AtomicU32::new(0));
            let done = || state.load(Ordering::Acquire) == 1;
            // The batch, and the requests in it, are dropped as when it unwinds.
            drop(queue.join(Item(state.clone()), done));
            assert!(done(), "its request is lost");
        });
    });
}
