//! Can a stranger's file make a reader panic, hang or grow? Coverage-guided fuzzing of each of them, for a time.
//!
//! It needs a nightly toolchain and cargo-fuzz, which are not installed for it: where one is missing it skips aloud.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::chore::{Finished, only};
use crate::{process, tree};

/// Each target, and the files that it begins with.
const TARGETS: [(&str, &[&str]); 6] = [
    ("fio", &["crates/workload/tests/corpus", "jobs"]),
    ("toml", &["jobs"]),
    ("sheet", &["platforms", "platforms/devices", "platforms/adapters", "platforms/systems"]),
    ("trace", &["crates/workload/tests/data/traces"]),
    ("outcome", &[]),
    ("counts", &["crates/lab/tests/data"]),
];

/// Seconds for each target, by hand.
const SECONDS: u64 = 60;

/// Seconds for each target, in the slow tier.
pub(crate) const SECONDS_SLOW: u64 = 3600;

/// `cargo xtask fuzz [TARGET..] [--seconds N]`.
pub(crate) fn chore(arguments: &[String]) -> Result<bool> {
    let (mut names, mut seconds) = (arguments.to_vec(), SECONDS);
    if let Some(at) = names.iter().position(|word| word == "--seconds") {
        ensure!(at + 1 < names.len(), "--seconds wants a number");
        let number = names.drain(at..at + 2).next_back().expect("there are two");
        seconds = number.parse().with_context(|| format!("`{number}` is no number of seconds"))?;
    }
    only(&names, &TARGETS.map(|(name, _)| name))?;
    Ok(each(&tree::root(), seconds, &names).iter().all(|(_, finished)| finished.is_fine()))
}

/// Those of `names`, or all, told as they come.
pub(crate) fn each(root: &Path, seconds: u64, names: &[String]) -> Vec<(String, Finished)> {
    let asked =
        TARGETS.into_iter().filter(|(name, _)| names.is_empty() || names.iter().any(|one| one == name));
    let told = |(name, seeds): (&str, &[&str])| {
        let chore = format!("fuzz {name}");
        let finished = Finished::told(&chore, run(root, name, seeds, seconds));
        (chore, finished)
    };
    asked.map(told).collect()
}

fn run(root: &Path, name: &str, seeds: &[&str], seconds: u64) -> Result<Finished> {
    if !process::succeeds(&mut process::nightly(root, &["cargo", "fuzz", "--version"])) {
        let why = "no nightly toolchain with cargo-fuzz: rustup toolchain install nightly; cargo install cargo-fuzz";
        return Ok(Finished::Skipped(why.to_owned()));
    }
    // What is new goes to the first folder; the others are read only.
    let corpus = format!("fuzz/corpus/{name}");
    std::fs::create_dir_all(root.join(&corpus)).with_context(|| format!("cannot make {corpus}"))?;
    let mut command = process::nightly(root, &["cargo", "fuzz", "run", name, &corpus]);
    command.args(seeds).arg("--").args([
        format!("-max_total_time={seconds}"),
        "-timeout=10".to_owned(),
        "-rss_limit_mb=2048".to_owned(),
        "-max_len=16384".to_owned(),
    ]);
    let output = process::output(&mut command)?;
    let said = process::said(&output);
    Ok(match (output.status.success(), runs(&said)) {
        (true, Some(runs)) => Finished::Passed(format!("{runs} files in {seconds} s")),
        (true, None) => Finished::refused("it tried no file", said),
        (false, _) => Finished::refused(process::shown(&command), last_lines(&said)),
    })
}

/// `Done 12345 runs in 61 second(s)`.
fn runs(said: &str) -> Option<u64> {
    let line = said.lines().rev().find_map(|line| line.strip_prefix("Done "))?;
    line.split(' ').next()?.parse().ok().filter(|&runs| runs > 0)
}

fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_tried_is_read_from_the_last_line() {
        assert_eq!(runs("#2 INITED\nDone 12345 runs in 61 second(s)\n"), Some(12_345));
        assert_eq!(runs("Done 0 runs in 61 second(s)\n"), None);
        assert_eq!(runs("==1== ERROR: libFuzzer: deadly signal"), None);
    }

    #[test]
    fn each_target_is_a_file_and_begins_with_files_that_exist() {
        let root = tree::root();
        for (name, seeds) in TARGETS {
            assert!(root.join(format!("fuzz/fuzz_targets/{name}.rs")).is_file(), "{name}");
            assert!(seeds.iter().all(|folder| root.join(folder).is_dir()), "{name}: {seeds:?}");
        }
    }
}
