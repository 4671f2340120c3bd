//! What a job may ask beside its I/O: demands, priorities, an end of others, a steady rate, files made ready, duplicates.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use crate::common::{MIB, come, data, random, run, run_with, work};
use iostack_engine::Control;
use iostack_model::*;
use iostack_testkit::folder;

/// Time that jobs take which nothing else ends.
const ENDLESS: Nanos = Nanos::secs(60);

fn endless() -> Job {
    Job { runtime: Some(ENDLESS), time_based: true, slice: Nanos::millis(100), ..Job::default() }
}

#[test]
fn an_io_that_takes_too_long_ends_the_job_as_a_failure() {
    let (_folder, path) = data(folder!("too-long"), MIB);
    for (engine, queue_depth) in [(Engine::Psync, 1), (Engine::Libaio, 8)] {
        let demand = Demand { latency: Nanos(1), ..Demand::NONE };
        let outcome = run(&Job { demand, engine, queue_depth, ..endless() }, &path).expect("it runs");
        let failure = outcome.failures.first().expect("nothing is as quick as a nanosecond");
        assert_eq!((failure.errno, failure.direction), (libc::ETIMEDOUT, Direction::Read));
        assert!(failure.message.contains("max_latency"), "{}", failure.message);
        // What was submitted before the first came back still counts.
        assert!(
            outcome.ios() <= 2 * u64::from(queue_depth) && !outcome.interrupted,
            "{} I/Os",
            outcome.ios()
        );
        let patient = Demand { latency: Nanos::secs(100), ..Demand::NONE };
        let job = Job { demand: patient, engine, queue_depth, ..Job::default() };
        let outcome = run(&job, &path).expect("it runs");
        assert_eq!((outcome.ios(), outcome.failures.len()), (256, 0));
    }
}

#[test]
fn a_rate_that_is_not_kept_ends_the_job_as_a_failure() {
    let (_folder, path) = data(folder!("too-slow"), MIB);
    let demand = Demand { iops: [u64::MAX, 0, 0], cycle: Nanos::millis(50), ..Demand::NONE };
    let outcome = run(&Job { demand, ..endless() }, &path).expect("it runs");
    assert!(outcome.elapsed >= Nanos::millis(50) && outcome.elapsed < ENDLESS, "{}", outcome.elapsed);
    assert!(outcome.failures[0].message.contains("rate_iops_min"), "{:?}", outcome.failures);
}

#[test]
fn a_pattern_is_verified_and_another_byte_is_named() {
    let (_folder, path) = data(folder!("pattern"), MIB);
    let verify = |mode| Some(Verify { pattern: true, ..Verify::of_mode(mode) });
    let data = Data::Pattern(vec![0xde, 0xad, 0xbe, 0xef]);
    let write = Job { mix: Mix::WRITE, access: Access::Sequential, data: data.clone(), ..Job::default() };
    let outcome =
        run(&Job { verify: verify(VerifyMode::WriteThenRead), ..write }, &path).expect("a plain file");
    assert_eq!((outcome.verified, outcome.failures.len()), (256, 0));
    let mut bytes = fs::read(&path).expect("a plain file");
    assert!(bytes.chunks(4).all(|four| four == [0xde, 0xad, 0xbe, 0xef]), "there is nothing but the pattern");
    bytes[5_000] = 0;
    fs::write(&path, bytes).expect("a plain file");
    let read =
        Job { data, access: Access::Sequential, verify: verify(VerifyMode::ReadOnly), ..Job::default() };
    let outcome = run(&read, &path).expect("a plain file");
    assert_eq!((outcome.verified, outcome.failures.len()), (255, 1));
    let said = &outcome.failures[0].message;
    assert!(said.contains("offset 5000") && said.contains("byte 00") && said.contains("de"), "{said}");
}

