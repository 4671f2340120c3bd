//! Is every Rust file as rustfmt writes it?

use anyhow::Result;

use crate::chore::Finished;
use crate::process;
use crate::tree::Tree;

/// Asks rustfmt about every file.
pub(crate) fn look(tree: &Tree) -> Result<Finished> {
    if !process::succeeds(process::cargo().args(["fmt", "--version"])) {
        return Ok(Finished::Skipped("rustfmt is missing; `rustup component add rustfmt`".to_owned()));
    }
    let output = process::output(
        process::cargo().args(["fmt", "--all", "--", "--check", "-l"]).current_dir(&tree.root),
    )?;
    if output.status.success() {
        return Ok(Finished::Passed(format!("{} Rust files", tree.rust().count())));
    }
    let summary = "these files are not as rustfmt writes them; run `cargo fmt`";
    Ok(Finished::refused(summary, process::said(&output)))
}
