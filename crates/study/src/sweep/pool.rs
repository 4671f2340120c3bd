//! Runs many simulations, several at once, and keeps what each gave.
//!
//! A simulation is one thread; the points of a sweep know nothing of each other, so their number at once changes nothing but
//! the time it takes. A point that fails, or that trips over a mistake of ours, is an error of that point alone. Start
//! reading at [`run`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};

use iostack_model::{Job, Nanos, Outcome, Progress};
use iostack_target::{Audience, Targets, Wanted};

use crate::what_if::steady;

/// One simulation to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Name of the device.
    pub device: String,
    /// Its changed numbers.
    pub changes: Vec<(String, String)>,
    /// Jobs, or why there are none.
    pub jobs: Result<Vec<Job>, String>,
    /// Time for which it is run.
    pub window: RunWindow,
}

/// Time for which one job is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunWindow {
    /// The job's own.
    #[default]
    Own,
    /// Time until it is steady.
    Steady,
    /// Enough for a rate and a 99th percentile.
    Brief,
}

/// Outcomes of a simulation, or its error.
pub type Given = Result<Vec<Outcome>, String>;

/// Progress of the whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    /// The task that ended just now.
    pub ended: Option<usize>,
    /// Tasks that ended.
    pub done: usize,
    /// Share of all work that is done, 0..=1, each task counting as long as its jobs are asked to run.
    pub share: f64,
}

enum PointMessage {
    Share(usize, f64),
    Ended(usize, Box<Given>),
}

/// Runs all tasks, at most `parallel` at once. What was not begun when `stop` was set is `None`; what was interrupted has
/// outcomes that say so.
pub fn run(
    tasks: &[Task],
    (parallel, targets): (usize, &dyn Targets),
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&Watched, &[Option<Given>]),
) -> Vec<Option<Given>> {
    let mut given: Vec<Option<Given>> = tasks.iter().map(|_| None).collect();
    let mut shares = vec![0.0; tasks.len()];
    let weights: Vec<f64> = tasks.iter().map(weight).collect();
    let whole: f64 = weights.iter().sum();
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..parallel.clamp(1, tasks.len().max(1)) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || work((tasks, targets), next, stop, &sender));
        }
        drop(sender);
        let mut done = 0;
        for message in receiver {
            let ended = match message {
                PointMessage::Share(index, share) => {
                    shares[index] = share;
                    None
                }
                PointMessage::Ended(index, result) => {
                    shares[index] = 1.0;
                    given[index] = Some(*result);
                    done += 1;
                    Some(index)
                }
            };
            let share =
                shares.iter().zip(&weights).map(|(share, weight)| share * weight).sum::<f64>() / whole;
            watch(&Watched { ended, done, share }, &given);
        }
    });
    given
}

fn work(
    (tasks, targets): (&[Task], &dyn Targets),
    next: &AtomicUsize,
    stop: &AtomicBool,
    sender: &Sender<PointMessage>,
) {
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(task) = tasks.get(index) else { return };
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let heard =
            PointAudience { index, stop, counted: ProgressCount::of_task(task), sender: sender.clone() };
        let caught = catch_unwind(AssertUnwindSafe(|| one(task, targets, &heard)));
        let result = caught.unwrap_or_else(|panic| Err(mistake(&*panic)));
        let _ = sender.send(PointMessage::Ended(index, Box::new(result)));
    }
}

fn one(task: &Task, targets: &dyn Targets, audience: &dyn Audience) -> Given {
    let jobs = task.jobs.as_ref().map_err(Clone::clone)?;
    let run = || {
        let target = targets.open(Some(&targets.word(&task.device)), &task.changes)?;
        match (&jobs[..], task.window) {
            ([job], RunWindow::Steady) => {
                steady::settle(&*target, job, audience).map(|outcome| vec![outcome])
            }
            ([job], RunWindow::Brief) => steady::brief(&*target, job, audience).map(|outcome| vec![outcome]),
            _ => Ok(target.run(jobs, Wanted::default(), audience)?.outcomes),
        }
    };
    run().map_err(|error: anyhow::Error| format!("{error:#}"))
}

/// Hears how far one task is, and tells it.
struct PointAudience<'a> {
    index: usize,
    stop: &'a AtomicBool,
    counted: Mutex<ProgressCount>,
    sender: Sender<PointMessage>,
}

impl Audience for PointAudience<'_> {
    fn stop(&self) -> &AtomicBool {
        self.stop
    }

    fn watches(&self) -> bool {
        true
    }

    fn progress(&self, progress: &Progress) {
        let share = self.counted.lock().unwrap_or_else(PoisonError::into_inner).share(progress);
        // The receiver lives as long as there are senders.
        let _ = self.sender.send(PointMessage::Share(self.index, share));
    }
}

