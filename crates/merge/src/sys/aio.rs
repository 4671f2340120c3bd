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

use super::idle::{self, Idle};
use super::pread::call;
use super::{Device, Finished, Lane, Op, Pread, Request, generation};

/// Requests that a context has room for. The system's contexts share `fs.aio-max-nr`, by default 65,536.
const ENTRIES: usize = 128;

/// `struct iocb` of `linux/aio_abi.h`, little-endian layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct ControlBlock {
    data: u64,
    key: u32,
    flags: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    block_flags: u32,
    event_file: u32,
}

const _: () = assert!(size_of::<ControlBlock>() == 64);

/// `IOCB_CMD_PREAD` and `IOCB_CMD_PWRITE`.
const READ: u16 = 0;
const WRITE: u16 = 1;

/// `struct io_event` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    result2: i64,
}

const _: () = assert!(size_of::<Event>() == 32);

/// A file by libaio.
#[derive(Debug)]
pub(crate) struct Aio {
    calls: Pread,
    file: Arc<File>,
}

impl Aio {
    /// The error is the kernel's, when it makes no context for this process.
    pub(crate) fn new(file: Arc<File>) -> io::Result<Aio> {
        idle::give_back(&IDLE, take()?);
        Ok(Aio { calls: Pread::new(file.clone()), file })
    }
}

impl Device for Aio {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.calls.read(buffer, offset)
    }

    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        self.calls.write(buffer, offset)
    }

    /// Where no more contexts can be had, plain calls.
    fn lane(&self, depth: usize) -> io::Result<Box<dyn Lane>> {
        let calls = Pread::new(self.file.clone());
        match take() {
            Ok(context) => {
                let depth = depth.clamp(1, ENTRIES);
                Ok(Box::new(AioLane { context: Some(context), depth, file: self.file.clone(), calls }))
            }
            Err(_) => calls.lane(depth),
        }
    }

    fn batch_max(&self) -> usize {
        ENTRIES
    }

    fn name(&self) -> &'static str {
        "libaio"
    }

    fn len(&self) -> io::Result<u64> {
        self.calls.len()
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        self.calls.sync(data_only)
    }
}

thread_local! {
    static IDLE: RefCell<Idle<Box<Context>>> = const { RefCell::new(Idle::new()) };
}

/// An empty context for the calling thread.
fn take() -> io::Result<Box<Context>> {
    idle::take(&IDLE).map_or_else(|| Context::new().map(Box::new), Ok)
}

/// An asynchronous context, which no child inherits.
struct Context {
    id: usize,
    generation: u64,
    /// By the number that the kernel gives back; filled while a request is queued or in flight.
    slots: Vec<Option<Request>>,
    free: Vec<u32>,
    /// What the kernel has not taken yet.
    queued: Vec<ControlBlock>,
    events: Vec<Event>,
    in_flight: usize,
}

impl Context {
    fn new() -> io::Result<Context> {
        let mut id = 0_usize;
        // SAFETY: io_setup writes one word, the context, to the pointer.
        let status = unsafe { libc::syscall(libc::SYS_io_setup, ENTRIES, &raw mut id) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Context {
            id,
            generation: generation(),
            slots: (0..ENTRIES).map(|_| None).collect(),
            free: (0..ENTRIES as u32).rev().collect(),
            queued: Vec::with_capacity(ENTRIES),
            events: vec![Event::default(); ENTRIES],
            in_flight: 0,
        })
    }

    fn push(&mut self, request: Request, file: RawFd) {
        let slot = self.free.pop().expect("a lane is not pushed to beyond its depth");
        self.queued.push(ControlBlock {
            data: u64::from(slot),
            opcode: if request.op() == Op::Read { READ } else { WRITE },
            file: file.cast_unsigned(),
            buffer: request.address() as u64,
            length: request.length() as u64,
            offset: request.offset().cast_signed(),
            ..ControlBlock::default()
        });
        self.slots[slot as usize] = Some(request);
    }

    fn free(&mut self, slot: u64) -> Request {
        self.free.push(slot as u32);
        self.slots[slot as usize].take().expect("a completion has its request")
    }

    /// Hands what is queued to the kernel, which may take a part of it; an error is that of the first.
    fn submit(&mut self) -> io::Result<()> {
        let blocks: Vec<*const ControlBlock> = self.queued.iter().map(std::ptr::from_ref).collect();
        // SAFETY: the control blocks live for the call, which copies them; the memory they name is that of requests that lie in
        // their slots until their events have come.
        let taken = unsafe { libc::syscall(libc::SYS_io_submit, self.id, blocks.len(), blocks.as_ptr()) };
        let taken = usize::try_from(taken).map_err(|_| io::Error::last_os_error())?;
        self.queued.drain(..taken);
        self.in_flight += taken;
        Ok(())
    }

    /// Waits for `least` events; how many came.
    fn reap(&mut self, least: usize, finished: &mut Vec<Finished>) -> usize {
        let room = self.events.len();
        let events = self.events.as_mut_ptr();
        let no_limit = std::ptr::null::<libc::timespec>();
        // SAFETY: the kernel writes at most `room` events where that many fit.
        let came = unsafe { libc::syscall(libc::SYS_io_getevents, self.id, least, room, events, no_limit) };
        let Ok(came) = usize::try_from(came) else {
            passing(&io::Error::last_os_error());
            return 0;
        };
        for index in 0..came {
            let Event { data, result, .. } = self.events[index];
            finished.push(Finished::of_call(self.free(data), result as i32));
        }
        self.in_flight -= came;
        came
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

impl Drop for Context {
    fn drop(&mut self) {
        if self.generation == generation() {
            // SAFETY: the context came from io_setup; io_destroy waits for what is in flight.
            unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
        }
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
            let request = self.context().free(first.data);
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
        self.context.as_ref().map_or(0, |context| context.in_flight + context.queued.len())
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
            if self.context().in_flight > 0 {
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
        while context.in_flight > 0 {
            context.reap(context.in_flight, &mut finished);
        }
        context.queued.clear();
        for slot in 0..ENTRIES as u32 {
            if context.slots[slot as usize].is_some() {
                drop(context.free(u64::from(slot)));
            }
        }
        idle::give_back(&IDLE, context);
        finished.into_iter().for_each(Finished::deliver);
    }
}
