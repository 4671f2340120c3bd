//! Does clippy, with the lints chosen in the root `Cargo.toml`, find anything at all?

use std::time::Instant;

use anyhow::Result;

use crate::chore::Finished;
use crate::process;
use crate::tree::Tree;

/// Asks clippy about every target; any warning is refused.
pub(crate) fn look(tree: &Tree) -> Result<Finished> {
    if !process::succeeds(process::cargo().args(["clippy", "--version"])) {
        return Ok(Finished::Skipped("clippy is missing; `rustup component add clippy`".to_owned()));
    }
    let began = Instant::now();
    let words = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    let output = process::output(process::cargo().args(words).current_dir(&tree.root))?;
    if output.status.success() {
        return Ok(Finished::Passed(format!("no warning, {} s", began.elapsed().as_secs())));
    }
    Ok(Finished::refused("clippy has something to say", process::said(&output)))
}
