//! Does a batch come about without anybody waiting for it?
//!
//! Synchronous temporal merge (*Achieving Peak Device Throughput for Random IO Workload*, 2012): while one caller's batch is on
//! the device, others queue and sleep; the next winner takes all of them. Nothing is held back: a batch is as large as what came
//! during the one before.

use crate::sys::{Device, Pending, Request};

use super::Carry;
use super::queue::{AtOnce, Queue};
use super::send::send;

/// One batch at a time.
pub(crate) struct Stm {
    queue: Queue<Request, AtOnce>,
}

impl Stm {
    pub(crate) fn new(batch_max: usize) -> Stm {
        Stm { queue: Queue::new(1, batch_max, AtOnce) }
    }
}

impl Carry for Stm {
    fn carry(&self, device: &dyn Device, request: Request, pending: &Pending<'_>) {
        if let Some(mut batch) = self.queue.join(request, || pending.is_done()) {
            send(device, &mut batch.load);
        }
    }
}
