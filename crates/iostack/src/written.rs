//! Where the answer of a command goes: stdout or a new file, and a page beside it.
//!
//! What cannot be written does not keep the rest from being so: each writes and returns its error, and the command joins them with
//! [`Result::and`].

use std::path::{Path, PathBuf};

use anyhow::Context;
use iostack_host::save;
use iostack_report::Document;
use serde::Serialize;

use crate::talk::{self, Talk};

/// How a command that tells one thing is told to tell it.
#[derive(clap::Args)]
pub(crate) struct AnswerArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Write stdout's content to a new file instead.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write an HTML report to a new file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
}

impl AnswerArgs {
    /// Files that will be written, and must not exist.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.output.iter().chain(&self.html)
    }

    pub(crate) fn talk(&self) -> Talk {
        Talk::new(self.quiet)
    }

    /// Tells it: every figure as JSON, or the screen; and the page.
    pub(crate) fn tell(&self, figures: &impl Serialize, told: &Document, talk: &Talk) -> anyhow::Result<()> {
        let text = if self.json {
            serde_json::to_string(figures).context("an answer is plain data")? + "\n"
        } else {
            told.text()
        };
        let answer = answer(self.output.as_ref(), &text);
        answer.and(page(self.html.as_ref(), || told.html(), talk))
    }
}

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
