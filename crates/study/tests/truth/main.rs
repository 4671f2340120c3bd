//! Does the verdict of a check name what truly limits? Held against platforms whose truth is known, because each was built
//! so: a number of its sheet is drawn until one part is the limit, and the simulation itself says which part was full.
//!
//! | answer | allowed |
//! | --- | --- |
//! | right | in 95 of 100 |
//! | `unknown` | in the rest |
//! | another limit | never |
//!
//! Of some truths there are few draws; then the seed of the reads alone tells one from another. All in virtual time: the same in
//! every run. What foreign programs do to a verdict no simulation has; `tests.rs` of the check bends measurements for it.

mod advice;
mod platforms;

use std::collections::BTreeMap;

use iostack_model::answers::{Check, Limit, Point, StepKind};

use platforms::{TRUTHS, Truth, checked, drawn, each};

/// The small random reads in these steps that reach the most, or nearly.
fn most<'a>(check: &'a Check, steps: &[StepKind]) -> Vec<&'a Point> {
    let points = || check.steps.iter().filter(|step| steps.contains(&step.id)).flat_map(|step| &step.points);
    let reads = || points().filter(|point| !point.outcome.job.mix.destroys());
    let most = reads().map(|point| point.outcome.iops.mean).fold(0.0, f64::max);
    reads().filter(|point| point.outcome.iops.mean >= most * NEARLY).collect()
}

/// Rates of one level differ by no more.
const NEARLY: f64 = 0.95;

/// Busy for this share of the time a part is full.
const FULL: f64 = 0.9;

/// That the draw is what it is drawn to be.
fn is_true(truth: &Truth, check: &Check) -> bool {
    let ways = [&[StepKind::Depth][..], &[StepKind::Depth, StepKind::Threads, StepKind::Engines]];
    let ends =
        ways.iter().flat_map(|steps| most(check, steps)).filter_map(|point| point.outcome.inside.as_ref());
    let mut full = ends.flat_map(|inside| &inside.resources).filter(|part| part.busiest >= FULL);
    match truth.full {
        Some(name) => full.any(|part| part.name == name),
        None => full.next().is_none(),
    }
}

#[test]
fn the_verdict_names_the_limit_of_300_platforms_and_is_never_wrong_with_confidence() {
    let cases: Vec<_> =
        TRUTHS.iter().flat_map(|truth| (1..=truth.draws).map(move |draw| (truth, draw))).collect();
    let found = each(&cases, |truth, draw| {
        let set = drawn(truth, draw);
        let check = checked(truth.on, &set, truth.effort, draw);
        (truth, set, check)
    });
    let (mut right, mut wrong) = (0, Vec::new());
    let mut table: BTreeMap<&str, [u32; 3]> = BTreeMap::new();
    for (truth, set, check) in &found {
        let said = format!("{} {}: {}", truth.on, set.join(" "), check.verdict.answer);
        assert!(is_true(truth, check), "this draw is not what it is to be: {said}");
        let row = table.entry(truth.name).or_default();
        if truth.limits.contains(&check.verdict.limit) {
            (right, row[0]) = (right + 1, row[0] + 1);
        } else if check.verdict.limit == Limit::Unknown {
            row[1] += 1;
        } else {
            row[2] += 1;
            wrong.push(said);
        }
    }
    assert_eq!(found.len(), 300);
    println!("{:<30}  right  unknown  wrong", "limit");
    for (name, [right, unknown, wrong]) in table {
        println!("{name:<30}  {right:>5}  {unknown:>7}  {wrong:>5}");
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(right * 100 >= found.len() * 95, "{right} of {}", found.len());
}
