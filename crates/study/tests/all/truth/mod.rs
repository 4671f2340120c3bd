//! Does the verdict of a check name what truly limits? Held against platforms whose truth is known, because each was built
//! so: a number of its sheet is drawn until one part is the limit, and the simulation itself says which part was full.
//!
//! | answer | allowed |
//! | --- | --- |
//! | right | in 95 of 100 |
//! | `unknown` | in the rest |
//! | another limit | never; of the disturbed of the slow test in one of 100 |
//!
//! Of some truths there are few draws; then the seed of the reads alone tells one from another. All in virtual time: the same in
//! every run. What disturbs a check, and how, stands in `disturbed.rs`.

mod advice;
mod disturbed;
mod platforms;

use disturbed::{Disturbance, Platform};
use iostack_model::answers::{Check, Limit, Point, StepKind};

use platforms::{TRUTHS, Truth, each};

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

/// True if the draw is what it is drawn to be.
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

/// Result of a check.
#[derive(Clone, Copy, PartialEq)]
enum Came {
    Right,
    Unknown,
    Wrong,
    /// A neighbour made something else the limit.
    NotSo,
}

/// A platform, checked once for each of what disturbs it, of which every `part`th is taken.
fn came(truth: &'static Truth, draw: u64, part: u64) -> Vec<(&'static str, Disturbance, Came, String)> {
    let platform = Platform::drawn(truth, draw);
    let kinds = (draw..)
        .zip(Disturbance::of_truth(truth))
        .filter(|(at, what)| at % part == 0 || *what == Disturbance::Nothing);
    let checked = kinds.map(|(_, what)| {
        let check = platform.checked(truth, what, draw);
        let Truth { name, on, .. } = truth;
        let said = format!("{name} {on} beside {what:?}, draw {draw}: {}", check.verdict.answer);
        let is_true = is_true(truth, &check);
        let so = !what.is_real() || is_true;
        assert!(what != Disturbance::Nothing || is_true, "this draw is not what it is to be: {said}");
        let came = match check.verdict.limit {
            _ if !so => Came::NotSo,
            limit if truth.limits.contains(&limit) => Came::Right,
            Limit::Unknown => Came::Unknown,
            _ => Came::Wrong,
        };
        (truth.name, what, came, said)
    });
    checked.collect()
}

/// Draws from here on were looked at only once the rules stood.
const FRESH: u64 = 3000;

/// Holds that at `most` so many of 100 are wrong, and that at `least` so many of 100 undisturbed ones are right; the number of
/// disturbed ones.
fn hold(cases: &[(&'static Truth, u64)], part: u64, least: usize, most: usize) -> usize {
    let found = each(cases, |truth, draw| came(truth, draw, part)).concat();
    let count = |name: &str, what: Option<Disturbance>, came: Came| {
        let of = |row: &&(&str, Disturbance, Came, String)| {
            (name.is_empty() || row.0 == name) && what.is_none_or(|what| row.1 == what) && row.2 == came
        };
        found.iter().filter(of).count()
    };
    let all = [Came::Right, Came::Unknown, Came::Wrong, Came::NotSo];
    println!("right/unknown/wrong/not so");
    for what in Disturbance::all() {
        let has_it = |truth: &&Truth| Disturbance::of_truth(truth).any(|other| other == what);
        let names = TRUTHS.iter().filter(has_it).map(|truth| (truth.name, truth.name));
        for (name, shown) in names.chain([("", "in all")]) {
            let told = all.map(|came| count(name, Some(what), came).to_string()).join("/");
            println!("{:<18} {shown:<30} {told}", format!("{what:?}"));
        }
    }
    let wrong: Vec<&str> =
        found.iter().filter(|row| row.2 == Came::Wrong).map(|row| row.3.as_str()).collect();
    assert!(wrong.len() * 100 <= found.len() * most, "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    let right = count("", Some(Disturbance::Nothing), Came::Right);
    assert!(right * 100 >= cases.len() * least, "{right} of {} that nothing disturbs", cases.len());
    found.len() - cases.len() - count("", None, Came::NotSo)
}

/// The draws of each truth that `draws` names.
fn cases<I: Iterator<Item = u64>>(draws: impl Fn(&Truth) -> I) -> Vec<(&'static Truth, u64)> {
    TRUTHS.iter().flat_map(|truth| draws(truth).map(move |draw| (truth, draw))).collect()
}

#[test]
fn the_verdict_is_never_wrong_with_confidence_and_names_the_limit_of_what_nothing_disturbs() {
    hold(&cases(|truth| 1..=truth.draws / 8), 4, 95, 0);
}

#[test]
#[ignore = "slow: two minutes"]
fn the_verdict_names_the_limit_of_300_platforms() {
    let cases = cases(|truth| 1..=truth.draws);
    assert_eq!(cases.len(), 300);
    hold(&cases, u64::MAX, 95, 0);
}

#[test]
#[ignore = "slow: some minutes"]
fn the_verdict_is_wrong_in_one_of_a_hundred_at_most_beside_noise_neighbours_and_caches() {
    // Seen: three of 476, each a cap that is shared with a neighbour whom nobody sees.
    assert!(hold(&cases(|_| FRESH..FRESH + 5), 1, 90, 1) >= 300);
}
