//! What does each option of a job mean on a device whose answer is known?

use std::sync::atomic::{AtomicBool, Ordering};

use iostack_model::{
    Access, Arrival, Batch, BlockSizes, Bytes, Caveat, Direction, Engine, Job, Mix, Nanos, Outcome, Phase,
    Progress, Rate, Stage, Sync, Think, Verify, VerifyMode,
};
use iostack_sim::engine::World;
use iostack_sim::run::{About, RunOptions, SimError, run, run_world};
use iostack_sim::sheet::Sheet;

use crate::load::drive_of_latency;
use crate::run::parts::{Faulty, Service, Station, outcome_of, try_jobs};

const LATENCY: u64 = 10_000;

fn one(job: &Job) -> Outcome {
    let mut outcomes = try_jobs(std::slice::from_ref(job)).expect("a sound job");
    assert_eq!(outcomes.len(), 1);
    outcomes.remove(0)
}

fn deep(depth: u32) -> Job {
    Job { engine: Engine::IO_URING, queue_depth: depth, ..Job::default() }
}

#[test]
fn depth_times_count_takes_count_over_depth_times_the_latency() {
    let outcome = one(&Job { io_count: Some(3200), ..deep(32) });
    assert_eq!((outcome.ios(), outcome.elapsed), (3200, Nanos(100 * LATENCY)));
    assert!((outcome.depth_achieved - 32.0).abs() < 1e-9);
    let synchronous = one(&Job { io_count: Some(3200), engine: Engine::Psync, ..deep(32) });
    assert_eq!(synchronous.elapsed, Nanos(3200 * LATENCY));
    let doubt = |c: &Caveat| matches!(c, Caveat::DepthBelowAsked { reason, .. } if reason.contains("psync"));
    assert!(synchronous.caveats.iter().any(doubt), "{:?}", synchronous.caveats);
}

#[test]
fn time_ends_a_run_and_what_is_in_flight_is_counted() {
    let job = Job { runtime: Some(Nanos::micros(95)), time_based: true, ..deep(4) };
    let outcome = one(&job);
    // Submitted at 0, 10, .. 90 us, four each; the last complete at 100 us.
    assert_eq!((outcome.ios(), outcome.elapsed), (40, Nanos::micros(100)));
}

#[test]
fn a_ramp_is_not_counted_and_its_requests_in_flight_are_not() {
    let ramp = Nanos::micros(55);
    let outcome = one(&Job { ramp, io_count: Some(97), ..Job::default() });
    assert_eq!(outcome.ios(), 97);
    // The first that counts is submitted at 60 us, when the one of the ramp is back.
    assert_eq!(outcome.elapsed, Nanos(5_000 + 97 * LATENCY));
    let inside = outcome.inside.expect("simulated");
    assert_eq!(inside.requests, 97 + 6);
}

#[test]
fn threads_have_their_regions_and_are_one_outcome() {
    let job = Job {
        threads: 3,
        access: Access::Sequential,
        size: Some(iostack_model::Amount::Bytes(Bytes::kib(40))),
        offset_increment: Bytes::kib(40),
        ..Job::default()
    };
    let outcome = one(&job);
    assert_eq!((outcome.ios(), outcome.elapsed, outcome.job.threads), (30, Nanos(10 * LATENCY), 3));
}

#[test]
fn a_stonewall_waits_and_groups_are_reported_apart() {
    let first = Job { io_count: Some(10), ..Job::default() };
    let beside = Job { io_count: Some(5), report_group: 1, ..Job::default() };
    let after = Job { io_count: Some(7), stonewall: true, report_group: 2, ..Job::default() };
    let outcomes = try_jobs(&[first, beside, after]).expect("sound");
    let told: Vec<_> = outcomes.iter().map(|outcome| (outcome.ios(), outcome.elapsed.0 / LATENCY)).collect();
    assert_eq!(told, [(10, 10), (5, 5), (7, 7)]);
}

#[test]
fn an_open_loop_counts_from_the_schedule() {
    // One every 20 us of 10 us each: nobody waits. One every 8 us: each waits longer than the one before.
    let rate = |iops| Some(Rate { iops, arrival: Arrival::Regular });
    let calm = one(&Job { rate: rate(50_000.0), io_count: Some(1000), ..Job::default() });
    assert_eq!(calm.read.latency.max_ns, LATENCY);
    assert!((calm.depth_achieved - 0.5).abs() < 0.01, "{}", calm.depth_achieved);
    let short = one(&Job { rate: rate(125_000.0), io_count: Some(5), ..Job::default() });
    assert_eq!(short.read.latency.max_ns, LATENCY + 4 * 2_000);
    let flows = &short.inside.expect("simulated").flows;
    assert_eq!(flows[0].stages[0].0, Stage::Late);
    assert_eq!(flows[0].stages[0].1.sum_ns, 2_000 + 4_000 + 6_000 + 8_000);
}

