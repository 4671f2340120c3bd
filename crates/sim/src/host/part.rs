//! What does the host know, and what does it do with what comes? Steps are in `steps.rs`, turns at cores in `turns.rs`,
//! interrupts in `interrupt.rs`.

use std::collections::VecDeque;

use iostack_model::{Bytes, Engine, HostUse, ResourceUse};

use super::asks_to_poll;
use super::crew::{Core, Crew};
use super::layer::{Layer, Ledger};
use super::line::{InterruptCount, InterruptLine};
use super::lock::Locks;
use super::machine::{DriveFlight, Drives, LINE, Machine, NAP, STEP, TICK};
use super::merge::{DOORBELL, Merge, PLUG, SOFTIRQ};
use super::paths::{Paths, SubmitWay};
use super::system::System;
use super::thread::{Thread, ThreadState, Wait};
use super::together::Together;
use crate::adapter::Driver;
use crate::engine::{Account, CALLER_SHIFT, Caller, Part, RequestId, Shape, Sim, Time, usage};

#[derive(Default)]
pub(crate) struct Host {
    pub(super) machine: Machine,
    pub(super) drives: Drives,
    /// A scheduler stands before the adapters, and all drives are one caller's.
    pub(super) plugs: bool,
    /// A submission takes locks.
    pub(super) holds: bool,
    pub(super) per_core: bool,
    /// Some thread polls.
    pub(super) polls: bool,
    /// Threads that only look are to take turns, at the next end of a slice.
    pub(super) ticks: bool,
    /// A thread that never sleeps leaves its core so often, ns.
    pub(super) slice: u64,
    /// Number of the stage, modulo 2^12: events of the one before are stale.
    pub(super) epoch: u32,
    pub(super) paths: Paths,
    pub(super) ledger: Ledger,
    pub(super) crew: Crew,
    pub(super) threads: Vec<Thread>,
    pub(super) lines: Vec<InterruptLine>,
    pub(super) count: InterruptCount,
    pub(super) locks: Locks,
    /// Requests gather before the drives.
    pub(super) merge: Option<Merge>,
    pub(super) flights: Vec<DriveFlight>,
    /// Threads that linger, and their cores.
    pub(super) lingering: Vec<u32>,
    /// Threads of the kernel's own: how many, and the number of the first.
    pub(super) kernel_threads: usize,
    kernel_first: usize,
    /// Booked before measuring began, for later; ns.
    carried_ns: u64,
}

impl Host {
    pub(crate) fn new(machine: Machine, system: &System, software: &Driver, drives: Drives) -> Host {
        let lines = drives.adapters.len() * if software.per_core() { machine.cores } else { 1 };
        let core = |line: usize| {
            let turn = if software.per_core() { line } else { line % machine.cores };
            if machine.one_for_all { 0 } else { (turn % machine.cores) as u32 }
        };
        let mut ledger = Ledger::new(machine.ns_per_clock);
        let (below, own) = machine.costs_of_submission(system, software);
        let paths = Paths::new(&mut ledger, &below, &own, machine.register_read);
        let merge = Merge::new(&machine, system, software, drives.count, &mut ledger);
        Host {
            plugs: drives.count == 1 || !drives.in_a_row,
            holds: below.scheduler_hold > 0.0 || software.lock > 0.0,
            per_core: software.per_core(),
            slice: system.slice,
            paths,
            ledger,
            crew: Crew::new(machine.cores),
            lines: (0..lines)
                .map(|line| InterruptLine { core: core(line), ..InterruptLine::default() })
                .collect(),
            locks: Locks::new(&machine, &below, software, &drives),
            merge,
            machine,
            drives,
            ..Host::default()
        }
    }

    /// The line has one more.
    #[inline]
    fn interrupts(&mut self, line: usize, id: RequestId, sim: &mut Sim) {
        self.lines[line].pending.push(id);
        if !self.lines[line].raised {
            self.raise(line, sim);
        }
    }

    fn wait_of(&self, engine: Engine) -> Wait {
        if asks_to_poll(engine) && self.machine.wait == Wait::Sleep { Wait::Spin } else { self.machine.wait }
    }

    /// Accounts of the cores until now, those who spin included; and for how long they have spun, ns.
    fn accounts(&self, now: Time) -> (Vec<Account>, u64) {
        let mut spun = 0;
        let until_now = |core: &Core| {
            let mut account = core.account.clone();
            if let Some(index) = core.thread {
                let Thread { state, spins_from, .. } = self.threads[index as usize];
                let from = spins_from.max(account.until());
                if state == ThreadState::Spins && from < now {
                    account.book(from, from, now);
                    spun += now - from;
                }
            }
            account
        };
        (self.crew.cores.iter().map(until_now).collect(), spun)
    }

    /// Cores are not each by itself.
    pub(super) fn keep_together(&mut self, together: Option<Together>) {
        if let Some(Together { remote, .. }) = &together {
            self.locks.contention_remote = (self.locks.contention as f64 * remote).round() as u64;
            self.paths.prolong_other_core(*remote, &mut self.ledger);
        }
        self.crew.together = together;
    }

    /// Time of cores beyond what their work takes alone.
    fn beyond(&self) -> [(Layer, u64); 2] {
        self.crew.together.as_ref().map_or([(Layer::SlowDown, 0); 2], Together::spent)
    }

    /// Every ns of a core was spent on something that is told.
    fn check_ledger(&self) {
        let booked: u64 = self.crew.cores.iter().map(|core| core.account.booked()).sum();
        let told =
            self.carried_ns + self.ledger.booked() + self.beyond().iter().map(|(_, ns)| ns).sum::<u64>();
        assert!(booked == told, "cores were busy for {booked} ns, and layers took {told} ns");
    }
}