/// A panic is a mistake of ours, never the user's.
fn mistake(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("a mistake in iostack, please report it: {}", text.unwrap_or("no message"))
}

/// Weight of a task beside others: the simulated seconds that are asked for, a few where none are.
pub fn weight(task: &Task) -> f64 {
    let seconds = |job: &Job| job.runtime.map_or(4.0, Nanos::as_secs_f64).max(0.1);
    task.jobs.as_deref().unwrap_or_default().iter().map(seconds).sum::<f64>().max(0.1)
}

/// The share done of jobs that run one after the other, each counting the same.
struct ProgressCount {
    groups: usize,
    /// Name of the group that runs, and groups before it.
    seen: (String, usize),
}

impl ProgressCount {
    fn of_task(task: &Task) -> Mutex<ProgressCount> {
        let jobs = task.jobs.as_deref().unwrap_or_default();
        let groups = jobs.iter().skip(1).filter(|job| job.stonewall).count() + 1;
        Mutex::new(ProgressCount { groups, seen: (String::new(), 0) })
    }

    fn share(&mut self, progress: &Progress) -> f64 {
        let seen = &mut self.seen;
        if seen.0 != progress.job {
            seen.1 += usize::from(!seen.0.is_empty());
            seen.0.clone_from(&progress.job);
        }
        let of_time = progress
            .expected
            .filter(|expected| expected.0 > 0)
            .map(|expected| progress.elapsed.0 as f64 / expected.0 as f64);
        let share = progress.done.or(of_time).unwrap_or(0.0).clamp(0.0, 1.0);
        ((seen.1.min(self.groups - 1) as f64 + share) / self.groups as f64).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_sim::targets::Simulations;

    fn task(device: &str, changes: &[(&str, &str)], io_count: u64) -> Task {
        let changes = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let job = Job { io_count: Some(io_count), ..Job::default() };
        Task { device: device.to_owned(), changes, jobs: Ok(vec![job]), window: RunWindow::Own }
    }

    fn quiet(tasks: &[Task], parallel: usize) -> Vec<Option<Given>> {
        run(tasks, (parallel, &Simulations), &AtomicBool::new(false), &mut |_, _| ())
    }

    #[test]
    fn a_failing_point_keeps_the_others() {
        let mut tasks =
            vec![task("zero", &[("zero.latency", "10us")], 100), task("no-such-device", &[], 100)];
        tasks.push(Task { jobs: Err("no such option".to_owned()), ..task("zero", &[], 1) });
        tasks.push(task("zero", &[("zero.latency", "20us")], 100));
        let given = quiet(&tasks, 2);
        let rate = |index: usize| match &given[index] {
            Some(Ok(outcomes)) => outcomes[0].rate(),
            other => panic!("{index}: {other:?}"),
        };
        let [first, last] = [rate(0), rate(3)];
        assert!((first - 100_000.0).abs() < 1.0 && (last - 50_000.0).abs() < 1.0, "{first} {last}");
        assert!(matches!(&given[1], Some(Err(error)) if error.contains("no-such-device")), "{:?}", given[1]);
        assert_eq!(given[2], Some(Err("no such option".to_owned())));
    }

    #[test]
    fn what_was_not_begun_when_it_was_stopped_is_none() {
        let tasks = [task("zero", &[], 10), task("zero", &[], 10)];
        assert_eq!(run(&tasks, (1, &Simulations), &AtomicBool::new(true), &mut |_, _| ()), [None, None]);
    }

    #[test]
    fn jobs_behind_a_stonewall_share_the_progress() {
        let mut counted = ProgressCount { groups: 2, seen: (String::new(), 0) };
        let mut at = |job: &str, done: f64| {
            counted.share(&Progress { job: job.to_owned(), done: Some(done), ..Progress::default() })
        };
        let shares = [at("fill", 0.5), at("fill", 1.0), at("run", 0.5), at("run", 2.0)];
        let percents = shares.map(|share| (share * 100.0).round() as u32);
        assert_eq!(percents, [25, 50, 75, 100]);
        let mut timed = ProgressCount { groups: 1, seen: (String::new(), 0) };
        let progress = Progress { elapsed: Nanos(1), expected: Some(Nanos(4)), ..Progress::default() };
        assert!((timed.share(&progress) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn a_mistake_of_ours_says_so() {
        let caught = catch_unwind(|| panic!("lost {}", 1)).expect_err("it panics");
        assert_eq!(mistake(&*caught), "a mistake in iostack, please report it: lost 1");
    }
}
