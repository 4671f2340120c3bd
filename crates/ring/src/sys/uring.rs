//! `io_uring` by hand: the rings are mapped, filled and read here.
//!
//! ```text
//!   submission ring:  head (kernel) ─► ... ─► tail (ours)     entries: 64 bytes each, ours until the tail passes them
//!   completion ring:  head (ours)   ─► ... ─► tail (kernel)   entries: 16 bytes each, ours until the head passes them
//! ```
//!
//! The layout and the barriers are those of `linux/io_uring.h` and `io_uring(7)`. A library's ring would do, but at 16
//! I/Os per call it costs some 50 instructions per I/O more than the seven stores that a request needs.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::call::{call, timespec, told};

/// What the ring is built with.
#[derive(Clone, Copy, Debug, Default)]
pub struct RingOptions {
    /// Requests that can wait for submission, rounded up to a power of two.
    pub entries: u32,
    /// The kernel polls the device for completions (`IORING_SETUP_IOPOLL`).
    pub poll: bool,
    /// A thread of the kernel's submits (`IORING_SETUP_SQPOLL`).
    pub submit_poll: bool,
    /// That thread runs on this CPU (`IORING_SETUP_SQ_AFF`).
    pub submitter_cpu: Option<u32>,
    /// Completions appear in the ring also while we make no call.
    pub by_itself: bool,
    /// A request that the kernel refuses does not hold up those behind it, where the kernel can (5.18).
    pub submit_all: bool,
    /// A child of this process gets no copy of the mappings.
    pub keep_from_children: bool,
}

/// One read or write for the ring, in the words of `struct io_uring_sqe` that it needs. The others of an entry are
/// zero from the start and stay so.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Made once per file by [`head_word`], plus [`WRITE`] for a write.
    pub head: u64,
    /// Where in the file.
    pub offset: u64,
    /// The memory to fill, or to write from.
    pub address: *mut u8,
    /// The number of bytes.
    pub length: u32,
    /// What the completion names it by.
    pub slot: u32,
    /// Number of the registered buffer, where those are used.
    pub buffer_index: u16,
}

/// Word of an entry: opcode, flags, priority and file.
pub fn head_word(file: u32, registered_file: bool, registered_buffers: bool) -> u64 {
    let opcode = if registered_buffers { OPCODE_READ_FIXED } else { OPCODE_READ };
    let flags = if registered_file { ENTRY_FIXED_FILE } else { 0 };
    u64::from(opcode) | u64::from(flags) << 8 | u64::from(file) << 32
}

/// Where the priority stands in a head word: class and level as in `linux/ioprio.h`.
pub const PRIORITY_SHIFT: u32 = 16;

/// Added to a head word, makes a write of a read: the opcodes are neighbours.
pub const WRITE: u64 = 1;

/// `IORING_OP_READ`, followed by `IORING_OP_WRITE`.
const OPCODE_READ: u8 = 22;
/// `IORING_OP_READ_FIXED`, followed by `IORING_OP_WRITE_FIXED`.
const OPCODE_READ_FIXED: u8 = 4;
/// `IOSQE_FIXED_FILE`.
const ENTRY_FIXED_FILE: u8 = 1;

/// `struct io_uring_sqe` as words: head, offset, address, length and call flags, user data, buffer index and more.
type SubmissionEntry = [u64; 8];

const WORD_OFFSET: usize = 1;
const WORD_ADDRESS: usize = 2;
const WORD_LENGTH: usize = 3;
const WORD_USER_DATA: usize = 4;
const WORD_BUFFER: usize = 5;

/// Set-up flags of `linux/io_uring.h`, and the kernel that brought them.
const SETUP_IOPOLL: u32 = 1;
const SETUP_SQPOLL: u32 = 1 << 1;
const SETUP_SQ_AFF: u32 = 1 << 2;
const SETUP_CLAMP: u32 = 1 << 4;
/// Since kernel 5.18.
const SETUP_SUBMIT_ALL: u32 = 1 << 7;
/// Since kernel 5.19.
const SETUP_COOP_TASKRUN: u32 = 1 << 8;
/// Since kernel 6.0.
const SETUP_SINGLE_ISSUER: u32 = 1 << 12;
/// Since kernel 6.1.
const SETUP_DEFER_TASKRUN: u32 = 1 << 13;

/// Flags of `io_uring_enter`.
const ENTER_GETEVENTS: usize = 1;
const ENTER_SQ_WAKEUP: usize = 1 << 1;
const ENTER_EXT_ARG: usize = 1 << 3;

/// In the submission ring's flags: the kernel's poller sleeps.
const SQ_NEED_WAKEUP: u32 = 1;

/// Since kernel 5.11.
const FEATURE_EXT_ARG: u32 = 1 << 8;

