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
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use io_uring::{EnterFlags, IoUring, opcode, squeue, types};

use super::idle::{self, Idle};
use super::pread::CallLane;
use super::{Device, Finished, Lane, Op, Pread, Request, generation};

/// Requests that a ring has room for: 8 KiB of the kernel's memory for each thread that sends batches.
const ENTRIES: u32 = 128;

/// A file by `io_uring`.
#[derive(Debug)]
pub(crate) struct Uring {
    calls: Pread,
    file: Arc<File>,
}

impl Uring {
    /// The error is the kernel's, when it makes no rings for this process.
    pub(crate) fn new(file: Arc<File>) -> io::Result<Uring> {
        idle::give_back(&IDLE, take()?);
        Ok(Uring { calls: Pread::new(file.clone()), file })
    }
}

impl Device for Uring {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.calls.read(buffer, offset)
    }

    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        self.calls.write(buffer, offset)
    }

    /// Where no more rings can be had (descriptors, memory), plain calls.
    fn lane(&self, depth: usize) -> io::Result<Box<dyn Lane>> {
        let depth = depth.clamp(1, ENTRIES as usize);
        match take() {
            Ok(ring) => Ok(Box::new(UringLane::new(ring, depth, self.file.clone()))),
            Err(_) => Ok(Box::new(CallLane::new(Pread::new(self.file.clone()), depth))),
        }
    }

    fn batch_max(&self) -> usize {
        ENTRIES as usize
    }

    fn name(&self) -> &'static str {
        "io_uring"
    }

    fn len(&self) -> io::Result<u64> {
        self.calls.len()
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        self.calls.sync(data_only)
    }
}

thread_local! {
    static IDLE: RefCell<Idle<Box<Ring>>> = const { RefCell::new(Idle::new()) };
}

/// An empty ring for the calling thread.
fn take() -> io::Result<Box<Ring>> {
    idle::take(&IDLE).map_or_else(|| Ring::new().map(Box::new), Ok)
}

struct Ring {
    uring: IoUring,
    generation: u64,
    /// By the number that the kernel gives back; filled while a request is queued or in flight.
    slots: Vec<Option<Request>>,
    free: Vec<u32>,
    /// Slots of what the kernel has not taken yet, in the order of the submission ring.
    queued: VecDeque<u32>,
    /// Queued and in flight.
    held: usize,
}

impl Ring {
    fn new() -> io::Result<Ring> {
        Ok(Ring {
            uring: build()?,
            generation: generation(),
            slots: (0..ENTRIES).map(|_| None).collect(),
            free: (0..ENTRIES).rev().collect(),
            queued: VecDeque::with_capacity(ENTRIES as usize),
            held: 0,
        })
    }

    fn push(&mut self, request: Request, file: RawFd) {
        let slot = self.free.pop().expect("a lane is not pushed to beyond its depth");
        let entry = entry(&request, file).user_data(u64::from(slot));
        // SAFETY: the request stays in its slot, and so its memory is the kernel's, until the completion has come or the ring
        // is closed.
        let pushed = unsafe { self.uring.submission().push(&entry) };
        pushed.expect("the ring has an entry for each slot");
        self.slots[slot as usize] = Some(request);
        self.queued.push_back(slot);
        self.held += 1;
    }

    /// Requests that the kernel has.
    fn in_flight(&self) -> usize {
        self.held - self.queued.len()
    }

    /// One call: sends `send` of what is queued, waits for `least` completions.
    fn enter(&mut self, send: usize, least: usize) -> io::Result<()> {
        // SAFETY: every entry in the ring names memory of a request that lies in its slot.
        let taken = unsafe {
            self.uring.submitter().enter::<libc::sigset_t>(
                send as u32,
                least as u32,
                EnterFlags::GETEVENTS.bits(),
                None,
            )
        }?;
        self.queued.drain(..taken);
        Ok(())
    }

    /// What has completed; how many.
    fn reap(&mut self, finished: &mut Vec<Finished>) -> usize {
        let before = finished.len();
        for completion in self.uring.completion() {
            let slot = completion.user_data() as u32;
            let request = self.slots[slot as usize].take().expect("a completion has its request");
            self.free.push(slot);
            finished.push(Finished::of_call(request, completion.result()));
        }
        let count = finished.len() - before;
        self.held -= count;
        count
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
        let unsent = self.slots.iter_mut().filter_map(Option::take).collect();
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

fn entry(request: &Request, file: RawFd) -> squeue::Entry {
    let (file, address, length) = (types::Fd(file), request.address(), request.length() as u32);
    match request.op() {
        Op::Read => opcode::Read::new(file, address, length).offset(request.offset()).build(),
        Op::Write => opcode::Write::new(file, address, length).offset(request.offset()).build(),
    }
}

/// The best ring that this kernel makes.
fn build() -> io::Result<IoUring> {
    let best = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun()
        .setup_submit_all()
        .dontfork()
        .build(ENTRIES);
    match best {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
        result => return result,
    }
    // 5.19, and older.
    match IoUring::builder().setup_coop_taskrun().setup_submit_all().dontfork().build(ENTRIES) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            IoUring::builder().dontfork().build(ENTRIES)
        }
        result => result,
    }
}

struct UringLane {
    /// None after the kernel has refused requests: plain calls from then on.
    ring: Option<Box<Ring>>,
    calls: CallLane,
    depth: usize,
    file: Arc<File>,
}

impl UringLane {
    fn new(ring: Box<Ring>, depth: usize, file: Arc<File>) -> UringLane {
        let calls = CallLane::new(Pread::new(file.clone()), depth);
        UringLane { ring: Some(ring), calls, depth, file }
    }

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
        self.ring.as_ref().map_or(0, |ring| ring.held) + self.calls.held()
    }

    fn push(&mut self, request: Request) {
        match &mut self.ring {
            Some(ring) => ring.push(request, self.file.as_raw_fd()),
            None => self.calls.push(request),
        }
    }

    fn enter(&mut self, least: usize, finished: &mut Vec<Finished>) {
        let Some(ring) = &mut self.ring else { return self.calls.enter(least, finished) };
        let least = least.min(ring.held);
        let mut came = 0;
        let mut refusals = 0;
        loop {
            let result = ring.enter(ring.queued.len(), least.saturating_sub(came));
            came += ring.reap(finished);
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Memory may come back when something is through, or after a moment.
                Err(error) if ring.queued.is_empty() => transient(&error),
                Err(_) if refusals < REFUSALS_MAX => {
                    refusals += 1;
                    came += ring.wait_for_one(finished);
                }
                Err(_) => return self.give_up(finished),
                Ok(()) if ring.queued.is_empty() && came >= least => return,
                Ok(()) => {}
            }
        }
    }
}

/// How often a kernel without memory is asked before plain calls do its work.
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
        if ring.queued.is_empty() {
            idle::give_back(&IDLE, ring);
        } else {
            drop(ring.close());
        }
        finished.into_iter().for_each(Finished::deliver);
    }
}
