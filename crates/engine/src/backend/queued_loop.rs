//! Many I/Os in flight: the loop of the asynchronous engines.
//!
//! ```text
//!   take up to `batch.submit` ops ──► push ──► submit; wait for `batch.complete_min` when all slots are in flight
//!        ▲                                         │   and none has completed
//!        └── slots free again ◄── count ◄── reap ◄─┘
//!                                           up to `batch.submit`
//! ```
//!
//! The start of an I/O is read from the clock before its batch is prepared, its end when it is taken back. As many are
//! taken back at once as are submitted at once, and replaced before the next are: a slot is never empty for longer than it
//! takes to count one I/O and prepare the next, so that the depth asked for is the depth kept. What completes while others
//! are replaced waits for its turn, and this is latency, as it is for every program that does one thing after the other.

use iostack_workload::load::Depth;
use iostack_workload::{Op, Source};

use crate::backend::{Patience, Queue, Station, is_passing, turn};
use crate::meter::Meter;
use crate::payload::Payload;

/// An I/O in flight: what its completion must know.
#[derive(Clone, Copy)]
struct Flight {
    start: u64,
    offset: u64,
    /// Buffer that the slot reads to.
    incoming: *mut u8,
    length: u32,
    direction: u8,
}

const NO_FLIGHT: Flight =
    Flight { start: 0, offset: 0, incoming: std::ptr::null_mut(), length: 0, direction: READ };

const READ: u8 = 0;

/// The slots of one thread: who is in flight, who is free. `F` is what is kept of an I/O in flight.
pub(super) struct Slots<F> {
    pub(super) flights: Box<[F]>,
    /// A stack of the free ones.
    free: Box<[u32]>,
    free_count: usize,
    /// Ticks of each in the submitting call, where the job keeps them apart; else empty.
    submitting: Box<[u64]>,
}

