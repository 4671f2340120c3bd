//! What did a test binary say? Its output, line by line, turned into a sum.
//!
//! Tests run with `--show-output`, because a test that passed is otherwise mute and its `SKIPPED` line lost. A binary
//! that dies without its result line counts as one failure; so does a build that fails.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::tally::{Skip, Tally};
use crate::process;

/// Runs a command that runs tests, and adds what they say; `close` gets each binary's lines and sum.
pub(super) fn heard(command: &mut Command, close: &dyn Fn(&[String], &Tally)) -> Result<Tally> {
    let mut child = command
        .env("PATH", process::path_with_sbin())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", process::shown(command)))?;
    let output = BufReader::new(child.stdout.take().context("stdout was asked to be piped")?);
    let mut sum = Tally::default();
    let mut binary = Binary::default();
    let mut end = |binary: Binary| {
        let lines = binary.lines.clone();
        let one = binary.finish();
        close(&lines, &one);
        sum.absorb(one);
    };
    for line in output.split(b'\n') {
        let line = line.context("cannot read what the tests say")?;
        let line = String::from_utf8_lossy(&line).into_owned();
        if line.starts_with("running ") && binary.is_open() {
            end(std::mem::take(&mut binary));
        }
        binary.hear(line);
        if binary.result.is_some() {
            end(std::mem::take(&mut binary));
        }
    }
    if binary.is_open() {
        end(binary);
    }
    if !child.wait()?.success() && sum.failed.is_empty() {
        sum.failed
            .push(format!("{}: it failed before or between the tests; see above", process::shown(command)));
    }
    Ok(sum)
}

/// Characters of what a test failed with that stand beside its name.
const WHY_MOST: usize = 400;

/// Output of one test binary so far.
#[derive(Debug, Default)]
struct Binary {
    lines: Vec<String>,
    /// The test whose output is being shown; none while tests run.
    speaker: Option<String>,
    failed: Vec<String>,
    /// Words of a failed test as it failed, by name.
    why: BTreeMap<String, String>,
    /// The next line is what the speaker failed with.
    is_why: bool,
    ignored: Vec<Skip>,
    /// Reasons by name, so that a test that gives two counts once.
    skipped: BTreeMap<String, String>,
    /// `(passed, failed)` by its own count.
    result: Option<(u64, u64)>,
}

impl Binary {
    fn is_open(&self) -> bool {
        self.lines.iter().any(|line| line.starts_with("running "))
    }

    fn hear(&mut self, line: String) {
        self.understand(&line);
        self.lines.push(line);
    }

    fn understand(&mut self, line: &str) {
        if ["successes:", "failures:"].contains(&line) {
            self.speaker = None;
        } else if let Some(name) =
            line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            self.speaker = Some(name.to_owned());
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            self.result = counts(rest);
        } else if let Some(name) = &self.speaker {
            let is_empty = line.trim().is_empty();
            if self.is_why && !is_empty {
                self.why.entry(name.clone()).or_insert_with(|| line.chars().take(WHY_MOST).collect());
            }
            self.is_why = line.contains("panicked at ") || self.is_why && is_empty;
            if let Some(reason) = line.strip_prefix("SKIPPED ") {
                // The name it gives itself is told already.
                let why = reason.split_once(": ").map_or(reason, |(_, why)| why);
                self.skipped.entry(name.clone()).or_insert_with(|| why.to_owned());
            }
        } else {
            self.hear_verdict(line);
        }
    }

    /// `test name ... ok`, `FAILED`, or `ignored, reason`.
    fn hear_verdict(&mut self, line: &str) {
        let Some((name, verdict)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "))
        else {
            return;
        };
        if verdict == "FAILED" {
            self.failed.push(name.to_owned());
        } else if let Some(reason) = verdict.strip_prefix("ignored") {
            let reason = reason.trim_start_matches(", ");
            if !reason.starts_with("helper:") {
                self.ignored.push(Skip::new(
                    name,
                    if reason.is_empty() { "ignored without a reason" } else { reason },
                ));
            }
        }
    }

    fn finish(mut self) -> Tally {
        // What failed did not only skip.
        self.skipped.retain(|name, _| !self.failed.contains(name));
        let skipped_itself = self.skipped.len() as u64;
        let skips = self.skipped.into_iter().map(|(name, why)| Skip { name, why });
        let told = |name: String| match self.why.get(&name) {
            Some(why) => format!("{name}: {why}"),
            None => name,
        };
        let mut tally = Tally {
            passed: 0,
            failed: self.failed.into_iter().map(told).collect(),
            skipped: self.ignored.into_iter().chain(skips).collect(),
        };
        match self.result {
            Some((passed, failed)) => {
                tally.passed = passed.saturating_sub(skipped_itself);
                // A name can be lost when a test writes past the capture; the count cannot.
                while (tally.failed.len() as u64) < failed {
                    tally.failed.push("a test whose name was lost; see above".to_owned());
                }
            }
            None => tally.failed.push("a test binary that died before its result; see above".to_owned()),
        }
        tally
    }
}

/// `ok. 12 passed; 0 failed; 1 ignored; ..`: the first two.
fn counts(result: &str) -> Option<(u64, u64)> {
    let count = |word: &str| {
        let before = &result[..result.find(word)?];
        before.trim_end().rsplit(' ').next()?.parse().ok()
    };
    Some((count("passed")?, count("failed")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summed(text: &str) -> Tally {
        let mut binary = Binary::default();
        text.lines().for_each(|line| binary.hear(line.to_owned()));
        binary.finish()
    }

    #[test]
    fn a_test_that_skips_itself_did_not_pass() {
        let tally = summed(
            "running 4 tests\ntest a ... ok\ntest b ... ok\ntest c ... ignored, slow: an hour\n\
             test d ... ignored, helper: the load of a\n\nsuccesses:\n\n\
             ---- b stdout ----\nSKIPPED b: no fio\nSKIPPED b: no fio either\n\n\nsuccesses:\n    a\n    b\n\n\
             test result: ok. 2 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        );
        let skipped = vec![Skip::new("c", "slow: an hour"), Skip::new("b", "no fio")];
        assert_eq!(tally, Tally { passed: 1, failed: vec![], skipped });
    }

    #[test]
    fn a_test_that_fails_after_a_skip_mark_has_failed() {
        let tally = summed(
            "running 1 test\ntest a ... FAILED\n\nsuccesses:\n\nsuccesses:\n\nfailures:\n\n---- a stdout ----\n\
             SKIPPED a: half of it\nthread 'a' (7) panicked at a.rs:3:5:\n\ntwo boots differ\nnote: run\n\n\nfailures:\n    a\n\n\
             test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        );
        assert_eq!(
            tally,
            Tally { passed: 0, failed: vec!["a: two boots differ".to_owned()], skipped: vec![] }
        );
    }

    #[test]
    fn a_binary_that_dies_is_a_failure() {
        assert_eq!(summed("running 2 tests\ntest a ... ok").failed.len(), 1);
    }

    #[test]
    fn a_failure_whose_name_was_lost_still_counts() {
        let tally = summed(
            "running 1 test\ntest a ... noise\nFAILED\ntest result: FAILED. 4 passed; 1 failed; 0 ignored",
        );
        assert_eq!((tally.passed, tally.failed.len()), (4, 1));
    }
}
