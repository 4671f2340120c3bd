//! What a read costs inside the library, in instructions: these repeat where times do not, so they may be a gate.
//!
//! valgrind counts this program itself, started again to do so many reads and a few less; the difference, divided by the reads
//! between, is what one costs. The device is a simulated one that takes no time. Where valgrind is missing, the tests skip aloud.

#[path = "../examples/merge_speed/work.rs"]
mod work;

use std::process::Command;

/// Says what `the_work` does: a name and a count.
const WORK: &str = "IOSTACK_TEST_MERGE_WORK";

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

/// Instructions of one read; `None` where nobody counts them.
fn each(name: &str) -> Option<f64> {
    const READS: [u64; 2] = [1_000, 6_000];
    let counts = READS.map(|count| instructions(name, count));
    let [Some(before), Some(after)] = counts else { return None };
    let each = (after - before) as f64 / (READS[1] - READS[0]) as f64;
    println!("{name}: {each:.1} instructions each");
    assert!(each > 20.0, "{name}: {each:.1} instructions each are too few to be true");
    Some(each)
}

/// Instructions that a name may cost more than a plain read of the same device, by a caller that is alone: half as many again as
/// this build, with its checks, took when they were set, 79, 414, 914 and 477. The optimised build takes less; bench/history.ndjson
/// has it.
const MORE_MAX: [(&str, f64); 4] =
    [("auto", 120.0), ("stm", 620.0), ("hybrid", 1370.0), ("read_many", 720.0)];

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
