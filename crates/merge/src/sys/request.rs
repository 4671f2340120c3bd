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
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::place::FileRange;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Read,
    Write,
}

pub(super) const OPEN: u32 = 0;
pub(super) const DONE: u32 = 1;

/// State that owner and carrier of a request share. While the request is out, only atomic fields change.
#[derive(Debug)]
pub(super) struct Slot {
    op: Op,
    address: *mut u8,
    length: usize,
    offset: u64,
    /// The carrier's, for instance whom to wake.
    tag: AtomicU64,
    /// Bytes, or a negative error; read after `DONE`.
    result: AtomicI32,
    pub(super) state: AtomicU32,
    /// Function for a request that owns its buffer: makes it `DONE`, and frees what nobody wants any more.
    pub(super) completed: Option<unsafe fn(NonNull<Slot>)>,
}

/// A read or write on its way. Whoever has it may use its memory, nobody else.
#[derive(Debug)]
pub(crate) struct Request {
    slot: NonNull<Slot>,
}

// SAFETY: the slot is kept by its owner until the request is completed, and only its atomic fields change meanwhile; the memory
// it points to is the request's alone until then.
unsafe impl Send for Request {}

/// Owner's side of a request.
#[derive(Debug)]
pub(crate) struct Pending<'a> {
    slot: NonNull<Slot>,
    buffer: PhantomData<&'a mut [u8]>,
}

impl Request {
    /// Makes the request of a slot that lives until it is completed.
    pub(super) fn from_slot(slot: NonNull<Slot>) -> Request {
        Request { slot }
    }

    pub(super) fn slot(&self) -> &Slot {
        // SAFETY: the owner keeps the slot until this request is completed, which consumes it.
        unsafe { self.slot.as_ref() }
    }

    pub(crate) fn op(&self) -> Op {
        self.slot().op
    }

    pub(crate) fn offset(&self) -> u64 {
        self.slot().offset
    }

    /// Memory that data go to or come from. That of a write is only to be read.
    pub(crate) fn address(&self) -> *mut u8 {
        self.slot().address
    }

    pub(crate) fn length(&self) -> usize {
        self.slot().length
    }

    pub(crate) fn tag(&self) -> u64 {
        self.slot().tag.load(Ordering::Relaxed)
    }

    /// Notes something for whoever gets the finished request.
    pub(crate) fn set_tag(&mut self, tag: u64) {
        self.slot().tag.store(tag, Ordering::Relaxed);
    }

    /// Gives the result, and the memory, back to the owner.
    pub(crate) fn complete(self, result: io::Result<usize>) {
        let returned = match result {
            Ok(bytes) => i32::try_from(bytes).expect("requests are below 2 GiB"),
            Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
        };
        // Whom this wakes may panic: the request is completed nevertheless, and not once more by being dropped.
        ManuallyDrop::new(self).finish(returned);
    }

    fn finish(&self, returned: i32) {
        let slot = self.slot();
        slot.result.store(returned, Ordering::Relaxed);
        if let Some(completed) = slot.completed {
            // SAFETY: `owned.rs` has set it for this slot, and a request is completed once.
            return unsafe { completed(self.slot) };
        }
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
        self.slot().is_done()
    }
}

impl Slot {
    pub(super) fn is_done(&self) -> bool {
        self.state.load(Ordering::Acquire) == DONE
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

    pub(super) fn result(&self) -> io::Result<usize> {
        let returned = self.result.load(Ordering::Relaxed);
        usize::try_from(returned).map_err(|_| io::Error::from_raw_os_error(-returned))
    }
}

/// Waits also when `carry` unwinds.
struct Guard<'a>(&'a Pending<'a>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.slot().wait();
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
    pending.slot().result()
}

