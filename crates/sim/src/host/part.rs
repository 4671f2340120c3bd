//! The way of a request through the host.

use iostack_model::{Bytes, Engine, HostUse, ResourceUse, Stage};

use super::crew::{Crew, State, Step, Thread};
use super::interrupt::{Count, Line};
use super::layer::{Layer, Work};
use super::paths::{Paths, Way};
use super::system::System;
use crate::adapter::Driver;
use crate::engine::{
    CALLER_SHIFT, Caller, Kind, Part, PartId, RequestId, Server, Shape, Sim, Time, token, usage,
};

/// A step of a thread ends; an interrupt is through; whoever lingers must go on or go.
const STEP: u8 = 0;
const LINE: u8 = 1;
const SETTLE: u8 = 2;

/// The machine's own numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) ns_per_clock: f64,
    /// Clocks of an uncacheable read.
    pub(crate) register_read: f64,
    /// One core takes all interrupts.
    pub(crate) one_for_all: bool,
    pub(crate) polls: bool,
}

/// The drives and how to reach them.
#[derive(Clone, Debug)]
pub(crate) struct Drives {
    pub(crate) adapters: Vec<PartId>,
    pub(crate) count: usize,
    /// Of one drive.
    pub(crate) shape: Shape,
    /// They follow each other in one space; else threads take turns at them.
    pub(crate) in_a_row: bool,
}

/// Where a request went.
#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    drive: u16,
    line: u16,
}

pub(crate) struct Host {
    machine: Machine,
    drives: Drives,
    contention: f64,
    holds: bool,
    per_core: bool,
    /// Some thread polls.
    polls: bool,
    paths: Paths,
    crew: Crew,
    threads: Vec<Thread>,
    lines: Vec<Line>,
    count: Count,
    /// The lock of the I/O scheduler, one for each drive.
    locks: Vec<Server>,
    flights: Vec<Flight>,
    /// Threads that linger, and their cores.
    lingering: Vec<u32>,
    /// Time that was spent beyond the paths: waiting for locks, looking for completions; ns.
    lock_ns: u64,
    spin_ns: u64,
    compute_ns: u64,
}

impl Host {
    pub(crate) fn new(machine: Machine, system: &System, driver: &Driver, drives: Drives) -> Host {
        let lines = drives.adapters.len() * if driver.per_core { machine.cores } else { 1 };
        let core = |line: usize| {
            let turn = if driver.per_core { line } else { line % machine.cores };
            if machine.one_for_all { 0 } else { (turn % machine.cores) as u32 }
        };
        Host {
            contention: system.contention,
            holds: system.scheduler_hold > 0.0,
            per_core: driver.per_core,
            polls: false,
            paths: Paths::new(system, driver, machine.register_read, machine.ns_per_clock),
            crew: Crew::new(machine.cores),
            threads: Vec::new(),
            lines: (0..lines).map(|line| Line { core: core(line), ..Line::default() }).collect(),
            count: Count::default(),
            locks: vec![Server::default(); drives.count],
            flights: Vec::new(),
            lingering: Vec::new(),
            lock_ns: 0,
            spin_ns: 0,
            compute_ns: 0,
            machine,
            drives,
        }
    }

    /// A thread has something to do: it goes on where it lingers, or to a core, or waits for one.
    fn rouse(&mut self, index: u32, sim: &mut Sim) {
        let thread = &mut self.threads[index as usize];
        match thread.state {
            State::Lingers if thread.is_call => self.begin_step(index, sim),
            State::Lingers | State::Queued | State::Running => {}
            State::Spins => {
                self.stop_spinning(index, sim.now());
                self.begin_step(index, sim);
            }
            State::Out => {
                if let Some(core) = self.crew.take_idle(thread.core) {
                    self.place(index, core);
                    self.begin_step(index, sim);
                    return;
                }
                thread.state = State::Queued;
                self.crew.queue.push_back(index);
                if !self.lingering.is_empty() {
                    sim.wake_at(sim.now(), token(SETTLE, 0));
                }
                self.displace_spinner(sim);
            }
        }
    }

    /// A thread that only looks for completions gives its core to one that waits.
    fn displace_spinner(&mut self, sim: &mut Sim) {
        if !self.polls {
            return;
        }
        let spins = |thread: &u32| self.threads[*thread as usize].state == State::Spins;
        let found = self.crew.cores.iter().filter_map(|core| core.thread).find(spins);
        if let Some(index) = found {
            self.stop_spinning(index, sim.now());
            self.threads[index as usize].state = State::Queued;
            self.crew.queue.push_back(index);
            self.release(self.threads[index as usize].core, sim);
        }
    }

