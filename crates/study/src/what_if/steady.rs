//! What does a job do in steady state?
//!
//! ```text
//!   a short run of so many I/Os ──► the time of a turn ──► ramp, then a window ──► steady? ──► outcome
//!                                                               ▲                   │ no: twice as long
//!                                                               └───────────────────┘
//! ```
//!
//! The rule: the ramp is a quarter of the window. The window is long enough when, without its ends, the rates of its two
//! halves differ by 1 % at most, half of their 95 % interval is at most 0.5 % of the mean, and Little's law holds within 1 %.
//! Otherwise both are doubled, until a run has taken as many requests as are worth waiting for; what is wrong with it then
//! is among its doubts. The window stands in the job as `ramp`, `runtime` and `slice`, so that it can be run alone.

use iostack_model::{Job, Nanos, Outcome};
use iostack_target::{Audience, Target, Wanted};

use crate::sweep::values::short;

/// Turns of the short run: I/Os for each place in the queues.
const TURNS_SHORT: u64 = 16;
/// Turns of a glance.
const TURNS_GLANCE: f64 = 48.0;
/// I/Os of a brief run: forty of them lie beyond the 99th percentile.
const IOS_BRIEF: f64 = 4000.0;
/// Turns of the first window, and the requests that it takes at most.
const TURNS: f64 = 400.0;
const REQUESTS_FIRST: f64 = 1e6;
/// A run with more requests is not doubled.
const REQUESTS_MOST: u64 = 3_000_000;
/// The window has so many elements.
const ELEMENTS: u64 = 40;
/// Difference allowed between halves, as a share.
const HALVES: f64 = 0.01;
const REACH: f64 = 0.005;
const RESIDUAL: f64 = 0.01;

/// True when a job of these options alone ends by itself; else it is to be run in steady state.
pub(crate) fn ends(options: &[(String, String)]) -> bool {
    let ends = ["io_count", "runtime", "io_limit", "size"];
    options.iter().any(|(key, _)| ends.contains(&key.as_str()))
}

/// The options that make the window of this job, in the order of the command.
pub(crate) fn window(job: &Job) -> Vec<(String, String)> {
    let pair = |key: &str, time: Nanos| (key.to_owned(), short(time));
    let Some(runtime) = job.runtime else { return Vec::new() };
    let time_based = ("time_based".to_owned(), "true".to_owned());
    vec![pair("runtime", runtime), time_based, pair("ramp", job.ramp), pair("slice", job.slice)]
}

/// The job in a window in which its rate is steady, or in the longest that is tried.
pub(crate) fn settle(target: &dyn Target, job: &Job, audience: &dyn Audience) -> anyhow::Result<Outcome> {
    let first = short_run(target, job, audience)?;
    let Some(turn) = turn(&first, job) else { return Ok(first) };
    let in_flight = f64::from(job.in_flight()).max(1.0);
    let mut length = turn * TURNS.min((REQUESTS_FIRST / in_flight).max(TURNS_GLANCE));
    loop {
        let outcome = one(target, &within(job, length / 4.0, length), audience)?;
        let requests = outcome.inside.as_ref().map_or(0, |inside| inside.requests);
        if is_steady(&outcome) || outcome.interrupted || requests > REQUESTS_MOST {
            return Ok(outcome);
        }
        length *= 2.0;
    }
}

/// The job in a short window: enough to see what is full.
pub(crate) fn glance(target: &dyn Target, job: &Job, audience: &dyn Audience) -> anyhow::Result<Outcome> {
    let first = short_run(target, job, audience)?;
    let Some(turn) = turn(&first, job) else { return Ok(first) };
    one(target, &within(job, turn * TURNS_GLANCE / 4.0, turn * TURNS_GLANCE), audience)
}

/// The job in a window that is long enough for a rate and a 99th percentile, whatever it said of its end.
pub(crate) fn brief(target: &dyn Target, job: &Job, audience: &dyn Audience) -> anyhow::Result<Outcome> {
    let job = &Job {
        io_count: None,
        io_limit: None,
        until_steady: None,
        runtime: None,
        ramp: Nanos(0),
        start_delay: Nanos(0),
        time_based: false,
        ..job.clone()
    };
    let first = short_run(target, job, audience)?;
    let Some(turn) = turn(&first, job) else { return Ok(first) };
    let turns = TURNS_GLANCE.max(IOS_BRIEF / f64::from(job.in_flight()).max(1.0));
    one(target, &within(job, turn * turns / 4.0, turn * turns), audience)
}

fn short_run(target: &dyn Target, job: &Job, audience: &dyn Audience) -> anyhow::Result<Outcome> {
    let count = TURNS_SHORT * u64::from(job.depth());
    one(target, &Job { io_count: Some(count), ..job.clone() }, audience)
}

