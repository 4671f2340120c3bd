//! Where the answer of a command goes: stdout or a new file, and a page beside it.
//!
//! What cannot be written does not keep the rest from being so: each writes and returns its error, and the command joins them with
//! [`Result::and`].

use std::path::{Path, PathBuf};

use iostack_host::save;

use crate::talk::{self, Talk};

/// The answer: into the file, or to stdout.
pub(crate) fn answer(file: Option<&PathBuf>, text: &str) -> anyhow::Result<()> {
    if let Some(path) = file {
        return save::new_file(path, text);
    }
    talk::data(text);
    Ok(())
}

/// The page of `--html`, where one is wanted.
pub(crate) fn page(file: Option<&PathBuf>, html: impl FnOnce() -> String, talk: &Talk) -> anyhow::Result<()> {
    file.map_or(Ok(()), |path| beside("report", path, &html(), talk))
}

/// A file beside the answer, called `what`.
pub(crate) fn beside(
    what: &str,
    path: &Path,
    content: &(impl AsRef<[u8]> + ?Sized),
    talk: &Talk,
) -> anyhow::Result<()> {
    save::new_file(path, content)?;
    talk.say(&format!("{what}: {}", path.display()));
    Ok(())
}
