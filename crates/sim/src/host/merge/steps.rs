//! What do threads do for their subsystem? They stand in line, dispatch, poll, and hand out.

use iostack_model::Stage;

use super::policy::{Manner, QueueTurn, Waiting, Waits};
use super::{DOORBELL, Duty, FREES, Gate, Merge, NOBODY, PLUG, SOFTIRQ, Subsystem};
use crate::engine::{CALLER_SHIFT, Kind, RequestId, Sim, token};
use crate::host::layer::Layer;
use crate::host::machine::DriveFlight;
use crate::host::part::Host;
use crate::host::paths::SubmitWay;
use crate::host::thread::{Thread, ThreadState, ThreadStep};

/// The one who found that the drive has room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    Thread(u32),
    /// An interrupt on this core.
    Interrupt(u32),
    Timer,
}

impl Host {
    /// The subsystem has threads of its own behind the callers'.
    pub(in crate::host) fn meet_subsystem(&mut self) {
        let Some(merge) = &mut self.merge else { return };
        let workers = merge.meet(self.threads.len());
        self.polls |= merge.polls();
        let way = self.paths.way(SubmitWay::Kernel, &mut self.ledger);
        for number in 0..workers {
            let core = (self.machine.cores - 1 - number % self.machine.cores) as u32;
            self.threads.push(Thread::of_kernel(core, way));
        }
    }

    pub(super) fn merging(&mut self) -> &mut Merge {
        self.merge.as_mut().expect("only a host with a subsystem comes here")
    }

    pub(super) fn duty(&self, index: u32) -> Duty {
        self.merge.as_ref().map_or(Duty::Free, |merge| merge.seats[index as usize].duty)
    }

    /// The thread has submitted a request for a drive: it will stand in line.
    pub(in crate::host) fn line_up(&mut self, drive: usize, (id, is_part): (RequestId, bool), sim: &Sim) {
        if self.flights.len() <= id.0 as usize {
            self.flights.resize(id.0 as usize + 1, DriveFlight::default());
        }
        self.flights[id.0 as usize].is_part = is_part;
        let index = sim.request(id).user >> CALLER_SHIFT;
        self.merging().seats[index as usize].mine.push_back((drive, id));
    }

    /// The next of the thread's requests comes to the gate.
    fn enter(&mut self, index: u32, sim: &mut Sim) {
        let (at, id) = self.merging().seats[index as usize].mine.pop_front().expect("it has one");
        let (now, request) = (sim.now(), sim.request(id));
        let (kind, offset, length) = (request.kind, request.offset, request.length);
        let blocks = !request.by_kernel && self.threads[index as usize].depth == 1;
        let merge = self.merging();
        let outstanding = merge.outstanding;
        let gate = &mut merge.gates[at];
        let waiting = Waiting {
            id,
            thread: index,
            kind,
            offset,
            length,
            since: now,
            stands: false,
            called: false,
            awake: true,
        };
        gate.waiting.push_back(waiting);
        let waits = Merge::view(gate, outstanding, now).expect("something waits");
        let manner = merge.policy.manner(&Waits { blocks, ..waits });
        gate.waiting.back_mut().expect("it waits").stands = manner != Manner::Leaves;
        let seat = &mut merge.seats[index as usize];
        seat.gate = at;
        seat.sleeps = manner == Manner::Sleeps;
        seat.duty = if manner == Manner::Leaves { Duty::Free } else { Duty::Waits };
        if merge.policy.subsystem.stages() {
            self.joins(at, sim);
        }
        self.ask(at, Asker::Thread(index), sim);
    }

