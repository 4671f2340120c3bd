//! When do jobs begin that wait for others, and end that others end?

use iostack_model::Ends;
use iostack_workload::load::Span;

use super::super::worker::{Doing, Worker};
use super::{BORDER, START, Stage};

impl Stage<'_, '_> {
    /// Lets the jobs go that need not wait for others, any more or at all.
    pub(super) fn let_go(&mut self) {
        let now = self.bench.world.now();
        for number in self.before.due(&self.finished, false) {
            let own = (0..self.workers.len()).filter(|&index| self.workers[index].of_job == number);
            let own: Vec<usize> = own.collect();
            let Worker { job, group, .. } = self.workers[own[0]];
            self.groups[group].starts(job, now);
            for index in own {
                let worker = &mut self.workers[index];
                if worker.doing == Doing::Done {
                    continue;
                }
                worker.may_begin(now);
                let Span { begins, border, .. } = worker.span;
                self.alarm(begins, START, index);
                if border > begins {
                    self.alarm(border, BORDER, index);
                }
            }
        }
    }

    /// Lets these workers submit nothing more.
    pub(super) fn end(&mut self, is_meant: impl Fn(&Worker<'_>) -> bool) {
        let now = self.bench.world.now();
        for index in 0..self.workers.len() {
            let worker = &mut self.workers[index];
            if !is_meant(worker) || matches!(worker.doing, Doing::Done | Doing::ReadingBack) {
                continue;
            }
            worker.load.until = worker.load.until.min(now);
            match worker.doing {
                Doing::Waiting => self.done(index),
                Doing::Running if worker.in_flight == 0 => {
                    self.dries(index);
                    self.over(index);
                }
                _ => {}
            }
        }
    }

    /// The worker has measured, and others may begin, or have to end.
    pub(super) fn done(&mut self, index: usize) {
        self.measured(index);
        let Worker { job, of_job, .. } = self.workers[index];
        self.finished[of_job] += 1;
        if job.ends != Ends::Itself {
            self.end(|_| true);
        }
        self.let_go();
    }
}
