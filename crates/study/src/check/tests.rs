//! Does each rule of the verdict speak when its evidence is there, and only then?
//!
//! The evidence is an ideal device by formula (the report's fixture), bent until a rule applies.

use iostack_model::answers::{CellName, Check, Limit, Point, Series, Step, StepKind, Summary, Verdict};
use iostack_model::{BlockDevice, Bytes, Caveat, Engine, IoLimit, Nanos, Outcome};
use iostack_report::fixture;
use iostack_target::Place;

use super::facts::Facts;
use super::planned::place_for_tests;
use super::scatter::Scatter;
use super::{advice, doubts, summary, verdict};

#[path = "caps_tests.rs"]
mod caps;
#[path = "advice_tests.rs"]
mod commands;
#[path = "scatter_tests.rs"]
mod scatter;
#[path = "told_tests.rs"]
mod told;

fn judged(check: &Check) -> Verdict {
    judged_at(check, &place_for_tests())
}

fn judged_at(check: &Check, place: &Place) -> Verdict {
    let summary = summary::summarise(&check.steps);
    verdict::decide(&facts_of(check, place, &summary))
}

pub(super) fn facts_of<'a>(check: &'a Check, place: &'a Place, summary: &'a Summary) -> Facts<'a> {
    Facts::new(place, (&check.storage, &check.machine), (&check.steps, summary), &check.caveats)
}

/// A quiet machine with a device of many queues.
fn quiet() -> Check {
    let mut check = fixture::check();
    check.caveats.clear();
    check
}

/// The verdict, which must name this limit in these words.
fn held(check: &Check, limit: Limit, words: &str) -> Verdict {
    let verdict = judged(check);
    assert!(verdict.limit == limit && verdict.answer.contains(words), "{limit:?}, `{words}`: {verdict:?}");
    verdict
}

/// Asserts that a line of the evidence begins so.
fn shows(verdict: &Verdict, line: &str) {
    assert!(verdict.evidence.iter().any(|evidence| evidence.starts_with(line)), "{:?}", verdict.evidence);
}

fn step_of(check: &mut Check, id: StepKind) -> &mut Step {
    check.steps.iter_mut().find(|step| step.id == id).expect("the fixture has every step")
}

fn each_point(check: &mut Check, id: StepKind, change: impl FnMut(&mut Point)) {
    step_of(check, id).points.iter_mut().for_each(change);
}

fn each_read(check: &mut Check, id: StepKind, change: impl FnMut(&mut Point)) {
    let points = step_of(check, id).points.iter_mut();
    points.filter(|point| point.series == Series::RandomRead).for_each(change);
}

/// Bends the reads over queue depth, and whatever else is tried beside them.
fn each_way(check: &mut Check, change: impl Fn(&mut Point)) {
    for id in [StepKind::Depth, StepKind::Threads, StepKind::Engines] {
        each_point(check, id, &change);
    }
}

fn every_outcome(check: &mut Check, change: impl FnMut(&mut Outcome)) {
    let points = check.steps.iter_mut().flat_map(|step| &mut step.points);
    points.map(|point| &mut point.outcome).for_each(change);
}

/// Limit of a quiet machine after a change.
fn limit_after(change: impl FnOnce(&mut Check)) -> Limit {
    let mut check = quiet();
    change(&mut check);
    judged(&check).limit
}

#[test]
fn an_idle_machine_with_a_bent_curve_is_limited_by_its_device() {
    let verdict = held(&quiet(), Limit::Device, "");
    let shown = verdict.evidence.iter().any(|line| line.contains("saturates at depth"));
    assert!(shown, "{:?}", verdict.evidence);
}

/// Others take this share of the CPU time at every point, and each thread lacks a CPU for that share of its time.
fn beside_others(check: &mut Check, foreign: f64, lacking: f64) {
    every_outcome(check, |outcome| {
        let waiting = outcome.elapsed.0 as f64 * f64::from(outcome.job.threads) * lacking;
        let cpu = &mut outcome.cpu;
        (cpu.foreign, cpu.waiting) = (foreign, Nanos(waiting as u64));
        cpu.machine_busy = (cpu.machine_busy + foreign).min(1.0);
        cpu.wanted = (cpu.busiest_thread + lacking).min(1.0);
    });
}

