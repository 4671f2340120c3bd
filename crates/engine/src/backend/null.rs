//! The null engine: nobody is asked, and each I/O is done when it is handed over.
//!
//! What is left is the loop's own work. No call is made, and none is counted.

use std::collections::VecDeque;

use iostack_model::Carrier;
use iostack_workload::Op;

use crate::backend::{Entered, Patience, Queue};

const NOTHING: Entered = Entered { syscalls: 0, errno: 0 };

/// Slots that are done, and their bytes.
pub(crate) struct Null {
    done: VecDeque<(u32, i32)>,
}

impl Null {
    /// A backend for so many in flight.
    pub(crate) fn new(depth: u32) -> Null {
        Null { done: VecDeque::with_capacity(depth as usize) }
    }
}

impl Queue for Null {
    const SUBMITS_APART: bool = false;

    fn carrier(&self) -> Carrier {
        Carrier::Call
    }

    #[inline]
    fn push_all(&mut self, batch: impl Iterator<Item = (u32, Op, *mut u8)>) {
        self.done.extend(batch.map(|(slot, op, _)| (slot, op.length.cast_signed())));
    }

    #[inline]
    fn submit(&mut self) -> Entered {
        NOTHING
    }

    #[inline]
    fn submit_and_wait(&mut self, _: u32, _: Patience) -> Entered {
        NOTHING
    }

    #[inline]
    fn is_ready(&self) -> bool {
        !self.done.is_empty()
    }

    #[inline]
    fn reap(&mut self, most: u32, mut each: impl FnMut(u32, i32)) {
        let most = self.done.len().min(most as usize);
        self.done.drain(..most).for_each(|(slot, result)| each(slot, result));
    }
}
