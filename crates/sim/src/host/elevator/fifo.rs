//! What does a scheduler do that has no order? First come, first served.

use std::collections::VecDeque;

use super::{NextIo, QueuedIo, Scheduler};
use crate::engine::Time;

#[derive(Default)]
pub(super) struct Fifo {
    queue: VecDeque<u32>,
}

impl Scheduler for Fifo {
    fn add(&mut self, entry: QueuedIo, _: Time) {
        self.queue.push_back(entry.slot);
    }

    fn next(&mut self, _: Time) -> NextIo {
        self.queue.pop_front().map_or(NextIo::Nothing, NextIo::Go)
    }
}