const REGISTER_BUFFERS: usize = 0;
const REGISTER_FILES: usize = 2;

const OFFSET_SQ_RING: i64 = 0;
const OFFSET_CQ_RING: i64 = 0x0800_0000;
const OFFSET_SQES: i64 = 0x1000_0000;

/// Idle time after which the kernel's submission poller sleeps.
const POLLER_IDLE_MS: u32 = 1_000;

/// `struct io_uring_params`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Parameters {
    sq_entries: u32,
    cq_entries: u32,
    flags: u32,
    sq_thread_cpu: u32,
    sq_thread_idle: u32,
    features: u32,
    reserved: [u32; 4],
    /// `struct io_sqring_offsets` and `struct io_cqring_offsets` as words, of which these below are used.
    sq: [u32; 10],
    cq: [u32; 10],
}

const SQ_TAIL: usize = 1;
const SQ_FLAGS: usize = 4;
const SQ_ARRAY: usize = 6;
const CQ_HEAD: usize = 0;
const CQ_TAIL: usize = 1;
const CQ_ENTRIES: usize = 5;

const _: () = assert!(size_of::<Parameters>() == 120);

/// `struct io_uring_cqe`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct CompletionEntry {
    user_data: u64,
    result: i32,
    flags: u32,
}

/// `struct io_uring_getevents_arg`.
#[repr(C)]
struct EventsArgument {
    mask: u64,
    mask_length: u32,
    pad: u32,
    timeout: u64,
}

/// A part of the ring that the kernel shares with us.
struct Mapping {
    start: *mut libc::c_void,
    length: usize,
}

impl Mapping {
    fn new(ring: RawFd, offset: i64, length: usize, options: RingOptions) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, ring, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapping = Mapping { start, length };
        // SAFETY: the advice is about a whole mapping of ours, and changes nothing in this process.
        if options.keep_from_children && unsafe { libc::madvise(start, length, libc::MADV_DONTFORK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(mapping)
    }

    fn word(&self, offset: u32) -> Word {
        assert!(
            offset as usize + 4 <= self.length && offset.is_multiple_of(4),
            "word {offset} of {}",
            self.length
        );
        Word(self.start.cast::<AtomicU32>().wrapping_add(offset as usize / 4))
    }
}

/// A word of a ring that both sides change.
struct Word(*const AtomicU32);

impl std::ops::Deref for Word {
    type Target = AtomicU32;

    #[inline]
    fn deref(&self) -> &AtomicU32 {
        // SAFETY: `Mapping::word` alone makes these, aligned and inside its mapping; a `Ring` keeps the mapping as long
        // as the word, and the kernel changes it atomically.
        unsafe { &*self.0 }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length; borrows of it end with `self`.
        unsafe { libc::munmap(self.start, self.length) };
    }
}

/// An `io_uring` of one thread.
pub struct Ring {
    entries: *mut SubmissionEntry,
    entry_mask: u32,
    /// Behind the last entry written; the kernel sees it when it is published.
    tail: u32,
    completions: *const CompletionEntry,
    completion_mask: u32,
    /// First completion not taken yet.
    head: u32,
    descriptor: OwnedFd,
    submit_poll: bool,
    /// Asked of the kernel with each `io_uring_enter`: polled rings reap only when asked to.
    always: usize,
    parameters: Parameters,
    sq_tail: Word,
    sq_flags: Word,
    cq_head: Word,
    cq_tail: Word,
    /// Hold the words, `completions` and `entries`.
    _mappings: [Mapping; 3],
}

impl Ring {
    /// Builds the ring with the best set-up that this kernel takes: completions run in our own thread when it asks
    /// for them (6.1), or at least without interrupting it (5.19), or as they come.
    pub fn new(options: RingOptions) -> io::Result<Ring> {
        let wanted = if options.poll { SETUP_IOPOLL } else { 0 } | SETUP_CLAMP;
        let levels: &[u32] = if options.submit_poll && options.submitter_cpu.is_some() {
            &[SETUP_SQPOLL | SETUP_SQ_AFF]
        } else if options.submit_poll {
            &[SETUP_SQPOLL]
        } else if options.by_itself {
            &[0]
        } else {
            &[SETUP_COOP_TASKRUN | SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN, SETUP_COOP_TASKRUN, 0]
        };
        let submitting: &[u32] = if options.submit_all { &[SETUP_SUBMIT_ALL, 0] } else { &[0] };
        let mut last = io::Error::from_raw_os_error(libc::EINVAL);
        for flags in levels.iter().flat_map(|level| submitting.iter().map(move |more| level | more)) {
            match Ring::set_up(options, wanted | flags) {
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => last = error,
                result => return result,
            }
        }
        Err(last)
    }

