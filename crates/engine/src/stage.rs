//! Who starts the threads of jobs that run together, watches them, and counts what the machine did meanwhile?
//!
//! ```text
//!   spawn ──► all ready ──► counters ──► go ──► watch: progress, ends of ramps, stop ──► counters ──► join
//! ```
//!
//! Start reading at [`run`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::Duration;

use iostack_host::clock::Clock;
use iostack_host::counters::WorkerWatch;
use iostack_model::{Nanos, Phase};
use iostack_workload::load::{Before, Shares, group_numbers};

use crate::gate::Gate;
use crate::group::{Group, groups};
use crate::meter::Rhythm;
use crate::progress::Watcher;
use crate::status::{Teller, published_every};
use crate::sys;
use crate::watch::Watch;
use crate::worker::{self, Assignment, WorkerReport};
use crate::{Control, EngineError, Result, Work};

/// Stack of a thread, for frames that hold several recorders of 30 KiB, the loop and a panic's report; 64 threads take
/// no more than they touch of it.
const STACK: usize = 2 << 20;

/// The coordinator looks at the stop flag this often.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs the works together; their groups with all that was counted.
pub(crate) fn run<'a>(works: &[&'a Work], control: &Control<'_>, phase: Phase) -> Result<Vec<Group<'a>>> {
    let mut groups = groups(works, control.progress.is_some());
    let gate = Gate::new(groups.len(), works.len());
    let watch = Watch::new(control.observer);
    sys::prepare_kick();
    sys::allow_many_files();
    let reports = std::thread::scope(|scope| {
        let assignments = assignments(works, &groups, &gate, &watch, control);
        let total = assignments.len();
        let mut handles = Vec::with_capacity(total);
        let mut failed = None;
        for (number, (group, assignment)) in assignments.into_iter().enumerate() {
            let alarm = Alarm { gate: &gate, group, job: assignment.number };
            let body = move || {
                let _alarm = alarm;
                worker::run(assignment)
            };
            let builder = Builder::new().name(format!("load-{number}")).stack_size(STACK);
            match builder.spawn_scoped(scope, body) {
                Ok(handle) => handles.push((group, handle)),
                Err(source) => {
                    failed = Some(EngineError::Thread { thread: number as u32, source });
                    gate.cancel();
                    break;
                }
            }
        }
        if failed.is_none() && gate.all_ready(total) {
            let jobs = || works.iter().map(|work| &work.job);
            let (before, groups_of) = (Before::of_jobs(jobs()), group_numbers(jobs()));
            Coordinator { gate: &gate, observed: &watch, control, phase, before, groups_of }
                .watch(&mut groups, total);
        }
        gate.release();
        failed.map_or_else(|| join(handles), Err)
    })?;
    for (group, report) in reports {
        groups[group].reports.push(report);
    }
    Ok(groups)
}

/// Tells the gate when a worker panics, so that nobody waits for it.
struct Alarm<'a> {
    gate: &'a Gate,
    group: usize,
    job: usize,
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.gate.cancel();
            self.gate.finished(self.group, self.job);
        }
    }
}