#[test]
fn a_busy_neighbour_who_takes_no_cpu_from_us_forbids_no_verdict() {
    let mut check = quiet();
    beside_others(&mut check, 0.5, 0.1);
    let verdict = held(&check, Limit::Device, "");
    shows(
        &verdict,
        "Others took 50 % of the CPU time; this load lacked a CPU for 10.0 % of its own, too little",
    );
}

#[test]
fn a_neighbour_whose_cpu_we_lack_is_named_with_what_it_may_have_cost() {
    let mut check = quiet();
    beside_others(&mut check, 0.5, 0.2);
    // 500 k were reached; without the fifth that was lost, a quarter more.
    let told = ["others took 50 % of the CPU time", "lacked a CPU for 20 % of its time", "at most 625.0 k"];
    for words in told {
        held(&check, Limit::Unknown, words);
    }
    // No more than a file allows, unless it does not hold.
    for (cap, most) in [(600_000, "600.0 k"), (100_000, "625.0 k")] {
        capped_by(&mut check, cap, false);
        let verdict = held(&check, Limit::Unknown, &format!("at most {most}"));
        let named = verdict.answer.contains(&format!("limited to {cap} IOPS by"));
        assert_eq!(named, cap == 600_000, "{}", verdict.answer);
    }
}

#[test]
fn threads_that_wait_for_each_other_alone_are_nobodys_fault() {
    let limit_beside = |foreign| limit_after(|check| beside_others(check, foreign, 0.5));
    assert_eq!(limit_beside(0.04), Limit::Device, "others took under a twentieth");
    assert_eq!(limit_beside(0.05), Limit::Unknown);
}

#[test]
fn a_load_that_wants_more_than_others_have_is_limited_by_the_processors() {
    let mut check = quiet();
    beside_others(&mut check, 0.2, 0.0);
    let cores = f64::from(check.machine.cpu.cores_usable);
    let mut waiting_for = |times: f64| {
        each_way(&mut check, |point| {
            let outcome = &mut point.outcome;
            outcome.cpu.machine_busy = 1.0;
            outcome.cpu.waiting = Nanos((outcome.elapsed.0 as f64 * cores * 0.2 * times).ceil() as u64);
        });
        judged(&check).limit
    };
    assert_eq!(waiting_for(2.0), Limit::AllCores);
    assert_eq!(waiting_for(1.9), Limit::Unknown);
}

#[test]
fn a_read_that_never_sleeps_is_work_of_the_processor_whoever_is_there() {
    let mut check = quiet();
    beside_others(&mut check, 0.5, 0.4);
    let mut wanted = |share, busy| {
        each_point(&mut check, StepKind::Latency, |point| {
            (point.outcome.cpu.wanted, point.outcome.cpu.busiest_thread) = (share, busy);
        });
        judged(&check).limit
    };
    assert_eq!(wanted(0.9, 0.5), Limit::AllCores);
    assert_eq!(wanted(0.89, 0.5), Limit::Unknown);
    assert_eq!(wanted(1.0, 0.49), Limit::Unknown, "waiting for a CPU is no work");
    wanted(1.0, 0.5);
    check.machine.cpu.cores_usable = 1;
    assert_eq!(judged(&check).limit, Limit::OneCore);
}

/// Others have 96 % of the CPUs, and every thread waits for one whenever it would run.
fn crowded(check: &mut Check) {
    every_outcome(check, |outcome| {
        let threads = f64::from(outcome.job.threads);
        (outcome.cpu.foreign, outcome.cpu.machine_busy) = (0.96, 1.0);
        (outcome.cpu.wanted, outcome.cpu.busiest_thread) = (0.95, 0.04);
        outcome.cpu.waiting = Nanos((outcome.elapsed.0 as f64 * threads * 0.9) as u64);
    });
}