    fn set_up(options: RingOptions, flags: u32) -> io::Result<Ring> {
        let sq_thread_cpu = options.submitter_cpu.unwrap_or(0);
        let mut parameters =
            Parameters { flags, sq_thread_cpu, sq_thread_idle: POLLER_IDLE_MS, ..Parameters::default() };
        let arguments = [options.entries as usize, (&raw mut parameters) as usize, 0, 0, 0, 0];
        // SAFETY: io_uring_setup reads and writes one `io_uring_params`, whose layout `Parameters` has.
        let made = told(unsafe { call(libc::SYS_io_uring_setup, arguments) })?;
        let made = RawFd::try_from(made).expect("descriptors are small");
        // SAFETY: the kernel has just made this descriptor for us alone.
        let descriptor = unsafe { OwnedFd::from_raw_fd(made) };
        let Parameters { sq_entries, cq_entries, sq: sq_at, cq: cq_at, .. } = parameters;
        let sq_length = sq_at[SQ_ARRAY] as usize + sq_entries as usize * 4;
        let cq_length = cq_at[CQ_ENTRIES] as usize + cq_entries as usize * size_of::<CompletionEntry>();
        let entries_length = sq_entries as usize * size_of::<SubmissionEntry>();
        // Old kernels map both rings apart; new ones (5.4) allow it still.
        let map = |offset, length| Mapping::new(descriptor.as_raw_fd(), offset, length, options);
        let sq = map(OFFSET_SQ_RING, sq_length)?;
        let cq = map(OFFSET_CQ_RING, cq_length)?;
        let entries = map(OFFSET_SQES, entries_length)?;
        for index in 0..sq_entries {
            sq.word(sq_at[SQ_ARRAY] + index * 4).store(index, Ordering::Relaxed);
        }
        Ok(Ring {
            entries: entries.start.cast(),
            entry_mask: sq_entries - 1,
            tail: sq.word(sq_at[SQ_TAIL]).load(Ordering::Relaxed),
            completions: cq.start.wrapping_byte_add(cq_at[CQ_ENTRIES] as usize).cast(),
            completion_mask: cq_entries - 1,
            head: cq.word(cq_at[CQ_HEAD]).load(Ordering::Relaxed),
            descriptor,
            submit_poll: options.submit_poll,
            always: if options.poll { ENTER_GETEVENTS } else { 0 },
            parameters,
            sq_tail: sq.word(sq_at[SQ_TAIL]),
            sq_flags: sq.word(sq_at[SQ_FLAGS]),
            cq_head: cq.word(cq_at[CQ_HEAD]),
            cq_tail: cq.word(cq_at[CQ_TAIL]),
            _mappings: [sq, cq, entries],
        })
    }

    /// Requests that can wait for submission.
    #[inline]
    pub fn entries(&self) -> u32 {
        self.parameters.sq_entries
    }

    /// True when a wait can end by a timeout (5.11).
    #[inline]
    pub fn waits_with_timeout(&self) -> bool {
        self.parameters.features & FEATURE_EXT_ARG != 0
    }

    /// Registers the files, to be named by their number.
    pub fn register_files(&self, files: &[RawFd]) -> io::Result<()> {
        self.register(REGISTER_FILES, files.as_ptr() as usize, files.len())
    }

    /// Registers buffers, to be named by their number.
    pub fn register_buffers(&self, buffers: &[libc::iovec]) -> io::Result<()> {
        if buffers.is_empty() {
            return Ok(());
        }
        self.register(REGISTER_BUFFERS, buffers.as_ptr() as usize, buffers.len())
    }

    fn register(&self, what: usize, list: usize, count: usize) -> io::Result<()> {
        let arguments = [self.descriptor.as_raw_fd() as usize, what, list, count, 0, 0];
        // SAFETY: both callers pass a list of `count` descriptors or vectors that lives for the call. The kernel holds the
        // pages of registered buffers on its own account, and writes to them only for requests.
        told(unsafe { call(libc::SYS_io_uring_register, arguments) }).map(drop)
    }

