//! Does a test notice when the code is changed? cargo-mutants over the crates whose numbers people read.
//!
//! It tries thousands of small changes, a build and the crate's tests each: hours. Where cargo-mutants is missing it skips aloud.
//! Those that need not be caught stand in `.cargo/mutants.toml`, each with its reason.

use std::path::Path;

use anyhow::{Context, Result};

use crate::chore::{Finished, only};
use crate::{process, tree};

/// Crates that are changed, and of large ones the files that count or format.
const SUBJECTS: [(&str, &[&str]); 8] = [
    ("iostack-doubt", &[]),
    ("iostack-stats", &[]),
    ("iostack-model", &[]),
    ("iostack-batch", &[]),
    ("iostack-workload", &[]),
    ("iostack-host", &[]),
    ("iostack-engine", &["**/outcome.rs", "**/evidence.rs"]),
    ("iostack-report", &["**/text/format.rs", "**/html/figures.rs"]),
];

/// Share of mutants that must be caught, of a hundred.
const CAUGHT_PERCENT: u64 = 90;

/// `cargo xtask mutants [CRATE..]`.
pub(crate) fn chore(arguments: &[String]) -> Result<bool> {
    only(arguments, &SUBJECTS.map(|(package, _)| package))?;
    Ok(each(&tree::root(), arguments).iter().all(|(_, finished)| finished.is_fine()))
}

/// Those of `names`, or all, told as they come.
pub(crate) fn each(root: &Path, names: &[String]) -> Vec<(String, Finished)> {
    let asked = SUBJECTS
        .into_iter()
        .filter(|(package, _)| names.is_empty() || names.iter().any(|one| one == package));
    let told = |(package, files): (&str, &[&str])| {
        let chore = format!("mutants {package}");
        let finished = Finished::told(&chore, run(root, package, files));
        (chore, finished)
    };
    asked.map(told).collect()
}

fn run(root: &Path, package: &str, files: &[&str]) -> Result<Finished> {
    if !process::succeeds(process::cargo().args(["mutants", "--version"]).current_dir(root)) {
        return Ok(Finished::Skipped("no cargo-mutants: cargo install cargo-mutants".to_owned()));
    }
    let folder = format!("target/mutants/{package}");
    std::fs::create_dir_all(root.join(&folder)).with_context(|| format!("cannot make {folder}"))?;
    let mut command = process::cargo();
    command.args(["mutants", "--package", package, "--output", &folder, "--no-shuffle", "--colors", "never"]);
    command.args(files.iter().flat_map(|file| ["--file", file])).current_dir(root);
    let said = process::said(&process::output(&mut command)?);
    Ok(judge(&said))
}

/// `120 mutants tested in 5m: 6 missed, 100 caught, 12 unviable, 2 timeouts`.
fn judge(said: &str) -> Finished {
    let Some(line) = said.lines().rev().find(|line| line.contains("mutants tested")) else {
        return Finished::refused("it tested no mutant", said);
    };
    let count = |word: &str| {
        let part = line.split([':', ',']).find(|part| part.trim_end().ends_with(word))?;
        part.split_whitespace().next()?.parse::<u64>().ok()
    };
    let (caught, missed) =
        (count("caught").unwrap_or(0) + count("timeouts").unwrap_or(0), count("missed").unwrap_or(0));
    if caught > 0 && caught * 100 >= CAUGHT_PERCENT * (caught + missed) {
        return Finished::Passed(format!("{caught} caught, {missed} missed"));
    }
    let survivors: Vec<&str> = said.lines().filter(|line| line.starts_with("MISSED")).collect();
    Finished::refused(format!("{missed} of {} were not noticed", caught + missed), survivors.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_must_be_caught() {
        let line = |missed: u64, caught: u64| {
            format!(
                "MISSED a.rs:1:2: x\n100 mutants tested in 5m 3s: {missed} missed, {caught} caught, 12 unviable\n"
            )
        };
        assert!(matches!(judge(&line(10, 90)), Finished::Passed(_)));
        assert!(matches!(judge(&line(11, 90)), Finished::Refused { .. }));
        assert!(matches!(judge("100 mutants tested in 1m: 90 caught"), Finished::Passed(_)));
        assert!(matches!(judge("12 mutants tested in 1m: 12 unviable"), Finished::Refused { .. }));
        assert!(matches!(judge("error: no such package"), Finished::Refused { .. }));
    }
}