#[test]
fn an_unstable_open_loop_is_an_error_by_name() {
    let rate = Some(Rate { iops: 125_000.0, arrival: Arrival::Poisson });
    let job =
        Job { name: "web".into(), rate, runtime: Some(Nanos::secs(1)), time_based: true, ..Job::default() };
    let error = try_jobs(&[job]).expect_err("100 000 a second is all it can do");
    let SimError::Unstable { asked, achieved, .. } = &error else { panic!("{error}") };
    assert!((*asked - 125_000.0).abs() < 1.0 && (*achieved - 100_000.0).abs() < 100.0, "{error}");
    let text = error.to_string();
    assert!(text.contains("`web`") && text.contains("lower the rate"), "{text}");
}

#[test]
fn thinking_pauses_the_thread_and_is_no_latency() {
    let think = Some(Think { time: Nanos::micros(30), every: 2, spin: Nanos(0) });
    let outcome = one(&Job { think, io_count: Some(10), ..Job::default() });
    assert_eq!(outcome.elapsed, Nanos(10 * LATENCY + 4 * 30_000));
    assert_eq!(outcome.read.latency.max_ns, LATENCY);
}

#[test]
fn a_flush_waits_for_an_empty_queue() {
    let sync = Sync { fsync_every: 4, end_fsync: true, ..Sync::default() };
    let job = Job { mix: Mix::WRITE, sync, io_count: Some(12), ..deep(4) };
    let outcome = one(&job);
    // Four writes together, then a flush, three times; the flush at the end follows the third four at once.
    assert_eq!((outcome.write.latency.count, outcome.sync.count), (12, 3));
    assert_eq!(outcome.elapsed, Nanos(7 * LATENCY));
}

#[test]
fn a_batch_of_completions_is_waited_for() {
    let mut world = World::new();
    Station::add(&mut world, 1, Service::Fixed(LATENCY), 1);
    let job = Job { batch: Batch { submit: 4, complete_min: 4 }, io_count: Some(40), ..deep(4) };
    let ran = run_world(world, &About::default(), &[job], &RunOptions::seeded(1)).expect("runs");
    let outcome = &ran.outcomes[0];
    // One server answers the four one after the other; the thread looks when the fourth is back.
    assert_eq!(outcome.read.latency.min_ns, 4 * LATENCY);
    let inside = outcome.inside.as_ref().expect("simulated");
    let wake = inside.flows[0].stages.iter().find(|(stage, _)| *stage == Stage::Wake).expect("waited");
    assert_eq!(wake.1.sum_ns, 10 * (3 + 2 + 1) * LATENCY);
}

#[test]
fn what_was_written_is_read_back() {
    let verify = |mode| Some(Verify::of_mode(mode));
    let size = Some(iostack_model::Amount::Bytes(Bytes::mib(1)));
    let write = Job { mix: Mix::WRITE, verify: verify(VerifyMode::WriteThenRead), size, ..deep(8) };
    let outcome = one(&write);
    assert_eq!((outcome.verified, outcome.failures.len(), outcome.read.latency.count), (256, 0, 0));
    let only = Job { verify: verify(VerifyMode::WriteOnly), access: Access::Sequential, ..write };
    let check = Job {
        mix: Mix::READ,
        verify: verify(VerifyMode::ReadOnly),
        block_sizes: BlockSizes::all(Bytes::kib(64)),
        stonewall: true,
        report_group: 1,
        ..only.clone()
    };
    let outcomes = try_jobs(&[only, check.clone()]).expect("sound");
    assert_eq!((outcomes[1].verified, outcomes[1].failures.len()), (16, 0));
    let nothing = one(&check);
    assert_eq!((nothing.verified, nothing.failures[0].errno, nothing.failures[0].count), (0, 0, 16));
    assert!(nothing.failures[0].message.contains("nothing where"), "{:?}", nothing.failures);
}

#[test]
fn a_device_that_forgets_is_found_out() {
    for (brings, word) in [(0, "nothing"), (7, "write 7 where"), (u32::MAX, "different writes")] {
        let mut world = World::new();
        world.sim.keep_stamps();
        let root = world.add(Box::new(Faulty { loses: None, brings, seen: 0 }));
        world.set_root(root);
        let verify = Some(Verify { fatal: true, ..Verify::of_mode(VerifyMode::WriteThenRead) });
        let size = Some(iostack_model::Amount::Bytes(Bytes::kib(40)));
        let job = Job { mix: Mix::WRITE, access: Access::Sequential, verify, size, ..Job::default() };
        let outcome = outcome_of(world, &job);
        assert!(outcome.failures[0].message.contains(word), "{:?}", outcome.failures);
        assert_eq!(outcome.failures[0].count, 1, "fatal ends at the first");
        assert!(matches!(outcome.caveats[0], Caveat::Failed { .. }));
    }
}

