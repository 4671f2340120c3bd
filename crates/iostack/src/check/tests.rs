//! Does each rule of the verdict speak when its evidence is there, and only then?
//!
//! The evidence is an ideal device by formula (the report's fixture), bent until a rule applies.

use iostack_model::{Bytes, Caveat, Check, Limit, Nanos, Verdict};
use iostack_report::fixture;

use super::{doubts, summary, verdict};

fn judged(check: &Check) -> Verdict {
    let summary = summary::summarise(&check.steps);
    verdict::decide(&verdict::Facts {
        steps: &check.steps,
        summary: &summary,
        storage: &check.storage,
        cores: check.machine.cpu.cores_usable,
        caveats: &check.caveats,
    })
}

/// A quiet machine with a device of many queues.
fn quiet() -> Check {
    let mut check = fixture::check();
    check.caveats.clear();
    check
}

fn each_point(check: &mut Check, id: &str, change: impl Fn(&mut iostack_model::Point)) {
    let step = check.steps.iter_mut().find(|step| step.id == id).expect("the fixture has every step");
    step.points.iter_mut().for_each(change);
}

#[test]
fn an_idle_machine_with_a_bent_curve_is_limited_by_its_device() {
    let verdict = judged(&quiet());
    assert_eq!(verdict.limit, Limit::Device, "{}", verdict.answer);
    assert!(
        verdict.evidence.iter().any(|line| line.contains("saturates at depth")),
        "{:?}",
        verdict.evidence
    );
}

#[test]
fn a_busy_neighbour_forbids_any_verdict() {
    let mut check = quiet();
    check.caveats.push(Caveat::ForeignCpu { share: 0.5 });
    assert_eq!(judged(&check).limit, Limit::Unknown);
}

#[test]
fn a_cgroup_limit_is_a_cap() {
    let mut check = quiet();
    check.caveats.push(Caveat::IoLimit { line: "io.max: 254:0 riops=1000".into() });
    let verdict = judged(&check);
    assert_eq!(verdict.limit, Limit::Cap);
    assert!(verdict.answer.contains("riops=1000"));
}

#[test]
fn curves_that_all_end_at_one_rate_are_a_cap() {
    let mut check = quiet();
    let step = check.steps.iter_mut().find(|step| step.id == "depth").expect("there");
    for point in &mut step.points {
        let rate = 3000.0 * (point.x / 4.0).min(1.0);
        let iops = &mut point.outcome.iops;
        (iops.mean, iops.low, iops.high) = (rate, rate * 0.999, rate * 1.001);
    }
    assert_eq!(judged(&check).limit, Limit::Cap);
}

#[test]
fn cores_that_are_all_busy_are_the_limit() {
    let mut check = quiet();
    for id in ["depth", "threads", "engines"] {
        each_point(&mut check, id, |point| point.outcome.cpu.machine_busy = 0.97);
    }
    assert_eq!(judged(&check).limit, Limit::AllCores);
}

#[test]
fn one_busy_thread_that_more_threads_outdo_is_one_core() {
    let mut check = quiet();
    each_point(&mut check, "depth", |point| point.outcome.cpu.busiest_thread = 0.99);
    each_point(&mut check, "threads", |point| {
        point.outcome.iops.mean *= 4.0;
        point.outcome.job.threads = 8;
    });
    assert_eq!(judged(&check).limit, Limit::OneCore);
}

#[test]
fn one_queue_is_the_limit_only_where_all_its_tags_are_in_use() {
    let mut check = quiet();
    let mut with_tags = |tags| {
        let queue = &mut check.storage.devices.last_mut().expect("the fixture has devices").queue;
        (queue.hardware_queues, queue.tags) = (1, Some(tags));
        judged(&check).limit
    };
    // The fixture works on about 40 reads at once.
    assert_eq!(with_tags(32), Limit::OneQueue);
    assert_eq!(with_tags(128), Limit::Device);
}

#[test]
fn a_check_that_was_interrupted_at_once_says_unknown() {
    let mut check = quiet();
    check.steps.clear();
    assert_eq!(judged(&check).limit, Limit::Unknown);
}

#[test]
fn advice_comes_with_measured_gains_most_first() {
    let advice = judged(&quiet()).advice;
    let gains: Vec<f64> = advice.iter().filter_map(|advice| advice.gain_percent).collect();
    assert!(!gains.is_empty());
    assert!(gains.windows(2).all(|pair| pair[0] >= pair[1]), "{gains:?}");
    assert!(gains.iter().all(|gain| *gain >= 8.0), "{gains:?}");
}

#[test]
fn a_gain_within_the_intervals_is_not_advised() {
    let mut check = quiet();
    for step in &mut check.steps {
        for point in &mut step.points {
            point.outcome.iops.low = 0.0;
            point.outcome.iops.high = point.outcome.iops.mean * 1000.0;
        }
    }
    assert!(judged(&check).advice.iter().all(|advice| advice.gain_percent.is_none()));
}

#[test]
fn what_all_runs_share_is_said_once_and_half_a_second_claims_no_cliff() {
    let mut check = quiet();
    let step = |at| Caveat::Cliff { at, before: 2.0, after: 1.0 };
    for point in check.steps.iter_mut().flat_map(|step| &mut step.points) {
        point.outcome.elapsed = Nanos::millis(500);
        point.outcome.caveats = vec![Caveat::Steal { share: 0.2 }, step(Nanos(1))];
    }
    let region = Bytes(check.machine.memory.total.0 * 2);
    let caveats = doubts::lift(&mut check.steps, &check.storage, &check.machine, region);
    let steal = caveats.iter().filter(|caveat| matches!(caveat, Caveat::Steal { .. })).count();
    assert_eq!(steal, 1, "{caveats:?}");
    assert!(check.steps.iter().flat_map(|step| &step.points).all(|point| point.outcome.caveats.is_empty()));
}

#[test]
fn the_same_job_with_other_rates_is_a_drift() {
    let mut check = quiet();
    let region = check.machine.memory.total;
    let drifted = |caveats: &[Caveat]| caveats.iter().any(|caveat| matches!(caveat, Caveat::Drift { .. }));
    assert!(!drifted(&doubts::lift(&mut check.steps, &check.storage, &check.machine, region)));
    each_point(&mut check, "engines", |point| point.outcome.iops.mean /= 2.0);
    assert!(drifted(&doubts::lift(&mut check.steps, &check.storage, &check.machine, region)));
}

#[test]
fn the_summary_has_the_cells_people_compare() {
    let summary = summary::summarise(&quiet().steps);
    for name in ["SEQ1M Q8", "SEQ1M Q1", "RND4K Q32", "RND4K Q1"] {
        assert_eq!(summary.cells.iter().filter(|cell| cell.name == name).count(), 2, "{name}");
    }
    let cell = &summary.cells[0];
    assert!((cell.bandwidth.mean / cell.iops.mean - f64::from(1 << 20)).abs() < 1.0, "a cell of 1 MiB");
}
