//! Known curves, known verdicts.

use super::predicate::{Judged, Test, judge, number, percent};

fn line(values: &[f64]) -> Vec<(f64, f64)> {
    std::iter::successors(Some(1.0), |x| Some(x * 2.0)).zip(values.iter().copied()).collect()
}

fn windows(values: &[f64]) -> Vec<(f64, f64)> {
    values.iter().enumerate().map(|(index, &y)| (25.0 * index as f64, y)).collect()
}

fn judged_alone(test: Test, first: &[(f64, f64)]) -> Judged {
    judge(test, first, None, None).expect("the test can be made")
}

fn against(test: Test, first: &[(f64, f64)], second: &[(f64, f64)]) -> Judged {
    judge(test, first, Some(second), None).expect("the test can be made")
}

#[test]
fn a_rise_from_nothing_is_told_without_a_number() {
    let judged =
        judge(Test::Rises { by: 2.0 }, &[(1.0, 0.0), (2.0, 3.0)], None, None).expect("it can be judged");
    assert!(judged.holds && judged.ours.ends_with("no number times"), "{}", judged.ours);
}

#[test]
fn a_figure_holds_up_to_its_bound_and_no_further() {
    let (value, points) = (Test::Value { within: 0.0501 }, Test::Points { within: 5.0 });
    let adds = Test::Adds { within: 0.1 };
    // Claimed, the other point of a ratio or a difference, what holds, what does not.
    for (test, claimed, other, holding, failing) in [
        (value, 100.0, None, [95.0, 105.0], [94.9, 105.1]),
        (points, 28.0, None, [23.0, 33.0], [22.9, 33.1]),
        (value, 0.8, Some(100.0), [76.0, 84.0], [75.9, 84.1]),
        (adds, 50.0, Some(100.0), [146.0, 154.0], [144.0, 156.0]),
        (Test::AtMost, 10.0, None, [9.0, 10.0], [10.1, 11.0]),
        (Test::AtLeast, 10.0, None, [10.0, 11.0], [9.0, 9.9]),
    ] {
        let other = other.map(|other| [(1.0, other)]);
        let judged = |ours| {
            let second = other.as_ref().map(|point| &point[..]);
            judge(test, &[(1.0, ours)], second, Some(claimed)).expect("made")
        };
        for (ours, holds) in
            holding.map(|ours| (ours, true)).into_iter().chain(failing.map(|ours| (ours, false)))
        {
            assert_eq!(judged(ours).holds, holds, "{test:?} {ours}");
        }
    }
    let ratio = judge(value, &[(1.0, 82.0)], Some(&[(1.0, 100.0)]), Some(0.8)).expect("made");
    assert_eq!((ratio.ours.as_str(), ratio.holds), ("0.82", true));
    assert!((ratio.difference.expect("numbers") - 0.025).abs() < 1e-12);
}

#[test]
fn the_knee_is_where_it_is_claimed_or_it_does_not_hold() {
    let four = line(&[20.0, 40.0, 78.0, 80.0, 81.0, 80.0]);
    let at = |claimed| judge(Test::KneeAt { within: 0.05 }, &four, None, Some(claimed)).expect("made");
    assert!(at(4.0).holds && !at(8.0).holds && !at(2.0).holds);
    let rising = line(&[1.0, 2.0, 4.0, 8.0]);
    let judged = judge(Test::KneeAt { within: 0.05 }, &rising, None, Some(8.0)).expect("made");
    assert!(!judged.holds && judged.ours.contains("still rising"));
}

#[test]
fn the_sharpest_bend_counts_the_stations() {
    let depths = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0];
    for stations in [3.0, 5.0, 9.0] {
        let curve: Vec<(f64, f64)> =
            depths.iter().map(|&n| (n, n * stations / (n + stations - 1.0))).collect();
        let judged = judge(Test::BendsAt, &curve, None, Some(stations - 1.0)).expect("made");
        assert!(judged.holds, "{stations}: {}", judged.ours);
    }
    let straight = judge(Test::BendsAt, &line(&[1.0, 2.0, 4.0, 8.0]), None, Some(2.0)).expect("made");
    assert!(!straight.holds);
    assert!(judge(Test::BendsAt, &line(&[1.0, 2.0]), None, Some(2.0)).is_err());
}

#[test]
fn what_rises_never_falls_and_arrives_high_enough() {
    let rises = Test::Rises { by: 1.5 };
    assert!(judged_alone(rises, &line(&[10.0, 12.0, 12.0, 16.0])).holds);
    assert!(judged_alone(rises, &line(&[10.0, 12.0, 11.9, 16.0])).holds, "one percent is noise");
    assert!(!judged_alone(rises, &line(&[10.0, 18.0, 15.0, 16.0])).holds, "it falls");
    assert!(!judged_alone(rises, &line(&[10.0, 11.0, 12.0])).holds, "too little");
    assert!(!judged_alone(rises, &line(&[10.0])).holds, "one point is no curve");
}

