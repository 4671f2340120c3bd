//! Is a simulated figure that of the load that was asked for, however long the run is?

use std::sync::atomic::AtomicBool;

use iostack_model::{Caveat, Engine, Job, Nanos, Outcome};
use iostack_sim::run::{RunOptions, run};
use iostack_sim::sheet::Sheet;

fn outcome(latency: &str, jobs: &[Job], options: &RunOptions<'_>) -> Outcome {
    let sheet = Sheet::from_values("zero", &[("zero.latency", latency)]).expect("a kind");
    let ran = run(&sheet, jobs, options).expect("a sound job");
    ran.outcomes.into_iter().next().expect("one group")
}

fn is_doubted(outcome: &Outcome) -> bool {
    outcome.caveats.iter().any(|caveat| matches!(caveat, Caveat::LoadNotFull { .. }))
}

#[test]
fn with_a_ramp_the_measured_time_is_the_runtime_and_the_rate_that_of_the_steady_state() {
    let deep = Job { engine: Engine::IO_URING, queue_depth: 4, time_based: true, ..Job::default() };
    let job = Job { ramp: Nanos::micros(25), runtime: Some(Nanos::micros(100)), ..deep };
    let outcome = outcome("10us", &[job], &RunOptions::seeded(1));
    // Submitted at 30, 40, .. 120 us, four each; the last complete behind the end, at 130 us.
    assert_eq!((outcome.ios(), outcome.elapsed), (40, Nanos::micros(100)));
    let load = outcome.inside.as_ref().and_then(|inside| inside.load).expect("a closed loop");
    assert!(load.residual < 1e-12 && (load.in_flight - 4.0).abs() < 1e-12, "{load:?}");
    assert!(!is_doubted(&outcome), "{:?}", outcome.caveats);
}

#[test]
fn a_window_ends_with_the_last_answer_when_the_wait_for_it_is_more_than_a_tenth_of_it() {
    for (runtime, elapsed) in [(50, 50), (49, 55)] {
        let job = Job {
            ramp: Nanos::micros(15),
            runtime: Some(Nanos::micros(runtime)),
            time_based: true,
            ..Job::default()
        };
        // The last one is submitted at 60 us, and 5 or 6 us are left of it when the time is up.
        let outcome = outcome("10us", &[job], &RunOptions::seeded(1));
        assert_eq!(outcome.elapsed, Nanos::micros(elapsed), "{runtime}");
    }
}

/// Two threads of a group, of which the second has fewer I/Os than the first, whose thousand decide the time.
fn uneven(second: u64) -> Outcome {
    let first = Job { io_count: Some(1000), ..Job::default() };
    let second = Job { io_count: Some(second), ..Job::default() };
    outcome("10us", &[first, second], &RunOptions::seeded(1))
}

#[test]
fn a_load_that_is_not_full_to_the_end_is_doubted_above_2_percent() {
    // Two in flight at first; on average 1 + second / 1000.
    for (second, residual, doubted) in
        [(1000, 0.0, false), (961, 0.0195, false), (959, 0.0205, true), (500, 0.25, true)]
    {
        let outcome = uneven(second);
        let load = outcome.inside.as_ref().and_then(|inside| inside.load).expect("closed loops");
        assert!((load.in_flight - 2.0).abs() < 1e-12, "{load:?}");
        assert!((load.residual - residual).abs() < 1e-9, "{second}: {load:?}");
        assert!((load.full - second as f64 / 1000.0).abs() < 1e-9, "{second}: {load:?}");
        assert_eq!(is_doubted(&outcome), doubted, "{second}: {:?}", outcome.caveats);
    }
}

const YEAR: Nanos = Nanos::secs(365 * 86_400);

/// An I/O takes a quarter of an hour, and a slice a second.
fn a_year(options: &RunOptions<'_>) -> Outcome {
    outcome("1000s", &[Job { runtime: Some(YEAR), time_based: true, ..Job::default() }], options)
}

#[test]
fn a_year_of_virtual_time_has_a_short_series_that_counts_every_io() {
    let outcome = a_year(&RunOptions::seeded(1));
    assert_eq!((outcome.ios(), outcome.elapsed), (31_536, YEAR));
    assert_eq!(outcome.job.slice, Nanos::secs(8192));
    assert_eq!(outcome.series.len(), 3850);
    let counted: u64 = outcome.series.iter().map(|element| element.ios[0]).sum();
    assert_eq!(counted, outcome.ios());
    let heat = &outcome.heat;
    assert_eq!((heat.ios(), heat.length, heat.columns.len()), (counted, Nanos::secs(65_536), 482));
    let mut start = Nanos(0);
    for element in &outcome.series {
        assert_eq!(element.start, start);
        start += element.length;
    }
    assert_eq!(start, outcome.elapsed);
    let p50 = outcome.read.latency.quantile_ns(0.5).expect("thousands");
    assert!(p50.abs_diff(1_000_000_000_000) <= 1_000_000_000_000 / 128, "{p50}");
}

#[test]
fn a_stop_ends_a_run_in_which_hardly_anything_completes() {
    let stop = AtomicBool::new(true);
    let outcome = a_year(&RunOptions { stop: &stop, ..RunOptions::seeded(1) });
    assert!(outcome.interrupted && outcome.ios() <= 5, "{} I/Os", outcome.ios());
}