    /// The drive may have room: the policy says whose turn it is.
    pub(super) fn ask(&mut self, at: usize, asker: Asker, sim: &mut Sim) {
        let now = sim.now();
        let merge = self.merge.as_mut().expect("only a host with a subsystem comes here");
        let gate = &mut merge.gates[at];
        if gate.room == 0 && !merge.policy.subsystem.stages() || gate.staged.is_some() {
            return;
        }
        for each in gate.waiting.iter_mut().filter(|each| each.stands) {
            let state = self.threads[each.thread as usize].state;
            each.awake = matches!(state, ThreadState::Spins | ThreadState::Running);
        }
        let Some(waits) = Merge::view(&merge.gates[at], merge.outstanding, now) else { return };
        let turn = merge.policy.turn(&waits);
        if merge.gates[at].room == 0 && merge.is_short_of(self.crew.cores.len()) {
            let oldest = waits.first(|each| each.stands).map(|each| each.thread);
            return self.leave_to_poller(at, if turn == QueueTurn::Worker { None } else { oldest }, sim);
        }
        match turn {
            QueueTurn::Nobody => {}
            QueueTurn::Not(until) => {
                let gate = &mut merge.gates[at];
                if gate.timer != Some(until) {
                    gate.timer = Some(until);
                    sim.wake_at(until, token(PLUG, at as u32));
                }
            }
            QueueTurn::Thread(thread) => self.call(at, thread, asker, sim),
            QueueTurn::Worker => {
                if let Some(worker) = merge.free_worker(at) {
                    self.call(at, worker, asker, sim);
                }
            }
            QueueTurn::Here => match asker {
                Asker::Thread(thread) => self.call(at, thread, asker, sim),
                Asker::Interrupt(core) => self.ring_from(core, at, sim),
                Asker::Timer => {}
            },
        }
    }

    /// It is this thread's turn.
    fn call(&mut self, at: usize, thread: u32, asker: Asker, sim: &mut Sim) {
        let merge = self.merging();
        let gate = &mut merge.gates[at];
        if merge.policy.subsystem.stages() {
            gate.staged = Some(thread);
        } else {
            gate.room -= 1;
        }
        if let Some(each) = gate.waiting.iter_mut().find(|each| each.thread == thread && each.stands) {
            each.called = true;
        }
        // Whoever dispatches a read by itself keeps the queue's lock from now on.
        gate.held |= merge.policy.subsystem == Subsystem::Atm && (thread as usize) < merge.callers;
        merge.seats[thread as usize].duty = Duty::Dispatches;
        merge.seats[thread as usize].gate = at;
        if asker == Asker::Thread(thread) {
            return;
        }
        if let (Asker::Thread(waker), ThreadState::Out) = (asker, self.threads[thread as usize].state) {
            let wake = self.ledger.once(self.paths.wake);
            self.crew.run(self.threads[waker as usize].core, sim.now(), wake);
        }
        self.rouse(thread, sim);
    }

    /// The thread may go on; true when its subsystem has something for it, or keeps it waiting.
    pub(in crate::host) fn serves(&mut self, index: u32, sim: &mut Sim) -> bool {
        if self.merge.is_none() {
            return false;
        }
        while self.duty(index) == Duty::Free && !self.merging().seats[index as usize].mine.is_empty() {
            self.enter(index, sim);
        }
        match self.duty(index) {
            Duty::Free if (index as usize) < self.merging().callers => return false,
            Duty::Free => self.sleep(index, sim),
            Duty::Waits => self.wait_in_line(index, sim),
            Duty::Polls if self.looks_ahead(index, sim) => self.begin_step(index, sim),
            Duty::Polls | Duty::Staged => {
                // In the kernel, and not to be displaced, as long as others have a core.
                let cores = self.crew.cores.len();
                let gives_way = self.merging().gives_way(cores);
                self.threads[index as usize].keeps_core = !gives_way;
                if gives_way && !self.crew.queue.is_empty() {
                    self.yields(index, sim);
                } else {
                    self.spin(index, sim);
                }
            }
            Duty::Dispatches | Duty::Prepares | Duty::Rings | Duty::Retires | Duty::HandsOut => {
                self.begin_step(index, sim);
            }
        }
        true
    }

