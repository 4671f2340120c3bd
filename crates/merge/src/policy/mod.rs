//! Who carries a request, alone or with others?
//!
//! ```text
//!   Pread, Ring ───── the caller, by itself
//!   Stm, Hybrid ───── a winner takes the oldest that wait, as one batch  ┐ queue.rs around lineup.rs
//!   LeaderFollower ── a leader sends and reaps for all                   ┘
//!   Atm ───────────── a thread of the library's own                      ── plug.rs
//!   Auto ──────────── plain calls, or the one that has shown to be better
//! ```
//!
//! # What holds in every policy
//!
//! * **Each request is carried once**, and its caller returns when it is through, with its own result: an error of one is not the
//!   others'.
//! * **Order.** A caller's own calls are in order, since each returns before the next. Between callers there is none: writes that
//!   overlap, or a read beside a write of the same place, end as if they had been made in any order (see [`crate::File`]).
//! * **Fairness.** Requests that wait leave in the order in which they came. So a request waits for no more batches than are full
//!   of older ones, besides those already on their way. A winner carries one batch, its own request in it; a leader stays for
//!   what it has sent when its own is through, and sends no more.
//! * **Nobody spins** for another's request: one system call wakes all whose requests a batch had, and the next winner, from
//!   one word (`sys/futex.rs`). Only a hybrid winner that holds its batch back, for c at most, gives up its processor again and
//!   again instead of sleeping: c is shorter than a sleep.
//! * **A winner, leader or worker that dies** (panics), or has no lane, gives back every request it had. Its owner sees `ECANCELED`
//!   and makes a plain call instead, once ([`read`], [`write()`]). A write may then be made twice with the same data: where another
//!   caller writes the same place at the same time, that is one more of the orders above. An `ECANCELED` of the device's own is
//!   tried once more as well.
//! * **Cancelling.** A call that blocks cannot be cancelled; the C interface puts `pthread_cancel` off until it returns. A thread
//!   that ends otherwise than by returning or unwinding, by `pthread_cancel` in a call from Rust or a bare `exit` system call,
//!   leaves its memory to the kernel and its followers waiting: do not.
//! * **Fork.** A child makes plain calls; policies are the parent's (see [`crate::File`]). The worker of [`Policy::Atm`] stays with
//!   the parent.
//!
//! # Why a lock around the line
//!
//! A list without a lock (Treiber's, taken whole by a swap) saved 16 to 70 ns a push of 160 to 230, medians of nine turns of 1, 2 and
//! 8 threads on two loaded processors. It cannot leave the rest of a full batch in the line, nor tell a caller's place, and
//! a request costs microseconds.

mod atm;
mod auto;
mod decide;
mod hybrid;
mod leader;
mod learn;
mod lineup;
mod plug;
mod queue;
mod ring;
mod send;
mod sync;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

use std::io;
use std::sync::Arc;

use self::hybrid::Adaptive;
use self::queue::{AtOnce, BatchRule, Queue};
use crate::sys::{Device, Pending, Request, by_itself, lend_read, lend_write};
use crate::{Options, Policy};

/// A way for single blocking calls.
pub(crate) trait Carry: Send + Sync {
    /// Takes one request on its way; returns when `pending` is done.
    fn carry(&self, device: &dyn Device, request: Request, pending: &Pending<'_>);

    /// Reads by a plain call of this thread, where that is the way at present; else [`Carry::carry`] is asked.
    fn read(&self, _device: &dyn Device, _buffer: &mut [u8], _offset: u64) -> Option<io::Result<usize>> {
        None
    }

    /// Writes by a plain call of this thread, where that is the way at present.
    fn write(&self, _device: &dyn Device, _buffer: &[u8], _offset: u64) -> Option<io::Result<usize>> {
        None
    }

    /// Way that it takes at present, where it chooses.
    fn advice(&self) -> Option<Advice> {
        None
    }
}

/// Way that single calls take at present, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Way that is taken.
    pub policy: Policy,
    /// A clause that goes on after "because".
    pub why: String,
}

/// Reads by a way. What another carried and lost (`ECANCELED`) is read once more, by a plain call.
pub(crate) fn read(
    way: &dyn Carry,
    device: &dyn Device,
    buffer: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    match lend_read(buffer, offset, |request, pending| way.carry(device, request, pending)) {
        Err(error) if error.raw_os_error() == Some(libc::ECANCELED) => device.read(buffer, offset),
        result => result,
    }
}

/// Writes by a way. What another carried and lost (`ECANCELED`) is written once more, by a plain call.
pub(crate) fn write(way: &dyn Carry, device: &dyn Device, buffer: &[u8], offset: u64) -> io::Result<usize> {
    match lend_write(buffer, offset, |request, pending| way.carry(device, request, pending)) {
        Err(error) if error.raw_os_error() == Some(libc::ECANCELED) => device.write(buffer, offset),
        result => result,
    }
}

/// Carrier of the single calls of a file's policy.
pub(crate) fn carrier(options: &Options, device: &Arc<dyn Device>) -> Box<dyn Carry> {
    let batch_max = options.batch_max.min(device.batch_max());
    match options.policy {
        Policy::Auto => {
            let merging = Options { policy: auto::MERGING, ..options.clone() };
            Box::new(auto::Auto::new(carrier(&merging, device)))
        }
        Policy::Pread => Box::new(Alone),
        Policy::Atm => Box::new(atm::Atm::new(options, device, batch_max)),
        Policy::Ring => Box::new(ring::OwnRing),
        Policy::Hybrid => Box::new(Queue::new(1, batch_max, Adaptive::new())),
        Policy::LeaderFollower => Box::new(leader::LeaderFollower::new(batch_max)),
        Policy::Stm => Box::new(Queue::new(1, batch_max, AtOnce)),
    }
}

/// Synchronous temporal merge (*Achieving Peak Device Throughput for Random IO Workload*, 2012), by [`AtOnce`]: while one caller's
/// batch is on the device, others queue and sleep; the next winner takes all of them. A batch is as large as what came during the
/// one before. With [`Adaptive`] the winner may wait for more.
impl<R: BatchRule + Send> Carry for Queue<Request, R> {
    fn carry(&self, device: &dyn Device, request: Request, pending: &Pending<'_>) {
        if let Some(mut batch) = self.join(request, || pending.is_done()) {
            send::send(device, &mut batch.load);
        }
    }
}

/// Each by itself, by a plain call.
struct Alone;

impl Carry for Alone {
    fn carry(&self, device: &dyn Device, request: Request, _: &Pending<'_>) {
        by_itself(device, request);
    }
}
