//! Many I/Os in flight: the loop of the asynchronous engines.
//!
//! ```text
//!   take up to `batch.submit` ops ──► push ──► submit; wait for `batch.complete_min` when all slots are in flight
//!        ▲                                                     │
//!        └──────────── slots free again ◄── count ◄── reap ◄───┘
//! ```
//!
//! The start of an I/O is read from the clock before its batch is prepared, its end after the wait, once for all
//! completions found together: they became visible at the same moment.

use iostack_workload::Op;

use crate::backend::{Patience, Queue, Station, is_passing, turn};
use crate::meter::Meter;
use crate::payload::Payload;

/// An I/O in flight.
#[derive(Clone, Copy)]
struct Flight {
    op: Op,
    start: u64,
}

/// The slots of one thread: who is in flight, who is free. `F` is what is kept of an I/O in flight.
pub(super) struct Slots<F> {
    pub(super) flights: Box<[F]>,
    /// A stack of the free ones.
    free: Box<[u32]>,
    free_count: usize,
}

impl<F: Clone> Slots<F> {
    pub(super) fn new(depth: u32, none: F) -> Slots<F> {
        let flights = vec![none; depth as usize].into_boxed_slice();
        Slots { flights, free: (0..depth).rev().collect(), free_count: depth as usize }
    }

    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        (self.free.len() - self.free_count) as u32
    }

    /// Takes a free slot.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<u32> {
        let slot = *self.free.get(self.free_count.wrapping_sub(1))?;
        self.free_count -= 1;
        Some(slot)
    }

    /// Gives a slot back. A slot given back twice is a bug, and found here at the latest when all are back.
    #[inline]
    pub(super) fn push(&mut self, slot: u32) {
        self.free[self.free_count] = slot;
        self.free_count += 1;
    }
}

/// What stands in a slot that was never used.
pub(super) const NO_OP: Op = Op { offset: 0, length: 0, direction: 0, file: 0 };

/// How many at once, from the job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Depth {
    pub(crate) slots: u32,
    pub(crate) submit: u32,
    pub(crate) complete_min: u32,
}

/// Runs until the source or the time is over and everything in flight has come back; `Err(errno)` when the kernel
/// refuses for good, with I/O perhaps still in flight.
pub(crate) fn run<Q: Queue>(station: &mut Station<'_>, queue: &mut Q, depth: Depth) -> Result<(), i32> {
    let Station { source, meter, payload, extras, .. } = station;
    let meter = &mut **meter;
    let clock = meter.clock;
    let mut slots = Slots::new(depth.slots, Flight { op: NO_OP, start: 0 });
    let mut directions = Vec::with_capacity(depth.submit as usize);
    let mut over = turn(meter, source, extras, clock.now());
    loop {
        let start = clock.now();
        let mut pushed = 0;
        while !over && pushed < depth.submit {
            let Some(slot) = slots.pop() else { break };
            let Some(op) = source.take_in_place() else {
                slots.push(slot);
                over = true;
                break;
            };
            let flight = &mut slots.flights[slot as usize];
            flight.op = *op;
            flight.start = start;
            push(payload, queue, slot, op);
            pushed += 1;
            if Q::SUBMITS_APART {
                directions.push(op.direction);
            }
        }
        if slots.in_flight() == 0 {
            return Ok(());
        }
        let full = over || slots.in_flight() == depth.slots;
        let wait = if full { depth.complete_min.min(slots.in_flight()) } else { 0 };
        if Q::SUBMITS_APART && pushed > 0 {
            submit_apart(meter, queue, start, &mut directions);
        }
        let entered = if wait == 0 { queue.submit() } else { queue.submit_and_wait(wait, Patience::Forever) };
        meter.syscalls += entered.syscalls;
        if entered.errno != 0 {
            over |= settle(entered.errno)? && turn(meter, source, extras, clock.now());
        } else if wait == 0 {
            continue;
        }
        let end = clock.now();
        if end >= meter.edge {
            over |= turn(meter, source, extras, end);
        }
        queue.reap(
            #[inline(always)]
            |slot, result| {
                slots.push(slot);
                let Flight { op, start } = &slots.flights[slot as usize];
                if result.cast_unsigned() == op.length {
                    meter.complete(op.direction, op.length, *start, end);
                } else {
                    meter.fail(*op, result as isize, *start, end);
                }
            },
        );
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "half of what it does is decided by the loop around it")]
pub(super) fn push<Q: Queue>(payload: &mut Payload, queue: &mut Q, slot: u32, op: &Op) {
    let buffer = if op.direction == 0 {
        payload.reads.address(slot as usize)
    } else {
        payload.outgoing(slot as usize, op.length as usize).as_mut_ptr()
    };
    queue.push(slot, op, buffer);
}

/// Hands over alone; its time is shared evenly by the I/Os it carried.
#[inline]
fn submit_apart<Q: Queue>(meter: &mut Meter<'_>, queue: &mut Q, start: u64, directions: &mut Vec<u8>) {
    let before = meter.clock.now();
    let entered = queue.submit();
    let share = (meter.clock.now() - before) / directions.len() as u64;
    meter.syscalls += entered.syscalls;
    if meter.counts(start) {
        for &direction in &*directions {
            meter.submitted(direction, share);
        }
    }
    directions.clear();
}

/// Deals with a call that did not hand over everything: true when a signal ended it, so that the stop flag deserves a
/// look.
#[cold]
pub(super) fn settle(errno: i32) -> Result<bool, i32> {
    if !is_passing(errno) {
        return Err(errno);
    }
    if errno != libc::ETIME && errno != libc::EINTR {
        std::thread::yield_now();
    }
    Ok(errno == libc::EINTR)
}
