//! Which completions does an interrupt bring?
//!
//! An interrupt is raised for the first completion and takes along what has come until it runs, and what comes while it runs:
//! a busy core handles more at once, which is cheaper for each. Where it may handle only so much, a thread of the line goes on, which shares
//! the core with the callers, as `ksoftirqd` does (Linux: kernel/softirq.c).

use iostack_model::Stage;

use super::layer::Ledger;
use super::line::InterruptLine;
use super::machine::LINE;
use super::part::Host;
use super::paths::{Paths, SubmitWay};
use super::thread::{Thread, ThreadState, ThreadStep};
use crate::engine::{CALLER_SHIFT, RequestId, Sim, token};

impl Host {
    /// An interrupt for what is pending on the line, as much as it may handle.
    pub(super) fn raise(&mut self, line: usize, sim: &mut Sim) {
        let InterruptLine { pending, batch, raised, core, handled, from, thread } = &mut self.lines[line];
        let (fresh, core) = (!std::mem::replace(raised, true), *core);
        if let (Some(_), Some((most, _))) = (thread, self.machine.budget) {
            if fresh {
                (*handled, *from) = (0, sim.now());
            }
            take_most(pending, batch, most - *handled);
            *handled += batch.len() as u64;
        } else {
            std::mem::swap(pending, batch);
        }
        let mut ns = completing(batch, &mut self.threads, (&mut self.ledger, &self.paths), sim);
        self.count.completions += batch.len() as u64;
        if fresh {
            ns += self.ledger.once(self.paths.interrupt);
            self.count.interrupts += 1;
        }
        let end = self.interrupt(core, ns, sim);
        sim.wake_at(end, token(LINE, line as u32));
    }

    /// The handler is through with its batch.
    pub(super) fn handled(&mut self, line: usize, sim: &mut Sim) {
        let mut batch = std::mem::take(&mut self.lines[line].batch);
        // First, so that those who are woken see which core is busy.
        let left = !self.lines[line].pending.is_empty();
        let goes_on = left && !self.hands_over(line, sim);
        if goes_on {
            self.raise(line, sim);
        } else if !left {
            self.lines[line].raised = false;
        }
        self.completed(line, &mut batch, sim);
        if !goes_on {
            self.lines[line].batch = batch;
        }
    }

    /// All of the batch are through.
    #[inline]
    fn completed(&mut self, line: usize, batch: &mut Vec<RequestId>, sim: &mut Sim) {
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
    }

    /// The interrupt has done what it may: it wakes the thread of its line, which goes on when it gets the core.
    fn hands_over(&mut self, line: usize, sim: &mut Sim) -> bool {
        let InterruptLine { handled, from, core, thread, .. } = self.lines[line];
        let (Some(thread), Some((most, time))) = (thread, self.machine.budget) else { return false };
        if handled < most && sim.now() - from < time {
            return false;
        }
        let ns = self.ledger.once(self.paths.wake);
        self.interrupt(core, ns, sim);
        self.rouse(thread, sim);
        true
    }

    /// Threads that go on where interrupts may do no more, one for each line.
    pub(super) fn meet_completers(&mut self) {
        if self.machine.budget.is_none() || self.merge.is_some() {
            return;
        }
        let way = self.paths.way(SubmitWay::Kernel, &mut self.ledger);
        for (number, line) in (0..).zip(&mut self.lines) {
            line.thread = Some(self.threads.len() as u32);
            let (completes, allowed) = (Some(number), Some([line.core].into()));
            self.threads.push(Thread { completes, allowed, ..Thread::of_kernel(line.core, way) });
        }
    }

    /// The thread of a line begins to handle what is pending, as much as an interrupt may; ns.
    pub(super) fn complete_some(&mut self, index: u32, sim: &Sim) -> u64 {
        let thread = &mut self.threads[index as usize];
        thread.step = ThreadStep::Complete;
        let line = thread.completes.expect("asked for just before") as usize;
        let mut batch = std::mem::take(&mut thread.batch);
        let most = self.machine.budget.map_or(u64::MAX, |(most, _)| most);
        take_most(&mut self.lines[line].pending, &mut batch, most);
        let ns = completing(&batch, &mut self.threads, (&mut self.ledger, &self.paths), sim);
        self.threads[index as usize].batch = batch;
        ns
    }

    /// It is through with these; then it goes on, lets others have its core, or leaves the line to interrupts again.
    pub(super) fn completed_some(&mut self, index: u32, sim: &mut Sim) {
        let thread = &mut self.threads[index as usize];
        let line = thread.completes.expect("it completes") as usize;
        let (core, since) = (thread.core, thread.since);
        let mut batch = std::mem::take(&mut thread.batch);
        self.completed(line, &mut batch, sim);
        self.threads[index as usize].batch = batch;
        if !self.lines[line].pending.is_empty() {
            if !self.crew.queue.is_empty() && sim.now() >= since + self.slice {
                return self.yields(index, sim);
            }
            return self.begin_step(index, sim);
        }
        self.lines[line].raised = false;
        let thread = &mut self.threads[index as usize];
        (thread.state, thread.slept) = (ThreadState::Out, true);
        let out = self.ledger.once(self.paths.switch_out);
        self.crew.run(core, sim.now(), out);
        self.release(core, sim);
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

/// Time that completions take, with waking those whom they wake.
#[inline]
fn completing(batch: &[RequestId], threads: &mut [Thread], costs: (&mut Ledger, &Paths), sim: &Sim) -> u64 {
    let mut wakes = 0;
    for &id in batch.iter().filter(|&&id| !sim.request(id).by_kernel) {
        let thread = &mut threads[(sim.request(id).user >> CALLER_SHIFT) as usize];
        thread.coming += 1;
        if thread.state == ThreadState::Out && !thread.is_woken && thread.has_enough(thread.coming) {
            thread.is_woken = true;
            wakes += 1;
        }
    }
    let (ledger, paths) = costs;
    ledger.repeat(paths.complete, batch.len() as u64) + ledger.repeat(paths.wake, wakes)
}

/// Takes so many of the first at most.
fn take_most(from: &mut Vec<RequestId>, to: &mut Vec<RequestId>, most: u64) {
    to.extend(from.drain(..from.len().min(usize::try_from(most).unwrap_or(usize::MAX))));
}