    /// Puts requests into the ring; how many there were.
    ///
    /// # Safety
    /// The memory that they name must stay in place and untouched until their completions, even when the ring is dropped
    /// before. At most [`Ring::entries`] may be pushed and not yet submitted.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most of it is decided by the loop around it")]
    pub unsafe fn push_all<const REGISTERED: bool>(&mut self, batch: impl Iterator<Item = Request>) -> u32 {
        let first = self.tail;
        let mut tail = first;
        let (entries, mask) = (self.entries, self.entry_mask);
        for request in batch {
            let place = entries.wrapping_add((tail & mask) as usize);
            // SAFETY: the masked index lies in the mapping of entries, which outlives the borrow; the kernel does not
            // read this one before the tail passes it in `publish`, and has read what stood there, because no more are
            // pushed than there are entries.
            let entry = unsafe { &mut *place };
            entry[0] = request.head;
            entry[WORD_OFFSET] = request.offset;
            entry[WORD_ADDRESS] = request.address as u64;
            entry[WORD_LENGTH] = u64::from(request.length);
            entry[WORD_USER_DATA] = u64::from(request.slot);
            if REGISTERED {
                entry[WORD_BUFFER] = u64::from(request.buffer_index);
            }
            tail = tail.wrapping_add(1);
        }
        self.tail = tail;
        tail.wrapping_sub(first)
    }

    #[inline]
    fn publish(&self) {
        self.sq_tail.store(self.tail, Ordering::Release);
    }

    /// Hands `submit` requests to the kernel and waits for `wait` completions; how many it took, or `-errno`.
    #[inline]
    pub fn enter(&mut self, submit: u32, wait: u32) -> isize {
        self.publish();
        let mut flags = self.always;
        if wait > 0 {
            flags |= ENTER_GETEVENTS;
        }
        if self.submit_poll {
            flags |= self.wake_flag();
            if wait == 0 && flags == 0 {
                return (submit as usize).cast_signed();
            }
        }
        self.call(submit, wait, flags, 0, 8)
    }

    /// Like [`Ring::enter`], but lets the kernel bring what has completed also when it waits for none.
    #[inline]
    pub fn enter_and_collect(&mut self, submit: u32, wait: u32) -> isize {
        self.publish();
        self.call(submit, wait, ENTER_GETEVENTS | self.wake_flag(), 0, 8)
    }

    /// Like [`Ring::enter`], but gives up waiting after `timeout_ns`.
    #[inline]
    pub fn enter_for(&mut self, submit: u32, wait: u32, timeout_ns: u64) -> isize {
        self.publish();
        let time = timespec(timeout_ns);
        let argument = EventsArgument { mask: 0, mask_length: 8, pad: 0, timeout: (&raw const time) as u64 };
        let flags = ENTER_GETEVENTS | ENTER_EXT_ARG | self.wake_flag();
        self.call(submit, wait, flags, (&raw const argument) as usize, size_of::<EventsArgument>())
    }

    #[inline]
    fn call(&self, submit: u32, wait: u32, flags: usize, argument: usize, size: usize) -> isize {
        let descriptor = self.descriptor.as_raw_fd() as usize;
        let arguments = [descriptor, submit as usize, wait as usize, flags, argument, size];
        // SAFETY: the argument is none or lives in the caller for the call; who pushed the requests vouches for the memory
        // that they name.
        unsafe { call(libc::SYS_io_uring_enter, arguments) }
    }

    /// A sleeping poller must be woken. The fence orders our tail before its flag, as `io_uring(7)` demands.
    #[inline]
    fn wake_flag(&self) -> usize {
        if !self.submit_poll {
            return 0;
        }
        fence(Ordering::SeqCst);
        let flags = self.sq_flags.load(Ordering::Relaxed);
        if flags & SQ_NEED_WAKEUP != 0 { ENTER_SQ_WAKEUP } else { 0 }
    }

    /// True when a completion has arrived.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.cq_tail.load(Ordering::Acquire) != self.head
    }

    /// Takes one completion, if one has arrived: slot and result.
    #[inline]
    pub fn take(&mut self) -> Option<(u32, i32)> {
        if !self.is_ready() {
            return None;
        }
        let place = self.completions.wrapping_add((self.head & self.completion_mask) as usize);
        // SAFETY: as in `reap`; `is_ready` has acquired a tail beyond our head.
        let entry = unsafe { place.read() };
        self.head = self.head.wrapping_add(1);
        self.cq_head.store(self.head, Ordering::Release);
        Some((entry.user_data as u32, entry.result))
    }

    /// Gives the completions that have arrived, at most so many, to `each`: slot and result.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most of it is decided by the loop around it")]
    pub fn reap(&mut self, most: u32, mut each: impl FnMut(u32, i32)) {
        let mut head = self.head;
        let arrived = self.cq_tail.load(Ordering::Acquire).wrapping_sub(head);
        let until = head.wrapping_add(arrived.min(most));
        while head != until {
            let place = self.completions.wrapping_add((head & self.completion_mask) as usize);
            // SAFETY: the masked index lies in the mapping of completions; the kernel wrote this one before it moved
            // the tail (acquired above) and leaves it alone until our head passes it.
            let entry = unsafe { place.read() };
            each(entry.user_data as u32, entry.result);
            head = head.wrapping_add(1);
        }
        self.head = head;
        self.cq_head.store(head, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
