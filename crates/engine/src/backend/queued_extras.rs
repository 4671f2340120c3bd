//! Many I/Os in flight, with what may accompany them: the loop of [`queued_loop`](super::queued_loop) for jobs that
//! pace, verify, flush, trim or log.
//!
//! An open loop hands over what is due, and waits for a completion or for the next due moment, in one call. It is woken a
//! little early and spins for the rest, looking at the ring meanwhile: no call polls.
//!
//! A flush waits until nothing is in flight, as in fio, so that it covers all writes before it. Trims are done at
//! once, outside the queue: the kernel's asynchronous trim is too new to rely on.

use iostack_workload::Op;
use iostack_workload::load::Next;

use crate::backend::queued_loop::{Slots, settle};
use crate::backend::{Entered, Patience, Queue, Station};
use crate::extras::Moments;

/// A wait ends at least this often, for the stop flag and the series.
const WAIT_MAX_NS: u64 = 50_000_000;

const WRITE: u8 = 1;

/// Content of a slot that was never used.
const NO_OP: Op = Op { offset: 0, length: 0, direction: 0, file: 0 };

/// An I/O in flight.
#[derive(Clone, Copy)]
struct ExtraFlight {
    op: Op,
    start: u64,
    submitted: u64,
    submitting: u64,
    io_priority: u16,
    is_out: bool,
}

/// True when the bytes of the operation are in flight already, and it has to wait for that.
fn must_wait(slots: &Slots<ExtraFlight>, op: &Op) -> bool {
    let end = |op: &Op| op.offset + u64::from(op.length);
    let meets = |flight: &ExtraFlight| {
        let other = &flight.op;
        flight.is_out && other.file == op.file && other.offset < end(op) && op.offset < end(other)
    };
    slots.flights.iter().any(meets)
}

/// Runs until the source or the time is over and everything in flight has come back; `Err(errno)` when the kernel
/// refuses for good, with I/O perhaps still in flight.
pub(crate) fn run<Q: Queue>(station: &mut Station<'_>, queue: &mut Q) -> Result<(), i32> {
    let clock = station.meter.clock;
    let depth = station.load.depth;
    let none =
        ExtraFlight { op: NO_OP, start: 0, submitted: 0, submitting: 0, io_priority: 0, is_out: false };
    let mut slots = Slots::new(depth.slots, none);
    let mut batch = Vec::with_capacity(depth.submit as usize);
    station.turn(clock.now());
    loop {
        let then = prepare(station, queue, &mut slots, &mut batch);
        let full = match then {
            Some(Next::Wait(least)) => Some(least),
            Some(then) if slots.in_flight() == 0 => {
                if station.follow(then) {
                    return Ok(());
                }
                continue;
            }
            _ => None,
        };
        if Q::SUBMITS_APART || !(full.is_some() || station.load.pacer.is_open()) {
            submit(station, queue, &mut slots, &mut batch);
        } else {
            // The call that waits hands over too.
            batch.clear();
        }
        let entered = match act(station, queue, full) {
            QueueAct::Submit => continue,
            QueueAct::Reap => queue.submit(),
            QueueAct::Wait { least, until } => wait(station, queue, least, until),
        };
        station.meter.syscalls += entered.syscalls;
        if entered.errno != 0 && settle(entered.errno)? {
            station.turn(clock.now());
        }
        let end = clock.now();
        if queue.is_ready() {
            station.returned();
        }
        if end >= station.meter.edge {
            station.turn(end);
        }
        // In a closed loop what comes back is replaced before more is taken back, as in the plain loop.
        let most = if station.load.pacer.is_open() { depth.slots } else { depth.submit };
        queue.reap(most, |slot, result| {
            slots.push(slot);
            slots.flights[slot as usize].is_out = false;
            arrived(station, slot, slots.flights[slot as usize], result, end);
        });
    }
}

/// Takes what is due and pushes it; gives what comes then, where that is known.
fn prepare<Q: Queue>(
    station: &mut Station<'_>,
    queue: &mut Q,
    slots: &mut Slots<ExtraFlight>,
    batch: &mut Vec<u32>,
) -> Option<Next> {
    let one_at_a_place = station.extras.one_at_a_place;
    while batch.len() < station.load.depth.submit as usize {
        let now = station.meter.clock.now();
        let is_taken = |op: &Op| one_at_a_place && must_wait(slots, op);
        let (op, start) = match station.load.next(now, slots.in_flight(), is_taken) {
            Next::Submit(op, start) => (op, start),
            next => return Some(next),
        };
        if op.direction > WRITE {
            trim(station, &op, start);
            continue;
        }
        let slot = slots.pop().expect("no more are in flight than there are slots");
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
            ExtraFlight { op, start, submitted: now, submitting: 0, io_priority, is_out: true };
        batch.push(slot);
    }
    station.load.when_full(slots.in_flight())
}

/// Trims at once.
fn trim(station: &mut Station<'_>, op: &Op, start: u64) {
    let submitted = station.meter.clock.now();
    let result = station.files.trim(op);
    let end = station.meter.clock.now();
    if end >= station.meter.edge {
        station.turn(end);
    }
    station.meter.syscalls += 1;
    if result.cast_unsigned() == op.length as usize {
        station.meter.complete(op.direction, op.length, start, end);
        let moments = Moments { start, submitted, end, submitting: 0, io_priority: 0 };
        station.extras.after(&mut station.meter, &mut station.load, op, &[], moments);
    } else {
        station.meter.fail(*op, result, start, end);
    }
}

fn submit<Q: Queue>(
    station: &mut Station<'_>,
    queue: &mut Q,
    slots: &mut Slots<ExtraFlight>,
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

/// Next act when all that is due has been pushed.
enum QueueAct {
    /// Fill the queue of a closed loop first.
    Submit,
    /// Something has come back already.
    Reap,
    /// Wait for so many completions, in an open loop until the next I/O is due.
    Wait { least: u32, until: Option<u64> },
}

/// `full` when so many completions come first.
fn act<Q: Queue>(station: &Station<'_>, queue: &Q, full: Option<u32>) -> QueueAct {
    let pacer = &station.load.pacer;
    let due = pacer.due();
    if full.is_none() && !pacer.is_open() && due <= station.meter.clock.now() {
        return QueueAct::Submit;
    }
    if queue.is_ready() {
        return QueueAct::Reap;
    }
    full.map_or(QueueAct::Wait { least: 1, until: Some(due) }, |least| QueueAct::Wait { least, until: None })
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

fn arrived(station: &mut Station<'_>, slot: u32, flight: ExtraFlight, result: i32, end: u64) {
    let ExtraFlight { op, start, submitted, submitting, io_priority, is_out: _ } = flight;
    station.completed(slot, result.cast_unsigned() == op.length);
    if result.cast_unsigned() == op.length {
        station.meter.complete(op.direction, op.length, start, end);
        if station.meter.splits && submitting > 0 {
            station.meter.split(op.direction, start, submitting, end);
        }
        let Station { extras, load, meter, payload, .. } = station;
        let moments = Moments { start, submitted, end, submitting, io_priority };
        extras.after(meter, load, &op, payload.data_of(&op, slot as usize), moments);
    } else {
        station.meter.fail(op, result as isize, start, end);
    }
}
