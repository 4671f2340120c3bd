//! How does a batch travel by libaio?
//!
//! `io_submit` hands control blocks over, `io_getevents` waits: two calls for a batch. The kernel works on them while the caller does
//! not wait only with direct I/O; a buffered read or write is done inside of `io_submit`, one after another. Containers that
//! forbid `io_uring` mostly allow this (Docker's default seccomp profile does).

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use iostack_ring::{ControlBlock, told};

use super::idle::{self, Idle};
use super::pread::{ENTRIES, call};
use super::{Finished, Lane, Op, Pread, Request, Slots, generation};

/// Fails as the kernel does, when it makes no context for this process.
pub(super) fn probe() -> io::Result<()> {
    take().map(|context| idle::give_back(&IDLE, context))
}

/// Lane by a context, unless none can be had.
pub(super) fn lane(depth: usize, file: &Arc<File>) -> Option<Box<dyn Lane>> {
    let (file, calls) = (file.clone(), Pread::new(file.clone()));
    let context = Some(take().ok()?);
    Some(Box::new(AioLane { context, depth: depth.clamp(1, ENTRIES as usize), file, calls }))
}

thread_local! {
    static IDLE: RefCell<Idle<Box<Context>>> = const { RefCell::new(Idle::new()) };
}

/// An empty context for the calling thread.
fn take() -> io::Result<Box<Context>> {
    idle::take(&IDLE).map_or_else(|| Context::new().map(Box::new), Ok)
}

/// An asynchronous context, which no child inherits, and the requests in it.
struct Context {
    kernel: iostack_ring::Context,
    generation: u64,
    slots: Slots,
    queued: Vec<ControlBlock>,
}

impl Context {
    fn new() -> io::Result<Context> {
        Ok(Context {
            kernel: iostack_ring::Context::new(ENTRIES)?,
            generation: generation(),
            slots: Slots::new(ENTRIES),
            queued: Vec::with_capacity(ENTRIES as usize),
        })
    }

    fn push(&mut self, request: Request, file: RawFd) {
        let (write, address, offset) = (request.op() == Op::Write, request.address(), request.offset());
        let length = request.length() as u32;
        let slot = self.slots.put(request);
        self.queued.push(ControlBlock::new(slot, write, file, address, length, offset));
    }

    /// Requests that the kernel has.
    fn in_flight(&self) -> usize {
        self.slots.held() - self.queued.len()
    }

    /// Hands what is queued to the kernel, which may take a part of it; an error is that of the first.
    fn submit(&mut self) -> io::Result<()> {
        let blocks: Vec<*const ControlBlock> = self.queued.iter().map(std::ptr::from_ref).collect();
        // SAFETY: the control blocks live for the call; the memory they name is that of requests that lie in their slots until
        // their events have come.
        let taken = told(unsafe { self.kernel.submit(&blocks) })?;
        self.queued.drain(..taken);
        Ok(())
    }

    /// Waits for `least` events; how many came.
    fn reap(&mut self, least: usize, finished: &mut Vec<Finished>) -> usize {
        let before = finished.len();
        if let Err(errno) = self.kernel.wait(least as u32, None) {
            passing(&io::Error::from_raw_os_error(errno));
        }
        let Context { kernel, slots, .. } = self;
        kernel.reap(u32::MAX, |slot, result| finished.push(Finished::of_call(slots.take(slot), result)));
        finished.len() - before
    }
}

/// A signal is no reason to stop. After any other error the kernel may be writing to memory that must not be given back, and
/// there is no way to know until when.
fn passing(error: &io::Error) {
    if error.kind() != io::ErrorKind::Interrupted {
        eprintln!("iostack-merge: cannot wait for libaio, which has requests in flight: {error}");
        std::process::abort();
    }
}

struct AioLane {
    /// Always there until the lane is dropped.
    context: Option<Box<Context>>,
    depth: usize,
    file: Arc<File>,
    calls: Pread,
}

impl AioLane {
    fn context(&mut self) -> &mut Context {
        self.context.as_mut().expect("it is taken by drop alone")
    }

    /// Sends all that is queued. What the kernel does not take for lack of room is done by a plain call, what it refuses fails.
    fn send(&mut self, finished: &mut Vec<Finished>) -> usize {
        let mut came = 0;
        while !self.context().queued.is_empty() {
            let Err(error) = self.context().submit() else { continue };
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            let first = self.context().queued.remove(0);
            let request = self.context().slots.take(first.slot());
            let result = match error.raw_os_error() {
                Some(libc::EAGAIN | libc::ENOMEM) => call(&self.calls, &request),
                _ => Err(error),
            };
            finished.push(Finished::new(request, result));
            came += 1;
        }
        came
    }
}

impl Lane for AioLane {
    fn depth(&self) -> usize {
        self.depth
    }

    fn held(&self) -> usize {
        self.context.as_ref().map_or(0, |context| context.slots.held())
    }

    fn push(&mut self, request: Request) {
        let file = self.file.as_raw_fd();
        self.context().push(request, file);
    }

    fn enter(&mut self, least: usize, finished: &mut Vec<Finished>) {
        let least = least.min(self.held());
        let mut came = self.send(finished);
        loop {
            let wanted = least.saturating_sub(came);
            if self.context().in_flight() > 0 {
                came += self.context().reap(wanted, finished);
            }
            if came >= least {
                return;
            }
        }
    }
}

impl Drop for AioLane {
    fn drop(&mut self) {
        let Some(mut context) = self.context.take() else { return };
        if context.generation != generation() {
            // A child's copy of its parent's lane: what is in flight there is no matter of ours.
            return std::mem::forget(context);
        }
        let mut finished = Vec::new();
        while context.in_flight() > 0 {
            context.reap(context.in_flight(), &mut finished);
        }
        context.queued.clear();
        drop(context.slots.take_all());
        idle::give_back(&IDLE, context);
        finished.into_iter().for_each(Finished::deliver);
    }
}
