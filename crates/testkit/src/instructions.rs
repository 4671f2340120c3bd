//! What does work cost, in instructions? These repeat where times do not, so they may be a gate.
//!
//! valgrind counts the test program itself, started again to do so much work and a little less; the difference, divided by
//! the work between, is what a piece of it costs. A program that counts has a test for it to be started with:
//!
//! ```ignore
//! #[test]
//! #[ignore = "helper: the work whose instructions the other tests count"]
//! fn the_work() {
//!     iostack_testkit::instructions::the_work(work::counted);
//! }
//! ```

use std::process::Command;

/// Says what [`the_work`] does: a name and a count.
const WORK: &str = "IOSTACK_TEST_WORK";

/// Does what is counted, when it was started for that.
pub fn the_work<T>(counted: impl FnOnce(&str, u64) -> T) {
    let Ok(words) = std::env::var(WORK) else { return };
    let (name, count) = words.split_once(' ').expect("a name and a count");
    std::hint::black_box(counted(name, count.parse().expect("a number")));
}

/// Instructions of this program while it does so much; `None` where nobody counts them.
fn of_all(name: &str, count: u64) -> Option<u64> {
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

/// Instructions of one, by the difference between few and many; `None` where valgrind is not installed.
pub fn each(name: &str, [few, many]: [u64; 2]) -> Option<f64> {
    let (before, after) = (of_all(name, few)?, of_all(name, many)?);
    let each = (after - before) as f64 / (many - few) as f64;
    println!("{name}: {each:.1} instructions each");
    assert!(each > 20.0, "{name}: {each:.1} instructions each are too few to be true");
    Some(each)
}
