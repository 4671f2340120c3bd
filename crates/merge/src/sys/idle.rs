//! What does a thread keep for its next lane?
//!
//! A ring or a context costs some 10 us and more to make. It is made once for a thread, and lent to one lane after another.

use std::cell::RefCell;
use std::thread::LocalKey;

use super::generation;

/// Kept at most; more are in use at a time only where lanes are nested.
const IDLE_MAX: usize = 4;

/// Rings or contexts that the calling thread has made and does not use. A child leaves its parent's alone: not even its
/// memory is unmapped.
pub(crate) struct Idle<T> {
    generation: u64,
    kept: Vec<T>,
}

impl<T> Idle<T> {
    pub(crate) const fn new() -> Idle<T> {
        Idle { generation: 0, kept: Vec::new() }
    }

    fn kept(&mut self) -> &mut Vec<T> {
        let now = generation();
        if self.generation != now {
            std::mem::take(&mut self.kept).into_iter().for_each(std::mem::forget);
            self.generation = now;
        }
        &mut self.kept
    }
}

impl<T> Drop for Idle<T> {
    fn drop(&mut self) {
        self.kept();
    }
}

/// One that is idle; none also while the thread ends.
pub(crate) fn take<T>(idle: &'static LocalKey<RefCell<Idle<T>>>) -> Option<T> {
    idle.try_with(|idle| idle.borrow_mut().kept().pop()).ok().flatten()
}

/// Keeps one that was made by this process, or drops it.
pub(crate) fn give_back<T>(idle: &'static LocalKey<RefCell<Idle<T>>>, item: T) {
    // While the thread ends, the item is just dropped.
    let _ = idle.try_with(|idle| {
        let mut idle = idle.borrow_mut();
        let kept = idle.kept();
        if kept.len() < IDLE_MAX {
            kept.push(item);
        }
    });
}
