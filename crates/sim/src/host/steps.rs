//! What does a thread do on its core? It submits, picks up, computes, or looks.

use iostack_model::Stage;

use super::layer::Layer;
use super::lock::Locks;
use super::machine::{DriveFlight, STEP};
use super::merge::Merge;
use super::part::Host;
use super::paths::SubmitWay;
use super::thread::{Thread, ThreadState, ThreadStep, Wait};
use crate::engine::{CALLER_SHIFT, Kind, RequestId, Sim, Time, token};

/// Bits of a core's number in a token; above it is the epoch.
pub(super) const CORE_BITS: u32 = 12;

impl Host {
    /// The thread has a core: what does it do there?
    pub(super) fn begin_step(&mut self, index: u32, sim: &mut Sim) {
        let duty = self.duty_step(index, sim);
        let thread = &mut self.threads[index as usize];
        let mut ns = 0;
        thread.is_woken = false;
        if std::mem::take(&mut thread.slept) {
            ns += self.ledger.once(self.paths.switch_in);
        }
        let next = thread.todo.front().copied();
        if let Some((step, more)) = duty {
            (thread.step, thread.state) = (step, ThreadState::Running);
            let core = thread.core;
            return self.run(core, ns + more, sim);
        }
        ns += match next {
            _ if thread.left_ns > 0 => self.compute(index),
            Some(first) if sim.request(first).kind == Kind::Compute => {
                thread.todo.pop_front();
                thread.batch.push(first);
                thread.in_kernel = sim.request(first).by_kernel;
                let clocks = f64::from(sim.request(first).length);
                thread.left_ns = (clocks * self.machine.ns_per_clock).round() as u64;
                self.compute(index)
            }
            Some(_) => self.submit(index, sim),
            None if thread.ready.is_empty() => {
                if let Some(line) = thread.completes {
                    self.complete_some(index, line, sim)
                } else {
                    thread.step = ThreadStep::Look;
                    self.ledger.once(self.paths.look)
                }
            }
            None => self.pick_up(index, sim),
        };
        let thread = &mut self.threads[index as usize];
        thread.state = ThreadState::Running;
        let core = thread.core;
        self.run(core, ns, sim);
    }

    /// The core runs for so many ns; then its step ends.
    #[inline]
    fn run(&mut self, core: u32, ns: u64, sim: &mut Sim) {
        let end = self.crew.run(core, sim.now(), ns);
        sim.wake_at(end, token(STEP, self.epoch << CORE_BITS | core));
    }

    /// A computation goes on for a slice at most; ns.
    fn compute(&mut self, index: u32) -> u64 {
        let thread = &mut self.threads[index as usize];
        thread.step = ThreadStep::Compute;
        let ns = thread.left_ns.min(self.slice);
        thread.left_ns -= ns;
        if thread.in_kernel {
            self.ledger.cache_ns += ns;
        } else {
            self.ledger.spend(Layer::Application, ns);
        }
        ns
    }

    /// Begins to submit what its program asked for, as much as one call takes; ns.
    #[inline]
    fn submit(&mut self, index: u32, sim: &Sim) -> u64 {
        let thread = &mut self.threads[index as usize];
        thread.step = ThreadStep::Submit;
        let by_kernel = |&id: &RequestId| sim.request(id).by_kernel;
        if thread.todo.front().is_some_and(by_kernel) {
            thread.batch.extend(thread.todo.pop_front());
            let way = self.paths.way(SubmitWay::Kernel, &mut self.ledger);
            return self.ledger.once(self.paths.ways[way].submit);
        }
        if thread.todo.len() == 1 {
            // Faster than to drain.
            thread.batch.extend(thread.todo.pop_front());
        } else {
            let most = thread.batch_most.min(thread.todo.len());
            let computes =
                |&id: &RequestId| sim.request(id).kind == Kind::Compute || sim.request(id).by_kernel;
            let most = thread.todo.iter().take(most).position(computes).unwrap_or(most);
            thread.batch.extend(thread.todo.drain(..most));
        }
        let way = self.paths.ways[thread.way];
        self.ledger.once(way.call) + self.ledger.repeat(way.submit, thread.batch.len() as u64)
    }

