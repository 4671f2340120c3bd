//! Numbers that no JSON holds, and answers far larger than any stored one.

use iostack_model::StackRow;
use iostack_model::answers::{IoCost, Iolat, Step};
use iostack_model::{Interval, Nanos, Outcome};

use super::sound::{assert_fits, assert_sound};
use crate::{CostDetail, Document, fixture};

/// Refuses what does not fit or is not sound; the page.
fn drawn(document: &Document) -> String {
    let page = document.html();
    assert_fits(&document.text());
    assert_sound(&page);
    page
}

fn spoil(outcome: &mut Outcome, broken: f64) {
    outcome.iops = Interval { mean: broken, low: broken, high: broken, samples: 5 };
    (outcome.depth_achieved, outcome.cpu.clocks_per_io) = (broken, broken);
    if let Some(inside) = &mut outcome.inside {
        for used in &mut inside.resources {
            (used.busy, used.service_ns, used.waiting) = (broken, broken, broken);
        }
        inside.gauges.iter_mut().for_each(|gauge| gauge.values.fill(broken));
    }
}

#[test]
fn broken_numbers_are_drawn_as_far_as_they_go() {
    let mut check = fixture::check();
    check.steps.iter_mut().for_each(|step| step.points.truncate(1));
    drawn(&crate::check(&check));
    let mut file = fixture::simulated_file();
    let mut cost = fixture::iocosts().swap_remove(2);
    let mut iolat: Iolat = fixture::answer("iolat-slower");
    for broken in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0] {
        for point in check.steps.iter_mut().flat_map(|Step { points, .. }| points) {
            point.x = broken;
            spoil(&mut point.outcome, broken);
        }
        (check.summary.cells[0].iops.mean, check.verdict.advice[0].gain_percent) = (broken, Some(broken));
        check.summary.costs.iter_mut().for_each(|cost| cost.cpu_ns_per_io = broken);
        assert_sound(&crate::check(&check).html());
        file.outcomes.iter_mut().for_each(|outcome| spoil(outcome, broken));
        assert_sound(&crate::run(&file).html());
        cost.prices.cpi = broken;
        drawn(&crate::iocost(std::slice::from_ref(&cost), None, CostDetail { full: true, tree: true }));
        for test in &mut iolat.tests {
            (test.iops.mean, test.request.mean, test.clocks.mean) = (broken, broken, broken);
            test.layer_costs[0].share.mean = broken;
        }
        drawn(&crate::iolat(&iolat));
    }
}

#[test]
fn a_full_check_a_profile_of_two_thousand_stacks_and_a_tree_of_many_calls_stay_small_pages() {
    let page = crate::check(&fixture::check()).html();
    assert!(page.len() < 500_000, "{} bytes", page.len());
    let mut layers = fixture::layers();
    let stack = |index: u64| StackRow {
        frames: (0..40)
            .map(|depth| format!("a_function_of_the_kernel_{depth}_{}", index >> (depth / 4)))
            .collect(),
        layers: vec!["block".to_owned(); 40],
        samples: 3 + index % 7,
    };
    layers.stacks = (0..2_000).map(stack).collect();
    let page = drawn(&crate::attribution(None, Some(&layers)));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    let mut cost: IoCost = fixture::iocosts().swap_remove(2);
    let tree = cost.tree.as_mut().expect("it was traced");
    let leaf =
        iostack_model::answers::CallNode { calls: Vec::new(), instructions: 7, ..tree.calls[0].clone() };
    tree.calls = vec![leaf; 20_000];
    let page = drawn(&crate::iocost(&[cost], None, CostDetail::default()));
    assert!(page.len() < 2_000_000 && page.contains("instructions are summed up"), "{} bytes", page.len());
}

#[test]
fn a_long_simulation_is_thinned_with_its_gauges() {
    let mut file = fixture::simulated_file();
    let outcome = &mut file.outcomes[0];
    let last = *outcome.series.last().expect("the fixture has a series");
    let more = outcome.series.len()..2_000;
    for gauge in &mut outcome.inside.as_mut().expect("it is simulated").gauges {
        gauge.values.extend(more.clone().map(|_| 130.0));
    }
    let at = |index: usize| iostack_model::IntervalFlow { start: Nanos::secs(index as u64), ..last };
    outcome.series.extend(more.map(at));
    let page = drawn(&crate::run(&file));
    assert!(page.contains("each point covers 5 s") && page.contains("free blocks used up"));
}