#[test]
fn a_job_waits_for_those_of_a_name_and_its_time_begins_then() {
    let (_folder, path) = data(folder!("waits"), MIB);
    let slow = Rate { iops: 40.0, arrival: Arrival::Regular };
    let job = |name: &str, group| Job {
        name: name.into(),
        report_group: group,
        io_count: Some(8),
        ..Job::default()
    };
    let waits = |name: &str, group| Job { wait_for: Some("slow".into()), ..job(name, group) };
    let first = Job { rate: Some(slow), threads: 2, ..job("slow", 0) };
    let delayed = Job { start_delay: Nanos::millis(30), ..waits("delayed", 2) };
    let works = [first, waits("waits", 1), delayed, job("beside", 3)].map(|job| work(job, &path));
    let outcomes = iostack_engine::run(&works, &Control::none()).expect("plain files");
    let began: Vec<u64> = outcomes.iter().map(|outcome| outcome.started_unix_ms).collect();
    assert_eq!(outcomes.iter().map(Outcome::ios).collect::<Vec<_>>(), [16, 8, 8, 8]);
    // 7 distances of 25 ms; milliseconds are cut.
    assert!(began[1] >= began[0] + 174, "{began:?}");
    assert!(began[2] >= began[1] + 29, "{began:?}");
    assert!(began[3] < began[1], "{began:?}");
    assert_eq!(outcomes[1].series[0].ios[0], 8, "its series begins with it");
    let stop = AtomicBool::new(true);
    let ended = iostack_engine::run(&works, &Control { stop: &stop, ..Control::none() }).expect("at once");
    assert!(ended.iter().all(|outcome| outcome.interrupted), "who waits is ended too");
}

#[test]
fn jobs_share_ios_by_weight_as_long_as_all_run() {
    let (_folder, path) = data(folder!("shares"), MIB);
    for (engine, queue_depth) in [(Engine::Psync, 1), (Engine::Libaio, 4)] {
        let job = |weight, report_group| Job {
            share: Some(Share { group: 7, weight, nap: Nanos(0) }),
            report_group,
            io_count: Some(800),
            loops: 4,
            size: Some(Amount::Bytes(Bytes(MIB))),
            engine,
            queue_depth,
            logs: LogRequest { latency: Some("each".into()), ..LogRequest::default() },
            ..Job::default()
        };
        let works = [work(job(8, 0), &path), work(job(1, 1), &path)];
        let outcomes = iostack_engine::run(&works, &Control::none()).expect("a plain file");
        assert_eq!(outcomes.iter().map(Outcome::ios).collect::<Vec<_>>(), [800, 800], "{engine:?}");
        let end = outcomes[0].log.last().expect("each I/O is logged").time;
        let meanwhile = outcomes[1].log.iter().filter(|entry| entry.time < end).count();
        assert!(meanwhile.abs_diff(100) <= 1 + 2 * queue_depth as usize, "{engine:?}: {meanwhile}");
    }
}

#[test]
fn the_deepest_queue_that_keeps_a_latency_is_found_and_only_what_it_does_counts() {
    let (_folder, path) = data(folder!("search"), MIB);
    let searched = |engine, latency, goes_on, window| {
        let goal = LatencyGoal { latency, percent: 50.0, window, goes_on };
        let end = if goes_on || window > Nanos::secs(1) { Nanos::millis(200) } else { Nanos::secs(60) };
        let job = Job { latency_goal: Some(goal), engine, queue_depth: 12, runtime: Some(end), ..endless() };
        run(&job, &path).expect("a plain file")
    };
    let (window, any, none) = (Nanos::millis(20), Nanos::secs(10), Nanos(1));
    for (engine, latency, depth, percent) in
        [(Engine::Libaio, any, 12, 100.0), (Engine::Psync, any, 1, 100.0), (Engine::Libaio, none, 1, 0.0)]
    {
        let outcome = searched(engine, latency, false, window);
        assert_eq!(outcome.depth_found, Some(DepthFound { depth, percent }), "{engine:?}");
        assert!(outcome.failures.is_empty() && outcome.ios() > 0, "{:?}", outcome.failures);
        // It is judged by what began in the window, and counted from the first that began after the judgement before.
        assert!(outcome.elapsed.0 > window.0 / 2, "{}", outcome.elapsed);
        assert!(outcome.series[0].start == Nanos(0) && outcome.series[0].ios[0] > 0, "{engine:?}");
        assert!(outcome.depth_achieved < f64::from(depth) + 0.5, "shallower ones are not in it");
        assert!(!outcome.caveats.iter().any(|caveat| matches!(caveat, Caveat::DepthBelowAsked { .. })));
    }
    let on = searched(Engine::Libaio, any, true, window);
    assert!(on.depth_found.expect("there is one at any time").depth == 12 && on.elapsed > window);
    let late = searched(Engine::Libaio, any, false, Nanos::secs(30));
    assert_eq!((late.ios(), late.depth_found), (0, None));
    assert!(late.failures[0].message.contains("at depth 1 when the job ended"), "{:?}", late.failures);
}