#[test]
fn a_lost_request_is_an_error_and_never_a_result() {
    for runtime in [None, Some(Nanos::secs(100))] {
        let mut world = World::new();
        let root = world.add(Box::new(Faulty { loses: Some(77), brings: 0, seen: 0 }));
        world.set_root(root);
        let job = Job { io_count: Some(1000), runtime, ..deep(8) };
        let error =
            run_world(world, &About::default(), &[job], &RunOptions::seeded(1)).expect_err("one is lost");
        assert!(matches!(error, SimError::Unserved { count: 1, .. }), "{error}");
        assert!(error.to_string().contains("Read of 4096 bytes"), "{error}");
    }
}

#[test]
fn series_and_log_cover_every_io() {
    let logs =
        iostack_model::LogRequest { latency: Some("x".into()), ..iostack_model::LogRequest::default() };
    let job =
        Job { slice: Nanos::micros(100), io_count: Some(1005), logs, mix: Mix::reads(50), ..Job::default() };
    let outcome = one(&job);
    assert_eq!(outcome.log.len(), 1005);
    assert_eq!(outcome.log[1004].time, outcome.elapsed);
    assert_eq!(outcome.series.len(), 101);
    let ios: u64 = outcome.series.iter().flat_map(|element| element.ios).sum();
    assert_eq!((ios, outcome.series[100].length), (1005, Nanos::micros(50)));
    // What completes at the end of a slice belongs to the next one.
    assert_eq!(outcome.series[0].ios.iter().sum::<u64>(), 9);
    for direction in Direction::ALL {
        let sum: u64 = outcome.series.iter().map(|element| element.latency_sum_ns[direction as usize]).sum();
        assert_eq!(sum, outcome.flow(direction).latency.sum_ns);
    }
}

#[test]
fn jobs_that_do_not_fit_are_refused_by_name() {
    let huge = Job { size: Some(iostack_model::Amount::Bytes(Bytes::gib(2048))), ..Job::default() };
    let odd = Job { direct: false, block_sizes: BlockSizes::all(Bytes(1000)), ..Job::default() };
    for (job, words) in [(huge, ["job `job`", "lower offset"]), (odd, ["1000", "give a multiple"])] {
        let error = try_jobs(&[job]).expect_err("must be refused");
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        let text = format!("{error}: {cause}");
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
}

#[test]
fn a_stop_ends_a_run_with_what_it_has() {
    let sheet = drive_of_latency("10us");
    let stop = AtomicBool::new(false);
    let tell = |progress: &Progress| {
        assert_eq!(progress.phase, Phase::Running);
        assert!((progress.read_iops - 100_000.0).abs() < 1e-3, "{progress:?}");
        stop.store(progress.elapsed >= Nanos::millis(500), Ordering::Relaxed);
    };
    let options = RunOptions {
        stop: &stop,
        progress: Some(&tell),
        progress_every_requests: 1000,
        ..RunOptions::seeded(1)
    };
    let job = Job { runtime: Some(Nanos::secs(3)), time_based: true, ..Job::default() };
    let ran = run(&sheet, &[job], &options).expect("runs");
    let outcome = &ran.outcomes[0];
    assert!(outcome.interrupted && outcome.elapsed < Nanos::millis(600), "{}", outcome.elapsed);
    assert!(matches!(outcome.caveats[0], Caveat::Interrupted { .. }));
}

#[test]
fn a_timeline_has_the_first_stretches() {
    let sheet = drive_of_latency("10us");
    let options = RunOptions { spans_max: 5, ..RunOptions::seeded(1) };
    let ran = run(&sheet, &[Job { io_count: Some(10), ..Job::default() }], &options).expect("runs");
    assert_eq!(ran.timeline.len(), 5);
    let span = &ran.timeline[4];
    assert_eq!((span.request, span.part.as_str(), span.direction.as_str()), (4, "zero", "read"));
    assert_eq!((span.begin, span.end), (Nanos(40_000), Nanos(50_000)));
}

#[test]
fn a_runtime_on_a_device_without_latency_is_refused() {
    let sheet = Sheet::from_values("zero", &[]).expect("a kind");
    let job = Job { runtime: Some(Nanos::secs(3)), time_based: true, ..Job::default() };
    let text = run(&sheet, &[job], &RunOptions::seeded(1)).expect_err("never ends").to_string();
    assert!(text.contains("limit the job to fewer than a million I/Os"), "{text}");
    let endless = Job { io_count: Some(10_000_000), ..Job::default() };
    let text = run(&sheet, &[endless], &RunOptions::seeded(1)).expect_err("it has no rate").to_string();
    assert!(text.contains("a rate has no meaning"), "{text}");
    let counted = Job { io_count: Some(200_000), ..Job::default() };
    let ran = run(&sheet, &[counted], &RunOptions::seeded(1)).expect("ends");
    assert_eq!((ran.outcomes[0].ios(), ran.outcomes[0].elapsed), (200_000, Nanos(0)));
}
