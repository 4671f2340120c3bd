//! The posixaio engine: `aio_read`, `aio_write` and `aio_suspend` of the C library, whose threads make the calls.
//!
//! glibc gives all requests of one file to one thread, so that depth changes little there. It is here because people ask for it;
//! on Linux the other engines are what a program should use.

use std::os::fd::RawFd;

use iostack_model::{Carrier, Job};
use iostack_workload::Op;

use crate::backend::{Entered, Patience, Queue};
use crate::sys::posix_aio::Requests;
use crate::sys::queue;

/// Requests, one for each slot.
pub(crate) struct PosixAio {
    files: Vec<RawFd>,
    requests: Requests,
    /// Slots whose request was refused, and `-errno`.
    refused: Vec<(u32, i32)>,
    /// Requests handed over and not yet told of.
    started: u64,
}

impl PosixAio {
    /// A backend for the job's depth.
    pub(crate) fn new(job: &Job, files: Vec<RawFd>) -> PosixAio {
        let requests = Requests::new(job.queue_depth.max(1));
        PosixAio { files, requests, refused: Vec::new(), started: 0 }
    }
}

impl Queue for PosixAio {
    const SUBMITS_APART: bool = false;

    fn carrier(&self) -> Carrier {
        Carrier::Call
    }

    fn push_all(&mut self, batch: impl Iterator<Item = (u32, Op, *mut u8)>) {
        for (slot, op, buffer) in batch {
            let file = self.files[usize::from(op.file)];
            let result = queue::start(
                &mut self.requests,
                slot,
                op.direction != 0,
                file,
                (buffer, op.length),
                op.offset,
            );
            if result != 0 {
                self.refused.push((slot, result));
            }
            self.started += 1;
        }
    }

    fn submit(&mut self) -> Entered {
        Entered { syscalls: std::mem::take(&mut self.started), errno: 0 }
    }

    fn submit_and_wait(&mut self, _least: u32, patience: Patience) -> Entered {
        let entered = self.submit();
        if self.is_ready() {
            return entered;
        }
        let errno = match patience {
            Patience::Forever => self.requests.wait(None),
            Patience::Nanos(0) => 0,
            Patience::Nanos(ns) => self.requests.wait(Some(ns)),
        };
        // The time is over: EAGAIN, as `aio_suspend` says it.
        let errno = if errno == libc::EAGAIN { libc::ETIME } else { errno };
        Entered { syscalls: entered.syscalls + 1, errno }
    }

    fn is_ready(&self) -> bool {
        !self.refused.is_empty() || self.requests.is_ready()
    }

    fn reap(&mut self, most: u32, mut each: impl FnMut(u32, i32)) {
        for _ in 0..most {
            let Some((slot, result)) = self.refused.pop().or_else(|| self.requests.take()) else { return };
            each(slot, result);
        }
    }
}
