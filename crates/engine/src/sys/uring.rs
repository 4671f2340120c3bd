//! `io_uring`: the crate's ring, our own `io_uring_enter`.
//!
//! The crate knows the layout and the barriers. Its `submit_and_wait` goes through libc and decides anew at each call
//! what we decided at the start, so the call itself is ours.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use io_uring::{IoUring, opcode, squeue, types};

use super::call;
use super::memory::Buffers;

/// What the ring is built with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingOptions {
    pub(crate) entries: u32,
    pub(crate) poll: bool,
    pub(crate) submit_poll: bool,
}

/// How one read or write is put to the ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) slot: u32,
    pub(crate) write: bool,
    pub(crate) file: RingFile,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// Number of the registered buffer, when they are.
    pub(crate) registered_buffer: Option<u16>,
}

/// A file by descriptor, or by its number among the registered ones.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RingFile {
    Descriptor(RawFd),
    Registered(u32),
}

/// A ring of one thread.
pub(crate) struct Ring {
    ring: IoUring,
    descriptor: RawFd,
    submit_poll: bool,
    /// Asked of the kernel with each `io_uring_enter` that does not wait: polled rings reap only when asked to.
    always: usize,
}

/// Flags of `io_uring_enter`, `linux/io_uring.h`.
const ENTER_GETEVENTS: usize = 1;
const ENTER_SQ_WAKEUP: usize = 1 << 1;
const ENTER_EXT_ARG: usize = 1 << 3;

/// `struct io_uring_getevents_arg` of `linux/io_uring.h`.
#[repr(C)]
struct EventsArgument {
    mask: u64,
    mask_length: u32,
    pad: u32,
    timeout: u64,
}

