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

use crate::backend::{Entered, Patience, Queue, Station, is_passing};

/// An I/O in flight.
#[derive(Clone, Copy)]
struct Flight {
    op: Op,
    start: u64,
}

/// The slots of one thread: who is in flight, who is free. `F` is what is kept of an I/O in flight.
pub(super) struct Slots<F> {
    pub(super) flights: Vec<F>,
    pub(super) free: Vec<u32>,
}

impl<F: Clone> Slots<F> {
    pub(super) fn new(depth: u32, none: F) -> Slots<F> {
        Slots { flights: vec![none; depth as usize], free: (0..depth).rev().collect() }
    }

    pub(super) fn in_flight(&self) -> u32 {
        (self.flights.len() - self.free.len()) as u32
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
    let clock = station.meter.clock;
    let mut slots = Slots::new(depth.slots, Flight { op: NO_OP, start: 0 });
    let mut directions = Vec::with_capacity(depth.submit as usize);
    let mut over = station.turn(clock.now());
    loop {
        let start = clock.now();
        let mut pushed = 0;
        while !over && pushed < depth.submit {
            let Some(slot) = slots.free.pop() else { break };
            let Some(op) = station.source.take() else {
                slots.free.push(slot);
                over = true;
                break;
            };
            push(station, queue, slot, &op);
            let flight = &mut slots.flights[slot as usize];
            flight.op = op;
            flight.start = start;
            pushed += 1;
            if Q::SUBMITS_APART {
                directions.push(op.direction);
            }
        }
        if slots.free.len() == slots.flights.len() {
            return Ok(());
        }
        let wait = if over || slots.free.is_empty() { depth.complete_min.min(slots.in_flight()) } else { 0 };
        if Q::SUBMITS_APART && pushed > 0 {
            submit_apart(station, queue, start, &mut directions);
        }
        let entered = if wait == 0 { queue.submit() } else { queue.submit_and_wait(wait, Patience::Forever) };
        station.meter.syscalls += entered.syscalls;
        if entered.errno != 0 {
            over |= settle(station, entered)?;
        } else if wait == 0 {
            continue;
        }
        let end = clock.now();
        if end >= station.meter.edge {
            over |= station.turn(end);
        }
        queue.reap(|slot, result| {
            let Flight { op, start, .. } = slots.flights[slot as usize];
            slots.free.push(slot);
            if result.cast_unsigned() == op.length {
                station.meter.complete(op.direction, op.length, start, end);
            } else {
                station.meter.fail(&op, result as isize, start, end);
            }
        });
    }
}

#[inline]
pub(super) fn push<Q: Queue>(station: &mut Station<'_>, queue: &mut Q, slot: u32, op: &Op) {
    let buffer = if op.direction == 0 {
        station.payload.reads.address(slot as usize)
    } else {
        station.payload.outgoing(slot as usize, op.length as usize).as_mut_ptr()
    };
    queue.push(slot, op, buffer);
}

/// Hands over alone; its time is shared evenly by the I/Os it carried.
#[inline]
fn submit_apart<Q: Queue>(station: &mut Station<'_>, queue: &mut Q, start: u64, directions: &mut Vec<u8>) {
    let before = station.meter.clock.now();
    let entered = queue.submit();
    let share = (station.meter.clock.now() - before) / directions.len() as u64;
    station.meter.syscalls += entered.syscalls;
    if station.meter.counts(start) {
        for &direction in &*directions {
            station.meter.submitted(direction, share);
        }
    }
    directions.clear();
}

/// Deals with a call that did not hand over everything: true when the job is to end.
#[cold]
pub(super) fn settle(station: &mut Station<'_>, entered: Entered) -> Result<bool, i32> {
    if !is_passing(entered.errno) {
        return Err(entered.errno);
    }
    let now = station.meter.clock.now();
    if entered.errno == libc::EINTR {
        return Ok(station.turn(now));
    }
    if entered.errno != libc::ETIME {
        std::thread::yield_now();
    }
    Ok(false)
}