/// Lends memory to a read that `carry` takes on its way; returns when the read is completed: bytes that came.
pub(crate) fn lend_read(
    buffer: &mut [u8],
    offset: u64,
    carry: impl FnOnce(Request, &Pending<'_>),
) -> io::Result<usize> {
    lend(slot(Op::Read, buffer.as_mut_ptr(), FileRange::new(offset, buffer.len())?), carry)
}

/// Lends an address that need not be memory, to a read that fails.
#[cfg(all(test, not(miri)))]
pub(super) fn lend_raw_read(
    address: *mut u8,
    length: usize,
    offset: u64,
    carry: impl FnOnce(Request, &Pending<'_>),
) -> io::Result<usize> {
    lend(slot(Op::Read, address, FileRange::new(offset, length)?), carry)
}

/// Lends memory to a write that `carry` takes on its way; returns when the write is completed: bytes that were taken.
pub(crate) fn lend_write(
    buffer: &[u8],
    offset: u64,
    carry: impl FnOnce(Request, &Pending<'_>),
) -> io::Result<usize> {
    lend(slot(Op::Write, buffer.as_ptr().cast_mut(), FileRange::new(offset, buffer.len())?), carry)
}

/// Memory that is lent piece by piece to the requests of a group; dropping it waits for all that are out.
pub(crate) struct Loans<'a> {
    first: NonNull<Loan>,
    count: usize,
    /// Those that have no place, and are never lent.
    refused: Vec<(usize, io::Error)>,
    buffers: PhantomData<&'a mut [u8]>,
}

struct Loan {
    slot: Slot,
    /// Bytes that are still wanted.
    rest: usize,
    /// Bytes that came or went.
    moved: usize,
}

impl<'a> Loans<'a> {
    pub(crate) fn reads(list: &'a mut [(u64, &mut [u8])]) -> Loans<'a> {
        Loans::new(
            list.iter_mut().map(|(offset, buffer)| (Op::Read, buffer.as_mut_ptr(), buffer.len(), *offset)),
        )
    }

    pub(crate) fn writes(list: &'a [(u64, &[u8])]) -> Loans<'a> {
        let each = list.iter();
        Loans::new(
            each.map(|(offset, buffer)| (Op::Write, buffer.as_ptr().cast_mut(), buffer.len(), *offset)),
        )
    }

    fn new(list: impl Iterator<Item = (Op, *mut u8, usize, u64)>) -> Loans<'a> {
        let mut refused = Vec::new();
        let loans: Box<[Loan]> = list
            .enumerate()
            .map(|(index, (op, address, rest, offset))| {
                // An empty buffer is full wherever it lies.
                let wanted = if rest > 0 { FileRange::new(offset, rest) } else { Ok(FileRange::NONE) };
                let place = wanted.unwrap_or_else(|error| {
                    refused.push((index, error));
                    FileRange::NONE
                });
                let slot = slot(op, address, place);
                slot.state.store(DONE, Ordering::Relaxed);
                Loan { slot, rest: place.length(), moved: 0 }
            })
            .collect();
        let count = loans.len();
        let first = NonNull::from(Box::leak(loans)).cast();
        Loans { first, count, refused, buffers: PhantomData }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    fn place(&self, index: usize) -> NonNull<Loan> {
        assert!(index < self.count, "request {index} of {}", self.count);
        // SAFETY: the index lies in the allocation, as was just asserted.
        unsafe { self.first.add(index) }
    }

    fn loan(&self, index: usize) -> &Loan {
        // SAFETY: the allocation lives as long as this, and only atomic fields of it change without `&mut self`.
        unsafe { self.place(index).as_ref() }
    }

    /// Requests that can never be lent, and why not; the first caller gets them.
    pub(crate) fn take_refused(&mut self) -> Vec<(usize, io::Error)> {
        std::mem::take(&mut self.refused)
    }

    /// Bytes of a request that are still wanted.
    pub(crate) fn rest(&self, index: usize) -> usize {
        self.loan(index).rest
    }

    /// The request for what is still wanted, tagged with its index. It must not be out.
    pub(crate) fn lend(&mut self, index: usize) -> Request {
        let slot = &self.loan(index).slot;
        assert!(slot.is_done(), "request {index} is still out");
        slot.tag.store(index as u64, Ordering::Relaxed);
        slot.state.store(OPEN, Ordering::Relaxed);
        let place = self.place(index).as_ptr();
        // SAFETY: the place lies in the allocation; no reference is made.
        let slot = unsafe { &raw mut (*place).slot };
        Request { slot: NonNull::new(slot).expect("a place in an allocation") }
    }

    /// True when a request that was lent is through.
    pub(crate) fn is_back(&self, index: usize) -> bool {
        self.loan(index).slot.is_done()
    }

    /// Takes the result of a request that is back: bytes that are still wanted, or what went wrong.
    pub(crate) fn settle(&mut self, index: usize) -> io::Result<usize> {
        let mut place = self.place(index);
        assert!(self.is_back(index), "request {index} is still out");
        // SAFETY: the request is back, so nobody else knows the place, and `self` is borrowed exclusively.
        let loan = unsafe { place.as_mut() };
        let bytes = match loan.slot.result() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(loan.rest),
            Err(error) => return Err(end_or(error, loan.moved > 0 && loan.slot.op == Op::Read)),
            Ok(0) if loan.slot.op == Op::Read => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(bytes) => bytes,
        };
        assert!(bytes <= loan.slot.length, "{bytes} of {} bytes", loan.slot.length);
        loan.rest -= bytes;
        loan.moved += bytes;
        loan.slot.address = loan.slot.address.wrapping_add(bytes);
        loan.slot.offset += bytes as u64;
        loan.slot.length = loan.rest.min(LENGTH_MAX);
        Ok(loan.rest)
    }
}

/// The error of a read. Where a part had come before, only the end of the file can have cut it short; the rest of a direct read
/// then starts where none may start, and some file systems say that first (`EINVAL`).
pub(crate) fn end_or(error: io::Error, is_rest: bool) -> io::Error {
    if is_rest && error.raw_os_error() == Some(libc::EINVAL) {
        io::ErrorKind::UnexpectedEof.into()
    } else {
        error
    }
}

impl Drop for Loans<'_> {
    fn drop(&mut self) {
        for index in 0..self.count {
            self.loan(index).slot.wait();
        }
        let whole = NonNull::slice_from_raw_parts(self.first, self.count);
        // SAFETY: the allocation was leaked by `new`, and no request knows of it any more.
        drop(unsafe { Box::from_raw(whole.as_ptr()) });
    }
}

/// Most bytes of a request; more is a short read or write, as in the kernel (`MAX_RW_COUNT`).
const LENGTH_MAX: usize = 0x7fff_f000;

/// The only way to a request.
pub(super) fn slot(op: Op, address: *mut u8, place: FileRange) -> Slot {
    Slot {
        op,
        address,
        length: place.length().min(LENGTH_MAX),
        offset: place.offset(),
        tag: AtomicU64::new(0),
        result: AtomicI32::new(0),
        state: AtomicU32::new(OPEN),
        completed: None,
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