#[test]
fn written_pages_are_sent_on_their_way_after_so_many_writes() {
    let (_folder, path) = data(folder!("ranges"), MIB);
    for engine in [Engine::Psync, Engine::Libaio, Engine::Null] {
        let range = Some(RangeSync { every: 4, write: true, ..RangeSync::default() });
        let sync = Sync { range, fsync_every: 8, ..Sync::default() };
        let size = Some(Amount::Bytes(Bytes(MIB)));
        let job =
            Job { sync, size, engine, mix: Mix::WRITE, direct: false, io_count: Some(16), ..Job::default() };
        let outcome = run(&job, &path).expect("a plain file");
        assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
        // After 4 and 12; an fsync after 8 and 16.
        assert_eq!((outcome.ios(), outcome.sync.count), (16, 4), "{engine:?}");
    }
}

#[test]
fn the_first_that_ends_may_end_those_beside_it_or_all() {
    let (_folder, path) = data(folder!("ends"), MIB);
    for (ends, run_behind) in [(Ends::Beside, true), (Ends::All, false)] {
        let first = Job { io_count: Some(100), ends, ..Job::default() };
        let beside = Job { report_group: 1, ..endless() };
        let behind = Job { report_group: 2, io_count: Some(7), stonewall: true, ..Job::default() };
        let works = [first, beside, behind].map(|job| work(job, &path));
        let outcomes = iostack_engine::run(&works, &Control::none()).expect("they run");
        assert!(outcomes[1].elapsed < ENDLESS && !outcomes[1].interrupted, "{}", outcomes[1].elapsed);
        assert_eq!(outcomes.get(2).map(Outcome::ios), run_behind.then_some(7));
    }
}

#[test]
fn a_steady_rate_ends_the_job_and_no_rate_is_steady_beyond_measure() {
    let (_folder, path) = data(folder!("steady"), MIB);
    let goal = |percent| {
        let window = Nanos::millis(300);
        let limit = SteadyLimit::Deviation(percent);
        Some(Steadiness { figure: SteadyFigure::Iops, limit, window, after: Nanos(0) })
    };
    let outcome = run(&Job { until_steady: goal(1e9), ..endless() }, &path).expect("it runs");
    let steady = outcome.steady.expect("the job asks");
    assert!(steady.attained && outcome.elapsed >= Nanos::millis(300), "{}", outcome.elapsed);
    assert!(outcome.elapsed < ENDLESS, "{}", outcome.elapsed);
    let short = Job { runtime: Some(Nanos::millis(150)), until_steady: goal(0.0), ..endless() };
    let steady = run(&short, &path).expect("it runs").steady.expect("the job asks");
    assert_eq!((steady.attained, steady.percent), (false, None));
    assert_eq!(run(&Job::default(), &path).expect("it runs").steady, None);
}

/// Niceness of the threads that make our load, from field 19 of `/proc/self/task/*/stat`.
fn niceness() -> Vec<i32> {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux").flatten();
    let stats = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    let ours = stats.filter(|stat| stat.contains("(load-"));
    let nice = |stat: String| stat.rsplit(") ").next()?.split(' ').nth(16)?.parse().ok();
    ours.filter_map(nice).collect()
}

#[test]
fn threads_have_the_niceness_asked_for() {
    let (_folder, path) = data(folder!("nice"), MIB);
    let seen = Mutex::new(Vec::new());
    let look = |_: &Progress| seen.lock().expect("nobody panics").extend(niceness());
    let control = Control { progress: Some(&look), progress_every: Nanos::millis(50), ..Control::none() };
    let priority = Priority { nice: 7, io_class: 2, io_level: 6 };
    let host = HostAsked { priority, ..HostAsked::default() };
    let job = Job { host, runtime: Some(Nanos::millis(300)), ..endless() };
    run_with(&job, &path, &control).expect("anybody may be nicer");
    let seen = seen.into_inner().expect("nobody panics");
    assert!(seen.contains(&7), "{seen:?}");
}

