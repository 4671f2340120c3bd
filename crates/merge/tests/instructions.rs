//! What a read costs inside the library, in instructions: these repeat where times do not, so they may be a gate.
//!
//! A process of its own: valgrind counts the whole program. The device is a simulated one that takes no time. Where valgrind is missing, the tests skip aloud.

#[path = "../examples/merge_speed/work.rs"]
mod work;

use iostack_testkit::instructions;

#[test]
#[ignore = "helper: the work whose instructions the other tests count"]
fn the_work() {
    instructions::the_work(work::counted);
}

/// Instructions of one read; `None` where nobody counts them.
fn each(name: &str) -> Option<f64> {
    instructions::each(name, [1_000, 6_000])
}

/// Instructions that a name may cost more than a plain read of the same device, by a caller that is alone: 2 % above what
/// this build, with its checks, takes: 80, 433, 1015 and 539. The optimised build takes less; bench/history.ndjson
/// has it.
const MORE_MAX: [(&str, f64); 4] = [("auto", 82.0), ("stm", 442.0), ("hybrid", 1036.0), ("read_many", 550.0)];

#[test]
fn a_caller_that_is_alone_pays_little_for_a_policy() {
    let Some(plain) = each("pread") else {
        println!("SKIPPED a_caller_that_is_alone_pays_little_for_a_policy: valgrind is not installed");
        return;
    };
    for (name, most) in MORE_MAX {
        let more = each(name).expect("it was there a moment ago") - plain;
        assert!(more <= most, "{name}: {more:.1} instructions more, and {most} are allowed");
    }
}
