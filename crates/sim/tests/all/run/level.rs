//! Are steady writes level from second to second, also while blocks or the SLC cache are few?

use iostack_model::{Access, Engine, Job, Mix, Nanos};
use iostack_sim::run::{RunOptions, run};

use crate::load::changed_sheet;

/// A second may differ from the one before by this share.
const LEVEL: f64 = 0.15;

/// Random writes of 4 KiB in each second, after a ramp.
fn seconds(drive: &str, changes: &[(&str, &str)], (ramp, runtime): (u64, u64)) -> Vec<f64> {
    let job = Job {
        mix: Mix::WRITE,
        access: Access::UNIFORM,
        engine: Engine::IO_URING,
        queue_depth: 32,
        time_based: true,
        ramp: Nanos::secs(ramp),
        runtime: Some(Nanos::secs(runtime)),
        slice: Nanos::secs(1),
        ..Job::default()
    };
    let ran = run(&changed_sheet(drive, changes), &[job], &RunOptions::seeded(1));
    let ran = ran.unwrap_or_else(|error| panic!("{drive}: {error}"));
    ran.outcomes[0].series[..runtime as usize].iter().map(|second| second.ios[1] as f64).collect()
}

/// The largest change from a second to the next.
fn swing(seconds: &[f64]) -> f64 {
    seconds.windows(2).map(|pair| (pair[0] - pair[1]).abs() / pair[0].min(pair[1])).fold(0.0, f64::max)
}

fn assert_level(drive: &str, changes: &[(&str, &str)], times: (u64, u64)) {
    let seconds = seconds(drive, changes, times);
    let swing = swing(&seconds);
    println!("{drive} {changes:?}: swing {:.1} %, {seconds:?}", swing * 100.0);
    assert!(swing <= LEVEL, "{drive} {changes:?}: {seconds:?}");
}

/// Few dies, and little behind them, so that a second is many steps of each.
const FEW: &[(&str, &str)] =
    &[("flash.channels", "2"), ("flash.chips", "4"), ("flash.capacity", "64GB"), ("slc.size", "1GiB")];

#[test]
fn writes_are_level_while_collection_and_folding_share_the_dies() {
    for full in ["direct", "fold"] {
        let changes = [FEW, &[("slc.full", full), ("flash.state", "steady")]].concat();
        // In the first rounds, all planes begin and end a block at about the same time.
        assert_level("tlc-1t", &changes, (22, 8));
    }
}

#[test]
fn a_sheet_may_say_that_writes_wait_for_whole_blocks() {
    let changes = [FEW, &[("gc.pacing", "block"), ("flash.state", "steady")]].concat();
    let seconds = seconds("tlc-1t", &changes, (20, 10));
    assert!(swing(&seconds) > 2.0 * LEVEL, "{seconds:?}");
}

#[test]
#[ignore = "slow: some ten million writes"]
fn steady_writes_are_level_on_each_drive_that_is_shipped() {
    let steady = [("flash.state", "steady")];
    for small in ["970pro", "c300", "iodrive", "samsung-mlc", "samsung-slc", "x25e", "cmu-a", "cmu-b"] {
        assert_level(small, &steady, (5, 10));
    }
    let less = |capacity| [&steady[..], &[("flash.capacity", capacity)]].concat();
    // Its planes collect in step at first: up to 24 % from second to second until then.
    assert_level("datacentre", &less("384GB"), (85, 10));
    assert_level("pm9a3", &less("384GB"), (8, 10));
    assert_level("d7-p5500", &less("768GB"), (8, 10));
    assert_level("d5-p4320", &less("384GB"), (30, 10));
    let part = [&steady[..], &[("flash.capacity", "200GB"), ("slc.size", "1GiB")]].concat();
    assert_level("tlc-1t", &part, (5, 10));
    for slow in ["qlc-2t", "980pro", "980"] {
        assert_level(slow, &part, (30, 10));
    }
}
