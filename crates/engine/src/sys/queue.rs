//! What sends many requests by one call.
//!
//! The requests of a queue name buffers of its thread's payload, one for each I/O in flight. The payload goes when all of
//! them have come back, or never (`worker.rs`).

use std::os::fd::RawFd;

use iostack_ring::{Context, ControlBlock, Request, Ring};

use super::posix_aio::Requests;

/// Puts requests for the thread's buffers into its ring, which has room for them; how many there were.
#[inline(always)]
#[expect(clippy::inline_always, reason = "most of it is decided by the loop around it")]
pub(crate) fn push_all<const REGISTERED: bool>(ring: &mut Ring, batch: impl Iterator<Item = Request>) -> u32 {
    // SAFETY: the payload stays until the completions, as above; the ring has an entry for each I/O in flight.
    unsafe { ring.push_all::<REGISTERED>(batch) }
}

/// Hands over control blocks for the thread's buffers; how many the kernel took, or `-errno`.
#[inline]
pub(crate) fn submit(context: &mut Context, blocks: &[*const ControlBlock]) -> isize {
    // SAFETY: the queue has just pointed at its own control blocks; the payload stays until the completions, as above.
    unsafe { context.submit(blocks) }
}

/// Hands over a request for the thread's buffer; 0, or `-errno`.
pub(crate) fn start(
    requests: &mut Requests,
    slot: u32,
    write: bool,
    file: RawFd,
    buffer: (*mut u8, u32),
    offset: u64,
) -> i32 {
    // SAFETY: the payload stays until the completions, as above.
    unsafe { requests.start(slot, write, file, buffer, offset) }
}
