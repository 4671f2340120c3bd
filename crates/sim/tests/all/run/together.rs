//! When does a job begin and end that looks at others, or at what the device does? On devices whose answer is known.

use iostack_model::{
    Access, Amount, Backlog, Bytes, Demand, DepthFound, Ends, Engine, Job, LatencyGoal, Mix, Nanos, Outcome,
    Steadiness, SteadyFigure, SteadyLimit, Trims, Verify, VerifyMode,
};
use iostack_sim::engine::World;

use crate::run::parts::{Service, Station, outcome_of, try_jobs};

fn outcomes(jobs: &[Job]) -> Vec<Outcome> {
    try_jobs(jobs).expect("sound jobs")
}

fn job(name: &str, report_group: u32, ios: u64) -> Job {
    Job { name: name.to_owned(), report_group, io_count: Some(ios), ..Job::default() }
}

fn timed(name: &str, report_group: u32, runtime: Nanos) -> Job {
    let (time_based, runtime) = (true, Some(runtime));
    Job { io_count: None, time_based, runtime, ..job(name, report_group, 0) }
}

fn counts(outcomes: &[Outcome]) -> Vec<(u64, Nanos)> {
    outcomes.iter().map(|outcome| (outcome.ios(), outcome.elapsed)).collect()
}

#[test]
fn a_job_that_waits_for_another_begins_when_all_its_threads_have_ended() {
    let first = Job { threads: 2, ..job("first", 0, 100) };
    let second = Job { wait_for: Some("first".to_owned()), ..job("second", 0, 50) };
    let third = Job { wait_for: Some("second".to_owned()), start_delay: Nanos::micros(70), ..second.clone() };
    let all = [first.clone(), second.clone(), Job { name: "third".to_owned(), ..third }];
    assert_eq!(counts(&outcomes(&all)), [(300, Nanos::micros(1000 + 500 + 70 + 500))]);
    let apart = [first, Job { report_group: 1, ramp: Nanos::micros(100), ..second }];
    assert_eq!(counts(&outcomes(&apart)), [(200, Nanos::millis(1)), (50, Nanos::micros(500))]);
}

#[test]
fn a_job_that_ends_others_ends_those_beside_it_or_all() {
    let jobs = |ends| {
        let waits = Job { wait_for: Some("long".to_owned()), ..job("waits", 2, 50) };
        let behind = Job { stonewall: true, ..job("behind", 3, 10) };
        [Job { ends, ..job("short", 0, 100) }, timed("long", 1, Nanos::secs(1)), waits, behind]
    };
    let both = [(100, Nanos::millis(1)), (100, Nanos::millis(1)), (0, Nanos(0))];
    assert_eq!(counts(&outcomes(&jobs(Ends::Beside))), [&both[..], &[(10, Nanos::micros(100))]].concat());
    assert_eq!(counts(&outcomes(&jobs(Ends::All))), both);
    let none = counts(&outcomes(&jobs(Ends::Itself)));
    assert_eq!((none[1].1, none[2]), (Nanos::secs(1), (50, Nanos::micros(500))));
}

#[test]
fn the_depth_that_keeps_a_latency_is_found_and_measured_for_a_window() {
    let goal = |micros, goes_on| LatencyGoal {
        latency: Nanos::micros(micros),
        percent: 90.0,
        window: Nanos::millis(10),
        goes_on,
    };
    // One server, 10 us for each: the latency is 10 us for each that is in flight.
    let ran = |latency_goal, runtime| {
        let job = Job {
            latency_goal: Some(latency_goal),
            engine: Engine::IO_URING,
            queue_depth: 64,
            ..timed("goal", 0, runtime)
        };
        let mut world = World::new();
        let root = Station::add(&mut world, 1, Service::Fixed(10_000), 1);
        world.set_root(root);
        outcome_of(world, &job)
    };
    let found = ran(goal(105, false), Nanos::secs(1));
    assert_eq!(found.depth_found, Some(DepthFound { depth: 10, percent: 100.0 }));
    assert_eq!((found.read.latency.min_ns, found.read.latency.max_ns), (100_000, 100_000));
    assert!(found.elapsed.0.abs_diff(10_000_000) <= 100_000, "{}", found.elapsed);
    assert!((found.depth_achieved - 10.0).abs() < 0.1 && found.failures.is_empty(), "{:?}", found.failures);
    let too_short = ran(goal(105, false), Nanos::millis(30));
    assert_eq!((too_short.ios(), too_short.depth_found), (0, None));
    assert!(too_short.failures[0].message.contains("latency_window"), "{:?}", too_short.failures);
    let goes_on = ran(goal(105, true), Nanos::secs(1));
    // The server is never idle, and what is in flight at the end counts.
    assert!((100_010..=100_011).contains(&goes_on.ios()), "{}", goes_on.ios());
    assert!(goes_on.depth_found.is_some_and(|found| [10, 11].contains(&found.depth)));
}

