//! How is a command prepared before the drive is free, and when does its doorbell ring?
//!
//! A thread that was called prepares: that takes the clocks of a command. Then it spins on its core until the drive is free,
//! and for as long as the rule holds the command back. What waits at the doorbell rides: to add a request to a command that
//! is open costs no clocks of its own, as it costs none in the other subsystems.
//!
//! Two threads that spin leave nobody a core to bring requests where there are few. There the one that polls prepares for the
//! caller that waits longest, as its *deputy*: it rings as soon as its own command ends, then wakes that caller to poll.

use iostack_batch::{BatchFit, Gathering, Returns};

use super::steps::Asker;
use super::{Duty, Gate, Merge, PLUG};
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

    /// Threads that only wait for drives, on a core each.
    fn spinning(&self) -> usize {
        let spinning = |gate: &Gate| {
            let heir = u32::from(gate.staged.is_some() && !gate.is_deputy);
            (self.outstanding - gate.room + heir) as usize
        };
        self.gates.iter().map(spinning).sum()
    }

    /// One more that spins would leave no core to those who bring requests.
    pub(super) fn is_short_of(&self, cores: usize) -> bool {
        self.spinning() + 1 >= cores
    }

    /// Those that spin leave none already: they give way.
    pub(super) fn gives_way(&self, cores: usize) -> bool {
        self.policy.subsystem.stages() && self.spinning() >= cores
    }

    /// Next task of a thread whose command is in the drive, or was: the doorbell of the next comes first.
    pub(super) fn next_duty(&self, index: u32) -> Duty {
        let seat = &self.seats[index as usize];
        let gate = &self.gates[seat.gate];
        let rings = gate.is_deputy && gate.poller == Some(index) && gate.ready && gate.room > 0;
        if rings { Duty::Rings } else { seat.after() }
    }
}

impl Host {
    /// The drive is busy and cores are few: the thread that polls prepares, if it can, for `heir`, which sleeps on.
    /// Without a caller it is a thread of the kernel's: itself, if it is one.
    pub(super) fn leave_to_poller(&mut self, at: usize, heir: Option<u32>, sim: &mut Sim) {
        let merge = self.merging();
        let Some(poller) = merge.gates[at].poller else { return };
        let is_worker = poller as usize >= merge.callers;
        let worker = if is_worker { Some(poller) } else { merge.free_worker(at) };
        let Some(heir) = heir.or(worker) else { return };
        let has_core =
            matches!(self.threads[poller as usize].state, ThreadState::Running | ThreadState::Spins);
        if self.duty(poller) != Duty::Polls || !has_core {
            return;
        }
        let merge = self.merging();
        let gate = &mut merge.gates[at];
        (gate.staged, gate.is_deputy) = (Some(heir), true);
        if let Some(each) = gate.waiting.iter_mut().find(|each| each.thread == heir && each.stands) {
            each.called = true;
        }
        merge.seats[poller as usize].duty = Duty::Prepares;
        self.rouse(poller, sim);
    }

    /// The thread polls, and has found something to prepare.
    pub(super) fn looks_ahead(&mut self, index: u32, sim: &mut Sim) -> bool {
        let cores = self.crew.cores.len();
        let merge = self.merging();
        let at = merge.seats[index as usize].gate;
        if merge.policy.subsystem.stages() && merge.is_short_of(cores) {
            self.ask(at, Asker::Thread(index), sim);
        }
        self.duty(index) == Duty::Prepares
    }

