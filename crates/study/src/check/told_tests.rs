//! Is the best advice first, is what all runs share said once, and are the cells of the summary there?

use super::*;

/// Doubts of the whole check, of a region of this size.
fn lifted(check: &mut Check, region: Bytes) -> Vec<Caveat> {
    doubts::lift(&mut check.steps, &check.storage, &check.machine, region)
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
    every_outcome(&mut check, |outcome| {
        (outcome.iops.low, outcome.iops.high) = (0.0, outcome.iops.mean * 1000.0);
    });
    assert!(judged(&check).advice.iter().all(|advice| advice.gain_percent.is_none()));
}

#[test]
fn what_a_simulation_leaves_out_is_said_of_the_whole_or_of_the_figure_that_it_concerns() {
    let mut check = quiet();
    let lacks = |what: &str| Caveat::NotSimulated { what: what.to_owned() };
    every_outcome(&mut check, |outcome| outcome.caveats = vec![lacks("the host")]);
    each_point(&mut check, StepKind::Sync, |point| point.outcome.caveats.push(lacks("a flush")));
    let whole = lifted(&mut check, Bytes::gib(4));
    assert!(whole.contains(&lacks("the host")) && !whole.contains(&lacks("a flush")), "{whole:?}");
    each_point(&mut check, StepKind::Sync, |point| assert_eq!(point.outcome.caveats, [lacks("a flush")]));
}

#[test]
fn a_simulation_is_told_once_though_figures_rest_on_other_numbers_of_it() {
    let mut check = quiet();
    let rests_on = |assumed| Caveat::Simulated { device: "d".to_owned(), sourced: 1, fitted: 2, assumed };
    every_outcome(&mut check, |outcome| outcome.caveats = vec![rests_on(3)]);
    each_point(&mut check, StepKind::Schedulers, |point| point.outcome.caveats = vec![rests_on(4)]);
    let whole = lifted(&mut check, Bytes::gib(4));
    assert!(whole.contains(&rests_on(3)) && !whole.contains(&rests_on(4)), "{whole:?}");
    each_point(&mut check, StepKind::Schedulers, |point| assert_eq!(point.outcome.caveats, []));
}

#[test]
fn the_same_reads_under_another_scheduler_are_not_the_same_job() {
    let drifts = |name: &str| {
        let mut check = quiet();
        let mut named = [("none", 100_000.0), (name, 1_000.0)].into_iter();
        each_read(&mut check, StepKind::Schedulers, |point| {
            let Some((name, rate)) = named.next() else { return };
            at_rate(point, rate);
            point.outcome.job.host.scheduler = Some(name.to_owned());
        });
        lifted(&mut check, Bytes::gib(4))
            .iter()
            .any(|doubt| matches!(doubt, Caveat::Drift { low, .. } if *low < 2_000.0))
    };
    assert!(drifts("none") && !drifts("kyber"));
}

#[test]
fn what_all_runs_share_is_said_once_and_half_a_second_claims_no_cliff() {
    let mut check = quiet();
    let step = |at| Caveat::Cliff { at, before: 2.0, after: 1.0 };
    every_outcome(&mut check, |outcome| {
        (outcome.elapsed, outcome.cpu.steal) = (Nanos::millis(500), 0.2);
        outcome.caveats = vec![Caveat::Steal { share: 0.2 }, step(Nanos(1))];
    });
    let region = Bytes(check.machine.memory.total.0 * 2);
    let caveats = lifted(&mut check, region);
    let steal = caveats.iter().filter(|caveat| matches!(caveat, Caveat::Steal { .. })).count();
    assert_eq!(steal, 1, "{caveats:?}");
    assert!(check.steps.iter().flat_map(|step| &step.points).all(|point| point.outcome.caveats.is_empty()));
}

#[test]
fn the_heaviest_doubt_comes_first_and_a_certain_cache_replaces_a_possible_one() {
    let mut check = quiet();
    every_outcome(&mut check, |outcome| outcome.cpu.steal = 0.2);
    let region = Bytes(check.machine.memory.total.0 / 2);
    let mut doubts = |rotational| {
        check.storage.devices.last_mut().expect("the fixture has devices").rotational = rotational;
        lifted(&mut check, region)
    };
    assert!(matches!(doubts(true)[..], [Caveat::CacheBelow { .. }, Caveat::Steal { .. }]));
    assert!(matches!(doubts(false)[..], [Caveat::Steal { .. }, Caveat::SmallRegion { .. }]));
}

#[test]
fn the_setting_of_a_lower_disk_is_said_to_be_its() {
    let mut check = quiet();
    let device = check.storage.devices.last().expect("the fixture has devices").clone();
    let whose = advice::whose(&check.storage, &device.name);
    assert_eq!(whose, format!(" on {}", device.name), "below a partition only");
    let above = BlockDevice { name: "loop0".into(), role: "loop".into(), ..BlockDevice::default() };
    check.storage.devices.insert(0, above);
    let whose = advice::whose(&check.storage, &device.name);
    assert!(whose.contains("below loop0"), "{whose}");
}

#[test]
fn the_same_job_with_other_rates_is_a_drift() {
    let mut check = quiet();
    let region = check.machine.memory.total;
    let drifted = |caveats: &[Caveat]| caveats.iter().any(|caveat| matches!(caveat, Caveat::Drift { .. }));
    assert!(!drifted(&lifted(&mut check, region)));
    each_point(&mut check, StepKind::Engines, |point| point.outcome.iops.mean /= 2.0);
    assert!(drifted(&lifted(&mut check, region)));
}

#[test]
fn the_summary_has_the_cells_people_compare() {
    let summary = summary::summarise(&quiet().steps);
    for name in [CellName::Sequential8, CellName::Sequential1, CellName::Random32, CellName::Random1] {
        assert_eq!(summary.cells.iter().filter(|cell| cell.name == name).count(), 2, "{name}");
    }
    let cell = &summary.cells[0];
    assert!((cell.bandwidth.mean / cell.iops.mean - f64::from(1 << 20)).abs() < 1.0, "a cell of 1 MiB");
}
