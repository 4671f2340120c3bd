//! Queues by which counted I/Os go to the kernel: a ring, or libaio's.

use std::io;
use std::os::fd::RawFd;

use io_uring::types::Fd;
use io_uring::{IoUring, opcode, squeue};

use super::checked;
use crate::guest::{BATCH_MOST, Door, Way};

/// Silence after which the kernel's thread sleeps, ms.
const POLLER_IDLE_MS: u32 = 1;

/// A control block of libaio, `struct iocb`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct ControlBlock {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_file: u32,
}
const _: () = assert!(size_of::<ControlBlock>() == 64, "as the kernel has it");

/// A completion of libaio, `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

/// A queue, with what it hands over.
pub(crate) struct GuestQueue {
    way: Way,
    write: bool,
    file: RawFd,
    /// I/Os of a block each, from the start of the memory.
    block: usize,
    memory: *mut u8,
    kind: QueueKind,
}

enum QueueKind {
    Ring(Box<IoUring>),
    Aio { context: usize, blocks: Vec<ControlBlock>, events: Vec<Event> },
}

impl GuestQueue {
    /// A queue in which blocks of `buffer` go, one an I/O; `None` for calls that need none. The buffer must outlive it.
    pub(crate) fn open(
        way: Way,
        write: bool,
        file: RawFd,
        block: usize,
        buffer: &mut [u8],
    ) -> io::Result<Option<GuestQueue>> {
        let kind = match way.door {
            Door::Psync => return Ok(None),
            Door::IoUring => QueueKind::Ring(Box::new(ring(way, file, buffer)?)),
            Door::Libaio => {
                let mut context: usize = 0;
                // SAFETY: the kernel writes one word, the context.
                checked(unsafe { libc::syscall(libc::SYS_io_setup, BATCH_MOST, &raw mut context) })?;
                let events = vec![Event::default(); way.batch as usize];
                QueueKind::Aio { context, blocks: Vec::new(), events }
            }
        };
        Ok(Some(GuestQueue { way, write, file, block, memory: buffer.as_mut_ptr(), kind }))
    }

    /// Hands the I/Os to the ring's memory, or to the kernel.
    pub(crate) fn submit(&mut self, offsets: &[u64]) {
        let at = |place: usize| self.memory.wrapping_add(place * self.block);
        match &mut self.kind {
            QueueKind::Ring(ring) => {
                let mut queue = ring.submission();
                for (place, &offset) in offsets.iter().enumerate() {
                    let entry = entry((self.way, self.write), self.file, (at(place), self.block), offset);
                    // SAFETY: the buffer is valid until the completion, which is awaited before it is used again.
                    let pushed = unsafe { queue.push(&entry) };
                    pushed.expect("the ring is empty");
                }
                if self.way.submit_poll {
                    queue.sync();
                    std::hint::black_box(queue.need_wakeup());
                }
            }
            QueueKind::Aio { context, blocks, .. } => {
                blocks.clear();
                blocks.extend(offsets.iter().enumerate().map(|(place, &offset)| ControlBlock {
                    opcode: u16::from(self.write),
                    file: self.file as u32,
                    buffer: at(place) as u64,
                    bytes: self.block as u64,
                    offset: offset.cast_signed(),
                    ..ControlBlock::default()
                }));
                let mut pointers = [std::ptr::null::<ControlBlock>(); BATCH_MOST as usize];
                for (pointer, block) in pointers.iter_mut().zip(&*blocks) {
                    *pointer = block;
                }
                let all = offsets.len();
                // SAFETY: as many pointers as there are blocks, whose buffers are valid until their completion.
                let taken = unsafe { libc::syscall(libc::SYS_io_submit, *context, all, pointers.as_ptr()) };
                assert!(usize::try_from(taken) == Ok(all), "libaio took {taken} of {all} I/Os");
            }
        }
    }

    /// Waits for so many, and adds what they moved; or the first error.
    pub(crate) fn wait(&mut self, count: usize) -> i64 {
        match &mut self.kind {
            QueueKind::Ring(ring) => {
                let mut left = count;
                let mut all = 0;
                while left > 0 {
                    match ring.submit_and_wait(left) {
                        Ok(_) => {}
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        // What was queued lies in the ring and may yet move into the buffer: the guest ends here.
                        Err(error) => panic!("the ring does not submit: {error}"),
                    }
                    for told in ring.completion() {
                        all = added(all, i64::from(told.result()));
                        left -= 1;
                    }
                }
                all
            }
            QueueKind::Aio { context, events, .. } => {
                let none = std::ptr::null::<libc::timespec>();
                let events_at = events.as_mut_ptr();
                // SAFETY: there is room for as many events as are asked for.
                let told =
                    unsafe { libc::syscall(libc::SYS_io_getevents, *context, count, count, events_at, none) };
                assert!(usize::try_from(told) == Ok(count), "libaio gave {told} of {count} completions");
                events.iter().take(count).fold(0, |all, event| added(all, event.result))
            }
        }
    }
}

fn added(all: i64, told: i64) -> i64 {
    match (all < 0, told < 0) {
        (true, _) => all,
        (false, true) => told,
        (false, false) => all + told,
    }
}

fn ring(way: Way, file: RawFd, buffer: &mut [u8]) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    if way.poll {
        builder.setup_iopoll();
    }
    if way.submit_poll {
        builder.setup_sqpoll(POLLER_IDLE_MS);
    }
    let ring = builder.build(BATCH_MOST)?;
    if way.files {
        ring.submitter().register_files(&[file])?;
    }
    if way.buffers {
        let all = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: the buffer outlives the ring.
        unsafe { ring.submitter().register_buffers(&[all]) }?;
    }
    Ok(ring)
}

#[inline(always)]
fn entry(
    (way, write): (Way, bool),
    file: RawFd,
    (at, block): (*mut u8, usize),
    offset: u64,
) -> squeue::Entry {
    let (file, bytes) = (Fd(if way.files { 0 } else { file }), block as u32);
    let entry = match (way.buffers, write) {
        (false, false) => opcode::Read::new(file, at, bytes).offset(offset).build(),
        (false, true) => opcode::Write::new(file, at, bytes).offset(offset).build(),
        (true, false) => opcode::ReadFixed::new(file, at, bytes, 0).offset(offset).build(),
        (true, true) => opcode::WriteFixed::new(file, at, bytes, 0).offset(offset).build(),
    };
    if way.files { entry.flags(squeue::Flags::FIXED_FILE) } else { entry }
}