#[test]
fn waiting_for_a_cpu_is_no_work_of_the_processors_and_a_stated_cap_near_the_rates_is_the_limit() {
    let mut check = quiet();
    crowded(&mut check);
    held(&check, Limit::Unknown, "");
    capped(&mut check, 2000, false, 2000.0);
    for (id, rate) in [(StepKind::Latency, 900.0), (StepKind::Threads, 1_400.0), (StepKind::Engines, 1_500.0)]
    {
        each_point(&mut check, id, |point| at_rate(point, rate));
    }
    assert_eq!(judged(&check).limit, Limit::Cap);
    // Some points got too few of the cap's portions; one way got its share. One read alone takes longer than the cap asks.
    capped(&mut check, 2000, false, 700.0);
    each_point(&mut check, StepKind::Latency, |point| set_latency(point, 600_000));
    for id in [StepKind::Latency, StepKind::Threads, StepKind::Engines] {
        each_point(&mut check, id, |point| at_rate(point, 600.0));
    }
    let near = |check: &mut Check, rate: f64| {
        at_rate(step_of(check, StepKind::Threads).points.last_mut().expect("it has points"), rate);
        judged(check).answer.contains("limited to 2000 IOPS by")
    };
    assert!(near(&mut check, 1_700.0) && !near(&mut check, 1_699.0));
    assert!(near(&mut check, 2_600.0) && !near(&mut check, 2_601.0), "one way alone exceeds it");
    each_point(&mut check, StepKind::Latency, |point| set_latency(point, 400_000));
    let halfway = near(&mut check, 1_000.0) && !near(&mut check, 999.0);
    assert!(halfway, "beside others, of quick storage");
    beside_others(&mut check, 0.5, 0.101);
    assert!(!near(&mut check, 1_690.0), "what was lost would not have led to the cap");
}

#[test]
fn a_load_that_crowds_itself_does_half_of_the_machine_s_work_at_least() {
    let limit_with = |foreign: f64| {
        limit_after(|check| {
            beside_others(check, foreign, 0.0);
            each_way(check, |point| {
                let cpu = &mut point.outcome.cpu;
                (cpu.machine_busy, cpu.waiting) = (1.0, Nanos(point.outcome.elapsed.0 * 64));
            });
        })
    };
    assert_eq!(limit_with(0.5), Limit::AllCores);
    assert_eq!(limit_with(0.51), Limit::Unknown);
}

#[test]
fn a_check_that_ended_before_its_curve_falls_back_on_a_stated_cap() {
    let mut check = quiet();
    check.steps.retain(|step| step.id == StepKind::Latency);
    capped_by(&mut check, 2000, false);
    assert_ne!(judged(&check).limit, Limit::Cap, "the one rate is another");
    each_point(&mut check, StepKind::Latency, |point| at_rate(point, 1_990.0));
    held(&check, Limit::Cap, "limited to 2000 IOPS by");
}

#[test]
fn a_way_with_no_more_in_flight_that_does_more_makes_the_engine_the_limit() {
    let mut check = quiet();
    let one_thread = |check: &mut Check, gain: f64| {
        let rates = step_of(check, StepKind::Depth).points.iter().map(|point| point.outcome.iops.mean);
        let most = rates.fold(0.0, f64::max);
        each_read(check, StepKind::Latency, |point| at_rate(point, most * gain));
    };
    one_thread(&mut check, 1.07);
    held(&check, Limit::Device, "");
    one_thread(&mut check, 1.5);
    held(&check, Limit::Engine, "io_uring ends at");
    let verdict = held(&check, Limit::Engine, "psync reaches");
    shows(&verdict, "Random reads over queue depth (io_uring)");
    shows(&verdict, "Most of all ways: ");
    let ways = ["reads in flight", "over", "per system call"];
    let named = verdict.advice.iter().filter(|advice| ways.iter().any(|way| advice.act.contains(way)));
    assert_eq!(named.count(), 0, "nothing beats one plain thread: {:?}", verdict.advice);
}

#[test]
fn what_a_hypervisor_steals_is_lacked_by_the_few_cpus_that_the_load_uses() {
    let limit_with =
        |steal: f64| limit_after(|check| every_outcome(check, |outcome| outcome.cpu.steal = steal));
    // Of eight CPUs one is used.
    assert_eq!(limit_with(0.0124), Limit::Device);
    assert_eq!(limit_with(0.0126), Limit::Unknown);
}

/// The rate rises with the depth to the last; one read alone takes 20 us, or `slow_ns` in two of ten cases, and the last rate is
/// known to this share of it.
fn rising(slow_ns: u64, known_to: f64) -> Limit {
    let mut check = quiet();
    each_point(&mut check, StepKind::Depth, |point| {
        at_rate(point, 10_000.0 * point.x);
        if point.series == Series::RandomRead && point.label == "128" {
            point.outcome.iops.low = point.outcome.iops.mean * (1.0 - known_to);
        }
    });
    for id in [StepKind::Threads, StepKind::Engines] {
        each_point(&mut check, id, |point| at_rate(point, 1_000.0));
    }
    each_point(&mut check, StepKind::Latency, |point| {
        let mut recorder = iostack_stats::Recorder::new();
        (0..80).for_each(|_| recorder.record(20_000));
        (0..20).for_each(|_| recorder.record(slow_ns));
        point.outcome.read.latency = recorder.bins();
    });
    judged(&check).limit
}

