//! Which completions does an interrupt bring?
//!
//! An interrupt is raised for the first completion and takes along what has come until it runs, and what comes while it runs:
//! a busy core handles more at once, which is cheaper for each.

use iostack_model::Stage;

use super::crew::State;
use super::part::{Host, LINE};
use crate::engine::{CALLER_SHIFT, RequestId, Sim, token};

/// A source of interrupts: an adapter, or a queue of one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// Came since the handler looked last.
    pub(crate) pending: Vec<RequestId>,
    /// Being handled.
    pub(crate) batch: Vec<RequestId>,
    /// The handler runs, or waits to.
    pub(crate) raised: bool,
    pub(crate) core: u32,
}

/// What came of all lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    pub(crate) interrupts: u64,
    pub(crate) completions: u64,
}

impl Host {
    /// An interrupt for what is pending on the line.
    pub(super) fn raise(&mut self, line: usize, sim: &mut Sim) {
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
    pub(super) fn handled(&mut self, line: usize, sim: &mut Sim) {
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