/// The time of one turn, ns; `None` when no time passed, or the run was cut short.
fn turn(first: &Outcome, job: &Job) -> Option<f64> {
    let each = TURNS_SHORT as f64 * f64::from(job.in_flight());
    let whole = first.ios() as f64 >= each;
    (whole && first.elapsed.0 > 0).then(|| first.elapsed.0 as f64 / TURNS_SHORT as f64)
}

/// The job in a window, with times that are short to write.
fn within(job: &Job, ramp: f64, length: f64) -> Job {
    let element = rounded(length / ELEMENTS as f64);
    let mut job = job.clone();
    (job.ramp, job.runtime) = (rounded(ramp), Some(Nanos(element.0 * ELEMENTS)));
    (job.slice, job.time_based) = (element, true);
    // As typed, so that the command alone gives the same.
    job.options.extend(window(&job));
    job
}

fn one(target: &dyn Target, job: &Job, audience: &dyn Audience) -> anyhow::Result<Outcome> {
    let ran = target.run(std::slice::from_ref(job), Wanted::default(), audience)?;
    Ok(ran.outcomes.into_iter().last().expect("one job has one outcome"))
}

/// True when the window was long enough. Its first element lacks what was in flight before, its last one has what was in
/// flight after: they are left out.
fn is_steady(outcome: &Outcome) -> bool {
    let rates: Vec<f64> = outcome
        .series
        .iter()
        .map(|element| element.ios.iter().sum::<u64>() as f64 / element.length.as_secs_f64().max(1e-9))
        .collect();
    let [_, inner @ .., _] = &rates[..] else { return false };
    let whole = iostack_stats::rate_interval(inner);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let (early, late) = inner.split_at(inner.len() / 2);
    let off = |a: f64, b: f64| (a - b).abs() > HALVES * whole.mean;
    let load = outcome.inside.as_ref().and_then(|inside| inside.load);
    inner.len() as u64 + 2 >= ELEMENTS
        && whole.mean > 0.0
        && whole.relative() <= REACH
        && !off(mean(early), mean(late))
        && !off(whole.mean, outcome.rate())
        && load.is_none_or(|load| load.residual <= RESIDUAL)
}

