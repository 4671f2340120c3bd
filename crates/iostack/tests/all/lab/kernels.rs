//! Does it work on kernels that people still have? What one lacks is said, and the rest goes on without it.

use serde_json::Value;

use super::outcome;
use crate::shared::{iostack, refused};
use crate::turn::turn_or_skip;

const JOB: [&str; 9] =
    ["--on", "lab:brd", "--pattern", "random", "--io-count", "97", "--json", "--quiet", "--kernel"];

/// 97 reads there, asked for or looked at as `further` says.
fn reads(kernel: &str, further: &[&str]) -> Value {
    let all = [&["run"], &JOB[..], &[kernel], further].concat();
    let outcome = outcome(&all);
    assert_eq!(outcome["read"]["bytes"], 97 * 4096, "{all:?}: {outcome}");
    outcome
}

fn engines(kernel: &str) {
    for engine in ["psync", "libaio", "io_uring"] {
        reads(kernel, &["--engine", engine, "--queue-depth", if engine == "psync" { "1" } else { "8" }]);
    }
    assert!(reads(kernel, &["--layers"])["layers"].is_object());
}

fn all(kernel: &str) {
    engines(kernel);
    let outcome = reads(kernel, &["--stages"]);
    assert_eq!(outcome["stages"]["matched"], 97, "{outcome}");
}

#[test]
#[ignore = "slow: five boots"]
fn all_works_on_linux_6_1() {
    let _turn = turn_or_skip!("all_works_on_linux_6_1", "6.1");
    all("6.1");
}

#[test]
#[ignore = "slow: five boots"]
fn all_works_on_linux_6_12() {
    let _turn = turn_or_skip!("all_works_on_linux_6_12", "6.12");
    all("6.12");
}

#[test]
#[ignore = "slow: five boots"]
fn linux_5_10_does_all_but_stages_and_says_why() {
    let test = "linux_5_10_does_all_but_stages_and_says_why";
    // Of another release of the distribution, which apt does not know here.
    let Ok(folder) = std::env::var("IOSTACK_KERNEL_5_10") else {
        return println!(
            "SKIPPED {test}: IOSTACK_KERNEL_5_10 names no folder with an unpacked linux-image-5.10"
        );
    };
    let _turn = turn_or_skip!("linux_5_10_does_all_but_stages_and_says_why", "6.1");
    engines(&folder);
    refused(&iostack(&[&["run"], &JOB[..], &[&folder, "--stages"]].concat()), &["came with Linux 5.11"]);
}