#[test]
fn so_many_ios_carry_a_priority_of_their_own_to_the_kernel() {
    let (_folder, path) = data(folder!("preferred"), MIB);
    let fixed =
        Engine::IoUring { fixed_buffers: true, registered_files: true, poll: false, submit_poll: false };
    for engine in [Engine::Libaio, Engine::IO_URING, fixed] {
        let job = |io_class| {
            let preferred =
                Some(Preferred { percent: [30, 0], io_class, io_level: 5, ..Preferred::default() });
            let host = HostAsked { preferred, ..HostAsked::default() };
            let logs = LogRequest { latency: Some("none".into()), ..LogRequest::default() };
            Job { engine, host, logs, queue_depth: 8, loops: 2, ..Job::default() }
        };
        let Some(outcome) = come("so_many_ios_carry_a_priority", run(&job(2), &path)) else { continue };
        let preferred = outcome.log.iter().filter(|entry| entry.io_priority == 2 << 13 | 5).count();
        assert_eq!((outcome.failures.len(), outcome.log.len()), (0, 512), "{engine:?}");
        // 154 expected; 6 standard deviations are 62.
        assert!((92..=216).contains(&preferred), "{engine:?}: {preferred}");
        // The kernel refuses a class that there is none of, and so tells which I/Os came with it.
        let outcome = run(&job(7), &path).expect("it starts");
        let [refused] = &outcome.failures[..] else { panic!("{engine:?}: {:?}", outcome.failures) };
        assert_eq!((refused.errno, refused.count), (libc::EINVAL, preferred as u64), "{engine:?}");
        assert_eq!(outcome.read.latency.count, 512 - preferred as u64, "{engine:?}");
    }
}

#[test]
fn threads_lie_on_the_nodes_asked_for_and_a_missing_one_is_named() {
    let (_folder, path) = data(folder!("nodes"), MIB);
    let on = |node| {
        let numa = Numa { cpu_nodes: vec![node], memory: Some((MemoryPolicy::Prefer, vec![node])) };
        let host = HostAsked { numa, locked: Bytes::mib(1), ..HostAsked::default() };
        Job { host, ..Job::default() }
    };
    match run(&on(0), &path) {
        Ok(outcome) => assert_eq!((outcome.ios(), outcome.failures.len()), (256, 0)),
        Err(error) => println!("SKIPPED threads_lie_on_the_nodes_asked_for: {error}"),
    }
    let error = run(&on(900), &path).expect_err("there is none");
    assert!(error.to_string().contains("900"), "{error}");
}

#[test]
fn posixaio_cannot_be_followed_and_says_so() {
    struct Nobody;
    impl Observer for Nobody {
        fn opened(&self) {}
        fn closed(&self) {}
        fn lane(&self, _: &LaneRequest) -> Option<Box<dyn Lane + '_>> {
            None
        }
    }
    let (_folder, path) = data(folder!("followed"), MIB);
    let job = Job { engine: Engine::PosixAio, ..Job::default() };
    let control = Control { observer: Some(&Nobody), ..Control::none() };
    let error = run_with(&job, &path, &control).expect_err("nothing could be followed").to_string();
    assert!(error.contains("C library's threads") && error.contains("use libaio"), "{error}");
}

#[test]
fn files_may_be_all_that_is_made_ready() {
    let (_folder, path) = data(folder!("ready"), MIB);
    let beforehand = Beforehand { reads: true, is_all: true, ..Beforehand::default() };
    let outcome = run(&Job { beforehand, ..Job::default() }, &path).expect("it runs");
    assert_eq!((outcome.ios(), outcome.failures.len()), (0, 0));
}