    /// It spins, or sleeps.
    fn wait_in_line(&mut self, index: u32, sim: &mut Sim) {
        let seat = &self.merging().seats[index as usize];
        let at = seat.gate;
        if seat.sleeps {
            return self.sleep(index, sim);
        }
        // It may have been without a core when the drive became free.
        self.ask(at, Asker::Thread(index), sim);
        if self.duty(index) != Duty::Waits {
            return self.begin_step(index, sim);
        }
        self.spin(index, sim);
    }

    fn sleep(&mut self, index: u32, sim: &mut Sim) {
        let thread = &mut self.threads[index as usize];
        (thread.state, thread.slept) = (ThreadState::Out, true);
        let core = thread.core;
        let out = self.ledger.once(self.paths.switch_out);
        self.crew.run(core, sim.now(), out);
        self.release(core, sim);
    }

    /// The thread has a core: what its subsystem wants of it there, and how long it takes.
    pub(in crate::host) fn duty_step(&mut self, index: u32, sim: &mut Sim) -> Option<(ThreadStep, u64)> {
        let duty = self.duty(index);
        let merge = self.merge.as_mut()?;
        let seat = &merge.seats[index as usize];
        let at = seat.gate;
        match duty {
            Duty::Free if seat.mine.is_empty() => None,
            Duty::Free => Some((ThreadStep::Enter, 0)),
            Duty::Waits | Duty::Polls | Duty::Staged => {
                Some((ThreadStep::Look, self.ledger.once(self.paths.look)))
            }
            Duty::Prepares => Some((ThreadStep::Dispatch, self.ledger.once(merge.costs.dispatch))),
            Duty::Dispatches if merge.policy.subsystem.stages() => {
                Some((ThreadStep::Dispatch, self.ledger.once(merge.costs.dispatch)))
            }
            Duty::Rings => Some((ThreadStep::Ring, self.ledger.once(self.paths.look))),
            Duty::Dispatches => {
                let who = ((index as usize) < merge.callers).then_some(index);
                let command = merge.take(at, who, sim.now());
                let mut ns = if command.is_empty() { 0 } else { self.ledger.once(merge.costs.dispatch) };
                for &id in &command {
                    let request = sim.request(id);
                    let copy = merge.copy_ns(request.kind, request.offset, request.length);
                    self.ledger.spend(Layer::Driver, copy);
                    ns += copy;
                }
                merge.seats[index as usize].command = command;
                Some((ThreadStep::Dispatch, ns))
            }
            Duty::Retires => {
                let mut ns = self.ledger.once(merge.costs.retire);
                if seat.sleeps && !merge.policy.subsystem.stages() && !merge.gates[at].waiting.is_empty() {
                    ns += self.ledger.once(self.paths.wake);
                }
                if merge.gates[at].held && (index as usize) < merge.callers {
                    // The request ends under the queue's lock.
                    ns += self.ledger.once(merge.costs.end);
                }
                Some((ThreadStep::Retire, ns))
            }
            Duty::HandsOut => {
                let command = &seat.command;
                let is_own = |id: &&RequestId| sim.request(**id).user >> CALLER_SHIFT == index;
                let others = command.len() - command.iter().filter(is_own).count();
                let ended = merge.policy.subsystem == Subsystem::Atm;
                let ns = if ended { 0 } else { self.ledger.repeat(merge.costs.end, command.len() as u64) };
                Some((ThreadStep::HandOut, ns + self.ledger.repeat(self.paths.wake, others as u64)))
            }
        }
    }