#[test]
fn what_is_read_back_or_trimmed_between_the_writes_takes_turns_with_them() {
    let ran = |queue_depth, backlog: Option<(u32, u32)>, trims: Option<bool>| {
        let verify = Verify {
            backlog: backlog.map(|(writes, reads)| Backlog { writes, reads }),
            trims: trims.map(|read_zeroes| Trims { percent: 100, writes: 4, blocks: 3, read_zeroes }),
            ..Verify::of_mode(VerifyMode::WriteThenRead)
        };
        let size = Some(Amount::Bytes(Bytes::kib(4 * 9)));
        let sequential = Job { engine: Engine::Libaio, access: Access::Sequential, size, ..Job::default() };
        outcomes(&[Job { verify: Some(verify), mix: Mix::WRITE, queue_depth, ..sequential }]).remove(0)
    };
    // wwww0123wwww4567w, and the last is read when all has been measured.
    let apart = ran(1, Some((4, 4)), None);
    assert_eq!((apart.elapsed, apart.read_between, apart.verified), (Nanos::micros(170), 8, 9));
    let together = ran(4, Some((4, 4)), None);
    assert_eq!((together.elapsed, together.verified), (Nanos::micros(50), 9), "four at a time");
    // wwww-0-1-2wwww-3-4-5w
    for (read_zeroes, verified) in [(true, 9), (false, 3)] {
        let trimmed = ran(1, None, Some(read_zeroes));
        assert_eq!((trimmed.elapsed, trimmed.verified), (Nanos::micros(150), verified));
        assert_eq!((trimmed.trim.latency.count, trimmed.failures.len()), (6, 0), "{:?}", trimmed.failures);
    }
}

#[test]
fn a_device_that_does_not_keep_to_what_is_demanded_ends_the_job() {
    let demanding = |demand| outcomes(&[Job { demand, ..timed("demands", 0, Nanos::millis(30)) }]).remove(0);
    for (latency, ios) in [(9_999, 1), (10_000, 3000)] {
        let outcome = demanding(Demand { latency: Nanos(latency), ..Demand::NONE });
        assert_eq!((outcome.ios(), outcome.failures.len()), (ios, usize::from(ios == 1)), "{latency}");
    }
    for (least, ios) in [(100_000, 3000), (100_001, 1000)] {
        let outcome = demanding(Demand { iops: [least, 0, 0], cycle: Nanos::millis(10), ..Demand::NONE });
        assert_eq!((outcome.ios(), outcome.failures.len()), (ios, usize::from(ios == 1000)), "{least}");
    }
}

#[test]
fn a_job_that_ends_when_it_is_steady_ends_with_the_first_steady_window() {
    let goal = |after| Steadiness {
        figure: SteadyFigure::Iops,
        limit: SteadyLimit::Deviation(1.0),
        window: Nanos::millis(50),
        after: Nanos::millis(after),
    };
    for (after, ends) in [(0, 50), (100, 150)] {
        let job = Job {
            until_steady: Some(goal(after)),
            slice: Nanos::millis(10),
            ..timed("steady", 0, Nanos::secs(1))
        };
        let outcome = outcomes(&[job]).remove(0);
        assert!(outcome.elapsed.0.abs_diff(ends * 1_000_000) <= 10_000, "{}", outcome.elapsed);
        let seen = outcome.steady.expect("it was asked");
        assert!(seen.attained && seen.since == Nanos::millis(after), "{seen:?}");
    }
    let never = Job { until_steady: Some(goal(5000)), ..timed("never", 0, Nanos::millis(100)) };
    assert!(outcomes(&[never])[0].steady.is_some_and(|seen| !seen.attained));
}
