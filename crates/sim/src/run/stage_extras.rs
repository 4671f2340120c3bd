//! What follows from a completion where a worker waits for batches, keeps logs, verifies or flushes?

use iostack_model::{Direction, LogEntry, Nanos, Stage as Where};
use iostack_workload::load::FAILURES_MAX;

use super::super::proof::wrong;
use super::super::worker::Doing;
use super::{SLOT_MASK, Stage};
use crate::engine::{Kind, RequestId};

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
        if worker.held.len() < worker.least as usize {
            return;
        }
        let held = std::mem::take(&mut worker.held);
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
        sim.spend(id, Where::Wake);
        let request = sim.request(id);
        let slot = request.user & SLOT_MASK;
        let flight = worker.flights[slot as usize];
        let direction = Direction::ALL[request.kind as usize];
        if request.submitted >= worker.span.border {
            group.board.count(request, flight.start, now);
            if worker.job.logs.are_wanted() {
                let entry = LogEntry {
                    time: Nanos(now - group.origin),
                    thread: worker.logged_as,
                    direction,
                    offset: request.offset,
                    length: request.length,
                    latency: Nanos(now - flight.start),
                    submit: Nanos(0),
                    file: 0,
                    io_priority: 0,
                };
                group.note(worker.job, &entry);
            }
        } else {
            group.board.leave(request, now);
        }
        if let Some(proof) = &mut self.bench.proof {
            if direction != Direction::Read {
                proof.written(request.offset, request.length);
            } else if worker.proving.checks {
                let after = proof.expects(request.offset, request.length);
                match wrong(request.stamp, flight.expected, after, request.offset, now) {
                    None => group.verified += 1,
                    Some(message) => {
                        worker.failures += 1;
                        group.fails(request.offset, message);
                        if worker.proving.fatal || worker.failures >= FAILURES_MAX {
                            worker.load.until = now;
                        }
                    }
                }
            }
        }
        worker.load.completed(flight.start, now);
        worker.in_flight -= 1;
        worker.slots.push(slot);
        sim.release(id);
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