    /// The thread's command goes to the adapter.
    pub(in crate::host) fn dispatched(&mut self, index: u32, sim: &mut Sim) {
        let merge = self.merging();
        if merge.policy.subsystem.stages() {
            return self.prepared(index, sim);
        }
        let polls = merge.policy.subsystem.polls();
        let seat = &mut merge.seats[index as usize];
        let at = seat.gate;
        let command = std::mem::take(&mut seat.command);
        seat.duty = Duty::Free;
        if command.is_empty() {
            // Another took what it was called for; what is its own, it still waits for.
            merge.gates[at].room += 1;
            if merge.gates[at].waiting.iter().any(|each| each.thread == index && each.stands) {
                merge.seats[index as usize].duty = Duty::Waits;
            }
            return self.go_on(index, sim);
        }
        self.ring_for(
            at,
            &command,
            if polls { index } else { NOBODY },
            self.threads[index as usize].core,
            sim,
        );
        if polls {
            let merge = self.merging();
            let reads = sim.request(command[0]).kind != Kind::Write;
            merge.gates[at].held |= merge.policy.subsystem == Subsystem::Atm && reads;
            let seat = &mut merge.seats[index as usize];
            (seat.left, seat.command, seat.duty) = (command.len(), command, Duty::Polls);
        }
        self.go_on(index, sim);
    }

    /// The doorbell of one command.
    pub(super) fn ring_for(
        &mut self,
        at: usize,
        command: &[RequestId],
        owner: u32,
        core: u32,
        sim: &mut Sim,
    ) {
        for (index, &id) in command.iter().enumerate() {
            sim.spend(id, Stage::Schedule);
            let last = index + 1 == command.len();
            self.merging().set_owner(id, if owner == NOBODY && last { FREES } else { owner });
            let is_part = self.flights[id.0 as usize].is_part;
            self.send_down(core, at, (id, is_part), sim);
            sim.request_mut(id).followers = (command.len() - 1 - index) as u32;
        }
    }

    /// An interrupt that found room dispatches the next command from its softirq.
    fn ring_from(&mut self, core: u32, at: usize, sim: &mut Sim) {
        let now = sim.now();
        let merge = self.merging();
        let command = merge.take(at, None, now);
        if command.is_empty() {
            return;
        }
        let gate = &mut merge.gates[at];
        gate.room -= 1;
        gate.ringing.push_back(command);
        let dispatch = merge.costs.dispatch;
        let ns = self.ledger.once(dispatch);
        let end = self.interrupt(core, ns, sim);
        sim.wake_at(end, token(DOORBELL, at as u32));
    }

    /// A request is back: true when a thread polls for it.
    pub(in crate::host) fn is_polled(&mut self, id: RequestId, sim: &mut Sim) -> bool {
        let Some(owner) = self.merge.as_ref().and_then(|merge| merge.owner(id)) else { return false };
        if self.merging().policy.subsystem.stages() {
            self.comes_back(owner, id, sim);
            return true;
        }
        let seat = &mut self.merging().seats[owner as usize];
        seat.left -= 1;
        if seat.left == 0 {
            seat.duty = Duty::Retires;
            self.threads[owner as usize].keeps_core = false;
            self.rouse(owner, sim);
        }
        true
    }

    /// An interrupt has handled a completion: if its command is through, the softirq dispatches what waits.
    pub(in crate::host) fn has_room(&mut self, id: RequestId, core: u32, sim: &mut Sim) {
        let at = usize::from(self.flights[id.0 as usize].drive);
        let Some(merge) = &mut self.merge else { return };
        if merge.owners.get(id.0 as usize) == Some(&FREES) {
            merge.gates[at].room += 1;
            self.ask(at, Asker::Interrupt(core), sim);
        }
    }

    /// The thread has seen its command through: the drive has room for the next one, then the results are handed out.
    pub(in crate::host) fn retired(&mut self, index: u32, sim: &mut Sim) {
        let merge = self.merging();
        if merge.policy.subsystem.stages() {
            return self.reaped(index, sim);
        }
        let is_worker = index as usize >= merge.callers;
        let seat = &mut merge.seats[index as usize];
        let at = seat.gate;
        seat.duty = if is_worker { Duty::Free } else { Duty::HandsOut };
        let command = if is_worker { std::mem::take(&mut seat.command) } else { Vec::new() };
        merge.gates[at].room += 1;
        if std::mem::take(&mut merge.gates[at].held) {
            self.let_writers_go(at, sim);
        }
        for id in command {
            self.complete_elsewhere(id, sim);
        }
        self.ask(at, Asker::Thread(index), sim);
        self.go_on(index, sim);
    }