impl Ring {
    /// Builds the ring with the best set-up that this kernel takes: completions run in our own thread when it asks
    /// for them (6.1), or at least without interrupting it (5.19), or as they come.
    pub(crate) fn new(options: RingOptions) -> io::Result<Ring> {
        let mut last = io::Error::from_raw_os_error(libc::EINVAL);
        for level in (0..3).rev() {
            if options.submit_poll && level > 0 {
                continue;
            }
            let mut builder = IoUring::builder();
            builder.setup_clamp();
            if options.poll {
                builder.setup_iopoll();
            }
            if options.submit_poll {
                builder.setup_sqpoll(1_000);
            }
            if level >= 1 {
                builder.setup_coop_taskrun();
            }
            if level >= 2 {
                builder.setup_single_issuer().setup_defer_taskrun();
            }
            match builder.build(options.entries) {
                Ok(ring) => return Ok(Ring::around(ring, options)),
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    fn around(ring: IoUring, options: RingOptions) -> Ring {
        let descriptor = ring.as_raw_fd();
        let always = if options.poll { ENTER_GETEVENTS } else { 0 };
        Ring { ring, descriptor, submit_poll: options.submit_poll, always }
    }

    /// Entries that can wait for submission.
    pub(crate) fn entries(&self) -> u32 {
        self.ring.params().sq_entries()
    }

    /// True when a wait can end by a timeout (5.11).
    pub(crate) fn waits_with_timeout(&self) -> bool {
        self.ring.params().is_feature_ext_arg()
    }

    /// Registers the files, to be named by [`RingFile::Registered`].
    pub(crate) fn register_files(&self, files: &[RawFd]) -> io::Result<()> {
        self.ring.submitter().register_files(files)
    }

    /// Registers each buffer of both sets; those of `second` are numbered behind those of `first`.
    pub(crate) fn register_buffers(&self, first: &Buffers, second: &Buffers) -> io::Result<()> {
        let vector = |buffers: &Buffers, index| libc::iovec {
            iov_base: buffers.address(index).cast(),
            iov_len: buffers.stride(),
        };
        let vectors: Vec<_> = (0..first.count())
            .map(|index| vector(first, index))
            .chain((0..second.count()).map(|index| vector(second, index)))
            .collect();
        // SAFETY: the vectors name whole buffers; the queue that owns this ring owns both sets and drops the ring
        // first.
        unsafe { self.ring.submitter().register_buffers(&vectors) }
    }

    /// Puts a request into the ring; false when the ring is full. The buffer must stay in place and untouched until
    /// the completion: the queues own it and keep a table of slots in flight.
    #[inline]
    pub(crate) fn push(&mut self, request: &Request, buffer: *mut u8) -> bool {
        let entry = entry_of(request, buffer);
        let mut queue = self.ring.submission();
        // SAFETY: the buffer is `length` bytes of a set that the caller owns and keeps until the completion, and the
        // file stays open as long.
        unsafe { queue.push(&entry) }.is_ok()
    }

    /// Hands `submit` requests to the kernel and waits for `wait` completions; how many it took, or `-errno`.
    #[inline]
    pub(crate) fn enter(&mut self, submit: u32, wait: u32) -> isize {
        let mut flags = self.always;
        if wait > 0 {
            flags |= ENTER_GETEVENTS;
        }
        if self.submit_poll {
            if self.ring.submission().need_wakeup() {
                flags |= ENTER_SQ_WAKEUP;
            } else if wait == 0 {
                return submit as isize;
            }
        }
        let arguments = [self.descriptor as usize, submit as usize, wait as usize, flags, 0, 8];
        // SAFETY: io_uring_enter without a signal mask reads no memory of ours but the ring; the requests in it were
        // vouched for by `push`.
        unsafe { call::raw(libc::SYS_io_uring_enter, arguments) }
    }

    /// Hands `submit` requests to the kernel and lets it bring what has completed, without waiting.
    pub(crate) fn enter_and_collect(&mut self, submit: u32) -> isize {
        let flags = ENTER_GETEVENTS | self.wake_flag();
        let arguments = [self.descriptor as usize, submit as usize, 0, flags, 0, 8];
        // SAFETY: as in `enter`.
        unsafe { call::raw(libc::SYS_io_uring_enter, arguments) }
    }

    /// Like [`Ring::enter`], but gives up waiting after `timeout_ns`.
    pub(crate) fn enter_for(&mut self, submit: u32, wait: u32, timeout_ns: u64) -> isize {
        let time =
            types::Timespec::new().sec(timeout_ns / 1_000_000_000).nsec((timeout_ns % 1_000_000_000) as u32);
        let argument = EventsArgument { mask: 0, mask_length: 8, pad: 0, timeout: (&raw const time) as u64 };
        let flags = ENTER_GETEVENTS | ENTER_EXT_ARG | self.wake_flag();
        let address = (&raw const argument) as usize;
        let size = size_of::<EventsArgument>();
        let arguments = [self.descriptor as usize, submit as usize, wait as usize, flags, address, size];
        // SAFETY: the argument and the time it points to live for the call; the requests were vouched for by `push`.
        unsafe { call::raw(libc::SYS_io_uring_enter, arguments) }
    }

    fn wake_flag(&mut self) -> usize {
        let asleep = self.submit_poll && self.ring.submission().need_wakeup();
        if asleep { ENTER_SQ_WAKEUP } else { 0 }
    }

    /// Gives each completion that has arrived to `each`: slot and result.
    #[inline]
    pub(crate) fn reap(&mut self, mut each: impl FnMut(u32, i32)) {
        for entry in self.ring.completion() {
            each(entry.user_data() as u32, entry.result());
        }
    }
}

#[inline]
fn entry_of(request: &Request, buffer: *mut u8) -> squeue::Entry {
    let Request { slot, write, file, offset, length, registered_buffer } = *request;
    macro_rules! build {
        ($file:expr) => {
            match (write, registered_buffer) {
                (false, None) => opcode::Read::new($file, buffer, length).offset(offset).build(),
                (true, None) => opcode::Write::new($file, buffer, length).offset(offset).build(),
                (false, Some(index)) => {
                    opcode::ReadFixed::new($file, buffer, length, index).offset(offset).build()
                }
                (true, Some(index)) => {
                    opcode::WriteFixed::new($file, buffer, length, index).offset(offset).build()
                }
            }
        };
    }
    let entry = match file {
        RingFile::Descriptor(descriptor) => build!(types::Fd(descriptor)),
        RingFile::Registered(index) => build!(types::Fixed(index)),
    };
    entry.user_data(u64::from(slot))
}
