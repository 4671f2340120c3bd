//! One I/O after the other: the loop of the synchronous engines.
//!
//! Two clock readings per I/O, one on each side of the call: the latency holds nothing of our own bookkeeping.

use iostack_workload::load::Next;
use iostack_workload::{Op, Source};

use crate::backend::{Call, Station, turn};
use crate::extras::Moments;
use crate::meter::Meter;
use crate::payload::Payload;

const READ: u8 = 0;
const WRITE: u8 = 1;

/// Runs until the source or the time is over. `READS` when the job does nothing else, which spares asking.
pub(crate) fn run<C: Call, const READS: bool>(station: &mut Station<'_>, call: &mut C) {
    let Station { load, meter, payload, .. } = station;
    let source = &mut load.source;
    if READS {
        // Looked up once: there is one buffer, and each read fills the beginning of it.
        let stride = payload.reads.stride;
        let buffer = payload.reads.slice(0, stride);
        run_each::<true>(source, meter, |op| {
            call.carry(false, usize::from(op.file), &mut buffer[..op.length as usize], op.offset)
        });
    } else {
        run_each::<false>(source, meter, |op| perform(payload, call, op));
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "the loop is made for what carries its I/O")]
fn run_each<const READS: bool>(
    source: &mut Source,
    meter: &mut Meter<'_>,
    mut carry: impl FnMut(Op) -> isize,
) {
    let clock = meter.clock;
    let mut stop = turn(meter, source, clock.now());
    while !stop {
        let Some(op) = source.take() else { break };
        let op = if READS { Op { direction: READ, ..op } } else { op };
        let start = clock.now();
        let result = carry(op);
        let end = clock.now();
        if end >= meter.edge {
            stop = turn(meter, source, end);
        }
        if result.cast_unsigned() == op.length as usize {
            meter.complete(op.direction, op.length, start, end);
            meter.mark(end);
        } else {
            meter.fail(op, result, start, end);
        }
    }
    meter.syscalls = source.taken_since_begin();
}

/// The same with what `station.extras` asks for.
pub(crate) fn run_with_extras<C: Call>(station: &mut Station<'_>, call: &mut C) {
    let clock = station.meter.clock;
    station.turn(clock.now());
    loop {
        let (op, meant) = match station.load.next(clock.now(), 0, |_| false) {
            Next::Submit(op, meant) => (op, meant),
            next if station.follow(next) => break,
            _ => continue,
        };
        // What it took to find out what is next is no I/O's time.
        let submitted = clock.now();
        let start = if station.load.pacer.is_open() { meant } else { submitted };
        station.begin(0, submitted.saturating_sub(start));
        let result = perform_with_extras(station, call, &op);
        let end = clock.now();
        call.settle();
        station.returned();
        station.completed(0, result.cast_unsigned() == op.length as usize);
        if end >= station.meter.edge {
            station.turn(end);
        }
        station.meter.syscalls += 1;
        if result.cast_unsigned() == op.length as usize {
            station.meter.complete(op.direction, op.length, start, end);
            let Station { extras, load, meter, payload, .. } = station;
            let moments = Moments { start, submitted, end, submitting: 0, io_priority: 0 };
            extras.after(meter, load, &op, payload.data_of(&op, 0), moments);
        } else {
            station.meter.fail(op, result, start, end);
        }
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "as a function it costs psync a tenth of its instructions")]
fn perform<C: Call>(payload: &mut Payload, call: &mut C, op: Op) -> isize {
    if op.direction == READ {
        call.carry(false, usize::from(op.file), payload.incoming(0, op.length as usize), op.offset)
    } else {
        write(payload, call, op)
    }
}

/// Apart, so that the registers of the reading path are its own.
#[inline(never)]
fn write<C: Call>(payload: &mut Payload, call: &mut C, op: Op) -> isize {
    call.carry(true, usize::from(op.file), payload.outgoing(0, op.length as usize), op.offset)
}

fn perform_with_extras<C: Call>(station: &mut Station<'_>, call: &mut C, op: &Op) -> isize {
    match op.direction {
        READ => perform(&mut station.payload, call, *op),
        WRITE => {
            let buffer = station.payload.outgoing(0, op.length as usize);
            station.extras.stamp(op, buffer);
            call.carry(true, usize::from(op.file), buffer, op.offset)
        }
        _ => station.files.trim(op),
    }
}