    fn place(&mut self, index: u32, core: u32) {
        let thread = &mut self.threads[index as usize];
        self.crew.cores[core as usize].thread = Some(index);
        thread.core = core;
        self.crew.switches += 1;
    }

    /// The core has nobody: the next one that waits, or nobody.
    fn release(&mut self, core: u32, sim: &mut Sim) {
        match self.crew.queue.pop_front() {
            Some(next) => {
                self.place(next, core);
                self.begin_step(next, sim);
            }
            None => self.crew.give_back(core),
        }
    }

    /// The thread has a core: what does it do there?
    fn begin_step(&mut self, index: u32, sim: &mut Sim) {
        let now = sim.now();
        let thread = &mut self.threads[index as usize];
        let paths = &mut self.paths;
        let mut ns = 0;
        if std::mem::take(&mut thread.slept) {
            ns += paths.switch_in.once();
        }
        if let Some(&first) = thread.todo.front() {
            if sim.request(first).kind == Kind::Compute {
                thread.todo.pop_front();
                thread.batch.push(first);
                thread.step = Step::Compute;
                let clocks = u64::from(sim.request(first).length);
                let compute = (clocks as f64 * self.machine.ns_per_clock).round() as u64;
                self.compute_ns += compute;
                ns += compute;
            } else {
                let most = thread.batch_most.min(thread.todo.len());
                thread.batch.extend(thread.todo.drain(..most));
                thread.step = Step::Submit;
                let way = &mut paths.ways[thread.way];
                ns += way.call.once() + way.submit.repeat(thread.batch.len() as u64);
            }
        } else if thread.ready.is_empty() {
            thread.step = Step::Look;
            ns += paths.look.once();
        } else {
            std::mem::swap(&mut thread.batch, &mut thread.ready);
            thread.step = Step::Reap;
            let way = &mut paths.ways[thread.way];
            ns += way.reap_call.once() + way.reap.repeat(thread.batch.len() as u64);
            if !thread.polls {
                let lines = &self.lines;
                let away = |id: &&RequestId| {
                    let line = self.flights[id.0 as usize].line;
                    lines[usize::from(line)].core != thread.core
                };
                ns += paths.other_core.repeat(thread.batch.iter().filter(away).count() as u64);
            }
            for &id in &thread.batch {
                sim.spend(id, Stage::Switch);
            }
        }
        thread.state = State::Running;
        let end = self.crew.run(thread.core, now, ns);
        sim.wake_at(end, token(STEP, thread.core));
    }

    /// What runs on the core is through, unless interrupts made it later.
    fn step_ends(&mut self, core: u32, sim: &mut Sim) {
        let now = sim.now();
        let of = &self.crew.cores[core as usize];
        let Some(index) = of.thread else { return };
        if of.end > now {
            return sim.wake_at(of.end, token(STEP, core));
        }
        let thread = &mut self.threads[index as usize];
        match thread.step {
            Step::Submit if self.holds => {
                thread.step = Step::Locked;
                let end = self.take_lock(index, sim);
                let waits = end - now;
                let end = self.crew.run(core, now, waits);
                sim.wake_at(end, token(STEP, core));
            }
            Step::Submit | Step::Locked => self.submitted(index, sim),
            Step::Compute => {
                let id = thread.batch.pop().expect("it computed for somebody");
                sim.spend(id, Stage::Submit);
                sim.finish(id);
                self.linger(index, sim);
            }
            Step::Reap => {
                for id in thread.batch.drain(..) {
                    sim.spend(id, Stage::Return);
                    sim.finish(id);
                }
                self.linger(index, sim);
            }
            Step::Look => self.go_on(index, sim),
        }
    }

    /// The thread takes the lock of its drive for each I/O of its batch; when the last is through.
    fn take_lock(&mut self, index: u32, sim: &mut Sim) -> Time {
        let now = sim.now();
        let (mut end, mut held_ns) = (now, 0);
        for at in 0..self.threads[index as usize].batch.len() {
            let id = self.threads[index as usize].batch[at];
            sim.spend(id, Stage::Submit);
            let drive = self.drive_of(index, id, sim);
            let lock = &mut self.locks[drive];
            let behind = lock.free_at().saturating_sub(now);
            let hold = self.paths.hold.once();
            let waiters = if hold == 0 { 0.0 } else { (behind as f64 / hold as f64).ceil() };
            let held = (hold as f64 * (1.0 + self.contention * waiters)).round() as u64;
            let through = lock.serve(now, held);
            end = end.max(through);
            held_ns += hold;
        }
        self.lock_ns += (end - now).saturating_sub(held_ns);
        end
    }