#[test]
fn a_rate_that_rises_to_the_last_depth_is_believed_where_one_read_waits_for_nobody_and_the_intervals_allow() {
    assert_eq!(rising(39_000, 0.49), Limit::Generator);
    assert_eq!(rising(41_500, 0.49), Limit::Unknown, "it may wait for others");
    assert_eq!(rising(39_000, 0.51), Limit::Unknown, "the depth before may have given as much");
}

#[test]
fn others_with_over_a_fifth_of_the_traffic_forbid_a_verdict() {
    let limit_with = |share| {
        let foreign = Caveat::ForeignIo { device: "vda".into(), bytes: Bytes::gib(1), share };
        limit_after(|check| {
            each_point(check, StepKind::Depth, |point| point.outcome.caveats.push(foreign.clone()));
        })
    };
    assert_eq!(limit_with(0.2), Limit::Device);
    assert_eq!(limit_with(0.21), Limit::Unknown);
}

#[test]
fn a_curve_that_falls_below_half_of_itself_says_nothing() {
    let limit_with = |share: f64| {
        let mut check = quiet();
        let mut most = 0.0_f64;
        each_read(&mut check, StepKind::Depth, |point| match point.label.as_str() {
            "128" => point.outcome.iops.mean = most * share,
            _ => most = most.max(point.outcome.iops.mean),
        });
        judged(&check).limit
    };
    assert_eq!(limit_with(0.51), Limit::Device);
    assert_eq!(limit_with(0.49), Limit::Unknown);
}

/// All of a second at this rate.
fn at_rate(point: &mut Point, rate: f64) {
    let outcome = &mut point.outcome;
    (outcome.iops.mean, outcome.iops.low, outcome.iops.high) = (rate, rate, rate);
}

/// Every I/O takes this long.
fn set_latency(point: &mut Point, ns: u64) {
    let mut recorder = iostack_stats::Recorder::new();
    (0..100).for_each(|_| recorder.record(ns));
    point.outcome.read.latency = recorder.bins();
}

/// Reads of 4 KiB are capped at this by a file, and the depth curve ends at `reached`.
fn capped(check: &mut Check, cap: u64, bytes: bool, reached: f64) {
    capped_by(check, cap, bytes);
    each_read(check, StepKind::Depth, |point| at_rate(point, reached));
}

/// A file says so.
fn capped_by(check: &mut Check, cap: u64, bytes: bool) {
    let file = "/sys/fs/cgroup/blkio/a/blkio.throttle.read_iops_device".into();
    let device = "vda".to_owned();
    let direction = iostack_model::Direction::Read;
    check.machine.virtualisation.io_limits =
        vec![IoLimit { device, direction, per_second: cap, bytes, file }];
}

#[test]
fn another_scheduler_that_does_clearly_more_is_the_limit_where_the_old_one_did_the_same_again() {
    let scheduler = |first: f64, other: f64, again: f64| {
        let mut check = quiet();
        let device = check.storage.devices.last_mut().expect("the fixture has devices");
        device.queue.schedulers = vec!["kyber".into(), "none".into()];
        device.queue.scheduler = "kyber".into();
        let step = step_of(&mut check, StepKind::Schedulers);
        step.points.retain(|point| point.series == Series::RandomRead);
        let named = [("kyber", first), ("none", other), ("kyber (again)", again)];
        for (point, (label, rate)) in step.points.iter_mut().zip(named) {
            label.clone_into(&mut point.label);
            let iops = &mut point.outcome.iops;
            (iops.mean, iops.low, iops.high) = (rate, rate * 0.99, rate * 1.01);
        }
        check
    };
    let words = "with kyber 1.00 k IOPS at depth 32, with none 1.10 k";
    held(&scheduler(1_000.0, 1_101.0, 1_000.0), Limit::Scheduler, words);
    let limit = |check: Check| judged(&check).limit;
    assert_ne!(limit(scheduler(1_000.0, 1_099.0, 1_000.0)), Limit::Scheduler, "under a tenth");
    assert_ne!(
        limit(scheduler(1_000.0, 1_101.0, 1_100.0)),
        Limit::Scheduler,
        "the storage changed meanwhile"
    );
}