    /// A thread wakes another, whose task has changed.
    fn hands_to(&mut self, from: u32, to: u32, sim: &mut Sim) {
        if from != to {
            if self.threads[to as usize].state == ThreadState::Out {
                self.stop_spinning(from, sim.now());
                let wake = self.ledger.once(self.paths.wake);
                self.crew.run(self.threads[from as usize].core, sim.now(), wake);
            }
            self.rouse(to, sim);
        }
    }

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
        let at = merge.seats[index as usize].gate;
        let gate = &mut merge.gates[at];
        (gate.ready, gate.lore.ready_since) = (true, now);
        if merge.seats[index as usize].duty == Duty::Prepares {
            merge.seats[index as usize].duty = merge.seats[index as usize].after();
            self.may_ring(at, sim);
            return self.go_on(index, sim);
        }
        merge.seats[index as usize].duty = Duty::Staged;
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
        let deputy = gate.poller.filter(|_| gate.is_deputy);
        if deputy.is_none() && merge.seats[heir as usize].duty != Duty::Staged {
            return;
        }
        // Who would hold for those whose results it has still to hand out goes at once.
        if let Some(ns) = merge.hold_ns(at, now).filter(|_| deputy != Some(heir)) {
            let gate = &mut merge.gates[at];
            gate.is_deputy = false;
            if gate.timer != Some(now + ns) {
                gate.timer = Some(now + ns);
                sim.wake_at(now + ns, token(PLUG, at as u32));
            }
            if let Some(deputy) = deputy {
                // Those whom it is held for have their results from the deputy.
                merge.seats[heir as usize].duty = Duty::Staged;
                self.hands_to(deputy, heir, sim);
            }
            return;
        }
        let rings = deputy.unwrap_or(heir);
        merge.seats[rings as usize].duty = Duty::Rings;
        self.rouse(rings, sim);
    }

    /// The doorbell of a command that was prepared: all that waits rides.
    pub(in crate::host) fn rings(&mut self, index: u32, sim: &mut Sim) {
        let now = sim.now();
        let merge = self.merging();
        let at = merge.seats[index as usize].gate;
        let owner = merge.gates[at].staged.unwrap_or(index);
        let who = ((owner as usize) < merge.callers).then_some(owner);
        let mut command = merge.take(at, who, now);
        let gate = &mut merge.gates[at];
        (gate.staged, gate.ready, gate.is_deputy) = (None, false, false);
        merge.seats[index as usize].duty = merge.seats[index as usize].after();
        self.threads[index as usize].keeps_core = false;
        if command.is_empty() {
            return self.go_on(index, sim);
        }
        // The thread stays until the last is through, so that its own may be the last.
        command.sort_by_key(|&id| sim.request(id).user >> CALLER_SHIFT == owner);
        let bytes: u64 = command.iter().map(|&id| u64::from(sim.request(id).length)).sum();
        let merge = self.merging();
        let gate = &mut merge.gates[at];
        gate.room -= 1;
        gate.poller = Some(owner);
        (gate.lore.rung, gate.lore.pages) = (now, bytes.div_ceil(4096) as u32);
        gate.lore.inside += command.len();
        let seat = &mut merge.seats[owner as usize];
        seat.left = command.len();
        seat.duty = seat.after();
        self.ring_for(at, &command, owner, self.threads[index as usize].core, sim);
        self.hands_to(index, owner, sim);
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
        let gate = &mut merge.gates[at];
        let is_deputy = gate.is_deputy && gate.poller == Some(owner);
        // A deputy rings before it hands out; what ends together is not begun with.
        if seat.duty == Duty::Polls && (is_last || !is_deputy || gate.lore.streams) {
            seat.duty = Duty::Retires;
        }
        let all = merge.outstanding;
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
        if is_last && is_deputy {
            self.may_ring(at, sim);
        }
        if self.duty(owner) == Duty::Retires && self.threads[owner as usize].state == ThreadState::Spins {
            self.threads[owner as usize].keeps_core = false;
            self.rouse(owner, sim);
        }
        if is_last && !is_deputy {
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
            merge.seats[index as usize].duty = merge.next_duty(index);
            for id in done {
                self.complete_elsewhere(id, sim);
            }
        }
        self.ask(at, Asker::Thread(index), sim);
        self.go_on(index, sim);
    }
}
