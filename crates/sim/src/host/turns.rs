//! Whose turn is it? Threads take cores, wait for them, and leave them.

use super::crew::{State, Thread};
use super::part::{Host, SETTLE};
use crate::engine::{Sim, Time, token};

impl Host {
    /// A thread has something to do: it goes on where it lingers, or to a core, or waits for one.
    pub(super) fn rouse(&mut self, index: u32, sim: &mut Sim) {
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
    pub(super) fn displace_spinner(&mut self, sim: &mut Sim) {
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

    pub(super) fn place(&mut self, index: u32, core: u32) {
        let thread = &mut self.threads[index as usize];
        self.crew.cores[core as usize].thread = Some(index);
        thread.core = core;
        self.crew.switches += 1;
    }

    /// The core has nobody: the next one that waits, or nobody.
    pub(super) fn release(&mut self, core: u32, sim: &mut Sim) {
        match self.crew.queue.pop_front() {
            Some(next) => {
                self.place(next, core);
                self.begin_step(next, sim);
            }
            None => self.crew.give_back(core),
        }
    }

    /// The thread has given I/Os back; its program may ask for more at this moment.
    pub(super) fn linger(&mut self, index: u32, sim: &mut Sim) {
        let thread = &mut self.threads[index as usize];
        thread.state = State::Lingers;
        self.lingering.push(index);
        if !thread.is_call || !self.crew.queue.is_empty() {
            sim.wake_at(sim.now(), token(SETTLE, 0));
        }
    }

    /// Their programs have asked for what they will: those who linger go on, or leave their cores.
    pub(super) fn settle(&mut self, sim: &mut Sim) {
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

    pub(super) fn stop_spinning(&mut self, index: u32, now: Time) {
        let Thread { core, spins_from, .. } = self.threads[index as usize];
        let account = &mut self.crew.cores[core as usize].account;
        let from = spins_from.max(account.until());
        if now > from {
            account.book(from, from, now);
            self.spin_ns += now - from;
        }
    }
}