    fn drive_of(&self, index: u32, id: RequestId, sim: &Sim) -> usize {
        if self.drives.in_a_row {
            (sim.request(id).offset / self.drives.shape.capacity.0) as usize
        } else {
            index as usize % self.drives.count
        }
    }

    /// The batch goes to the adapters; then the thread picks up, submits more, or goes to sleep.
    fn submitted(&mut self, index: u32, sim: &mut Sim) {
        let mut batch = std::mem::take(&mut self.threads[index as usize].batch);
        for id in batch.drain(..) {
            sim.spend(id, if self.holds { Stage::Schedule } else { Stage::Submit });
            self.issue(index, id, sim);
        }
        self.threads[index as usize].batch = batch;
        self.go_on(index, sim);
    }

    /// The doorbell.
    fn issue(&mut self, index: u32, id: RequestId, sim: &mut Sim) {
        let drive = self.drive_of(index, id, sim);
        let adapters = self.drives.adapters.len();
        let adapter = drive % adapters;
        let core = self.threads[index as usize].core as usize;
        let line = if self.per_core { adapter * self.machine.cores + core } else { adapter };
        if self.flights.len() <= id.0 as usize {
            self.flights.resize(id.0 as usize + 1, Flight::default());
        }
        self.flights[id.0 as usize] = Flight { drive: drive as u16, line: line as u16 };
        let request = sim.request_mut(id);
        request.scratch = (drive / adapters) as u64;
        if self.drives.in_a_row {
            request.offset %= self.drives.shape.capacity.0;
        }
        sim.send(self.drives.adapters[adapter], id);
    }

    /// The thread has submitted, or looked: there is more to do, or it waits.
    fn go_on(&mut self, index: u32, sim: &mut Sim) {
        let thread = &mut self.threads[index as usize];
        if !thread.todo.is_empty() || !thread.ready.is_empty() {
            return self.begin_step(index, sim);
        }
        let core = thread.core;
        if thread.polls {
            if self.crew.queue.is_empty() {
                (thread.state, thread.spins_from) = (State::Spins, sim.now());
            } else {
                thread.state = State::Queued;
                self.crew.queue.push_back(index);
                self.release(core, sim);
            }
            return;
        }
        thread.state = State::Out;
        thread.slept = true;
        let out = self.paths.switch_out.once();
        self.crew.run(core, sim.now(), out);
        self.release(core, sim);
    }

    /// The thread has given I/Os back; its program may ask for more at this moment.
    fn linger(&mut self, index: u32, sim: &mut Sim) {
        let thread = &mut self.threads[index as usize];
        thread.state = State::Lingers;
        self.lingering.push(index);
        if !thread.is_call || !self.crew.queue.is_empty() {
            sim.wake_at(sim.now(), token(SETTLE, 0));
        }
    }

    /// Their programs have asked for what they will: those who linger go on, or leave their cores.
    fn settle(&mut self, sim: &mut Sim) {
        while let Some(index) = self.lingering.pop() {
            if self.threads[index as usize].state == State::Lingers {
                let thread = &mut self.threads[index as usize];
                if thread.todo.is_empty() && thread.ready.is_empty() && thread.is_call {
                    // Its program thinks, or has ended: that is no sleep of the kernel's making.
                    thread.state = State::Out;
                    let core = thread.core;
                    self.release(core, sim);
                } else {
                    self.go_on(index, sim);
                }
            }
        }
    }

    fn stop_spinning(&mut self, index: u32, now: Time) {
        let Thread { core, spins_from, .. } = self.threads[index as usize];
        let account = &mut self.crew.cores[core as usize].account;
        let from = spins_from.max(account.until());
        if now > from {
            account.book(from, from, now);
            self.spin_ns += now - from;
        }
    }

    /// An interrupt for what is pending on the line.
    fn raise(&mut self, line: usize, sim: &mut Sim) {
        let now = sim.now();
        let Line { pending, batch, raised, core } = &mut self.lines[line];
        let fresh = !std::mem::replace(raised, true);
        std::mem::swap(pending, batch);
        let sleeps = |id: &&RequestId| {
            let thread = &self.threads[(sim.request(**id).user >> CALLER_SHIFT) as usize];
            thread.state == State::Out
        };
        let sleepers = batch.iter().filter(sleeps).count() as u64;
        let mut ns = self.paths.complete.repeat(batch.len() as u64) + self.paths.wake.repeat(sleepers);
        if fresh {
            ns += self.paths.interrupt.once();
            self.count.interrupts += 1;
        }
        self.count.completions += batch.len() as u64;
        let core = *core;
        if let Some(index) = self.crew.cores[core as usize].thread
            && self.threads[index as usize].state == State::Spins
        {
            self.stop_spinning(index, now);
            self.threads[index as usize].spins_from = now;
        }
        let end = self.crew.interrupt(core, now, ns);
        sim.wake_at(end, token(LINE, line as u32));
    }