fn assignments<'s>(
    works: &[&'s Work],
    groups: &[Group<'s>],
    gate: &'s Gate,
    watch: &'s Watch<'s>,
    control: &Control<'s>,
) -> Vec<(usize, Assignment<'s>)> {
    let mut list = Vec::new();
    let mut shares = Shares::default();
    for (index, group) in groups.iter().enumerate() {
        let mut board_thread = 0;
        for work in &group.works {
            let number = number_of(works, work);
            for thread in 0..work.job.threads {
                let assignment = Assignment {
                    work,
                    thread,
                    group: index,
                    number,
                    board: Arc::clone(&group.board),
                    board_thread,
                    part: shares.part(&work.job),
                    origin: group.origin,
                    rhythm: Rhythm {
                        slice: group.first().job.slice,
                        progress: published_every(control),
                        stands: control.status.is_some(),
                    },
                    gate,
                    stop: control.stop,
                    watch,
                };
                list.push((index, assignment));
                board_thread += 1;
            }
        }
    }
    list
}

type Handle<'scope> = ScopedJoinHandle<'scope, Result<WorkerReport>>;

fn join(handles: Vec<(usize, Handle<'_>)>) -> Result<Vec<(usize, WorkerReport)>> {
    let mut reports = Vec::with_capacity(handles.len());
    let mut error = None;
    for (group, handle) in handles {
        match handle.join() {
            Ok(Ok(report)) => reports.push((group, report)),
            Ok(Err(first)) => error = error.or(Some(first)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    error.map_or(Ok(reports), Err)
}

/// Place of a work among those of the stage.
fn number_of(works: &[&Work], work: &Work) -> usize {
    works.iter().position(|other| std::ptr::eq(*other, work)).expect("groups are made of these works")
}

struct Coordinator<'a> {
    gate: &'a Gate,
    observed: &'a Watch<'a>,
    control: &'a Control<'a>,
    phase: Phase,
    /// Jobs that are still to begin, and the group of each.
    before: Before,
    groups_of: Vec<usize>,
}

impl Coordinator<'_> {
    /// Watches the stage from the start until all threads have measured.
    fn watch(&mut self, groups: &mut [Group<'_>], total: usize) {
        let clock = Clock::calibrated();
        let mut watch = WorkerWatch::default();
        for group in &mut *groups {
            group.count_before(&mut watch, group.origin.0 == 0 && !group.waits());
        }
        let go = clock.now();
        self.let_go(groups, &mut watch);
        let mut watcher = Watcher::new(self.control, self.phase, self.gate.planned(), go);
        let mut teller = Teller::new(self.control, self.phase, go);
        self.gate.go(go);
        let mut known = 0;
        while known < total {
            let next = Self::next_event(groups, &watcher, teller.as_ref());
            let finished = self.gate.finished_by_group(known, next);
            known = finished.iter().sum();
            self.let_go(groups, &mut watch);
            let now = clock.now();
            for (group, done) in groups.iter_mut().zip(&finished) {
                if !group.counted_before && group.until_origin(now) == Some(Nanos(0)) {
                    group.count_before(&mut watch, true);
                }
                if *done == group.threads() && !group.counted_after {
                    group.count_after(&mut watch);
                }
            }
            if self.control.stop.load(Ordering::Relaxed) || self.observed.is_over() {
                self.gate.threads().into_iter().for_each(sys::kick);
            }
            if watcher.is_due(now) {
                watch.sample();
                watcher.look(groups, now);
            }
            if let Some(teller) = &mut teller {
                teller.tell(groups, &mut watch, now);
            }
        }
        watcher.verifying(groups, clock.now());
    }

    /// Lets the jobs go that need not wait, any more or at all.
    fn let_go(&mut self, groups: &mut [Group<'_>], watch: &mut WorkerWatch) {
        let ended = self.control.stop.load(Ordering::Relaxed) || self.observed.is_over();
        let due = self.before.due(&self.gate.finished_by_job(), ended);
        for &job in &due {
            let group = &mut groups[self.groups_of[job]];
            if group.begun.is_none() && group.origin.0 == 0 && !group.counted_before {
                group.count_before(watch, true);
            }
        }
        // Together, so that none is ahead of the others.
        let now = Clock::calibrated().now();
        for job in due {
            let index = self.groups_of[job];
            groups[index].begun.get_or_insert(now);
            self.gate.begin(index, job, now);
        }
    }

    /// Time in which nothing is to be done, unless a thread finishes.
    fn next_event(groups: &[Group<'_>], watcher: &Watcher<'_>, teller: Option<&Teller<'_>>) -> Duration {
        let now = Clock::calibrated().now();
        let borders =
            groups.iter().filter(|group| !group.counted_before).filter_map(|group| group.until_origin(now));
        let next = borders.min().unwrap_or(Nanos(u64::MAX));
        let told = teller.map_or(Duration::MAX, |teller| teller.left(now));
        LOOK_EVERY.min(Duration::from_nanos(next.0)).min(watcher.left(now)).min(told)
    }
}

/// A stop flag that nobody sets.
pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);
