//! How does a batch travel by `io_uring`?
//!
//! ```text
//!   push ─► submission ring ─► enter: sends all that is queued, and waits ─► completion ring ─► finished
//!           one call of the kernel for a whole batch
//! ```
//!
//! A ring belongs to the thread that made it, which lends it to one lane after another (`idle.rs`): the kernel then
//! runs completions in that thread and only when it asks (`DEFER_TASKRUN`, 6.1), without locks (`SINGLE_ISSUER`, 6.0). A request
//! stays in its slot here until its completion has come, whatever happens: what the kernel refused to take is still in
//! the ring, so such a ring is closed before its requests are given back.
//!
//! Never more are in flight than the completion ring holds: it cannot overflow.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use iostack_ring::{RingOptions, WRITE, head_word, told};

use super::idle::{self, Idle};
use super::lane::AtOnceLane;
use super::pread::ENTRIES;
use super::{Finished, Lane, Op, Pread, Request, Slots, generation};

/// Fails as the kernel does, when it makes no rings for this process.
pub(super) fn probe() -> io::Result<()> {
    take().map(|ring| idle::give_back(&IDLE, ring))
}

/// Lane by a ring, unless none can be had.
pub(super) fn lane(depth: usize, file: &Arc<File>) -> Option<Box<dyn Lane>> {
    let (ring, depth) = (Some(take().ok()?), depth.clamp(1, ENTRIES as usize));
    let calls = AtOnceLane::new(Pread::new(file.clone()), depth);
    Some(Box::new(UringLane { ring, calls, depth, file: file.clone() }))
}

thread_local! {
    static IDLE: RefCell<Idle<Box<ThreadRing>>> = const { RefCell::new(Idle::new()) };
}

/// An empty ring for the calling thread.
fn take() -> io::Result<Box<ThreadRing>> {
    idle::take(&IDLE).map_or_else(|| ThreadRing::new().map(Box::new), Ok)
}

/// A ring, and the requests in it.
struct ThreadRing {
    kernel: iostack_ring::Ring,
    generation: u64,
    slots: Slots,
    queued: u32,
}

impl ThreadRing {
    /// The best ring that this kernel makes.
    fn new() -> io::Result<ThreadRing> {
        let options = RingOptions {
            entries: ENTRIES,
            submit_all: true,
            keep_from_children: true,
            ..RingOptions::default()
        };
        let kernel = iostack_ring::Ring::new(options)?;
        Ok(ThreadRing { kernel, generation: generation(), slots: Slots::new(ENTRIES), queued: 0 })
    }

    fn push(&mut self, request: Request, file: RawFd) {
        let head = head_word(file.cast_unsigned(), false, false);
        let head = if request.op() == Op::Write { head + WRITE } else { head };
        let (offset, address, length) = (request.offset(), request.address(), request.length() as u32);
        let slot = self.slots.put(request);
        let entry = iostack_ring::Request { head, offset, address, length, slot, buffer_index: 0 };
        // SAFETY: the request stays in its slot, and so its memory is the kernel's, until the completion has come or the ring
        // is closed; the ring has an entry for each slot.
        self.queued += unsafe { self.kernel.push_all::<false>(std::iter::once(entry)) };
    }

    /// Requests that the kernel has.
    fn in_flight(&self) -> u32 {
        self.slots.held() as u32 - self.queued
    }

    /// One call: sends `send` of what is queued, waits for `least` completions.
    fn enter(&mut self, send: u32, least: u32) -> io::Result<()> {
        self.queued -= told(self.kernel.enter_and_collect(send, least))? as u32;
        Ok(())
    }

    /// Takes what has completed; gives how many.
    fn reap(&mut self, finished: &mut Vec<Finished>) -> usize {
        let before = finished.len();
        let ThreadRing { kernel, slots, .. } = self;
        kernel.reap(u32::MAX, |slot, result| finished.push(Finished::of_call(slots.take(slot), result)));
        finished.len() - before
    }