#[test]
fn so_many_percent_of_the_blocks_were_written_before() {
    let (_folder, path) = data(folder!("duplicates"), 4 * MIB);
    let duplicate = Data::Duplicate;
    for (data, percent, block) in [
        (duplicate(0), 0, 4096),
        (duplicate(60), 60, 4096),
        (duplicate(60), 60, 16_384),
        (Data::Compressible(50), 0, 4096),
    ] {
        let block_sizes = BlockSizes::all(Bytes(block));
        let job = Job { mix: Mix::WRITE, access: Access::Sequential, block_sizes, ..Job::default() };
        let job = Job { data, direct: false, ..job };
        run(&job, &path).expect("a plain file");
        let bytes = fs::read(&path).expect("a plain file");
        let distinct: HashSet<&[u8]> = bytes.chunks(4096).collect();
        let duplicates = 100.0 - distinct.len() as f64 * 100.0 / 1024.0;
        assert!((duplicates - f64::from(percent)).abs() < 5.0, "{duplicates} of {percent} %");
    }
}

#[test]
fn what_was_written_before_is_one_of_a_set_and_compresses_as_asked() {
    let folder = folder!("working-set");
    let blocks_of = |name, thread_first, seed, repeated| {
        let path = random(&folder, name, 4 * MIB);
        let data = Data::Repeated(Repeated { percent: 50, chunk: 512, ..repeated });
        let job =
            Job { mix: Mix::WRITE, access: Access::Sequential, data, seed, thread_first, ..Job::default() };
        run(&Job { direct: false, ..job }, &path).expect("a plain file");
        let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
        for block in fs::read(&path).expect("a plain file").chunks(4096) {
            *counts.entry(block.to_vec()).or_default() += 1;
        }
        counts
    };
    // 10 % of 1,024 blocks, of which some 512 writes draw.
    let repeated = Repeated { set_percent: 10, compressible: 75, shared: true, ..Repeated::default() };
    let first = blocks_of("first", 0, 7, repeated);
    let again = first.values().filter(|&&times| times > 1).count();
    let sound = (90..=102).contains(&again) && (540..=680).contains(&first.len());
    assert!(sound, "{again} of {} came again", first.len());
    let half = |chunk: &[u8]| chunk[128..].iter().all(|&byte| byte == 0) && chunk[8..128] != [0; 120];
    assert!(first.keys().all(|block| block.chunks(512).all(half)));
    let both = |name, seed, shared| {
        let other = blocks_of(name, 1, seed, Repeated { shared, ..repeated });
        first.keys().filter(|block| other.contains_key(*block)).count()
    };
    assert!((90..=102).contains(&both("second", 7, true)), "one seed, one set, of another thread too");
    assert_eq!((both("third", 7, false), both("fourth", 8, true)), (0, 0));
}

#[test]
fn what_comes_after_the_submission_is_kept_apart_where_it_is_asked_for() {
    let (_folder, path) = data(folder!("clat"), MIB);
    let batch = Batch { submit: 4, complete_min: 1 };
    let rate = Some(Rate { iops: 20_000.0, arrival: Arrival::Regular });
    let libaio = Job { engine: Engine::Libaio, split_latency: true, mix: Mix::reads(50), ..Job::default() };
    for job in [
        libaio.clone(),
        Job { queue_depth: 8, ..libaio.clone() },
        Job { queue_depth: 8, mix: Mix::READ, ..libaio.clone() },
        Job { queue_depth: 8, batch, ..libaio.clone() },
        Job { queue_depth: 8, rate, ..libaio.clone() },
    ] {
        let outcome = run(&job, &path).expect("a plain file");
        for flow in [&outcome.read, &outcome.write] {
            let [all, before, after] = [&flow.latency, &flow.submit, &flow.after_submit];
            assert_eq!((before.count, after.count), (all.count, all.count), "{job:?}");
            let sum = before.sum_ns + after.sum_ns;
            assert!(sum.abs_diff(all.sum_ns) <= 2 * all.count, "{sum} of {}: {job:?}", all.sum_ns);
        }
        let plain = run(&Job { split_latency: false, ..job }, &path).expect("a plain file");
        assert_eq!(plain.read.after_submit.count, 0);
        assert_eq!(plain.read.clat(), &plain.read.latency);
    }
    let psync = Job { engine: Engine::Psync, ..libaio };
    assert_eq!(run(&psync, &path).expect("a plain file").read.after_submit.count, 0);
}
