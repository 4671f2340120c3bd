//! Runs many simulations, several at once, and keeps what each gave.
//!
//! A simulation is one thread; the points of a sweep know nothing of each other, so their number at once changes nothing but
//! the time it takes. A point that fails, or that trips over a mistake of ours, is an error of that point alone. Start
//! reading at [`run`].

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};

use iostack_model::{Job, Nanos, Outcome, Progress};
use iostack_sim::run::RunOptions;
use iostack_sim::sheet::Sheet;
use iostack_target::{AnyTarget, Wanted};
use iostack_targets::lab::LabFlags;
use iostack_targets::{self as target, AllHeld, Scheme, TargetFlags};

use crate::what_if::steady;

/// Requests between two looks at the stop flag.
const PROGRESS_EVERY: u64 = 1 << 18;

/// One simulation to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The device.
    pub device: String,
    /// Its changed numbers.
    pub changes: Vec<(String, String)>,
    /// What is asked, or why nothing can be.
    pub jobs: Result<Vec<Job>, String>,
    /// It is one job without an end, which is run in steady state.
    pub steady: bool,
}

impl Task {
    /// Its device is one of the lab's, which has the whole of a processor.
    pub fn is_in_the_lab(&self) -> bool {
        target::scheme(&self.device).0 == Scheme::Lab
    }
}

/// What a simulation gave.
pub type Given = Result<Vec<Outcome>, String>;

/// How far the whole is.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    /// The task that ended just now.
    pub ended: Option<usize>,
    /// Tasks that ended.
    pub done: usize,
    /// Share of all work that is done, 0..=1, each task counting as long as its jobs are asked to run.
    pub share: f64,
}

enum Message {
    Share(usize, f64),
    Ended(usize, Box<Given>),
}

