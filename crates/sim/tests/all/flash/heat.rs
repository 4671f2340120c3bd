//! A drive that gets too warm: when it does, and how fast it is then.

use iostack_model::Stage;
use iostack_sim::engine::Kind;

use super::{CAPACITY, refusal, world};
use crate::load::{closed_loop, near};

/// 35 degrees without work, and 45 more until commands are held back.
const WARM: &[(&str, &str)] = &[
    ("heat.limit", "80"),
    ("heat.hysteresis", "10"),
    ("heat.constant", "100ms"),
    ("heat.idle", "0.4"),
    ("heat.resistance", "25"),
];
const TAU: f64 = 0.1;

/// Seconds from so many degrees of excess to others, on the way to those at which power and cooling meet.
fn way(from: f64, to: f64, end: f64) -> f64 {
    TAU * ((end - from) / (end - to)).ln()
}

#[test]
fn writes_fall_to_the_rate_of_a_warm_drive_when_it_is_warm() {
    let fresh = [("flash.state", "fresh")];
    let write = |changes: &[(&str, &str)], count| {
        let mut world = world(&[&fresh[..], changes].concat());
        closed_loop(&mut world, 16, count, |index| (Kind::Write, index * 4096, 4096))
    };
    let cold = write(&[], 8_000).rate();
    near(cold, 4.0 / 210e-6, 0.01);
    // 3.8 W lead to 95 degrees more; at 10,000/s 2 W are 50, too many for it to be let go.
    let heat = [("heat.program", "1"), ("heat.rate", "40.96MB/s")];
    let seen = write(&[WARM, &heat].concat(), 8_000);
    let (elapsed, held) = (seen.elapsed as f64 / 1e9, 10_000.0);
    // So many writes take that long only if the rate fell then.
    let fell = (elapsed - 8_000.0 / held) / (1.0 - cold / held);
    near(fell, way(0.0, 45.0, cold * 200e-6 * 25.0), 0.02);
    near(seen.resource("throttle").busy, 1.0 - fell / elapsed, 0.02);
    // All 16 but the ones at the dies wait in the firmware.
    assert!(seen.stage(Stage::Controller) > seen.latencies.iter().sum::<u64>() / 2);
}

#[test]
fn a_drive_that_cools_is_fast_again_until_it_is_warm_again() {
    let heat = [("heat.sense", "1"), ("heat.rate", "81.92MB/s")];
    let mut world = world(&[WARM, &heat].concat());
    let pages = CAPACITY / 4096;
    let count = 150_000;
    let seen = closed_loop(&mut world, 16, count, |index| (Kind::Read, index % pages * 4096, 4096));
    let (fast, slow) = (4.0 / 35e-6, 20_000.0);
    let [hot, cool] = [fast, slow].map(|rate| rate * 25e-6 * 25.0);
    let (first, up, down) = (way(0.0, 45.0, hot), way(35.0, 45.0, hot), way(45.0, 35.0, cool));
    let mean = (up * fast + down * slow) / (up + down);
    near(seen.elapsed as f64 / 1e9, first + (count as f64 - first * fast) / mean, 0.02);
    let gauges = world.gauges();
    let degrees = gauges.iter().find(|(name, _)| *name == "temperature").expect("it has one").1;
    assert!((69.9..80.1).contains(&degrees), "{degrees}");
}

#[test]
fn heat_that_cannot_be_is_refused() {
    let rate = ("heat.rate", "40.96MB/s");
    for (change, key, remedy) in [
        (("heat.idle", "2"), "heat.limit", "less heat.hysteresis"),
        (("heat.constant", "0"), "heat.constant", "like 100s"),
        (("heat.resistance", "none"), "heat.resistance", "like 1.5"),
    ] {
        let text = refusal(&[WARM, &[rate, change]].concat());
        assert!(text.contains(key) && text.contains(remedy), "{text}");
    }
    assert!(refusal(WARM).contains("heat.rate"));
}