    /// The softirq of its thread's core completes the request.
    pub(super) fn complete_elsewhere(&mut self, id: RequestId, sim: &mut Sim) {
        let thread = &self.threads[(sim.request(id).user >> CALLER_SHIFT) as usize];
        let wakes = thread.state == ThreadState::Out && !sim.request(id).by_kernel;
        let core = thread.core;
        let complete = self.merging().costs.complete;
        let ns = self.ledger.once(complete) + self.ledger.repeat(self.paths.wake, u64::from(wakes));
        let end = self.interrupt(core, ns, sim);
        sim.wake_at(end, token(SOFTIRQ, id.0));
    }

    /// The lock of the queue is free: writes that waited for it go into the queue, and their threads go on.
    fn let_writers_go(&mut self, at: usize, sim: &mut Sim) {
        let Gate { waiting, .. } = &mut self.merging().gates[at];
        let mut free = Vec::new();
        for each in waiting.iter_mut().filter(|each| each.stands && each.kind == Kind::Write) {
            each.stands = false;
            free.push(each.thread);
        }
        for thread in free {
            self.merging().seats[thread as usize].duty = Duty::Free;
            self.rouse(thread, sim);
        }
    }

    /// Each has its result: those who slept or spun for it, and the thread itself.
    pub(in crate::host) fn handed_out(&mut self, index: u32, sim: &mut Sim) {
        let merge = self.merging();
        merge.seats[index as usize].duty = merge.next_duty(index);
        let command = std::mem::take(&mut merge.seats[index as usize].command);
        for id in command {
            sim.spend(id, Stage::Complete);
            let thread = sim.request(id).user >> CALLER_SHIFT;
            let by_kernel = sim.request(id).by_kernel;
            if thread != index {
                self.leaves(thread);
            }
            self.came_through(id, sim);
            let more = by_kernel || !self.merging().seats[thread as usize].mine.is_empty();
            if thread != index && more {
                self.rouse(thread, sim);
            }
        }
        self.go_on(index, sim);
    }

    /// The thread's request is through: it does not wait for it any more.
    fn leaves(&mut self, thread: u32) {
        let seat = &mut self.merging().seats[thread as usize];
        if seat.duty == Duty::Waits {
            seat.duty = Duty::Free;
        }
    }

    /// Moments that the subsystem asked for.
    pub(in crate::host) fn merge_wakes(&mut self, kind: u8, index: u32, sim: &mut Sim) {
        match kind {
            PLUG => {
                self.merging().gates[index as usize].timer = None;
                self.may_ring(index as usize, sim);
                self.ask(index as usize, Asker::Timer, sim);
            }
            DOORBELL => {
                let ringing = &mut self.merging().gates[index as usize].ringing;
                let command = ringing.pop_front().expect("it was put there");
                let core = self.lines[index as usize % self.lines.len()].core;
                self.ring_for(index as usize, &command, NOBODY, core, sim);
            }
            _ => {
                let id = RequestId(index);
                sim.spend(id, Stage::Complete);
                let thread = sim.request(id).user >> CALLER_SHIFT;
                let is_worker = |merge: &Merge| merge.policy.subsystem == Subsystem::Hybrid;
                if self.merge.as_ref().is_some_and(is_worker) {
                    self.leaves(thread);
                }
                self.came_through(id, sim);
            }
        }
    }

    /// A request is through; of one for several drives only the last part counts.
    fn came_through(&mut self, id: RequestId, sim: &mut Sim) {
        let is_part = self.flights[id.0 as usize].is_part;
        if let Some(whole) = if is_part { sim.join(id) } else { Some(id) } {
            if sim.request(whole).by_kernel { sim.finish(whole) } else { self.deliver(whole, sim) }
        }
    }
}