impl Part for Host {
    fn name(&self) -> &'static str {
        "host"
    }

    fn meet(&mut self, callers: &[Caller]) {
        let cores = self.machine.cores as u32;
        self.lingering.clear();
        self.crew.clear();
        // What the kernel's own threads have still to do goes on in the next stage.
        let left = self.threads.drain(..).skip(self.kernel_first).take(self.kernel_threads);
        let left: Vec<VecDeque<RequestId>> =
            left.map(|thread| thread.batch.into_iter().chain(thread.todo).collect()).collect();
        let turns = self.kernel_threads.max(1);
        self.kernel_first = callers.len().next_multiple_of(turns);
        let others = self.kernel_first + self.kernel_threads;
        self.ticks = false;
        self.epoch = (self.epoch + 1) & 0xFFF;
        let mut helpers = Vec::new();
        for caller in callers {
            let (way, helps) = SubmitWay::of_engine(caller.engine);
            let helps = helps.filter(|_| self.merge.is_none());
            let wait = self.wait_of(caller.engine);
            let own = if helps.is_some() { Wait::Sleep } else { wait };
            let way = self.paths.way(way, &mut self.ledger);
            let core =
                caller.cpus.as_ref().and_then(|cpus| cpus.get(caller.number as usize % cpus.len().max(1)));
            let core = core.copied().unwrap_or(caller.number) % cores;
            let mut thread = Thread::new(caller, core, way, own);
            if let Some(helps) = helps {
                let way = self.paths.way(helps, &mut self.ledger);
                thread.helper = Some((others + helpers.len()) as u32);
                helpers.push(Thread::helper(caller, (core + cores / 2) % cores, way, wait));
            }
            self.threads.push(thread);
        }
        if self.kernel_threads > 0 {
            let way = self.paths.way(SubmitWay::Kernel, &mut self.ledger);
            for number in self.threads.len()..others {
                self.threads.push(Thread::of_kernel(number as u32 % cores, way));
            }
            for (thread, todo) in self.threads[self.kernel_first..].iter_mut().zip(left) {
                thread.todo = todo;
            }
        }
        self.threads.append(&mut helpers);
        self.meet_completers();
        self.polls = self.threads.iter().any(|thread| thread.helps || thread.wait != Wait::Sleep);
        self.meet_subsystem();
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        let index = sim.request(id).user >> CALLER_SHIFT;
        self.threads[index as usize].todo.push_back(id);
        self.rouse(index, sim);
    }

    fn settled(&mut self, sim: &mut Sim) {
        while let Some(index) = self.lingering.pop() {
            self.go_on(index, sim);
        }
    }

    fn returned(&mut self, id: RequestId, sim: &mut Sim) {
        let DriveFlight { drive, line, is_part, issued } = self.flights[id.0 as usize];
        if self.drives.in_a_row {
            sim.request_mut(id).offset += u64::from(drive) * self.drives.shape.capacity.0;
        }
        if self.is_polled(id, sim) {
            return;
        }
        if sim.request(id).by_kernel {
            return self.interrupts(usize::from(line), id, sim);
        }
        let owner = sim.request(id).user >> CALLER_SHIFT;
        let helper = self.threads[owner as usize].helper;
        let finder = helper.filter(|&helper| self.threads[helper as usize].wait != Wait::Sleep);
        let thread = &mut self.threads[finder.unwrap_or(owner) as usize];
        if thread.wait == Wait::Sleep {
            return self.interrupts(usize::from(line), id, sim);
        }
        thread.flown_ns += sim.now() - issued;
        thread.flown += 1;
        let Some(id) = (if is_part { sim.join(id) } else { Some(id) }) else { return };
        match finder {
            None => self.deliver(id, sim),
            Some(helper) => {
                let thread = &mut self.threads[helper as usize];
                thread.issued -= 1;
                thread.ready.push(id);
                if thread.state == ThreadState::Spins {
                    self.rouse(helper, sim);
                }
            }
        }
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        let index = token & 0xFF_FFFF;
        match (token >> 24) as u8 {
            STEP => self.step_ends(index, sim),
            LINE => {
                self.handled(index as usize, sim);
            }
            TICK => self.slice_ends(index, sim),
            NAP => self.nap_ends(index, sim),
            kind @ (PLUG | DOORBELL | SOFTIRQ) => self.merge_wakes(kind, index, sim),
            _ => self.is_awake(index, sim),
        }
    }

    fn begin(&mut self, now: Time) {
        for index in 0..self.threads.len() as u32 {
            self.stop_spinning(index, now);
        }
        self.ledger.begin();
        self.crew.cores.iter_mut().for_each(|core| core.account.begin(now));
        self.locks.begin(now);
        self.count = InterruptCount::default();
        self.crew.switches = 0;
        self.crew.together.iter_mut().for_each(Together::begin);
        self.carried_ns = self.crew.cores.iter().map(|core| core.account.booked()).sum();
    }

    fn resources(&self, now: Time, list: &mut Vec<ResourceUse>) {
        self.check_ledger();
        list.push(usage("core", &self.accounts(now).0, now));
        self.locks.resources(now, list);
    }

    fn host(&self, now: Time, ios: u64) -> Option<HostUse> {
        let mut work = self.ledger.work();
        work.add(Layer::Poll, self.accounts(now).1 as f64 / self.machine.ns_per_clock);
        for (layer, ns) in self.beyond() {
            work.add(layer, ns as f64 / self.machine.ns_per_clock);
        }
        let InterruptCount { interrupts, completions } = self.count;
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
