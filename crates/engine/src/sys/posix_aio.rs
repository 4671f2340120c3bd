//! POSIX asynchronous I/O: the C library's threads make the calls.

use std::os::fd::RawFd;
use std::ptr;

use libc::{aiocb, c_int};

/// Requests of one thread, one for each slot. A request's buffer belongs to it until it was [taken](Requests::take).
pub(crate) struct Requests {
    /// Never moved: the C library keeps their addresses.
    blocks: Box<[aiocb]>,
    in_flight: Vec<u32>,
    /// Pointers for the call that waits.
    pointers: Vec<*const aiocb>,
}

impl Requests {
    /// Requests for so many slots.
    pub(crate) fn new(slots: u32) -> Requests {
        // SAFETY: a control block is plain numbers and pointers; all-zero is one without a request.
        let blocks = (0..slots).map(|_| unsafe { std::mem::zeroed() }).collect();
        Requests { blocks, in_flight: Vec::with_capacity(slots as usize), pointers: Vec::new() }
    }

    /// Hands over a request for the thread's buffer of `slot`, which has none in flight; 0, or `-errno`.
    ///
    /// # Safety
    ///
    /// The buffer, address and length, stays until the request is taken, and nobody else touches it.
    pub(crate) unsafe fn start(
        &mut self,
        slot: u32,
        write: bool,
        file: RawFd,
        (buffer, length): (*mut u8, u32),
        offset: u64,
    ) -> i32 {
        let block = &mut self.blocks[slot as usize];
        block.aio_fildes = file;
        block.aio_buf = buffer.cast();
        block.aio_nbytes = length as usize;
        block.aio_offset = offset.cast_signed();
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        let call = if write { libc::aio_write } else { libc::aio_read };
        // SAFETY: the block stays where it is until the request is taken, and so does the buffer.
        if unsafe { call(block) } == 0 {
            self.in_flight.push(slot);
            return 0;
        }
        -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
    }

    fn state(&self, slot: u32) -> c_int {
        // SAFETY: the block holds a request that was handed over and not yet taken.
        unsafe { libc::aio_error(&raw const self.blocks[slot as usize]) }
    }

    /// True when a request is done.
    pub(crate) fn is_ready(&self) -> bool {
        self.in_flight.iter().any(|&slot| self.state(slot) != libc::EINPROGRESS)
    }

    /// A request that is done: slot, and bytes or `-errno`.
    pub(crate) fn take(&mut self) -> Option<(u32, i32)> {
        let place = self.in_flight.iter().position(|&slot| self.state(slot) != libc::EINPROGRESS)?;
        let slot = self.in_flight.remove(place);
        let errno = self.state(slot);
        // SAFETY: the request is done and was not taken before.
        let moved = unsafe { libc::aio_return(&raw mut self.blocks[slot as usize]) };
        Some((slot, if errno == 0 { moved as i32 } else { -errno }))
    }

    /// Waits until one more is done, at most so many ns; 0, or why it did not.
    pub(crate) fn wait(&mut self, ns: Option<u64>) -> i32 {
        self.pointers.clear();
        self.pointers.extend(self.in_flight.iter().map(|&slot| &raw const self.blocks[slot as usize]));
        let time = ns.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000).cast_signed(),
            tv_nsec: (ns % 1_000_000_000).cast_signed(),
        });
        let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
        let count = c_int::try_from(self.pointers.len()).unwrap_or(c_int::MAX);
        // SAFETY: so many pointers to blocks that stay, and no time or one that lives for the call.
        let result = unsafe { libc::aio_suspend(self.pointers.as_ptr(), count, time) };
        if result == 0 { 0 } else { std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) }
    }
}

impl Drop for Requests {
    /// Waits for what is in flight: the C library writes into the blocks.
    fn drop(&mut self) {
        while !self.in_flight.is_empty() {
            while self.take().is_some() {}
            if !self.in_flight.is_empty() {
                self.wait(None);
            }
        }
    }
}