    /// Begins to pick up what is through; ns.
    #[inline]
    fn pick_up(&mut self, index: u32, sim: &mut Sim) -> u64 {
        let thread = &self.threads[index as usize];
        let owner = (sim.request(thread.ready[0]).user >> CALLER_SHIFT) as usize;
        // A thread of the kernel wakes its caller.
        let wakes = thread.helps && self.threads[owner].state == ThreadState::Out;
        let Thread { batch, ready, step, way, wait, core, helps, .. } = &mut self.threads[index as usize];
        std::mem::swap(batch, ready);
        *step = ThreadStep::Reap;
        let count = batch.len() as u64;
        let mut ns = self.ledger.repeat(self.paths.wake, u64::from(wakes));
        if self.merge.as_ref().is_some_and(Merge::polls) {
            // Whoever polled has paid.
        } else if *wait == Wait::Sleep {
            let lines = &self.lines;
            let away = |id: &&RequestId| {
                let line = self.flights[id.0 as usize].line;
                lines[usize::from(line)].core != *core
            };
            ns += self.ledger.repeat(self.paths.other_core, batch.iter().filter(away).count() as u64);
            if let Some(together) = &self.crew.together {
                let cores = batch.iter().map(|id| lines[usize::from(self.flights[id.0 as usize].line)].core);
                ns += self.ledger.repeat(self.paths.other_socket, together.far(*core, cores));
            }
        } else {
            ns += self.ledger.once(self.paths.look) + self.ledger.repeat(self.paths.complete, count);
        }
        let way = self.paths.ways[*way];
        ns += self.ledger.once(way.reap_call) + self.ledger.repeat(way.reap, count);
        let stage = if *helps { Stage::Complete } else { Stage::Switch };
        for &id in batch.iter() {
            sim.spend(id, stage);
        }
        ns
    }

    /// The step on the core is through, unless interrupts made it later.
    pub(super) fn step_ends(&mut self, place: u32, sim: &mut Sim) {
        let (epoch, core) = (place >> CORE_BITS, place & ((1 << CORE_BITS) - 1));
        if epoch != self.epoch {
            // Of threads that have ended.
            return;
        }
        let now = sim.now();
        let of = &self.crew.cores[core as usize];
        let Some(index) = of.thread else { return };
        if of.end > now {
            return sim.wake_at(of.end, token(STEP, place));
        }
        let thread = &mut self.threads[index as usize];
        match thread.step {
            ThreadStep::Submit if thread.helper.is_some() => self.hand_over(index, sim),
            ThreadStep::Submit if self.holds => {
                thread.step = ThreadStep::Locked;
                let end = self.take_lock(index, sim);
                let end = self.crew.cores[core as usize].spend(now, end - now);
                sim.wake_at(end, token(STEP, place));
            }
            ThreadStep::Submit | ThreadStep::Locked => self.submitted(index, sim),
            ThreadStep::Compute if thread.left_ns > 0 => self.go_on(index, sim),
            ThreadStep::Compute => {
                let id = thread.batch.pop().expect("it computed for somebody");
                sim.spend(id, Stage::Submit);
                sim.finish(id);
                self.linger(index, sim);
            }
            ThreadStep::Reap if thread.helps => self.posted(index, sim),
            ThreadStep::Reap => {
                for id in thread.batch.drain(..) {
                    sim.spend(id, Stage::Return);
                    sim.finish(id);
                }
                self.linger(index, sim);
            }
            ThreadStep::Complete => self.completed_some(index, sim),
            ThreadStep::Look | ThreadStep::Enter => self.go_on(index, sim),
            ThreadStep::Dispatch => self.dispatched(index, sim),
            ThreadStep::Ring => self.rings(index, sim),
            ThreadStep::Retire => self.retired(index, sim),
            ThreadStep::HandOut => self.handed_out(index, sim),
        }
    }

    /// The batch is in the ring, where the kernel's thread finds it.
    fn hand_over(&mut self, index: u32, sim: &mut Sim) {
        let thread = &mut self.threads[index as usize];
        let helper = thread.helper.expect("asked for just before");
        thread.issued += thread.batch.len();
        let mut batch = std::mem::take(&mut thread.batch);
        self.threads[helper as usize].todo.extend(batch.drain(..));
        self.threads[index as usize].batch = batch;
        self.rouse(helper, sim);
        self.go_on(index, sim);
    }

    /// The kernel's thread has found completions and posted them.
    fn posted(&mut self, index: u32, sim: &mut Sim) {
        let mut batch = std::mem::take(&mut self.threads[index as usize].batch);
        for id in batch.drain(..) {
            sim.spend(id, Stage::Complete);
            self.deliver(id, sim);
        }
        self.threads[index as usize].batch = batch;
        self.go_on(index, sim);
    }

    /// The drive of a request.
    #[inline]
    pub(super) fn drive_of(&self, id: RequestId, sim: &Sim) -> usize {
        let request = sim.request(id);
        if self.drives.count == 1 {
            0
        } else if self.drives.in_a_row {
            (request.offset / self.drives.shape.capacity.0) as usize
        } else {
            (request.user >> CALLER_SHIFT) as usize % self.drives.count
        }
    }

