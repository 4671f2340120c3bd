//! Whose turn is it? Threads take cores, wait for them, and leave them.
//!
//! A thread that something woke takes a free core, or the core of a thread that only looks for completions; else it waits in
//! one queue. Who never sleeps leaves its core for the next in the queue after a slice of time.

use super::layer::Layer;
use super::machine::{NAP, TICK, WOKEN};
use super::part::Host;
use super::thread::{Thread, ThreadState, Wait};
use crate::engine::{Sim, Time, token};

impl Host {
    /// A thread has something to do: it goes on where it is, or on a free core, or waits for one.
    #[inline]
    pub(super) fn rouse(&mut self, index: u32, sim: &mut Sim) {
        let thread = &mut self.threads[index as usize];
        match thread.state {
            ThreadState::Lingers | ThreadState::Naps | ThreadState::Queued | ThreadState::Running => {}
            ThreadState::Spins => {
                self.stop_spinning(index, sim.now());
                self.begin_step(index, sim);
            }
            ThreadState::Out => {
                if let Some(core) = self.crew.take_idle(thread.core, thread.allowed.as_deref(), sim.now()) {
                    self.place(index, core, sim.now());
                    return self.begin_step(index, sim);
                }
                thread.state = ThreadState::Queued;
                self.crew.queue.push_back(index);
                if self.polls {
                    self.displace_spinner(index, sim);
                }
            }
        }
    }

    /// A thread that only looks for completions gives its core to one that was woken: who has had it longest.
    fn displace_spinner(&mut self, woken: u32, sim: &mut Sim) {
        let spinners = self.crew.cores.iter().filter_map(|core| core.thread).filter(|&index| {
            let thread = &self.threads[index as usize];
            thread.may_yield() && self.threads[woken as usize].may_use(thread.core)
        });
        if let Some(index) = spinners.min_by_key(|&index| self.threads[index as usize].since) {
            self.yields(index, sim);
        }
        self.tick(sim);
    }

    /// The thread leaves its core to the next one, and waits in the queue.
    pub(super) fn yields(&mut self, index: u32, sim: &mut Sim) {
        self.stop_spinning(index, sim.now());
        let thread = &mut self.threads[index as usize];
        (thread.state, thread.slept) = (ThreadState::Queued, true);
        let core = thread.core;
        let out = self.ledger.once(self.paths.switch_out);
        self.crew.run(core, sim.now(), out);
        self.crew.queue.push_back(index);
        self.release(core, sim);
    }

    #[inline]
    fn place(&mut self, index: u32, core: u32, now: Time) {
        let thread = &mut self.threads[index as usize];
        self.crew.cores[core as usize].thread = Some(index);
        (thread.core, thread.since) = (core, now);
        self.crew.switches += 1;
    }

    /// The core has nobody: the next one that waits, or nobody.
    #[inline]
    pub(super) fn release(&mut self, core: u32, sim: &mut Sim) {
        match self.crew.next_for(core, &self.threads) {
            Some(next) => {
                self.place(next, core, sim.now());
                self.begin_step(next, sim);
            }
            None => self.crew.give_back(core),
        }
    }

    /// The thread has submitted, looked, or given I/Os back: there is more to do, or it waits.
    pub(super) fn go_on(&mut self, index: u32, sim: &mut Sim) {
        if self.serves(index, sim) {
            return;
        }
        let now = sim.now();
        let thread = &mut self.threads[index as usize];
        if thread.has_work() {
            if !self.crew.queue.is_empty() && now >= thread.since + self.slice {
                return self.yields(index, sim);
            }
            return self.begin_step(index, sim);
        }
        if thread.helps || thread.wait == Wait::Spin && thread.issued > 0 {
            return self.spin(index, sim);
        }
        thread.state = ThreadState::Out;
        let core = thread.core;
        if thread.issued == 0 {
            // Its program thinks, or has ended: that is no sleep of an I/O's making.
            return self.release(core, sim);
        }
        if thread.wait == Wait::Nap {
            if thread.napped || thread.flown == 0 {
                return self.spin(index, sim);
            }
            thread.state = ThreadState::Naps;
            let nap = thread.flown_ns / thread.flown / 2;
            thread.napped = true;
            sim.wake_at(now + nap, token(NAP, index));
        }
        thread.slept = true;
        let sleep_call = self.paths.ways[thread.way].sleep_call;
        let out = self.ledger.once(self.paths.switch_out) + self.ledger.once(sleep_call);
        self.crew.run(core, now, out);
        self.release(core, sim);
    }