/// Two digits are enough.
fn rounded(ns: f64) -> Nanos {
    let unit = 10_f64.powf(ns.max(10.0).log10().floor() - 1.0);
    Nanos(((ns / unit).round() * unit).round().max(1.0) as u64)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use iostack_workload::gather;

    use iostack_sim::sheet::{Sheet, catalogue};
    use iostack_sim::targets::Simulations;
    use iostack_target::{AnyTarget, Targets as _};

    use super::*;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn pairs(options: &[(&str, &str)]) -> Vec<(String, String)> {
        options.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    fn gathered(options: &[(String, String)]) -> Job {
        gather::gather(&[], &[], options, false, 1).expect("sound").jobs.remove(0)
    }

    fn target(name: &str, set: &[(&str, &str)]) -> AnyTarget {
        Simulations.open(Some(name), &pairs(set)).expect("built in")
    }

    /// Rates of the settled job, and of the same one in a window so many times as long.
    fn settled_and_longer(target: &dyn Target, threads: u64, times: u64) -> (f64, f64) {
        let threads = threads.to_string();
        let options = [
            ("pattern", "random"),
            ("engine", "libaio"),
            ("queue_depth", "32"),
            ("threads", threads.as_str()),
        ];
        let settled = settle(target, &gathered(&pairs(&options)), &NEVER).expect("runs");
        let runtime = settled.job.runtime.map(|runtime| Nanos(runtime.0 * times));
        let longer = Job { runtime, ..settled.job.clone() };
        let longer = one(target, &longer, &NEVER).expect("runs");
        (settled.rate(), longer.rate())
    }

    fn check(platform: &str, drives: u64, threads: u64, times: u64) {
        let target = target(platform, &[("platform.drives", &drives.to_string())]);
        let (settled, longer) = settled_and_longer(&*target, threads, times);
        assert!(
            (settled / longer - 1.0).abs() <= 0.01,
            "{platform}, {drives} drives, {threads} threads: {settled:.0}/s, and {longer:.0}/s in {times} times the time"
        );
    }

    #[test]
    fn with_more_threads_than_cores_a_window_has_the_rate_of_a_longer_one() {
        // 10 cores: the eleventh thread waits for a core in turn.
        for drives in [10, 11] {
            check("nvme-server", drives, drives, 3);
        }
        check("pentium-d", 3, 8, 20);
        check("cloud-vm", 2, 1, 20);
    }

    #[test]
    #[ignore = "slow: every platform with 1 to 16 drives and up to 4 threads a core, twenty times as long each"]
    fn on_every_platform_a_window_has_the_rate_of_one_twenty_times_as_long() {
        let mut points = Vec::new();
        for drives in [1, 2, 3, 5, 8, 11, 16] {
            for platform in catalogue::names() {
                let sheet = Sheet::load(platform, &[]).expect("built in");
                if sheet.kind.name == "platform" {
                    let cores = sheet.count("platform.cores").expect("it has cores");
                    let threads = [1, cores, cores + 1, 2 * cores, 4 * cores];
                    points.extend(threads.map(|threads| (platform, drives, threads)));
                }
            }
        }
        points.dedup();
        let next = AtomicUsize::new(0);
        let off = Mutex::new(Vec::new());
        let work = || {
            while let Some(&(platform, drives, threads)) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                let target = target(platform, &[("platform.drives", &drives.to_string())]);
                let (settled, longer) = settled_and_longer(&*target, threads, 20);
                let told = format!("{platform}, {drives} drives, {threads} threads: {:.4}", settled / longer);
                println!("{told}");
                if (settled / longer - 1.0).abs() > 0.01 {
                    off.lock().expect("nothing panics with it").push(told);
                }
            }
        };
        std::thread::scope(|scope| {
            let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            (0..workers).for_each(|_| drop(scope.spawn(work)));
        });
        let off = off.into_inner().expect("nothing panics with it");
        assert!(off.is_empty(), "{} of {} are off: {off:#?}", off.len(), points.len());
    }

    #[test]
    fn an_eleventh_drive_costs_a_server_of_ten_cores_nothing() {
        let rate = |drives: &str| {
            let target = target("nvme-server", &[("platform.drives", drives)]);
            let options = crate::what_if::fill::plain(&[target.describe().clone()], &[]);
            settle(&*target, &gathered(&options), &NEVER).expect("runs").rate()
        };
        let (ten, eleven) = (rate("10"), rate("11"));
        assert!((eleven / ten - 1.0).abs() < 0.01, "{ten:.0}/s, {eleven:.0}/s");
    }

    #[test]
    fn the_command_of_a_window_gives_the_same_bytes() {
        let target = target("pentium-d", &[]);
        let mut options = pairs(&[("pattern", "random"), ("seed", "7")]);
        let settled = settle(&*target, &gathered(&options), &NEVER).expect("runs");
        options.extend(window(&settled.job));
        let alone = one(&*target, &gathered(&options), &NEVER).expect("runs");
        assert_eq!(alone, settled);
    }

    /// A run of forty slices of a millisecond with so many I/Os each, and a load with this residual.
    fn run_of(ios: impl Fn(usize) -> u64, residual: f64) -> Outcome {
        let target = target("zero", &[("zero.latency", "10us")]);
        let window = [("runtime", "40ms"), ("ramp", "10ms"), ("slice", "1ms"), ("time_based", "true")];
        let mut outcome = one(&*target, &gathered(&pairs(&window)), &NEVER).expect("runs");
        for (index, element) in outcome.series.iter_mut().enumerate() {
            element.ios = [ios(index), 0, 0];
        }
        let load = outcome.inside.as_mut().and_then(|inside| inside.load.as_mut()).expect("a closed loop");
        load.residual = residual;
        outcome
    }

    #[test]
    fn a_window_is_steady_when_its_halves_agree_its_interval_is_narrow_and_little_holds() {
        assert!(is_steady(&run_of(|_| 100, 0.01)));
        assert!(!is_steady(&run_of(|_| 100, 0.0101)), "Little's law");
        assert!(is_steady(&run_of(|index| if [0, 39].contains(&index) { 50 } else { 100 }, 0.0)), "its ends");
        assert!(!is_steady(&run_of(|index| if index < 20 { 101 } else { 99 }, 0.0)), "its halves");
        assert!(!is_steady(&run_of(|index| 90 + index as u64 % 2 * 20, 0.0)), "its interval");
        assert!(!is_steady(&run_of(|_| 102, 0.0)), "the rate of the whole");
        let mut short = run_of(|_| 100, 0.0);
        short.series.truncate(39);
        assert!(!is_steady(&short), "interrupted");
    }

    #[test]
    fn times_are_short_to_write() {
        for (ns, told) in
            [(0.2, "1ns"), (123_456.0, "120us"), (5_500_000.0, "5500us"), (9.96e8, "1s"), (14e9, "14s")]
        {
            assert_eq!(short(rounded(ns)), told, "{ns}");
        }
    }

    #[test]
    fn what_ends_by_itself_is_left_as_asked() {
        assert!(ends(&pairs(&[("threads", "4"), ("io_count", "97")])));
        assert!(!ends(&pairs(&[("threads", "4"), ("seed", "97")])));
    }

    #[test]
    fn a_device_without_latency_ends_by_its_count() {
        let settled = settle(&*target("zero", &[("zero.latency", "0ns")]), &gathered(&[]), &NEVER);
        assert_eq!(settled.expect("runs").ios(), TURNS_SHORT);
    }
}
