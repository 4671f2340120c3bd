//! Does the verdict stand within what runs of the same job differ by, and only within that?

use std::cell::Cell;

use super::super::scatter::{DISSENT, TRIALS, firm};
use super::*;

/// A quiet machine on which each run of a job gives the same rate, and the reads and writes of two steps are the same jobs.
fn repeated() -> Check {
    let mut check = quiet();
    for step in &mut check.steps {
        for outcome in step.points.iter_mut().map(|point| &mut point.outcome) {
            if matches!(step.id, StepKind::Depth | StepKind::Cells) && outcome.job.queue_depth != 8 {
                outcome.job.name.clear();
            }
            outcome.elapsed = Nanos((outcome.ios() as f64 / outcome.iops.mean * 1e9) as u64);
        }
    }
    check
}

#[test]
fn a_verdict_stands_unless_more_than_one_trial_in_twenty_finds_another_limit() {
    assert_eq!(DISSENT as u64 * 20, TRIALS);
    let check = repeated();
    let limit_with = |dissent: usize| {
        let left = Cell::new(dissent);
        let summary = summary::summarise(&check.steps);
        let place = place_for_tests();
        let facts = facts_of(&check, &place, &summary);
        let judge = |_: &Facts<'_>| match left.replace(left.get().saturating_sub(1)) {
            0 => Limit::Device,
            _ => Limit::Cap,
        };
        firm(&facts, (Limit::Device, "The device.".to_owned()), judge)
    };
    assert_eq!(limit_with(DISSENT).0, Limit::Device);
    let (limit, answer) = limit_with(DISSENT + 1);
    assert_eq!(limit, Limit::Unknown);
    assert!(answer.contains("the limit may also be a cap. As they are: The device."), "{answer}");
}

#[test]
fn what_rates_are_off_by_is_of_runs_that_were_asked_the_same() {
    let mut check = repeated();
    let scatter = |check: &Check| {
        let Scatter { few, many, writes } = Scatter::of_steps(&check.steps);
        [few, many, writes].map(|share| (share * 1000.0).round() as u32)
    };
    assert_eq!(scatter(&check), [0; 3]);
    // Buffered reads and the raw device are other ways.
    each_point(&mut check, StepKind::Paths, |point| point.outcome.elapsed.0 *= 2);
    assert_eq!(scatter(&check), [0; 3]);
    // One run of two is a tenth slower: they are off by the logarithm of 1.1, over the root of two.
    let mut slower = |depth, series: Series| {
        each_point(&mut check, StepKind::Depth, |point| {
            if point.outcome.job.in_flight() == depth && point.series == series {
                point.outcome.elapsed.0 = point.outcome.elapsed.0 * 11 / 10;
            }
        });
        scatter(&check)
    };
    assert_eq!(slower(32, Series::RandomWrite), [0, 0, 67]);
    assert_eq!(slower(32, Series::RandomRead), [39, 39, 67], "as few do");
    assert_eq!(slower(1, Series::RandomRead), [67; 3]);
}
