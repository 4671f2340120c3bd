//! What do tools see that tests cannot? Tests of the merge library again, under Miri and under the thread sanitizer; slow.
//!
//! Both need a nightly toolchain, which is not installed for it: where one is missing they skip aloud. The third of the kind, loom,
//! is an ordinary test (`crates/merge/tests/loom.rs`).

use std::path::Path;

use anyhow::Result;

use crate::chore::Finished;
use crate::process;

/// A tool that watches tests run.
struct Tool {
    name: &'static str,
    /// Words that say, by succeeding, that it is there; and how to get it.
    probe: &'static [&'static str],
    remedy: &'static str,
    /// Words behind `rustup run nightly`; and what else stands in the environment.
    words: &'static str,
    environment: &'static [(&'static str, &'static str)],
    /// Below the build folder: flags differ, so that nothing built otherwise is of use.
    folder: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "miri",
        probe: &["cargo", "miri", "--version"],
        remedy: "rustup component add --toolchain nightly miri rust-src",
        // What touches memory that others hold. Miri knows neither io_uring nor masks of signals nor switching stacks; what
        // waits by the clock takes for ever there. The rest are numbers.
        words: "cargo miri test --package iostack-merge --lib -- sys:: file:: buffer:: many::",
        environment: &[("MIRIFLAGS", "-Zmiri-disable-isolation")],
        folder: "target/watched",
    },
    Tool {
        name: "thread sanitizer",
        probe: &["sh", "-c", "test -d \"$(rustc --print sysroot)/lib/rustlib/src/rust/library\""],
        remedy: "rustup component add --toolchain nightly rust-src",
        // Not the scope: the sanitizer takes a coroutine that goes on for a thread gone mad.
        words: "cargo test -Zbuild-std --target x86_64-unknown-linux-gnu --package iostack-merge --lib --test all -- --skip auto:: \
                --skip capi:: --skip future:: --skip offsets:: --skip preload:: --skip schedules:: --skip scope::",
        environment: &[("RUSTFLAGS", "-Zsanitizer=thread")],
        folder: "target/watched/threads",
    },
];

/// All of them, told as they come: name, and what came of it.
pub(crate) fn each(root: &Path) -> Vec<(String, Finished)> {
    TOOLS.iter().map(|tool| (tool.name.to_owned(), Finished::told(tool.name, run(root, tool)))).collect()
}

fn run(root: &Path, tool: &Tool) -> Result<Finished> {
    if !process::succeeds(&mut process::nightly(root, tool.probe)) {
        return Ok(Finished::Skipped(format!("no nightly toolchain with it: {}", tool.remedy)));
    }
    let mut command = process::nightly(root, &tool.words.split_whitespace().collect::<Vec<_>>());
    command.envs(tool.environment.iter().copied()).env("CARGO_TARGET_DIR", root.join(tool.folder));
    let output = process::output(&mut command)?;
    let said = process::said(&output);
    let passed = passed(&said);
    Ok(match (output.status.success(), passed) {
        (true, 1..) => Finished::Passed(format!("{passed} tests")),
        (true, _) => Finished::refused("it ran no test", said),
        (false, _) => Finished::refused(process::shown(&command), said),
    })
}

/// The sum of `test result: ok. 12 passed; ..`.
fn passed(said: &str) -> u64 {
    let results = said.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    results.filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passed_is_added_up_over_all_programs() {
        let said = "test result: ok. 12 passed; 0 failed; 1 ignored\n\ntest result: ok. 3 passed; 0 failed\n";
        assert_eq!(passed(said), 15);
        assert_eq!(passed("test result: FAILED. 12 passed; 1 failed"), 0);
    }
}
