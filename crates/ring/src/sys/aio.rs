//! libaio's system calls, and its completion ring read in user space.
//!
//! The context that `io_setup` returns is the address of a ring that the kernel maps into our memory; libaio reads it
//! in place when its magic number is right (`struct aio_ring` of the kernel's `fs/aio.c`), and so do we: a completion
//! that has arrived costs no system call.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering};

use super::call::{call, timespec, told};

/// One read or write for libaio: `struct iocb` of `linux/aio_abi.h`, little-endian layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlBlock {
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

impl ControlBlock {
    /// `IOCB_CMD_PREAD` and `IOCB_CMD_PWRITE`.
    const READ: u16 = 0;
    const WRITE: u16 = 1;

    /// One read or write whose completion carries `slot`.
    #[inline]
    pub fn new(slot: u32, write: bool, file: RawFd, buffer: *mut u8, length: u32, offset: u64) -> Self {
        ControlBlock {
            data: u64::from(slot),
            opcode: if write { Self::WRITE } else { Self::READ },
            file: file.cast_unsigned(),
            buffer: buffer as u64,
            length: u64::from(length),
            offset: offset.cast_signed(),
            ..ControlBlock::default()
        }
    }

    /// The same with a priority of its own (`IOCB_FLAG_IOPRIO`), class and level as in `linux/ioprio.h`.
    #[must_use]
    pub fn preferred(self, priority: u16) -> Self {
        const HAS_PRIORITY: u32 = 1 << 1;
        let block_flags = self.block_flags | HAS_PRIORITY;
        ControlBlock { priority: priority.cast_signed(), block_flags, ..self }
    }

    /// The same with flags of its own (`RWF_*` of `linux/fs.h`).
    #[must_use]
    pub fn flagged(self, flags: u32) -> Self {
        ControlBlock { flags, ..self }
    }

    /// What the completion will name it by.
    pub fn slot(&self) -> u32 {
        self.data as u32
    }
}

/// `struct io_event` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    result2: i64,
}

/// The head of `struct aio_ring`; the events follow it.
#[repr(C)]
struct RingHead {
    id: u32,
    count: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible_features: u32,
    incompatible_features: u32,
    header_length: u32,
}

/// `AIO_RING_MAGIC` of `fs/aio.c`.
const MAGIC: u32 = 0xa10a_10a1;

/// Most completions collected by one system call.
const EVENTS_MAX: usize = 128;

/// A context of libaio, of one thread. A child of this process shares none of its parent's.
pub struct Context {
    id: usize,
    /// Events the ring holds; 0 when it cannot be read in place.
    ring_count: u32,
    events: Vec<Event>,
    /// How many `events` a system call has brought, and how many of these `reap` has given away.
    collected: usize,
    given: usize,
}

impl Context {
    /// A context for `depth` I/Os in flight.
    pub fn new(depth: u32) -> io::Result<Context> {
        let mut id: usize = 0;
        let arguments = [depth as usize, (&raw mut id) as usize, 0, 0, 0, 0];
        // SAFETY: io_setup writes one word, the context, to the pointer.
        told(unsafe { call(libc::SYS_io_setup, arguments) })?;
        let mut context =
            Context { id, ring_count: 0, events: vec![Event::default(); EVENTS_MAX], collected: 0, given: 0 };
        let head = context.head();
        let header = size_of::<RingHead>() as u32;
        if head.magic == MAGIC && head.incompatible_features == 0 && head.header_length == header {
            context.ring_count = head.count;
        }
        Ok(context)
    }

    #[inline]
    fn head(&self) -> &RingHead {
        let head = self.id as *const RingHead;
        // SAFETY: the kernel mapped the ring at the address it gave as the context and keeps it until io_destroy; the
        // words it changes meanwhile are atomics.
        unsafe { &*head }
    }

    /// Hands control blocks to the kernel, which copies them; how many it took, or `-errno`.
    ///
    /// # Safety
    /// The control blocks must be there for the call, and the memory that they name must stay in place and untouched until
    /// their completions.
    #[inline]
    pub unsafe fn submit(&mut self, blocks: &[*const ControlBlock]) -> isize {
        let arguments = [self.id, blocks.len(), blocks.as_ptr() as usize, 0, 0, 0];
        // SAFETY: the kernel reads as many pointers as there are; the caller vouches for what they point to.
        unsafe { call(libc::SYS_io_submit, arguments) }
    }

    /// Completions in the ring that no system call is needed for.
    #[inline]
    fn ready(&self) -> u32 {
        if self.ring_count == 0 {
            return 0;
        }
        let head = self.head().head.load(Ordering::Relaxed);
        let tail = self.head().tail.load(Ordering::Acquire);
        if tail >= head { tail - head } else { tail + self.ring_count - head }
    }

    /// Waits for `least` completions, at most `timeout_ns` when given. True when it took a system call, or `-errno`.
    #[inline]
    pub fn wait(&mut self, least: u32, timeout_ns: Option<u64>) -> Result<bool, i32> {
        let ready = self.ready() + (self.collected - self.given) as u32;
        if ready >= least && (least > 0 || self.ring_count > 0) {
            return Ok(false);
        }
        let time = timespec(timeout_ns.unwrap_or(0));
        let time_address = if timeout_ns.is_some() { (&raw const time) as usize } else { 0 };
        let room = EVENTS_MAX - self.collected;
        let least = (least as usize).saturating_sub(self.collected - self.given).min(room);
        let events = (&raw mut self.events[self.collected..]).cast::<Event>() as usize;
        let arguments = [self.id, least, room, events, time_address, 0];
        // SAFETY: the kernel writes at most `room` events behind those collected, where that many fit, and reads
        // `time`.
        let result = unsafe { call(libc::SYS_io_getevents, arguments) };
        if result < 0 {
            return Err(-result as i32);
        }
        self.collected += result.unsigned_abs();
        Ok(true)
    }

    /// True when a completion has arrived.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.given < self.collected || self.ready() > 0
    }

    /// Gives the completions that have arrived, at most so many, to `each`: slot, and bytes or `-errno`.
    #[inline]
    pub fn reap(&mut self, most: u32, mut each: impl FnMut(u32, i32)) {
        let until = self.collected.min(self.given + most as usize);
        for event in &self.events[self.given..until] {
            each(event.data as u32, event.result as i32);
        }
        let left = most - (until - self.given) as u32;
        self.given = until;
        if self.given == self.collected {
            (self.given, self.collected) = (0, 0);
        }
        let ready = self.ready().min(left);
        if ready == 0 {
            return;
        }
        let mut at = self.head().head.load(Ordering::Relaxed);
        for _ in 0..ready {
            let first = (self.id + size_of::<RingHead>()) as *const Event;
            let event = first.wrapping_add(at as usize);
            // SAFETY: `at` runs from head to tail, both below the ring's count; the kernel wrote this event before it
            // moved the tail (acquired in `ready`) and does not touch it until we move the head.
            let event = unsafe { event.read() };
            each(event.data as u32, event.result as i32);
            at = if at + 1 == self.ring_count { 0 } else { at + 1 };
        }
        self.head().head.store(at, Ordering::Release);
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context came from io_setup; io_destroy waits for what is in flight, so no buffer is written to
        // afterwards.
        unsafe { call(libc::SYS_io_destroy, [self.id, 0, 0, 0, 0, 0]) };
    }
}

#[cfg(test)]
mod tests;
