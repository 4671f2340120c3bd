//! Many I/Os in flight, with what may accompany them: the loop of [`queued_loop`](super::queued_loop) for jobs that
//! pace, verify, flush, trim or log.
//!
//! An open loop hands over what is due, and waits for a completion or for the next due moment, in one call. It is woken a
//! little early and spins for the rest, looking at the ring meanwhile: no call polls.
//!
//! A flush waits until nothing is in flight, as in fio, so that it covers all writes before it. Trims are done at
//! once, outside the queue: the kernel's asynchronous trim is too new to rely on.

use iostack_workload::Op;
use iostack_workload::load::Depth;

use crate::backend::queued_loop::{Slots, settle};
use crate::backend::{Entered, Patience, Queue, Station};
use crate::extras::Moments;

/// A wait ends at least this often, for the stop flag and the series.
const WAIT_MAX_NS: u64 = 50_000_000;

const WRITE: u8 = 1;

/// What stands in a slot that was never used.
const NO_OP: Op = Op { offset: 0, length: 0, direction: 0, file: 0 };

/// An I/O in flight.
#[derive(Clone, Copy)]
struct Flight {
    op: Op,
    start: u64,
    submitted: u64,
    submitting: u64,
    io_priority: u16,
    is_out: bool,
}

/// True when the bytes of the operation are in flight already, and it has to wait for that.
fn must_wait(station: &Station<'_>, slots: &Slots<Flight>, op: &Op) -> bool {
    let end = |op: &Op| op.offset + u64::from(op.length);
    let meets = |flight: &Flight| {
        let other = &flight.op;
        flight.is_out && other.file == op.file && other.offset < end(op) && op.offset < end(other)
    };
    station.extras.one_at_a_place && slots.flights.iter().any(meets)
}

/// Runs until the source or the time is over and everything in flight has come back; `Err(errno)` when the kernel
/// refuses for good, with I/O perhaps still in flight.
pub(crate) fn run<Q: Queue>(station: &mut Station<'_>, queue: &mut Q, depth: Depth) -> Result<(), i32> {
    let clock = station.meter.clock;
    let none = Flight { op: NO_OP, start: 0, submitted: 0, submitting: 0, io_priority: 0, is_out: false };
    let mut slots = Slots::new(depth.slots, none);
    let mut batch = Vec::with_capacity(depth.submit as usize);
    let mut over = station.turn(clock.now());
    loop {
        let flush = station.extras.flush_due();
        if !over && flush.is_none() {
            over = prepare(station, queue, &mut slots, &mut batch, depth.submit);
        }
        if slots.in_flight() == 0 {
            match flush {
                _ if over => return Ok(()),
                Some(flush) => station.extras.flush(&mut station.meter, &station.files, flush),
                None => over = station.wait_until_due(),
            }
            continue;
        }
        let held = flush.is_some() || station.extras.ahead().is_some() || station.held.is_some();
        let full = over || held || slots.in_flight() >= depth.slots.min(station.extras.deepest());
        if Q::SUBMITS_APART || !(full || station.extras.pacer.is_open()) {
            submit(station, queue, &mut slots, &mut batch);
        } else {
            // The call that waits hands over too.
            batch.clear();
        }
        let entered = match next(station, queue, full, depth.complete_min.min(slots.in_flight())) {
            Next::Submit => continue,
            Next::Reap => queue.submit(),
            Next::Wait { least, until } => wait(station, queue, least, until),
        };
        station.meter.syscalls += entered.syscalls;
        if entered.errno != 0 {
            over |= settle(entered.errno)? && station.turn(clock.now());
        }
        let end = clock.now();
        if queue.is_ready() {
            station.returned();
        }
        if end >= station.meter.edge {
            over |= station.turn(end);
        }
        // In a closed loop what comes back is replaced before more is taken back, as in the plain loop.
        let most = if station.extras.pacer.is_open() { depth.slots } else { depth.submit };
        queue.reap(most, |slot, result| {
            slots.push(slot);
            slots.flights[slot as usize].is_out = false;
            arrived(station, slot, slots.flights[slot as usize], result, end);
        });
    }
}