    /// Waits for one of what the kernel has, or a moment, and sends nothing; how many came.
    fn wait_for_one(&mut self, finished: &mut Vec<Finished>) -> usize {
        if self.in_flight() == 0 {
            std::thread::yield_now();
        } else if let Err(error) = self.enter(0, 1) {
            transient(&error);
        }
        self.reap(finished)
    }

    /// Closes the ring; what the kernel has not taken.
    fn close(mut self: Box<Self>) -> Vec<Request> {
        assert_eq!(self.in_flight(), 0, "the ring was drained");
        let unsent = self.slots.take_all();
        drop(self);
        unsent
    }

    /// Waits for all that the kernel has, and sends nothing.
    fn drain(&mut self, finished: &mut Vec<Finished>) {
        self.reap(finished);
        while self.in_flight() > 0 {
            let waited = self.enter(0, self.in_flight());
            self.reap(finished);
            if let Err(error) = waited {
                transient(&error);
            }
        }
    }
}

/// Goes on after what passes. Whoever else's error this is, the kernel may be writing to memory that must not be given back, and
/// there is no way to know until when.
fn transient(error: &io::Error) {
    match error.raw_os_error() {
        Some(libc::EINTR) => {}
        Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM) => std::thread::yield_now(),
        _ => {
            eprintln!("iostack-merge: cannot wait for an io_uring that has requests in flight: {error}");
            std::process::abort();
        }
    }
}

struct UringLane {
    /// None after the kernel has refused requests: plain calls from then on.
    ring: Option<Box<ThreadRing>>,
    calls: AtOnceLane<Pread>,
    depth: usize,
    file: Arc<File>,
}

impl UringLane {
    /// The kernel takes no more: what it has is waited for; what it has not taken is done by plain calls, after the ring, where
    /// that still lies, was closed.
    fn give_up(&mut self, finished: &mut Vec<Finished>) {
        let Some(mut ring) = self.ring.take() else { return };
        ring.drain(finished);
        let unsent = ring.close();
        for request in unsent {
            self.calls.push(request);
        }
        self.calls.enter(0, finished);
    }
}

impl Lane for UringLane {
    fn depth(&self) -> usize {
        self.depth
    }

    fn held(&self) -> usize {
        self.ring.as_ref().map_or(0, |ring| ring.slots.held()) + self.calls.held()
    }

    fn push(&mut self, request: Request) {
        match &mut self.ring {
            Some(ring) => ring.push(request, self.file.as_raw_fd()),
            None => self.calls.push(request),
        }
    }

    fn enter(&mut self, least: usize, finished: &mut Vec<Finished>) {
        let Some(ring) = &mut self.ring else { return self.calls.enter(least, finished) };
        let least = least.min(ring.slots.held());
        let mut came = 0;
        let mut refusals = 0;
        loop {
            let result = ring.enter(ring.queued, least.saturating_sub(came) as u32);
            came += ring.reap(finished);
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Memory may come back when something is through, or after a moment.
                Err(error) if ring.queued == 0 => transient(&error),
                Err(_) if refusals < REFUSALS_MAX => {
                    refusals += 1;
                    came += ring.wait_for_one(finished);
                }
                Err(_) => return self.give_up(finished),
                Ok(()) if ring.queued == 0 && came >= least => return,
                Ok(()) => {}
            }
        }
    }
}

/// Number of times that a kernel without memory is asked before plain calls do its work.
const REFUSALS_MAX: u32 = 64;

impl Drop for UringLane {
    fn drop(&mut self) {
        let Some(mut ring) = self.ring.take() else { return };
        if ring.generation != generation() {
            // A child's copy of its parent's lane.
            return std::mem::forget(ring);
        }
        let mut finished = Vec::new();
        ring.drain(&mut finished);
        if ring.queued == 0 {
            idle::give_back(&IDLE, ring);
        } else {
            drop(ring.close());
        }
        finished.into_iter().for_each(Finished::deliver);
    }
}