/// Runs all tasks, at most `parallel` at once. What was not begun when `stop` was set is `None`; what was interrupted has
/// outcomes that say so.
pub fn run(
    tasks: &[Task],
    parallel: usize,
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
            scope.spawn(move || work(tasks, next, stop, &sender));
        }
        drop(sender);
        let mut done = 0;
        for message in receiver {
            let ended = match message {
                Message::Share(index, share) => {
                    shares[index] = share;
                    None
                }
                Message::Ended(index, result) => {
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

fn work(tasks: &[Task], next: &AtomicUsize, stop: &AtomicBool, sender: &Sender<Message>) {
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(task) = tasks.get(index) else { return };
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let counted = Counted { groups: groups(task), seen: RefCell::new((String::new(), 0)) };
        // The receiver lives as long as there are senders.
        let report = |progress: &Progress| {
            let _ = sender.send(Message::Share(index, counted.share(progress)));
        };
        let caught = catch_unwind(AssertUnwindSafe(|| one(task, stop, &report)));
        let result = caught.unwrap_or_else(|panic| Err(mistake(&*panic)));
        let _ = sender.send(Message::Ended(index, Box::new(result)));
    }
}

fn one(task: &Task, stop: &AtomicBool, report: &dyn Fn(&Progress)) -> Given {
    let jobs = task.jobs.as_ref().map_err(Clone::clone)?;
    if task.is_in_the_lab() {
        // A boot for each: what another run left on the device is none of its business.
        let ran =
            in_the_lab(&task.device, &task.changes).and_then(|lab| lab.run(jobs, Wanted::default(), stop));
        return ran.map(|file| file.outcomes).map_err(|error| format!("{error:#}"));
    }
    let sheet = Sheet::load(&task.device, &task.changes).map_err(|error| error.to_string())?;
    let options = RunOptions {
        seed: jobs.first().map_or(1, |job| job.seed),
        spans_max: 0,
        stop,
        progress: Some(report),
        progress_every_requests: PROGRESS_EVERY,
    };
    if let ([job], true) = (&jobs[..], task.steady) {
        return steady::settle(&sheet, job, &options)
            .map(|outcome| vec![outcome])
            .map_err(|error| error.to_string());
    }
    let ran = iostack_sim::run::run(&sheet, jobs, &options).map_err(|error| error.to_string())?;
    Ok(ran.outcomes)
}

/// The device of the lab, checked as far as can be without booting.
pub(crate) fn in_the_lab(device: &str, changes: &[(String, String)]) -> anyhow::Result<AnyTarget> {
    let (lab, set): (Vec<_>, Vec<_>) =
        changes.iter().cloned().partition(|(key, _)| target::lab::flag(key).is_some());
    let set: Vec<String> = set.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let flags = TargetFlags::of(&set, &LabFlags::of(&lab)?);
    target::study(Some(device.as_ref()), &flags, false, &AllHeld::default())
}

/// A panic is a mistake of ours, never the user's.
fn mistake(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("a mistake in iostack, please report it: {}", text.unwrap_or("no message"))
}

/// How long a task takes beside others: the simulated seconds that are asked for, a few where none are.
pub fn weight(task: &Task) -> f64 {
    let seconds = |job: &Job| job.runtime.map_or(4.0, Nanos::as_secs_f64).max(0.1);
    task.jobs.as_deref().unwrap_or_default().iter().map(seconds).sum::<f64>().max(0.1)
}

fn groups(task: &Task) -> usize {
    let jobs = task.jobs.as_deref().unwrap_or_default();
    jobs.iter().skip(1).filter(|job| job.stonewall).count() + 1
}

/// The share done of jobs that run one after the other, each counting the same.
struct Counted {
    groups: usize,
    /// Name of the group that runs, and groups before it.
    seen: RefCell<(String, usize)>,
}

impl Counted {
    fn share(&self, progress: &Progress) -> f64 {
        let mut seen = self.seen.borrow_mut();
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
    use iostack_model::Nanos;

    fn task(device: &str, changes: &[(&str, &str)], io_count: u64) -> Task {
        let changes = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let job = Job { io_count: Some(io_count), ..Job::default() };
        Task { device: device.to_owned(), changes, jobs: Ok(vec![job]), steady: false }
    }

    fn quiet(tasks: &[Task], parallel: usize) -> Vec<Option<Given>> {
        run(tasks, parallel, &AtomicBool::new(false), &mut |_, _| ())
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
        assert!(
            (rate(0) - 100_000.0).abs() < 1.0 && (rate(3) - 50_000.0).abs() < 1.0,
            "{} {}",
            rate(0),
            rate(3)
        );
        assert!(matches!(&given[1], Some(Err(error)) if error.contains("no-such-device")), "{:?}", given[1]);
        assert_eq!(given[2], Some(Err("no such option".to_owned())));
    }

    #[test]
    fn the_number_of_threads_changes_no_byte() {
        let tasks: Vec<Task> =
            (1..=6).map(|us| task("zero", &[("zero.latency", &format!("{us}us"))], 50)).collect();
        assert_eq!(quiet(&tasks, 1), quiet(&tasks, 4));
    }

    #[test]
    fn what_was_not_begun_when_it_was_stopped_is_none() {
        let tasks = [task("zero", &[], 10), task("zero", &[], 10)];
        assert_eq!(run(&tasks, 1, &AtomicBool::new(true), &mut |_, _| ()), [None, None]);
    }

    #[test]
    fn jobs_behind_a_stonewall_share_the_progress() {
        let counted = Counted { groups: 2, seen: RefCell::new((String::new(), 0)) };
        let at = |job: &str, done: f64| {
            counted.share(&Progress { job: job.to_owned(), done: Some(done), ..Progress::default() })
        };
        let shares = [at("fill", 0.5), at("fill", 1.0), at("run", 0.5), at("run", 2.0)];
        let percents = shares.map(|share| (share * 100.0).round() as u32);
        assert_eq!(percents, [25, 50, 75, 100]);
        let timed = Counted { groups: 1, seen: RefCell::new((String::new(), 0)) };
        let progress = Progress { elapsed: Nanos(1), expected: Some(Nanos(4)), ..Progress::default() };
        assert!((timed.share(&progress) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn a_mistake_of_ours_says_so() {
        let caught = catch_unwind(|| panic!("lost {}", 1)).expect_err("it panics");
        assert_eq!(mistake(&*caught), "a mistake in iostack, please report it: lost 1");
    }
}