    /// The handler is through with its batch.
    fn handled(&mut self, line: usize, sim: &mut Sim) {
        let mut batch = std::mem::take(&mut self.lines[line].batch);
        for id in batch.drain(..) {
            sim.spend(id, Stage::Complete);
            let index = sim.request(id).user >> CALLER_SHIFT;
            self.threads[index as usize].ready.push(id);
            self.rouse(index, sim);
        }
        self.lines[line].batch = batch;
        if self.lines[line].pending.is_empty() {
            self.lines[line].raised = false;
        } else {
            self.raise(line, sim);
        }
    }
}

impl Part for Host {
    fn name(&self) -> &'static str {
        "host"
    }

    fn meet(&mut self, callers: &[Caller]) {
        let cores = self.machine.cores as u32;
        let thread = |caller: &Caller| {
            let way = Way::of(caller.engine);
            let asks = match caller.engine {
                Engine::IoUring { poll, .. } => poll,
                Engine::Pvsync2 { hipri } => hipri,
                _ => false,
            };
            Thread {
                state: State::Out,
                step: Step::Look,
                core: caller.number % cores,
                is_call: way == Way::Call,
                polls: asks || self.machine.polls,
                way: way as usize,
                batch_most: caller.batch_submit.max(1) as usize,
                todo: std::collections::VecDeque::new(),
                batch: Vec::new(),
                ready: Vec::new(),
                slept: false,
                spins_from: 0,
            }
        };
        self.lingering.clear();
        self.crew.clear();
        self.threads = callers.iter().map(thread).collect();
        self.polls = self.threads.iter().any(|thread| thread.polls);
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        let index = sim.request(id).user >> CALLER_SHIFT;
        self.threads[index as usize].todo.push_back(id);
        self.rouse(index, sim);
    }

    fn returned(&mut self, id: RequestId, sim: &mut Sim) {
        self.settle(sim);
        let flight = self.flights[id.0 as usize];
        if self.drives.in_a_row {
            sim.request_mut(id).offset += u64::from(flight.drive) * self.drives.shape.capacity.0;
        }
        let index = sim.request(id).user >> CALLER_SHIFT;
        if self.threads[index as usize].polls {
            self.threads[index as usize].ready.push(id);
            return self.rouse(index, sim);
        }
        let line = usize::from(flight.line);
        self.lines[line].pending.push(id);
        if !self.lines[line].raised {
            self.raise(line, sim);
        }
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        self.settle(sim);
        let index = token & 0xFF_FFFF;
        match (token >> 24) as u8 {
            STEP => self.step_ends(index, sim),
            LINE => self.handled(index as usize, sim),
            _ => {}
        }
    }

    fn begin(&mut self, now: Time) {
        self.paths.begin();
        self.crew.cores.iter_mut().for_each(|core| core.account.begin(now));
        self.locks.iter_mut().for_each(|lock| lock.account.begin(now));
        self.count = Count::default();
        self.crew.switches = 0;
        (self.lock_ns, self.spin_ns, self.compute_ns) = (0, 0, 0);
    }

    fn resources(&self, now: Time, list: &mut Vec<ResourceUse>) {
        list.push(usage("core", self.crew.cores.iter().map(|core| &core.account), now));
        if self.holds {
            list.push(usage("lock", self.locks.iter().map(|lock| &lock.account), now));
        }
    }

    fn host(&self, ios: u64) -> Option<HostUse> {
        let mut work: Work = self.paths.settle();
        let clocks = |ns: u64| ns as f64 / self.machine.ns_per_clock;
        work.add(Layer::Application, clocks(self.compute_ns));
        work.add(Layer::Lock, clocks(self.lock_ns));
        work.add(Layer::Poll, clocks(self.spin_ns));
        let Count { interrupts, completions } = self.count;
        Some(HostUse {
            clock_hz: 1e9 / self.machine.ns_per_clock,
            cores: self.machine.cores as u32,
            clocks_per_io: work.sum() / ios.max(1) as f64,
            layers: work.each(ios),
            interrupts,
            completions_per_interrupt: completions as f64 / interrupts.max(1) as f64,
            switches: self.crew.switches,
        })
    }

    fn shape(&self) -> Option<Shape> {
        let Shape { capacity, block } = self.drives.shape;
        let all = if self.drives.in_a_row { self.drives.count as u64 } else { 1 };
        Some(Shape { capacity: Bytes(capacity.0 * all), block })
    }
}