impl<F: Clone> Slots<F> {
    pub(super) fn new(depth: u32, none: F) -> Slots<F> {
        let flights = vec![none; depth as usize].into_boxed_slice();
        let submitting = Box::default();
        Slots { flights, free: (0..depth).rev().collect(), free_count: depth as usize, submitting }
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

    /// Takes free slots, which there must be.
    #[inline]
    fn pop_many(&mut self, count: usize) -> (&[u32], &mut [F]) {
        self.free_count -= count;
        (&self.free[self.free_count..self.free_count + count], &mut self.flights)
    }

    /// The slots that were taken last, and the times of all in the submitting call.
    fn taken_last(&mut self, count: usize) -> (&[u32], &mut [u64]) {
        (&self.free[self.free_count..self.free_count + count], &mut self.submitting)
    }

    /// Gives a slot back. A slot given back twice is a bug, and found here at the latest when all are back.
    #[inline]
    pub(super) fn push(&mut self, slot: u32) {
        self.free[self.free_count] = slot;
        self.free_count += 1;
    }
}

/// Runs until the source or the time is over and everything in flight has come back; `Err(errno)` when the kernel
/// refuses for good, with I/O perhaps still in flight. `READS` when the job does nothing else, which spares asking.
pub(crate) fn run<Q: Queue, const READS: bool>(station: &mut Station<'_>, queue: &mut Q) -> Result<(), i32> {
    let Station { load, meter, payload, .. } = station;
    let (depth, source) = (load.depth, &mut load.source);
    let meter = &mut **meter;
    let clock = meter.clock;
    let mut slots = slots(depth, payload, Q::SUBMITS_APART && meter.splits);
    let mut directions = Vec::with_capacity(depth.submit as usize);
    let mut over = turn(meter, source, clock.now());
    loop {
        if depth.submit == 1 && slots.free_count == 1 && !over {
            over = replace_each::<Q, READS>(
                source,
                meter,
                payload,
                (queue, depth.complete_min.min(depth.slots)),
                &mut slots,
            )?;
        }
        let start = clock.now();
        let wanted = if over { 0 } else { depth.submit.min(slots.free_count as u32) };
        if wanted > 0 {
            let ops = source.take_many(wanted as usize);
            over = ops.is_empty();
            push_many::<Q, READS>(ops, start, payload, queue, &mut slots);
            if Q::SUBMITS_APART && !over {
                directions.extend(ops.iter().map(|op| op.direction));
                submit_apart(meter, queue, start, &mut directions, slots.taken_last(ops.len()));
            }
        }
        let in_flight = slots.in_flight();
        if in_flight == 0 {
            return Ok(());
        }
        let full = over || in_flight == depth.slots;
        let entered = if full && !queue.is_ready() {
            queue.submit_and_wait(depth.complete_min.min(in_flight), Patience::Forever)
        } else {
            queue.submit()
        };
        meter.syscalls += entered.syscalls;
        if entered.errno != 0 {
            over |= settle(entered.errno)? && turn(meter, source, clock.now());
        } else if !full {
            continue;
        }
        let end = clock.now();
        if end >= meter.edge {
            over |= turn(meter, source, end);
        }
        reap::<Q, READS>(meter, queue, &mut slots, depth.submit, end);
    }
}

/// Prepares operations that start now in free slots, which there must be.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it is the loop's first half")]
fn push_many<Q: Queue, const READS: bool>(
    ops: &[Op],
    start: u64,
    payload: &mut Payload,
    queue: &mut Q,
    slots: &mut Slots<Flight>,
) {
    let (places, flights) = slots.pop_many(ops.len());
    queue.push_all(ops.iter().zip(places).map(|(op, &slot)| {
        let flight = &mut flights[slot as usize];
        let direction = if READS { READ } else { op.direction };
        (flight.start, flight.offset, flight.length) = (start, op.offset, op.length);
        if !READS {
            flight.direction = direction;
        }
        let buffer = if direction == READ { flight.incoming } else { outgoing(payload, slot, op) };
        (slot, Op { direction, ..*op }, buffer)
    }));
}

/// The loop for one I/O in each call, which most jobs ask for, as long as the queue stays full and nothing unusual happens: the
/// slot that came back is used at once. True when nothing more is to be submitted.
#[inline(never)]
fn replace_each<Q: Queue, const READS: bool>(
    source: &mut Source,
    meter: &mut Meter<'_>,
    payload: &mut Payload,
    (queue, least): (&mut Q, u32),
    slots: &mut Slots<Flight>,
) -> Result<bool, i32> {
    let clock = meter.clock;
    let mut directions = Vec::new();
    let Some(mut slot) = slots.pop() else { return Ok(false) };
    let flights = &mut *slots.flights;
    let mut over = false;
    while !over {
        let Some(op) = source.take() else {
            over = true;
            break;
        };
        let start = clock.now();
        let direction = if READS { READ } else { op.direction };
        let flight = &mut flights[slot as usize];
        (flight.start, flight.offset, flight.length) = (start, op.offset, op.length);
        if !READS {
            flight.direction = direction;
        }
        let buffer = if direction == READ { flight.incoming } else { outgoing(payload, slot, &op) };
        queue.push_all(std::iter::once((slot, Op { direction, ..op }, buffer)));
        if Q::SUBMITS_APART {
            directions.push(direction);
            submit_apart(meter, queue, start, &mut directions, (&[slot], &mut slots.submitting));
        }
        let entered =
            if queue.is_ready() { queue.submit() } else { queue.submit_and_wait(least, Patience::Forever) };
        meter.syscalls += entered.syscalls;
        if entered.errno != 0 {
            return Ok(settle(entered.errno)? && turn(meter, source, clock.now()));
        }
        let end = clock.now();
        over = end >= meter.edge && turn(meter, source, end);
        let Some((back, result)) = queue.take() else { return Ok(over) };
        let submitting = (Q::SUBMITS_APART && meter.splits).then(|| slots.submitting[back as usize]);
        returned::<READS>(meter, &flights[back as usize], result, end, submitting);
        meter.mark(end);
        slot = back;
    }
    slots.push(slot);
    Ok(over)
}

/// Counts an I/O that has come back; also what came after `submitting`, where that is kept apart.
#[inline(always)]
#[expect(clippy::inline_always, reason = "each I/O pays for it")]
fn returned<const READS: bool>(
    meter: &mut Meter<'_>,
    flight: &Flight,
    result: i32,
    end: u64,
    submitting: Option<u64>,
) {
    let direction = if READS { READ } else { flight.direction };
    if result.cast_unsigned() == flight.length {
        meter.complete(direction, flight.length, flight.start, end);
        if let Some(submitting) = submitting {
            meter.split(direction, flight.start, submitting, end);
        }
    } else {
        let op = Op { offset: flight.offset, length: flight.length, direction, file: 0 };
        meter.fail(op, result as isize, flight.start, end);
    }
}

/// All slots free, each with the buffer that its reads fill.
fn slots(depth: Depth, payload: &Payload, splits: bool) -> Slots<Flight> {
    let mut slots = Slots::new(depth.slots, NO_FLIGHT);
    slots.submitting = vec![0; if splits { depth.slots as usize } else { 0 }].into();
    for (flight, index) in slots.flights.iter_mut().zip(0..payload.reads.count) {
        flight.incoming = payload.reads.address(index);
    }
    slots
}

/// Counts what has come back, and frees its slots.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it is the loop's second half")]
fn reap<Q: Queue, const READS: bool>(
    meter: &mut Meter<'_>,
    queue: &mut Q,
    slots: &mut Slots<Flight>,
    most: u32,
    end: u64,
) {
    let Slots { flights, free, free_count, submitting } = slots;
    let mut room = free[*free_count..].iter_mut();
    let in_flight = room.len();
    queue.reap(
        most,
        #[inline(always)]
        |slot, result| {
            *room.next().expect("no more complete than were submitted") = slot;
            let submitting = (Q::SUBMITS_APART && meter.splits).then(|| submitting[slot as usize]);
            returned::<READS>(meter, &flights[slot as usize], result, end, submitting);
        },
    );
    *free_count += in_flight - room.len();
    meter.mark(end);
}

/// The buffer of a write, fresh. Apart, so that the registers of the reading path are its own.
#[inline(never)]
fn outgoing(payload: &mut Payload, slot: u32, op: &Op) -> *mut u8 {
    payload.outgoing(slot as usize, op.length as usize).as_mut_ptr()
}

/// Hands over alone; its time is shared evenly by the I/Os it carried, in these slots.
#[inline]
fn submit_apart<Q: Queue>(
    meter: &mut Meter<'_>,
    queue: &mut Q,
    start: u64,
    directions: &mut Vec<u8>,
    (places, submitting): (&[u32], &mut [u64]),
) {
    let before = meter.clock.now();
    let entered = queue.submit();
    let share = (meter.clock.now() - before) / directions.len() as u64;
    meter.syscalls += entered.syscalls;
    if meter.splits {
        for &slot in places {
            submitting[slot as usize] = share;
        }
    }
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
