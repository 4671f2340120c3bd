//! What follows from a completion where a worker waits for batches, keeps logs, verifies or flushes?

use iostack_model::{Direction, LogEntry, Nanos};
use iostack_workload::Op;
use iostack_workload::load::{Expected, FAILURES_MAX, Step};

use super::super::group::{Group, TIMED_OUT};
use super::super::proof::{Proof, wrong};
use super::super::worker::{Doing, IoFlight, Worker};
use super::{SLOT_MASK, Stage};
use crate::engine::{Kind, Request, RequestId, Time};

impl Stage<'_, '_> {
    /// One came back to a worker that does more than submit the next.
    pub(super) fn completed_with_extras(&mut self, index: usize, id: RequestId) {
        let now = self.bench.world.now();
        self.last = now;
        if self.bench.world.sim.request(id).kind == Kind::Flush {
            self.flushed(index, id);
            return;
        }
        let worker = &mut self.workers[index];
        worker.held.push(id);
        if worker.held.len() >= worker.least as usize {
            self.reap_held(index);
        }
    }

    /// The thread looks at all that came back, and goes on.
    pub(super) fn reap_held(&mut self, index: usize) {
        let held = std::mem::take(&mut self.workers[index].held);
        for &id in &held {
            self.reap(index, id);
        }
        self.workers[index].held = held;
        self.workers[index].held.clear();
        self.fill(index);
    }

    /// The thread looks at a completion.
    fn reap(&mut self, index: usize, id: RequestId) {
        let worker = &mut self.workers[index];
        let group = &mut self.groups[worker.group];
        let sim = &mut self.bench.world.sim;
        let now = sim.now();
        // Nothing in the common case, in which nobody waits for a batch.
        sim.spend(id, iostack_model::Stage::Wake);
        let request = sim.request(id);
        let slot = request.user & SLOT_MASK;
        let flight = worker.flights[slot as usize];
        let direction = Direction::ALL[request.kind as usize];
        let counts = request.submitted >= worker.span.border;
        if counts {
            group.board.count(request, flight.start, now);
            group.note_io((worker.job, worker.logged_as), request, flight.start, now);
        } else {
            group.board.leave(request, now);
        }
        let op = Op { offset: request.offset, length: request.length, direction: direction as u8, file: 0 };
        if let Some(proof) = &mut self.bench.proof {
            check(proof, worker, group, (request, &op), (flight, now));
        }
        let broken = worker
            .watchdog
            .as_mut()
            .filter(|_| counts)
            .and_then(|watchdog| watchdog.broken(&op, (flight.start, now), |ns| ns));
        if let Some(what) = broken {
            group.fails(TIMED_OUT, direction, op.offset, what);
            worker.load.until = now;
        }
        let step = worker.load.completed(flight.start, now);
        worker.in_flight -= 1;
        worker.slots.push(slot);
        sim.release(id);
        match step {
            Step::Search => {}
            Step::Count => {
                worker.span.border = now;
                self.counts(index);
            }
            Step::End => worker.load.until = now,
        }
    }

    /// A flush came back.
    fn flushed(&mut self, index: usize, id: RequestId) {
        let worker = &mut self.workers[index];
        let sim = &mut self.bench.world.sim;
        let (now, submitted) = (sim.now(), sim.request(id).submitted);
        if worker.doing == Doing::EndFlush {
            self.groups[worker.group].board.flushed_at_end(now);
        } else if submitted >= worker.span.border {
            let group = &mut self.groups[worker.group];
            group.board.synced(now - submitted, now);
            let time = Nanos(now - group.origin);
            group.note(worker.job, &LogEntry::flush(time, worker.logged_as, Nanos(now - submitted)));
        }
        sim.release(id);
        worker.in_flight -= 1;
        if worker.doing == Doing::EndFlush {
            self.done(index);
        } else {
            self.fill(index);
        }
    }
}

/// Holds what came back against what was written.
fn check(
    proof: &mut Proof,
    worker: &mut Worker<'_>,
    group: &mut Group<'_>,
    (request, op): (&Request, &Op),
    (flight, now): (IoFlight, Time),
) {
    let between = worker.load.note_written(op);
    group.outcome.read_between += u64::from(between);
    if request.kind != Kind::Read {
        return proof.written(request.offset, request.length);
    }
    if !worker.proving.checks && !between {
        return;
    }
    let after = proof.expects(request.offset, request.length);
    let wrong = match worker.load.expected(op) {
        Expected::Written => wrong(request.stamp, flight.expected, after, request.offset, now),
        Expected::Zeroes if request.stamp == 0 => None,
        Expected::Zeroes => Some(format!("offset {}: trimmed, and is no zero, at {now} ns", request.offset)),
    };
    let Some(message) = wrong else {
        group.outcome.verified += 1;
        return;
    };
    worker.failures += 1;
    group.fails(0, Direction::Read, request.offset, message);
    if worker.proving.fatal || worker.failures >= FAILURES_MAX {
        worker.load.until = now;
    }
}
