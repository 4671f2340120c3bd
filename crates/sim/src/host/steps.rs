//! What does a thread do on its core? It submits, picks up, computes, or looks.

use iostack_model::Stage;

use super::crew::{State, Step};
use super::part::{Flight, Host, STEP};
use crate::engine::{Kind, RequestId, Sim, token};

impl Host {
    /// The thread has a core: what does it do there?
    pub(super) fn begin_step(&mut self, index: u32, sim: &mut Sim) {
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
    pub(super) fn step_ends(&mut self, core: u32, sim: &mut Sim) {
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

    pub(super) fn drive_of(&self, index: u32, id: RequestId, sim: &Sim) -> usize {
        if self.drives.in_a_row {
            (sim.request(id).offset / self.drives.shape.capacity.0) as usize
        } else {
            index as usize % self.drives.count
        }
    }

    /// The batch goes to the adapters; then the thread picks up, submits more, or goes to sleep.
    pub(super) fn submitted(&mut self, index: u32, sim: &mut Sim) {
        let mut batch = std::mem::take(&mut self.threads[index as usize].batch);
        for id in batch.drain(..) {
            sim.spend(id, if self.holds { Stage::Schedule } else { Stage::Submit });
            self.issue(index, id, sim);
        }
        self.threads[index as usize].batch = batch;
        self.go_on(index, sim);
    }

    /// The doorbell.
    pub(super) fn issue(&mut self, index: u32, id: RequestId, sim: &mut Sim) {
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
    pub(super) fn go_on(&mut self, index: u32, sim: &mut Sim) {
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
}
