//! How is a command prepared before the drive is free, and when does its doorbell ring?
//!
//! A thread that was called prepares: that takes the clocks of a command. Then it spins on its core until the drive is free,
//! and for as long as the rule holds the command back. What waits at the doorbell rides: to add a request to a command that
//! is open costs no clocks of its own, as it costs none in the other subsystems.

use iostack_batch::{BatchFit, Gathering, Returns};

use super::steps::Asker;
use super::{Duty, Merge, PLUG};
use crate::engine::{CALLER_SHIFT, RequestId, Sim, Time, token};
use crate::host::part::Host;
use crate::host::thread::ThreadState;

/// Knowledge of a gate about its drive and its callers.
#[derive(Clone, Debug, Default)]
pub(super) struct Lore {
    returns: Returns,
    fit: BatchFit,
    /// Moment of the last doorbell, and the pages it was for.
    rung: Time,
    pages: u32,
    /// Requests in the drive.
    inside: usize,
    /// The drive ends the requests of a command one after another; the last was ended at this moment.
    streams: bool,
    ended: Time,
    /// The drive is free since then; the command that is prepared is ready since then.
    free_since: Time,
    ready_since: Time,
}

impl Merge {
    /// So many share the next command at most. When all that come back were in one command, the drive waits for them.
    pub(super) fn most(&self, at: usize) -> usize {
        let Lore { inside, streams, .. } = self.gates[at].lore;
        let half = self.gathering(at, 0.0).half(inside as u32, self.saved_ns(at));
        half.filter(|_| !streams).map_or(usize::MAX, |half| half as usize)
    }

    /// Time of a command beyond its requests, ns, as far as that is known.
    fn saved_ns(&self, at: usize) -> f64 {
        self.gates[at].lore.fit.cost().map_or(0.0, |cost| cost.fixed_ns)
    }

    fn gathering(&self, at: usize, idle_ns: f64) -> Gathering {
        let gate = &self.gates[at];
        Gathering {
            waiting: gate.waiting.len() as u32,
            room: self.policy.limits.batch as u32,
            expected: gate.lore.returns.expected(),
            return_ns: gate.lore.returns.return_ns(),
            idle_ns,
        }
    }

    /// Time that the command is still held back, ns.
    fn hold_ns(&self, at: usize, now: Time) -> Option<u64> {
        let Lore { free_since, ready_since, .. } = self.gates[at].lore;
        let idle_ns = (now - free_since.max(ready_since)) as f64;
        self.gathering(at, idle_ns).hold_ns(self.saved_ns(at)).map(|ns| ns.ceil() as u64)
    }
}

impl Host {
    /// A request came to the gate: somebody may hold a command for it.
    pub(super) fn joins(&mut self, at: usize, sim: &mut Sim) {
        let now = sim.now();
        self.merging().gates[at].lore.returns.came(now);
        self.may_ring(at, sim);
    }

    /// The thread's command is ready but for what it carries.
    pub(super) fn prepared(&mut self, index: u32, sim: &mut Sim) {
        let now = sim.now();
        let merge = self.merging();
        let seat = &mut merge.seats[index as usize];
        seat.duty = Duty::Staged;
        let at = seat.gate;
        let gate = &mut merge.gates[at];
        (gate.ready, gate.lore.ready_since) = (true, now);
        // A drive that is free needs no look: it was seen to be.
        if gate.room > 0 && merge.hold_ns(at, now).is_none() {
            return self.rings(index, sim);
        }
        self.may_ring(at, sim);
        self.go_on(index, sim);
    }

