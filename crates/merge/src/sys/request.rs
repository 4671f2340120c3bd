//! Whose is the memory of a request, and until when?
//!
//! ```text
//!   lend_read(buffer) ─── Slot on the caller's stack ◄──── Request (linear, Send)
//!        │                  state, result                     │ queue, winner, lane, kernel
//!        └── waits for DONE ◄─────────────────────────────────┘ complete, or drop
//! ```
//!
//! A [`Request`] points to a slot that its owner keeps. It cannot be copied, and when it goes away without a result the slot
//! says `ECANCELED`: a winner that dies gives all it held back. [`lend_read`] and [`lend_write`] return only when the slot is
//! done, also when what they called unwinds. A request that is forgotten keeps its owner waiting for ever, and so its memory
//! alive.

use std::io;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Read,
    Write,
}

const OPEN: u32 = 0;
const DONE: u32 = 1;

/// What owner and carrier of a request share.
#[derive(Debug)]
struct Slot {
    op: Op,
    address: *mut u8,
    length: usize,
    offset: u64,
    /// The carrier's, for instance whom to wake.
    tag: u64,
    /// Bytes, or a negative error; read after `DONE`.
    result: AtomicI32,
    state: AtomicU32,
}

/// A read or write on its way. Whoever has it may use its memory, nobody else.
#[derive(Debug)]
pub(crate) struct Request {
    slot: NonNull<Slot>,
}

// SAFETY: the slot is kept by its owner until the request is completed, and only its atomic fields change meanwhile; the memory
// it points to is the request's alone until then.
unsafe impl Send for Request {}

/// What the owner sees of its request.
#[derive(Debug)]
pub(crate) struct Pending<'a> {
    slot: NonNull<Slot>,
    buffer: PhantomData<&'a mut [u8]>,
}

impl Request {
    fn slot(&self) -> &Slot {
        // SAFETY: the owner keeps the slot until this request is completed, which consumes it.
        unsafe { self.slot.as_ref() }
    }

    pub(crate) fn op(&self) -> Op {
        self.slot().op
    }

    pub(crate) fn offset(&self) -> u64 {
        self.slot().offset
    }

    /// Where the data go to or come from. Of a write it is only to be read.
    pub(crate) fn address(&self) -> *mut u8 {
        self.slot().address
    }

    pub(crate) fn length(&self) -> usize {
        self.slot().length
    }

    /// What the carrier noted with it.
    pub(crate) fn tag(&self) -> u64 {
        self.slot().tag
    }

    /// Notes something for whoever gets the finished request.
    pub(crate) fn set_tag(&mut self, tag: u64) {
        // SAFETY: the slot is kept, and nobody but the request's holder looks at its tag.
        let field = unsafe { &raw mut (*self.slot.as_ptr()).tag };
        // SAFETY: the field is the holder's alone, and holding is exclusive (`&mut self`).
        unsafe { field.write(tag) };
    }

    /// Gives the result, and the memory, back to the owner.
    pub(crate) fn complete(self, result: io::Result<usize>) {
        let returned = match result {
            Ok(bytes) => i32::try_from(bytes).expect("requests are below 2 GiB"),
            Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
        };
        self.finish(returned);
        std::mem::forget(self);
    }

    fn finish(&self, returned: i32) {
        let slot = self.slot();
        slot.result.store(returned, Ordering::Relaxed);
        // The owner may drop the slot as soon as it sees this.
        slot.state.store(DONE, Ordering::Release);
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.finish(-libc::ECANCELED);
    }
}

impl Pending<'_> {
    fn slot(&self) -> &Slot {
        // SAFETY: `lend` keeps the slot for as long as this lives.
        unsafe { self.slot.as_ref() }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.slot().state.load(Ordering::Acquire) == DONE
    }

    /// The last resort: policies wait in better ways before.
    fn wait(&self) {
        let mut turns = 0_u32;
        while !self.is_done() {
            turns += 1;
            match turns {
                0..64 => std::hint::spin_loop(),
                64..128 => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }
}

/// Waits also when `carry` unwinds.
struct Guard<'a>(&'a Pending<'a>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.wait();
    }
}

fn lend(slot: Slot, carry: impl FnOnce(Request, &Pending<'_>)) -> io::Result<usize> {
    let mut slot = slot;
    let place = NonNull::from(&mut slot);
    let pending = Pending { slot: place, buffer: PhantomData };
    {
        let _guard = Guard(&pending);
        carry(Request { slot: place }, &pending);
    }
    let returned = pending.slot().result.load(Ordering::Relaxed);
    usize::try_from(returned).map_err(|_| io::Error::from_raw_os_error(-returned))
}

/// Lends memory to a read that `carry` takes on its way; returns when the read is completed: bytes that came.
pub(crate) fn lend_read(
    buffer: &mut [u8],
    offset: u64,
    carry: impl FnOnce(Request, &Pending<'_>),
) -> io::Result<usize> {
    lend(slot(Op::Read, buffer.as_mut_ptr(), buffer.len(), offset), carry)
}

/// Lends memory to a write that `carry` takes on its way; returns when the write is completed: bytes that were taken.
pub(crate) fn lend_write(
    buffer: &[u8],
    offset: u64,
    carry: impl FnOnce(Request, &Pending<'_>),
) -> io::Result<usize> {
    lend(slot(Op::Write, buffer.as_ptr().cast_mut(), buffer.len(), offset), carry)
}

fn slot(op: Op, address: *mut u8, length: usize, offset: u64) -> Slot {
    Slot {
        op,
        address,
        // As the kernel does: more than this is a short read or write.
        length: length.min(0x7fff_f000),
        offset,
        tag: 0,
        result: AtomicI32::new(0),
        state: AtomicU32::new(OPEN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_dropped_gives_its_memory_back_with_an_error() {
        let error = lend_read(&mut [0; 8], 0, |request, _| drop(request)).expect_err("nobody carried it");
        assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
    }

    #[test]
    fn another_thread_may_complete_it() {
        let mut buffer = [0_u8; 8];
        let read = lend_read(&mut buffer, 16, |request, _| {
            std::thread::spawn(move || {
                // SAFETY: the request's memory is ours until it is completed.
                unsafe { request.address().write_bytes(7, request.length()) };
                request.complete(Ok(8));
            });
        });
        assert_eq!((read.expect("it was completed"), buffer), (8, [7; 8]));
    }

    #[test]
    fn a_carrier_that_panics_leaves_no_memory_behind() {
        let caught = std::panic::catch_unwind(|| lend_write(b"12345678", 0, |_request, _| panic!("died")));
        assert!(caught.is_err());
    }
}
