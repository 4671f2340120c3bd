//! Is every Rust file as rustfmt writes it?

use anyhow::Result;

use crate::chore::Finished;
use crate::process;
use crate::tree::Tree;

/// Asks rustfmt.
pub(crate) fn look(tree: &Tree) -> Result<Finished> {
    if !process::output(process::cargo().args(["fmt", "--version"]))?.status.success() {
        return Ok(Finished::Skipped("rustfmt is missing; `rustup component add rustfmt`".to_owned()));
    }
    let output = process::output(
        process::cargo().args(["fmt", "--all", "--", "--check", "-l"]).current_dir(&tree.root),
    )?;
    if output.status.success() {
        return Ok(Finished::Passed(format!("{} Rust files", tree.rust().count())));
    }
    Ok(Finished::Refused {
        summary: "these files are not as rustfmt writes them; run `cargo fmt`".to_owned(),
        details: process::said(&output),
    })
}
