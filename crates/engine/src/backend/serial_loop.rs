//! One I/O after the other: the loop of the synchronous engines.
//!
//! Two clock readings per I/O, one on each side of the call: the latency holds nothing of our own bookkeeping.

use iostack_workload::Op;

use crate::backend::{Call, Station};
use crate::extras::Moments;

const READ: u8 = 0;
const WRITE: u8 = 1;

/// Runs until the source or the time is over.
pub(crate) fn run<C: Call>(station: &mut Station<'_>, call: &C) {
    let clock = station.meter.clock;
    let mut stop = station.turn(clock.now());
    while !stop {
        let Some(op) = station.source.take() else { break };
        let start = clock.now();
        let result = perform(station, call, &op);
        let end = clock.now();
        if end >= station.meter.edge {
            stop = station.turn(end);
        }
        station.meter.syscalls += 1;
        if result == op.length as isize {
            station.meter.complete(op.direction, op.length, start, end);
        } else {
            station.meter.fail(&op, result, start, end);
        }
    }
}

/// The same with what `station.extras` asks for.
pub(crate) fn run_with_extras<C: Call>(station: &mut Station<'_>, call: &C) {
    let clock = station.meter.clock;
    let mut stop = station.turn(clock.now());
    while !stop {
        if let Some(data_only) = station.extras.flush_due() {
            station.extras.flush(&mut station.meter, &station.files, data_only);
        }
        if station.wait_until_due() {
            break;
        }
        let Some(op) = station.source.take() else { break };
        let submitted = clock.now();
        let start = station.extras.submitting(&op, submitted);
        let result = perform_with_extras(station, call, &op);
        let end = clock.now();
        if end >= station.meter.edge {
            stop = station.turn(end);
        }
        station.meter.syscalls += 1;
        if result == op.length as isize {
            station.meter.complete(op.direction, op.length, start, end);
            let Station { extras, meter, payload, .. } = station;
            let moments = Moments { start, submitted, end, submitting: 0 };
            extras.after(meter, &op, payload.data_of(&op, 0), moments);
        } else {
            station.meter.fail(&op, result, start, end);
        }
    }
}

#[inline]
fn perform<C: Call>(station: &mut Station<'_>, call: &C, op: &Op) -> isize {
    let (file, length) = (usize::from(op.file), op.length as usize);
    if op.direction == READ {
        call.read(file, station.payload.incoming(0, length), op.offset)
    } else {
        call.write(file, station.payload.outgoing(0, length), op.offset)
    }
}

fn perform_with_extras<C: Call>(station: &mut Station<'_>, call: &C, op: &Op) -> isize {
    if op.direction > WRITE {
        return station.files.trim(op);
    }
    if op.direction == WRITE {
        let buffer = station.payload.outgoing(0, op.length as usize);
        station.extras.stamp(op, buffer);
        return call.write(usize::from(op.file), buffer, op.offset);
    }
    perform(station, call, op)
}