#[test]
fn what_is_flat_stays_within_its_share() {
    let flat = Test::FlatWithin { within: 0.1 };
    assert!(judged_alone(flat, &line(&[100.0, 91.0, 95.0])).holds);
    assert!(!judged_alone(flat, &line(&[100.0, 89.0, 95.0])).holds);
    assert_eq!(judged_alone(flat, &line(&[100.0, 95.0])).ours, "95 to 100: within 5.0 %");
    assert!(!judged_alone(flat, &line(&[0.0, 0.0])).holds, "nothing is not flat");
}

#[test]
fn a_cliff_is_high_then_falls_fast_then_is_level() {
    let cliff = Test::FallsThenLevel { to: 0.7, within: 0.1 };
    let judged = judged_alone(
        cliff,
        &windows(&[90.0, 90.0, 90.0, 40.0, 31.0, 30.0, 29.0, 30.0, 31.0, 30.0, 30.0, 30.0]),
    );
    assert!(judged.holds, "{}", judged.ours);
    assert_eq!(judged.ours, "90 falls to 30 (33 %) between 75 s and 100 s");
    for (values, why) in [
        (&[90.0; 12][..], "falls to 90 only"),
        (&[90.0, 84.0, 78.0, 72.0, 66.0, 60.0, 54.0, 48.0, 30.0, 30.0, 30.0, 30.0], "falls slowly"),
        (&[90.0, 90.0, 90.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0, 60.0, 30.0, 30.0], "no level"),
        (&[90.0, 30.0, 30.0], "only 3 windows"),
    ] {
        let judged = judged_alone(cliff, &windows(values));
        assert!(!judged.holds && judged.ours.contains(why), "{}", judged.ours);
    }
}

#[test]
fn the_rate_is_level_when_the_free_blocks_are_gone() {
    let rate = windows(&[90.0, 90.0, 90.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0]);
    let low = Test::LevelsWhenLow { windows: 1.0, within: 0.1 };
    let gone = windows(&[100.0, 60.0, 30.0, 2.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    assert!(against(low, &rate, &gone).holds);
    let late = windows(&[100.0, 90.0, 80.0, 70.0, 60.0, 40.0, 20.0, 1.0, 1.0]);
    assert!(!against(low, &rate, &late).holds);
    let never_high = windows(&[30.0; 9]);
    assert!(!against(low, &never_high, &gone).holds, "what was never above is not levelled by anything");
}

#[test]
fn equal_shapes_keep_the_same_share() {
    let shape = Test::EqualShape { to: 0.7, within: 0.15 };
    let whole = windows(&[90.0, 90.0, 90.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0]);
    let sooner = windows(&[88.0, 31.0, 31.0, 31.0, 31.0, 31.0, 31.0, 31.0, 31.0]);
    let milder = windows(&[90.0, 50.0, 50.0, 50.0, 50.0, 50.0, 50.0, 50.0, 50.0]);
    let level = windows(&[90.0; 9]);
    assert!(against(shape, &sooner, &whole).holds);
    assert!(!against(shape, &milder, &whole).holds);
    assert!(!against(shape, &level, &whole).holds && !against(shape, &whole, &level).holds);
}

#[test]
fn above_is_everywhere_above() {
    let above = Test::Above { by: 2.0 };
    assert!(against(above, &line(&[20.0, 60.0]), &line(&[10.0, 20.0])).holds);
    assert!(!against(above, &line(&[20.0, 39.0]), &line(&[10.0, 20.0])).holds);
    let two = [(1.0, 1.0), (2.0, 1.0)];
    assert!(judge(above, &two, Some(&[(3.0, 1.0)]), None).is_err(), "nothing in common");
}

#[test]
fn a_named_point_is_above_another_wherever_they_are() {
    let judged =
        |one| judge(Test::Above { by: 2.0 }, &[(1.0, one)], Some(&[(4.0, 10.0)]), None).expect("two points");
    assert!(judged(20.0).holds && !judged(19.99).holds);
    assert_eq!(judged(20.0).ours, "2 times");
}

#[test]
fn a_test_without_what_it_needs_is_an_error_not_a_verdict() {
    assert!(judge(Test::AtMost, &[], None, Some(1.0)).is_err());
    assert!(judge(Test::AtMost, &[(1.0, 1.0)], None, None).is_err());
    assert!(judge(Test::AtMost, &[(1.0, 1.0), (2.0, 1.0)], None, Some(1.0)).is_err());
    assert!(judge(Test::EqualShape { to: 0.5, within: 0.1 }, &[(1.0, 1.0)], None, None).is_err());
}

#[test]
fn numbers_keep_four_digits() {
    let shown = [0.8, 1234.5, 12_345.6, 999_960.0, 3.0, 0.0, 0.01234].map(number);
    assert_eq!(shown, ["0.8", "1234", "12.35k", "1M", "3", "0", "0.0123"]);
    assert_eq!([0.041, 0.33].map(percent), ["4.1 %", "33 %"]);
}
