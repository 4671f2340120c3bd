//! Is it spelt right? codespell over everything; its words and exceptions are in `.codespellrc`.
//!
//! codespell because it is one small Debian package, where the Rust ones take minutes to build.

use std::process::Command;

use anyhow::Result;

use crate::chore::Finished;
use crate::process;
use crate::tree::Tree;

/// Asks codespell about every text file that git knows.
pub(crate) fn look(tree: &Tree) -> Result<Finished> {
    if process::find("codespell").is_none() {
        return Ok(Finished::Skipped(
            "codespell is missing; `apt install codespell`, or `cargo xtask setup`".to_owned(),
        ));
    }
    let files = tree.files.iter().filter(|file| !file.is_data()).map(|file| &file.path);
    let output = process::output(Command::new("codespell").args(files).current_dir(&tree.root))?;
    if output.status.success() {
        return Ok(Finished::Passed(format!("{} files", tree.files.len())));
    }
    let summary = "codespell doubts these; put them right, or add a real word to .codespellrc";
    Ok(Finished::refused(summary, process::said(&output)))
}
