//! What a simulated request costs, in instructions: these repeat where times do not, so they may be a gate.
//!
//! Where valgrind is missing, the tests skip aloud. A program of its own, since valgrind starts it again.

#[path = "../examples/sim_speed/work.rs"]
mod work;

use iostack_testkit::instructions;

#[test]
#[ignore = "helper: the work whose instructions the other tests count"]
fn the_work() {
    instructions::the_work(work::counted);
}

/// One of them takes no more than `most`.
fn cost_at_most(name: &str, between: [u64; 2], most: f64) {
    let Some(each) = instructions::each(name, between) else {
        let test = std::thread::current().name().unwrap_or(name).to_owned();
        println!("SKIPPED {test}: valgrind is not installed");
        return;
    };
    assert!(each <= most, "{name}: {each:.1} instructions each, and {most} are allowed");
}

// The limits are 2 % above what this build, with its checks, takes: 2420, 13760 and 426 (2382, 13420 and 418 before a drive could have a
// part of its mapping table only, placement handles, patrol, heat and a memory of its own: a branch each where it has not; a
// write 9884 before: programs of several pages took more than collection had won, so that the three blocks of its reserve were
// used up: 7.1 pages moved for each, and 11.4 now); of the host 4559 and 4419 (4430 and 4318 before
// requests and calendar were laid out for the cache, which the checks make dearer: the optimised build went from 4110 and 3964 to 3957
// and 3826). What grows beyond is a change that says why. bench/history.ndjson has the optimised build's.

#[test]
fn a_random_read_costs_at_most_2470_instructions() {
    cost_at_most("read", [1_000, 6_000], 2_470.0);
}

#[test]
fn a_random_write_with_its_garbage_collection_costs_at_most_14040_instructions() {
    cost_at_most("write", [1_000, 6_000], 14_040.0);
}

#[test]
fn a_write_of_the_translation_layer_costs_at_most_435_instructions() {
    cost_at_most("layer", [25_600, 51_200], 435.0);
}

// Of the host alone, before drives that answer at once: threads, cores, interrupts, adapters.

#[test]
fn a_read_of_a_thread_that_sleeps_costs_the_host_at_most_4650_instructions() {
    cost_at_most("psync", [2_000, 12_000], 4_650.0);
}

#[test]
fn a_read_in_a_ring_costs_the_host_at_most_4510_instructions() {
    cost_at_most("io_uring", [2_000, 12_000], 4_510.0);
}