/// Takes what is due and pushes it; true when there is nothing more to come.
fn prepare<Q: Queue>(
    station: &mut Station<'_>,
    queue: &mut Q,
    slots: &mut Slots<Flight>,
    batch: &mut Vec<u32>,
    most: u32,
) -> bool {
    while batch.len() < most as usize && station.extras.flush_due().is_none() {
        let now = station.meter.clock.now();
        let full = slots.in_flight() >= station.extras.deepest();
        if full || station.extras.pacer.due() > now || station.extras.ahead().is_some() {
            break;
        }
        let Some(slot) = slots.pop() else { break };
        let Some(op) = station.take() else {
            slots.push(slot);
            return true;
        };
        if station.extras.is_flush(&op, now) {
            slots.push(slot);
            return false;
        }
        if must_wait(station, slots, &op) {
            slots.push(slot);
            station.held = Some(op);
            return false;
        }
        let start = station.extras.submitting(&op, now);
        if op.direction > WRITE {
            slots.push(slot);
            if trim(station, &op, start) {
                return true;
            }
            continue;
        }
        let buffer = if op.direction == WRITE {
            let buffer = station.payload.outgoing(slot as usize, op.length as usize);
            station.extras.stamp(&op, buffer);
            buffer.as_mut_ptr()
        } else {
            station.payload.reads.address(slot as usize)
        };
        let io_priority = station.extras.io_priority(&op);
        queue.push_preferred(io_priority, (slot, op, buffer));
        station.begin(slot, now.saturating_sub(start));
        slots.flights[slot as usize] =
            Flight { op, start, submitted: now, submitting: 0, io_priority, is_out: true };
        batch.push(slot);
    }
    false
}

/// Trims at once; true when the job is to end.
fn trim(station: &mut Station<'_>, op: &Op, start: u64) -> bool {
    let submitted = station.meter.clock.now();
    let result = station.files.trim(op);
    let end = station.meter.clock.now();
    let over = end >= station.meter.edge && station.turn(end);
    station.meter.syscalls += 1;
    if result.cast_unsigned() == op.length as usize {
        station.meter.complete(op.direction, op.length, start, end);
        let moments = Moments { start, submitted, end, submitting: 0, io_priority: 0 };
        station.extras.after(&mut station.meter, op, &[], moments);
    } else {
        station.meter.fail(*op, result, start, end);
    }
    over
}

fn submit<Q: Queue>(
    station: &mut Station<'_>,
    queue: &mut Q,
    slots: &mut Slots<Flight>,
    batch: &mut Vec<u32>,
) {
    if batch.is_empty() {
        return;
    }
    let before = station.meter.clock.now();
    let entered = queue.submit();
    let share = (station.meter.clock.now() - before) / batch.len() as u64;
    station.meter.syscalls += entered.syscalls;
    for slot in batch.drain(..) {
        let flight = &mut slots.flights[slot as usize];
        flight.submitted = before;
        flight.submitting = share;
        if station.meter.counts(flight.start) {
            station.meter.submitted(flight.op.direction, share);
        }
    }
}

/// What to do when all that is due has been pushed.
enum Next {
    /// Fill the queue of a closed loop first.
    Submit,
    /// Something has come back already.
    Reap,
    /// Wait for so many completions, in an open loop until the next I/O is due.
    Wait { least: u32, until: Option<u64> },
}

fn next<Q: Queue>(station: &Station<'_>, queue: &Q, full: bool, least: u32) -> Next {
    let pacer = &station.extras.pacer;
    let due = pacer.due();
    if !full && !pacer.is_open() && due <= station.meter.clock.now() {
        return Next::Submit;
    }
    if queue.is_ready() {
        return Next::Reap;
    }
    if full { Next::Wait { least, until: None } } else { Next::Wait { least: 1, until: Some(due) } }
}

/// Hands over and waits; the last stretch before the next I/O is due without a call.
fn wait<Q: Queue>(station: &mut Station<'_>, queue: &mut Q, least: u32, until: Option<u64>) -> Entered {
    let clock = station.meter.clock;
    let Some(due) = until else { return queue.submit_and_wait(least, Patience::Nanos(WAIT_MAX_NS)) };
    let now = clock.now();
    if let Some(asked) = station.extras.wake.asked(now, due) {
        let timeout = clock.nanos(asked - now);
        let entered = queue.submit_and_wait(least, Patience::Nanos(timeout.min(WAIT_MAX_NS)));
        let woken = clock.now();
        if woken >= asked && timeout <= WAIT_MAX_NS && !queue.is_ready() {
            station.extras.wake.woke(asked, woken);
        }
        return entered;
    }
    let entered = if due <= now { queue.submit_and_wait(least, Patience::Nanos(0)) } else { queue.submit() };
    while !queue.is_ready() && clock.now() < due {
        std::hint::spin_loop();
    }
    entered
}

fn arrived(station: &mut Station<'_>, slot: u32, flight: Flight, result: i32, end: u64) {
    let Flight { op, start, submitted, submitting, io_priority, is_out: _ } = flight;
    station.completed(slot, result.cast_unsigned() == op.length);
    if result.cast_unsigned() == op.length {
        station.meter.complete(op.direction, op.length, start, end);
        if station.meter.splits && submitting > 0 {
            station.meter.split(op.direction, start, submitting, end);
        }
        let Station { extras, meter, payload, .. } = station;
        let moments = Moments { start, submitted, end, submitting, io_priority };
        extras.after(meter, &op, payload.data_of(&op, slot as usize), moments);
    } else {
        station.meter.fail(op, result as isize, start, end);
    }
}
