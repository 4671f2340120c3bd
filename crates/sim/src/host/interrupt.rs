//! Which completions does an interrupt bring?
//!
//! An interrupt is raised for the first completion and takes along what has come until it runs, and what comes while it runs:
//! a busy core handles more at once, which is cheaper for each. Where it may handle only so much, a thread of
//! the line goes on, which shares the core with the callers, as `ksoftirqd` does (Linux: kernel/softirq.c).

use iostack_model::Stage;

use super::line::InterruptLine;
use super::machine::LINE;
use super::part::Host;
use super::paths::SubmitWay;
use super::thread::{Thread, ThreadState, ThreadStep};
use crate::engine::{CALLER_SHIFT, RequestId, Sim, token};

impl Host {
    /// An interrupt for what is pending on the line, or its thread, which takes so many ns of its own time.
    pub(super) fn raise(&mut self, line: usize, sim: &mut Sim) -> u64 {
        let of = &mut self.lines[line];
        let (fresh, core, by_thread) = (!std::mem::replace(&mut of.raised, true), of.core, of.by_thread);
        if of.thread.is_none() {
            std::mem::swap(&mut of.pending, &mut of.batch);
        } else {
            of.take_some(self.machine.budget, fresh, sim.now());
        }
        let batch = &of.batch;
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
        if by_thread {
            return ns;
        }
        if fresh {
            ns += self.ledger.once(self.paths.interrupt);
            self.count.interrupts += 1;
        }
        self.count.completions += count;
        let end = self.interrupt(core, ns, sim);
        sim.wake_at(end, token(LINE, line as u32));
        0
    }

    /// The handler is through with its batch; true when more are pending.
    pub(super) fn handled(&mut self, line: usize, sim: &mut Sim) -> bool {
        let mut batch = std::mem::take(&mut self.lines[line].batch);
        // First, so that those who are woken see which core is busy.
        let left = !self.lines[line].pending.is_empty();
        let goes_on = left && !self.hands_over(line, sim);
        if goes_on {
            self.raise(line, sim);
        } else if !left {
            (self.lines[line].raised, self.lines[line].by_thread) = (false, false);
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
        // The thread of the line may have begun already.
        if self.lines[line].batch.is_empty() {
            self.lines[line].batch = batch;
        }
        left
    }

    /// The interrupt has done what it may: it wakes the thread of its line, which goes on when it gets the core.
    #[cold]
    fn hands_over(&mut self, line: usize, sim: &mut Sim) -> bool {
        let InterruptLine { handled, from, core, thread, by_thread, .. } = self.lines[line];
        let (Some(thread), Some((most, time))) = (thread, self.machine.budget) else { return false };
        if by_thread || handled < most && sim.now() - from < time {
            return by_thread;
        }
        self.lines[line].by_thread = true;
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
            self.threads.push(Thread { allowed, completes, ..Thread::of_kernel(line.core, way) });
        }
    }

    /// The thread of a line begins to handle what is pending, as much as an interrupt may; ns.
    #[cold]
    pub(super) fn complete_some(&mut self, index: u32, line: u32, sim: &mut Sim) -> u64 {
        self.threads[index as usize].step = ThreadStep::Complete;
        self.lines[line as usize].handled = 0;
        self.raise(line as usize, sim)
    }

    /// It is through with these; then it goes on, lets others have its core, or leaves the line to interrupts again.
    #[cold]
    pub(super) fn completed_some(&mut self, index: u32, sim: &mut Sim) {
        let Thread { core, since, completes, .. } = self.threads[index as usize];
        let line = completes.expect("it completes") as usize;
        if self.handled(line, sim) {
            if !self.crew.queue.is_empty() && sim.now() >= since + self.slice {
                return self.yields(index, sim);
            }
            return self.begin_step(index, sim);
        }
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
