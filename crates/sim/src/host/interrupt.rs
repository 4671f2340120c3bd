//! Which completions does an interrupt bring?
//!
//! An interrupt is raised for the first completion and takes along what has come until it runs, and what comes while it runs:
//! a busy core handles more at once, which is cheaper for each.

use iostack_model::Stage;

use super::line::InterruptLine;
use super::machine::LINE;
use super::part::Host;
use super::thread::ThreadState;
use crate::engine::{CALLER_SHIFT, RequestId, Sim, token};

impl Host {
    /// An interrupt for what is pending on the line.
    pub(super) fn raise(&mut self, line: usize, sim: &mut Sim) {
        let InterruptLine { pending, batch, raised, core } = &mut self.lines[line];
        let (fresh, core) = (!std::mem::replace(raised, true), *core);
        std::mem::swap(pending, batch);
        let mut wakes = 0;
        for &id in batch.iter().filter(|&&id| !sim.request(id).by_kernel) {
            let thread = &mut self.threads[(sim.request(id).user >> CALLER_SHIFT) as usize];
            thread.coming += 1;
            if thread.state == ThreadState::Out && !thread.is_woken && thread.has_enough(thread.coming) {
                thread.is_woken = true;
                wakes += 1;
            }
        }
        let count = batch.len() as u64;
        let mut ns =
            self.ledger.repeat(self.paths.complete, count) + self.ledger.repeat(self.paths.wake, wakes);
        if fresh {
            ns += self.ledger.once(self.paths.interrupt);
            self.count.interrupts += 1;
        }
        self.count.completions += count;
        let end = self.interrupt(core, ns, sim);
        sim.wake_at(end, token(LINE, line as u32));
    }

    /// The handler is through with its batch.
    pub(super) fn handled(&mut self, line: usize, sim: &mut Sim) {
        let mut batch = std::mem::take(&mut self.lines[line].batch);
        // First, so that those who are woken see which core is busy.
        let goes_on = !self.lines[line].pending.is_empty();
        if goes_on {
            self.raise(line, sim);
        } else {
            self.lines[line].raised = false;
        }
        for id in batch.drain(..) {
            sim.spend(id, Stage::Complete);
            let by_kernel = sim.request(id).by_kernel;
            if !by_kernel {
                self.threads[(sim.request(id).user >> CALLER_SHIFT) as usize].coming -= 1;
            }
            self.has_room(id, self.lines[line].core, sim);
            let whole = if self.flights[id.0 as usize].is_part { sim.join(id) } else { Some(id) };
            match whole {
                Some(id) if by_kernel => sim.finish(id),
                Some(id) => self.deliver(id, sim),
                None => {}
            }
        }
        if !goes_on {
            self.lines[line].batch = batch;
        }
    }

    /// A request is through; its thread is woken if it waits for it.
    #[inline]
    pub(super) fn deliver(&mut self, id: RequestId, sim: &mut Sim) {
        let index = sim.request(id).user >> CALLER_SHIFT;
        let thread = &mut self.threads[index as usize];
        thread.issued -= 1;
        thread.ready.push(id);
        if matches!(thread.state, ThreadState::Out | ThreadState::Spins) && thread.has_enough(0) {
            self.rouse(index, sim);
        }
    }
}