    /// The drive may be free, and nobody else be worth waiting for: then the doorbell rings.
    pub(super) fn may_ring(&mut self, at: usize, sim: &mut Sim) {
        let now = sim.now();
        let merge = self.merging();
        let gate = &merge.gates[at];
        let (Some(heir), true) = (gate.staged, gate.ready && gate.room > 0) else { return };
        if merge.seats[heir as usize].duty != Duty::Staged {
            return;
        }
        if let Some(ns) = merge.hold_ns(at, now) {
            let gate = &mut merge.gates[at];
            if gate.timer != Some(now + ns) {
                gate.timer = Some(now + ns);
                sim.wake_at(now + ns, token(PLUG, at as u32));
            }
            return;
        }
        merge.seats[heir as usize].duty = Duty::Rings;
        self.rouse(heir, sim);
    }

    /// The doorbell of a command that was prepared: all that waits rides.
    pub(in crate::host) fn rings(&mut self, index: u32, sim: &mut Sim) {
        let now = sim.now();
        let merge = self.merging();
        let who = ((index as usize) < merge.callers).then_some(index);
        let at = merge.seats[index as usize].gate;
        let mut command = merge.take(at, who, now);
        let gate = &mut merge.gates[at];
        (gate.staged, gate.ready) = (None, false);
        self.threads[index as usize].keeps_core = false;
        if command.is_empty() {
            let merge = self.merging();
            merge.seats[index as usize].duty = Duty::Free;
            return self.go_on(index, sim);
        }
        // The thread stays until the last is through, so that its own may be the last.
        command.sort_by_key(|&id| sim.request(id).user >> CALLER_SHIFT == index);
        let bytes: u64 = command.iter().map(|&id| u64::from(sim.request(id).length)).sum();
        let merge = self.merging();
        let gate = &mut merge.gates[at];
        gate.room -= 1;
        (gate.lore.rung, gate.lore.pages) = (now, bytes.div_ceil(4096) as u32);
        gate.lore.inside += command.len();
        let seat = &mut merge.seats[index as usize];
        (seat.left, seat.duty) = (command.len(), Duty::Polls);
        self.ring_for(at, &command, index, self.threads[index as usize].core, sim);
        self.ask(at, Asker::Thread(index), sim);
        self.go_on(index, sim);
    }

    /// The drive is through with a request of the thread's command, perhaps with the last.
    pub(super) fn comes_back(&mut self, owner: u32, id: RequestId, sim: &mut Sim) {
        let now = sim.now();
        let merge = self.merging();
        let seat = &mut merge.seats[owner as usize];
        seat.left -= 1;
        seat.done.push(id);
        let (at, is_last) = (seat.gate, seat.left == 0);
        if seat.duty == Duty::Polls {
            seat.duty = Duty::Retires;
        }
        let all = merge.outstanding;
        let gate = &mut merge.gates[at];
        gate.lore.returns.served(now, 1);
        gate.lore.inside -= 1;
        // What ends after another of its command did not end with it.
        gate.lore.streams |= gate.lore.ended > gate.lore.rung && gate.lore.ended < now;
        gate.lore.ended = now;
        if is_last {
            gate.room += 1;
            gate.lore.free_since = now;
            if gate.room == all {
                gate.lore.fit.observe(gate.lore.pages, (now - gate.lore.rung) as f64);
            }
        }
        if self.duty(owner) == Duty::Retires && self.threads[owner as usize].state == ThreadState::Spins {
            self.threads[owner as usize].keeps_core = false;
            self.rouse(owner, sim);
        }
        if is_last {
            self.may_ring(at, sim);
        }
    }

    /// The thread has seen some of its command through: now it hands out.
    pub(super) fn reaped(&mut self, index: u32, sim: &mut Sim) {
        let merge = self.merging();
        let seat = &mut merge.seats[index as usize];
        let at = seat.gate;
        let done = std::mem::take(&mut seat.done);
        if (index as usize) < merge.callers {
            seat.command = done;
            seat.duty = Duty::HandsOut;
        } else {
            merge.seats[index as usize].duty = merge.seats[index as usize].after();
            for id in done {
                self.complete_elsewhere(id, sim);
            }
        }
        self.ask(at, Asker::Thread(index), sim);
        self.go_on(index, sim);
    }
}