    /// The batch goes to the adapters; then the thread picks up, submits more, or goes to sleep.
    pub(super) fn submitted(&mut self, index: u32, sim: &mut Sim) {
        let thread = &mut self.threads[index as usize];
        if thread.batch.first().is_some_and(|&id| sim.request(id).by_kernel) {
            // An interrupt completes it; nobody waits here.
        } else if !thread.helps {
            thread.issued += thread.batch.len();
        } else if thread.wait != Wait::Sleep {
            // It looks for them, too.
            thread.issued += thread.batch.len();
        }
        thread.napped = false;
        let mut batch = std::mem::take(&mut thread.batch);
        let mut left = batch.len() as u32;
        let core = thread.core;
        for id in batch.drain(..) {
            sim.spend(id, if self.holds { Stage::Schedule } else { Stage::Submit });
            left -= 1;
            self.issue(core, id, sim);
            // The plug: a scheduler sees the whole submission before it lets any go.
            sim.request_mut(id).followers = if self.plugs { left } else { 0 };
        }
        self.threads[index as usize].batch = batch;
        self.go_on(index, sim);
    }

    /// The doorbell, rung by this core; of each drive when the request is for several.
    pub(super) fn issue(&mut self, core: u32, id: RequestId, sim: &mut Sim) {
        if self.drives.in_a_row && self.drives.count > 1 {
            let each = self.drives.shape.capacity.0;
            let request = sim.request(id);
            let by_kernel = request.by_kernel;
            let (offset, end, user) =
                (request.offset, request.offset + u64::from(request.length), request.user);
            let flushes = request.kind == Kind::Flush;
            if flushes || end > (offset / each + 1) * each {
                let touched = |drive: u64| flushes || drive * each < end && (drive + 1) * each > offset;
                for drive in (0..self.drives.count as u64).filter(|&drive| touched(drive)) {
                    let from = offset.max(drive * each);
                    let length = if flushes { 0 } else { end.min((drive + 1) * each) - from };
                    let part = sim.fork(id, from, length as u32);
                    (sim.request_mut(part).user, sim.request_mut(part).by_kernel) = (user, by_kernel);
                    self.ring(core, drive as usize, (part, true), sim);
                }
                return;
            }
        }
        self.ring(core, self.drive_of(id, sim), (id, false), sim);
    }

    /// Sends a request to a drive, or puts it in line.
    #[inline]
    fn ring(&mut self, core: u32, drive: usize, (id, is_part): (RequestId, bool), sim: &mut Sim) {
        if self.merge.is_some() {
            return self.line_up(drive, (id, is_part), sim);
        }
        self.send_down(core, drive, (id, is_part), sim);
    }

    /// The doorbell of a drive.
    #[inline]
    pub(super) fn send_down(
        &mut self,
        core: u32,
        drive: usize,
        (id, is_part): (RequestId, bool),
        sim: &mut Sim,
    ) {
        let adapters = self.drives.adapters.len();
        let (adapter, in_adapter) =
            if adapters == 1 { (0, drive) } else { (drive % adapters, drive / adapters) };
        let line = if self.per_core { adapter * self.machine.cores + core as usize } else { adapter };
        if self.flights.len() <= id.0 as usize {
            self.flights.resize(id.0 as usize + 1, DriveFlight::default());
        }
        let issued = sim.now();
        self.flights[id.0 as usize] = DriveFlight { drive: drive as u16, line: line as u16, is_part, issued };
        let request = sim.request_mut(id);
        request.scratch = in_adapter as u64;
        if self.drives.in_a_row {
            request.offset -= drive as u64 * self.drives.shape.capacity.0;
        }
        sim.send(self.drives.doors[drive], id);
    }

    /// The thread takes the locks of its drive for each I/O of its batch, one after the other; when the last is through.
    pub(super) fn take_lock(&mut self, index: u32, sim: &mut Sim) -> Time {
        let mut at = sim.now();
        let (now, core) = (sim.now(), self.threads[index as usize].core);
        let socket = self.crew.together.as_ref().map_or(0, |together| together.socket(core));
        for place in 0..self.threads[index as usize].batch.len() {
            let id = self.threads[index as usize].batch[place];
            sim.spend(id, Stage::Submit);
            let drive = self.drive_of(id, sim);
            let adapter = drive % self.drives.adapters.len();
            let Locks { schedulers, drivers, contention, contention_remote, has } = &mut self.locks;
            let mut lost = [0; 2];
            if has[0] {
                let lock = &mut schedulers[drive];
                let far = std::mem::replace(&mut lock.socket, socket) != socket;
                let hold = self.crew.slowed(core, now, self.ledger.once(self.paths.hold));
                (at, lost[0]) = lock.take(at, hold, if far { *contention_remote } else { *contention });
            }
            if has[1] {
                let hold = self.crew.slowed(core, now, self.ledger.once(self.paths.driver_hold));
                (at, lost[1]) = drivers[adapter].take(at, hold, 0);
            }
            self.ledger.spend(Layer::Lock, lost[0] + lost[1]);
        }
        at
    }
}
