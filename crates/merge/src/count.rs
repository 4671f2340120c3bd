//! How many requests were sent, in how many batches?

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sys::{Device, Finished, Lane, Request};

/// Counts of what was sent to a device; for C `struct iostack_merge_stats`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Reads and writes; the rest of a short one is another.
    pub requests: u64,
    /// Batches they were sent in; a plain call is a batch of one.
    pub batches: u64,
    /// Requests in the largest batch.
    pub batch_max: u64,
}

/// The shared words behind [`Stats`].
#[derive(Debug, Default)]
pub(crate) struct Counts {
    requests: AtomicU64,
    batches: AtomicU64,
    batch_max: AtomicU64,
}

impl Counts {
    fn sent(&self, requests: u64) {
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.batches.fetch_add(1, Ordering::Relaxed);
        if self.batch_max.load(Ordering::Relaxed) < requests {
            self.batch_max.fetch_max(requests, Ordering::Relaxed);
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats {
            requests: self.requests.load(Ordering::Relaxed),
            batches: self.batches.load(Ordering::Relaxed),
            batch_max: self.batch_max.load(Ordering::Relaxed),
        }
    }
}

/// A device whose requests are counted on their way.
pub(crate) struct CountedDevice {
    device: Arc<dyn Device>,
    counts: Arc<Counts>,
}

impl CountedDevice {
    pub(crate) fn new(device: Arc<dyn Device>) -> CountedDevice {
        CountedDevice { device, counts: Arc::default() }
    }

    pub(crate) fn counts(&self) -> Arc<Counts> {
        self.counts.clone()
    }
}

impl Device for CountedDevice {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.counts.sent(1);
        self.device.read(buffer, offset)
    }

    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        self.counts.sent(1);
        self.device.write(buffer, offset)
    }

    fn lane(&self, depth: usize) -> io::Result<Box<dyn Lane>> {
        Ok(Box::new(CountedLane { lane: self.device.lane(depth)?, counts: self.counts.clone(), queued: 0 }))
    }

    fn batch_max(&self) -> usize {
        self.device.batch_max()
    }

    fn name(&self) -> &'static str {
        self.device.name()
    }

    fn len(&self) -> io::Result<u64> {
        self.device.len()
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        self.device.sync(data_only)
    }
}

struct CountedLane {
    lane: Box<dyn Lane>,
    counts: Arc<Counts>,
    queued: u64,
}

impl Lane for CountedLane {
    fn depth(&self) -> usize {
        self.lane.depth()
    }

    fn held(&self) -> usize {
        self.lane.held()
    }

    fn push(&mut self, request: Request) {
        self.queued += 1;
        self.lane.push(request);
    }

    fn enter(&mut self, least: usize, finished: &mut Vec<Finished>) {
        if self.queued > 0 {
            self.counts.sent(self.queued);
            self.queued = 0;
        }
        self.lane.enter(least, finished);
    }
}
