//! What would a device do that serves one command at a time, c + b x?

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use iostack_batch::BatchCost;

use super::lane::{AtOnce, AtOnceLane};
use super::pread::perform;
use super::{Device, Finished, Lane, Request};
use crate::place::FileRange;

/// A device in memory with the extended command of *Achieving Peak Device Throughput for Random IO Workload* (2012): one command
/// at a time, b requests in one take `fixed` + b x `each` of real time, which is polled for.
#[derive(Clone, Debug)]
pub struct Simulated {
    shared: Arc<SimulatedMemory>,
}

#[derive(Debug)]
struct SimulatedMemory {
    memory: Mutex<Vec<u8>>,
    cost: BatchCost,
    /// Offsets from .. to answer `EIO`.
    broken: std::ops::Range<u64>,
    free_at: Mutex<Option<Instant>>,
}

impl Simulated {
    /// A device of `capacity` bytes, all zero.
    pub fn new(capacity: usize, cost: BatchCost) -> Simulated {
        Simulated::broken(capacity, cost, 0..0)
    }

    /// One whose requests fail with `EIO` when they touch these offsets.
    pub fn broken(capacity: usize, cost: BatchCost, broken: std::ops::Range<u64>) -> Simulated {
        let shared = SimulatedMemory {
            memory: Mutex::new(vec![0; capacity]),
            cost,
            broken,
            free_at: Mutex::new(None),
        };
        Simulated { shared: Arc::new(shared) }
    }

    fn memory(&self) -> MutexGuard<'_, Vec<u8>> {
        self.shared.memory.lock().expect("nothing panics with it")
    }

    /// Books a command of `requests` on the device, and polls until it is over.
    fn serve(&self, requests: usize) {
        let span = Duration::from_nanos(self.shared.cost.time_ns(requests as f64) as u64);
        let end = {
            let mut free_at = self.shared.free_at.lock().expect("nothing panics with it");
            let start = free_at.map_or_else(Instant::now, |free_at| free_at.max(Instant::now()));
            *free_at = Some(start + span);
            start + span
        };
        while Instant::now() < end {
            // On few processors the next request is made by who runs meanwhile.
            std::thread::yield_now();
        }
    }

    /// The part of a request that lies on the device, unless that is broken.
    fn place(&self, offset: u64, length: usize, capacity: usize) -> io::Result<std::ops::Range<usize>> {
        let first = usize::try_from(offset).unwrap_or(usize::MAX).min(capacity);
        let end = first.saturating_add(length).min(capacity);
        let broken = &self.shared.broken;
        if (first as u64) < broken.end && broken.start < end as u64 {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Ok(first..end)
    }

    fn copy_out(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let memory = self.memory();
        let place = self.place(offset, buffer.len(), memory.len())?;
        buffer[..place.len()].copy_from_slice(&memory[place.clone()]);
        Ok(place.len())
    }

    fn copy_in(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        let mut memory = self.memory();
        let place = self.place(offset, buffer.len(), memory.len())?;
        memory[place.clone()].copy_from_slice(&buffer[..place.len()]);
        Ok(place.len())
    }
}

impl Device for Simulated {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileRange::new(offset, buffer.len())?;
        self.serve(1);
        self.copy_out(buffer, offset)
    }

    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        FileRange::new(offset, buffer.len())?;
        self.serve(1);
        self.copy_in(buffer, offset)
    }

    fn lane(&self, depth: usize) -> io::Result<Box<dyn Lane>> {
        Ok(Box::new(AtOnceLane::new(self.clone(), depth)))
    }

    fn batch_max(&self) -> usize {
        256
    }

    fn name(&self) -> &'static str {
        "simulated"
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.memory().len() as u64)
    }
}

impl AtOnce for Simulated {
    fn carry(&mut self, queued: &mut Vec<Request>, finished: &mut Vec<Finished>) {
        let limit = self.batch_max();
        while !queued.is_empty() {
            let batch: Vec<Request> = queued.drain(..queued.len().min(limit)).collect();
            self.serve(batch.len());
            for request in batch {
                let result = perform(
                    &request,
                    |buffer, offset| self.copy_out(buffer, offset),
                    |buffer, offset| self.copy_in(buffer, offset),
                );
                finished.push(Finished::new(request, result));
            }
        }
    }
}