    pub(super) fn spin(&mut self, index: u32, sim: &mut Sim) {
        let thread = &mut self.threads[index as usize];
        (thread.state, thread.spins_from) = (ThreadState::Spins, sim.now());
        self.tick(sim);
    }

    /// Lets threads that only look take turns with those that wait.
    fn tick(&mut self, sim: &mut Sim) {
        if self.ticks || self.crew.queue.is_empty() {
            return;
        }
        let spinners = self.crew.cores.iter().filter_map(|core| core.thread).filter_map(|index| {
            let thread = &self.threads[index as usize];
            thread.may_yield().then_some(thread.since + self.slice)
        });
        if let Some(first) = spinners.min() {
            self.ticks = true;
            sim.wake_at(first.max(sim.now()), token(TICK, self.epoch));
        }
    }

    /// Some slice has ended.
    pub(super) fn slice_ends(&mut self, epoch: u32, sim: &mut Sim) {
        if epoch != self.epoch {
            return;
        }
        self.ticks = false;
        for core in 0..self.crew.cores.len() {
            let Some(index) = self.crew.cores[core].thread else { continue };
            let thread = &self.threads[index as usize];
            let is_over = thread.may_yield() && sim.now() >= thread.since + self.slice;
            let fits = |&next: &u32| self.threads[next as usize].may_use(core as u32);
            if is_over && self.crew.queue.iter().any(fits) {
                self.yields(index, sim);
            } else if is_over {
                // Nobody who waits may use this core.
                self.threads[index as usize].since = sim.now();
            }
        }
        self.tick(sim);
    }

    /// The timer of a thread that naps: an interrupt on the core where it ran.
    pub(super) fn nap_ends(&mut self, index: u32, sim: &mut Sim) {
        let ns = self.ledger.once(self.paths.timer);
        let core = self.threads[index as usize].core;
        let end = self.interrupt(core, ns, sim);
        sim.wake_at(end, token(WOKEN, index));
    }

    pub(super) fn is_awake(&mut self, index: u32, sim: &mut Sim) {
        self.threads[index as usize].state = ThreadState::Out;
        self.rouse(index, sim);
    }

    /// The thread has given I/Os back; its program may ask for more at this moment.
    #[inline]
    pub(super) fn linger(&mut self, index: u32, sim: &mut Sim) {
        self.threads[index as usize].state = ThreadState::Lingers;
        self.lingering.push(index);
        sim.settle_later();
    }

    pub(super) fn stop_spinning(&mut self, index: u32, now: Time) {
        let Thread { state, core, spins_from, .. } = self.threads[index as usize];
        if state != ThreadState::Spins {
            return;
        }
        let account = &mut self.crew.cores[core as usize].account;
        let from = spins_from.max(account.until());
        if now > from {
            account.book(from, from, now);
            self.ledger.spend(Layer::Poll, now - from);
        }
        self.threads[index as usize].spins_from = now;
    }

    /// An interrupt takes so many ns of a core; when it is through.
    #[inline]
    pub(super) fn interrupt(&mut self, core: u32, ns: u64, sim: &Sim) -> Time {
        if self.polls
            && let Some(index) = self.crew.cores[core as usize].thread
        {
            self.stop_spinning(index, sim.now());
        }
        self.crew.interrupt(core, sim.now(), ns)
    }
}