#[test]
fn curves_that_all_end_at_one_rate_are_a_cap() {
    let bent = |point: &mut Point| {
        let rate = 3000.0 * (point.x / 4.0).min(1.0);
        at_rate(point, rate);
        (point.outcome.iops.low, point.outcome.iops.high) = (rate * 0.999, rate * 1.001);
    };
    assert_eq!(limit_after(|check| each_point(check, StepKind::Depth, bent)), Limit::Cap);
}

#[test]
fn cores_that_are_all_busy_are_the_limit() {
    let busy = |point: &mut Point| point.outcome.cpu.machine_busy = 0.97;
    assert_eq!(limit_after(|check| each_way(check, busy)), Limit::AllCores);
}

#[test]
fn an_engine_whose_reads_go_to_workers_is_compared_at_as_many_in_flight_and_is_no_limit() {
    let mut check = quiet();
    each_way(&mut check, |point| point.outcome.cpu.machine_busy = 0.97);
    each_point(&mut check, StepKind::Engines, |point| {
        let Engine::IoUring { .. } = point.outcome.job.engine else { return };
        point.outcome.caveats.push(Caveat::Punted { workers: 1, cpu_share: 0.5 });
        let iops = &mut point.outcome.iops;
        (iops.mean, iops.low, iops.high) = (iops.mean / 10.0, iops.low / 10.0, iops.high / 10.0);
    });
    // Many threads with one I/O each are as many in flight as one thread with many; one with one is not.
    let threads = |check: &mut Check, threads: u32| {
        each_point(check, StepKind::Engines, |point| {
            let job = &mut point.outcome.job;
            if job.engine == Engine::Libaio && job.queue_depth == 32 {
                (job.engine, job.threads) = (Engine::Psync, threads);
            } else if job.engine == Engine::Psync && job.threads > 1 {
                job.threads = threads;
            }
        });
    };
    threads(&mut check, 32);
    let verdict = held(&check, Limit::AllCores, "");
    let gain = |verdict: &Verdict| {
        let found = verdict.advice.iter().find(|advice| advice.act.contains("worker threads"));
        found.map(|advice| advice.gain_percent.expect("it was measured"))
    };
    let at_32 = gain(&verdict).expect("libaio did ten times as much");
    assert!((at_32 - 900.0).abs() < 100.0, "{at_32}");
    // Without a partner at that depth it is the pair of depth 1 that tells, and never the two across.
    threads(&mut check, 31);
    let at_1 = gain(&judged(&check)).expect("psync did ten times as much");
    assert!((at_1 - 900.0).abs() < 100.0, "{at_1}");
}

#[test]
fn one_busy_thread_that_more_threads_outdo_is_one_core() {
    let limit = limit_after(|check| {
        each_point(check, StepKind::Depth, |point| point.outcome.cpu.busiest_thread = 0.99);
        each_point(check, StepKind::Threads, |point| {
            if point.outcome.job.threads > 1 {
                point.outcome.iops.mean *= 4.0;
            }
        });
    });
    assert_eq!(limit, Limit::OneCore);
}

#[test]
fn one_queue_is_the_limit_only_where_all_its_tags_are_in_use() {
    let mut check = quiet();
    let mut with_tags = |tags: (u32, u32)| {
        let queue = &mut check.storage.devices.last_mut().expect("the fixture has devices").queue;
        (queue.hardware_queues, queue.tags, queue.requests) = (1, Some(tags.0), tags.1);
        judged(&check).limit
    };
    // The fixture works on about 40 reads at once.
    assert_eq!(with_tags((32, 1024)), Limit::OneQueue);
    assert_eq!(with_tags((128, 1024)), Limit::Device);
    assert_eq!(with_tags((128, 32)), Limit::OneQueue, "fewer requests than tags");
    assert_eq!(with_tags((20, 1024)), Limit::Device, "twice as many as there are places cannot be in use");
}

#[test]
fn a_check_that_was_interrupted_at_once_says_unknown() {
    assert_eq!(limit_after(|check| check.steps.clear()), Limit::Unknown);
}
