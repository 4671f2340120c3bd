//! Who sends for futures that no executor of ours polls?

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::scope::Lanes;
use crate::sys::{Device, Finished, Revocable, by_itself, generation};

/// Sends what futures of one file ask for, from a thread of its own that is started with the first.
///
/// When the file is closed, the thread finishes what it was given.
pub(crate) struct Gather {
    shared: Arc<Gathered>,
}

#[derive(Default)]
struct Gathered {
    queue: Mutex<WaitingTransfers>,
    bell: Condvar,
}

#[derive(Default)]
struct WaitingTransfers {
    waiting: VecDeque<Revocable>,
    closed: bool,
    /// The process that the thread is in.
    started: Option<u64>,
    running: bool,
    asleep: bool,
}

impl Gathered {
    fn lock(&self) -> MutexGuard<'_, WaitingTransfers> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next; `None` when there will be none.
    fn next(&self) -> Option<VecDeque<Revocable>> {
        let mut queue = self.lock();
        loop {
            if !queue.waiting.is_empty() {
                return Some(std::mem::take(&mut queue.waiting));
            }
            if queue.closed {
                return None;
            }
            queue.asleep = true;
            queue = self.bell.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.asleep = false;
        }
    }

    fn run(&self, device: &dyn Device) {
        let _ends = GivesBack(self);
        let mut lanes = Lanes::default();
        let mut finished = Vec::new();
        loop {
            let list = if lanes.held() {
                std::mem::take(&mut self.lock().waiting)
            } else {
                let Some(list) = self.next() else { return };
                list
            };
            for request in list.into_iter().filter_map(Revocable::claim) {
                if let Err(request) = lanes.push(device, 0, request) {
                    by_itself(device, request);
                }
            }
            if lanes.held() {
                lanes.serve(true, &mut finished);
            }
            finished.drain(..).for_each(Finished::deliver);
        }
    }
}

/// A thread that a panicking waker unwinds gives back what waits (`ECANCELED`); the next operation starts another.
struct GivesBack<'a>(&'a Gathered);

impl Drop for GivesBack<'_> {
    fn drop(&mut self) {
        let waiting = {
            let mut queue = self.0.lock();
            queue.running = false;
            std::mem::take(&mut queue.waiting)
        };
        drop(waiting);
    }
}

impl Gather {
    pub(crate) fn new() -> Gather {
        Gather { shared: Arc::default() }
    }

    pub(crate) fn put(&self, device: &Arc<dyn Device>, request: Revocable) {
        let mut queue = self.shared.lock();
        let now = generation();
        if *queue.started.get_or_insert(now) != now {
            // A forked child has no such thread.
            drop(queue);
            return request.claim().into_iter().for_each(|request| by_itself(&**device, request));
        }
        if !queue.running {
            let (shared, theirs) = (Arc::clone(&self.shared), Arc::clone(device));
            let thread = std::thread::Builder::new().name("file futures".to_owned());
            if thread.spawn(move || shared.run(&*theirs)).is_err() {
                drop(queue);
                return request.claim().into_iter().for_each(|request| by_itself(&**device, request));
            }
            queue.running = true;
        }
        queue.waiting.push_back(request);
        if queue.asleep {
            self.shared.bell.notify_one();
        }
    }
}

impl Drop for Gather {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.bell.notify_one();
    }
}
