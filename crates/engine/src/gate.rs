//! How do the threads of a stage start together, and who knows when they are done?
//!
//! ```text
//!   worker:       set up ──► ready ─┐         ┌► measure ──► finished ─┐          ┌► read back ──► end
//!   coordinator:            all ready? ──► go                   all finished? ──► released
//! ```
//!
//! A worker whose set-up fails cancels the others before any I/O was done. A job that waits for others is let go by the
//! coordinator, when these have finished.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The meeting point of a stage's threads.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    ready: usize,
    cancelled: bool,
    /// Ticks of the start.
    go: Option<u64>,
    /// Ticks from which on each job, and each group, runs; `None` while it waits for others.
    begun: Vec<Option<u64>>,
    begun_groups: Vec<Option<u64>>,
    /// Finished threads of each group and job.
    finished: Vec<usize>,
    finished_jobs: Vec<usize>,
    released: bool,
    /// Kernel's numbers of the threads that run.
    threads: Vec<i32>,
    /// Bytes that all threads have to move; `None` when some thread knows no such number.
    planned: Option<u64>,
}

impl Gate {
    /// A gate for so many groups and jobs.
    pub(crate) fn new(groups: usize, jobs: usize) -> Gate {
        let state = GateState {
            finished: vec![0; groups],
            finished_jobs: vec![0; jobs],
            begun: vec![None; jobs],
            begun_groups: vec![None; groups],
            planned: Some(0),
            ..GateState::default()
        };
        Gate { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes whoever waits for it.
    fn change(&self, change: impl FnOnce(&mut GateState)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn wait_while(&self, mut unfinished: impl FnMut(&GateState) -> bool) -> MutexGuard<'_, GateState> {
        let state = self.lock();
        self.changed.wait_while(state, |state| unfinished(state)).unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker is set up: waits for the start. `None` when the stage was cancelled.
    pub(crate) fn ready(&self, thread: i32, planned: Option<u64>) -> Option<u64> {
        self.change(|state| {
            state.ready += 1;
            state.threads.push(thread);
            state.planned = state.planned.zip(planned).map(|(sum, more)| sum.saturating_add(more));
        });
        self.wait_while(|state| state.go.is_none() && !state.cancelled).go
    }

    /// A worker cannot be set up, or the coordinator gives up.
    pub(crate) fn cancel(&self) {
        self.change(|state| state.cancelled = true);
    }

    /// Waits until `count` workers are ready; false when one has cancelled.
    pub(crate) fn all_ready(&self, count: usize) -> bool {
        !self.wait_while(|state| state.ready < count && !state.cancelled).cancelled
    }

    /// Lets all start, at this moment.
    pub(crate) fn go(&self, now: u64) {
        self.change(|state| state.go = Some(now));
    }

    /// Lets a job run from this moment on.
    pub(crate) fn begin(&self, group: usize, job: usize, now: u64) {
        self.change(|state| {
            state.begun[job] = Some(now);
            state.begun_groups[group].get_or_insert(now);
        });
    }

    /// Waits until the job may run: since when it may, and since when the first of its group may.
    pub(crate) fn begun(&self, group: usize, job: usize) -> (u64, u64) {
        let state = self.wait_while(|state| state.begun[job].is_none());
        let own = state.begun[job].unwrap_or_default();
        (own, state.begun_groups[group].unwrap_or(own))
    }

    /// Finished workers by job.
    pub(crate) fn finished_by_job(&self) -> Vec<usize> {
        self.lock().finished_jobs.clone()
    }

    /// A worker of `group` and `job` has measured all it will.
    pub(crate) fn finished(&self, group: usize, job: usize) {
        self.change(|state| {
            state.finished[group] += 1;
            state.finished_jobs[job] += 1;
        });
    }

    /// Finished workers by group, after a change or after `at_most`.
    pub(crate) fn finished_by_group(&self, known: usize, at_most: Duration) -> Vec<usize> {
        let state = self.lock();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, at_most, |state| state.finished.iter().sum::<usize>() == known)
            .unwrap_or_else(PoisonError::into_inner);
        state.finished.clone()
    }

    /// Lets the workers go on after measuring.
    pub(crate) fn release(&self) {
        self.change(|state| state.released = true);
    }

    /// Waits for [`Gate::release`].
    pub(crate) fn released(&self) {
        drop(self.wait_while(|state| !state.released));
    }

    /// The threads that run.
    pub(crate) fn threads(&self) -> Vec<i32> {
        self.lock().threads.clone()
    }

    /// Bytes that all threads have to move, where that is known.
    pub(crate) fn planned(&self) -> Option<u64> {
        self.lock().planned
    }
}
