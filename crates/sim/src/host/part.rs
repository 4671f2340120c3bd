//! What does the host know, and what does it do with what comes? Steps are in `steps.rs`, turns at cores in `turns.rs`,
//! interrupts in `interrupt.rs`.

use iostack_model::{Bytes, Engine, HostUse, ResourceUse};

use super::crew::{Crew, State, Step, Thread};
use super::interrupt::{Count, Line};
use super::layer::{Layer, Work};
use super::paths::{Paths, Way};
use super::system::System;
use crate::adapter::Driver;
use crate::engine::{CALLER_SHIFT, Caller, Part, PartId, RequestId, Server, Shape, Sim, Time, usage};

/// A step of a thread ends; an interrupt is through; whoever lingers must go on or go.
pub(super) const STEP: u8 = 0;
pub(super) const LINE: u8 = 1;
pub(super) const SETTLE: u8 = 2;

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
pub(super) struct Flight {
    pub(super) drive: u16,
    pub(super) line: u16,
}

pub(crate) struct Host {
    pub(super) machine: Machine,
    pub(super) drives: Drives,
    pub(super) contention: f64,
    pub(super) holds: bool,
    pub(super) per_core: bool,
    /// Some thread polls.
    pub(super) polls: bool,
    pub(super) paths: Paths,
    pub(super) crew: Crew,
    pub(super) threads: Vec<Thread>,
    pub(super) lines: Vec<Line>,
    pub(super) count: Count,
    /// The lock of the I/O scheduler, one for each drive.
    pub(super) locks: Vec<Server>,
    pub(super) flights: Vec<Flight>,
    /// Threads that linger, and their cores.
    pub(super) lingering: Vec<u32>,
    /// Time that was spent beyond the paths: waiting for locks, looking for completions; ns.
    pub(super) lock_ns: u64,
    pub(super) spin_ns: u64,
    pub(super) compute_ns: u64,
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
