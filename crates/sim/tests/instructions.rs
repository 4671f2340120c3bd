//! What a simulated request costs, in instructions: these repeat where times do not, so they may be a gate.
//!
//! valgrind counts this program itself, started again to do so much work and a little less; the difference, divided by
//! the requests between, is what one costs. Where valgrind is missing, the tests skip aloud.

#[path = "../examples/sim_speed/work.rs"]
mod work;

use std::process::Command;

/// Says what `the_work` does: a name and a count.
const WORK: &str = "IOSTACK_TEST_SIM_WORK";

#[test]
#[ignore = "helper: the work whose instructions the other tests count"]
fn the_work() {
    let Ok(words) = std::env::var(WORK) else { return };
    let (name, count) = words.split_once(' ').expect("a name and a count");
    std::hint::black_box(work::counted(name, count.parse().expect("a number")));
}

/// Instructions of this program while it does so much; `None` where nobody counts them.
fn instructions(name: &str, count: u64) -> Option<u64> {
    let own = std::env::current_exe().expect("Linux tells");
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(own)
        .args(["--ignored", "--exact", "the_work", "--test-threads=1"])
        .env(WORK, format!("{name} {count}"))
        .output();
    let output = output.ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let line = said.lines().find(|line| line.contains("I refs:") || line.contains("I   refs:"));
    let digits: String = line.unwrap_or_else(|| panic!("{said}")).split("refs:").last()?.replace(',', "");
    Some(digits.trim().parse().unwrap_or_else(|_| panic!("{said}")))
}

/// One of them takes no more than `most`.
fn cost_at_most(name: &str, [few, many]: [u64; 2], most: f64) {
    let (Some(before), Some(after)) = (instructions(name, few), instructions(name, many)) else {
        let test = std::thread::current().name().unwrap_or(name).to_owned();
        println!("SKIPPED {test}: valgrind is not installed");
        return;
    };
    let each = (after - before) as f64 / (many - few) as f64;
    println!("{name}: {each:.1} instructions each");
    assert!(each > 20.0, "{name}: {each:.1} instructions each are too few to be true");
    assert!(each <= most, "{name}: {each:.1} instructions each, and {most} are allowed");
}

// The limits are half as much again as this build, with its checks, took when they were set: 2120, 9610 and 565; of the
// host 4260 and 4150. The
// optimised build takes about a fifth less; bench/history.ndjson has them.

#[test]
fn a_random_read_costs_at_most_3200_instructions() {
    cost_at_most("read", [1_000, 6_000], 3_200.0);
}

#[test]
fn a_random_write_with_its_garbage_collection_costs_at_most_14500_instructions() {
    cost_at_most("write", [1_000, 6_000], 14_500.0);
}

#[test]
fn a_write_of_the_translation_layer_costs_at_most_850_instructions() {
    cost_at_most("layer", [25_600, 51_200], 850.0);
}

// Of the host alone, before drives that answer at once: threads, cores, interrupts, adapters.

#[test]
fn a_read_of_a_thread_that_sleeps_costs_the_host_at_most_6400_instructions() {
    cost_at_most("psync", [2_000, 12_000], 6_400.0);
}

#[test]
fn a_read_in_a_ring_costs_the_host_at_most_6400_instructions() {
    cost_at_most("io_uring", [2_000, 12_000], 6_400.0);
}
