//! An outcome of earlier, from its file: of `run --json`, of `check` or of `ab`.

use std::path::Path;

use anyhow::{Context, bail};
use iostack_answers::Check;
use iostack_model::OutcomeFile;
use iostack_stats::AbReport;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// What iostack writes as an outcome.
pub(crate) enum Stored {
    /// Of `iostack run`.
    Run(Box<OutcomeFile>),
    /// Of `iostack check`.
    Check(Box<Check>),
    /// Of `iostack ab`.
    Ab(Box<AbReport>),
}

/// What tells them apart.
#[derive(Deserialize)]
struct Kind {
    outcomes: Option<IgnoredAny>,
    steps: Option<IgnoredAny>,
    arms: Option<IgnoredAny>,
}

/// Reads an outcome; what is impossible in it is named with its field.
pub(crate) fn read(path: &Path) -> anyhow::Result<Stored> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the outcome `{}`", path.display()))?;
    parse(&text).with_context(|| {
        format!(
            "`{}` is not an outcome of iostack; make one with `iostack run --json` or `iostack check`",
            path.display()
        )
    })
}

fn parse(text: &str) -> anyhow::Result<Stored> {
    match parsed(text)? {
        Kind { arms: Some(_), .. } => parsed(text).map(|ab| Stored::Ab(Box::new(ab))),
        Kind { steps: Some(_), .. } => parsed(text).map(|check| Stored::Check(Box::new(check))),
        Kind { outcomes: Some(_), .. } => parsed(text).map(|file| Stored::Run(Box::new(file))),
        _ => bail!("it has neither outcomes nor steps"),
    }
}

fn parsed<T: DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(&mut reader)?;
    reader.end()?;
    Ok(read)
}
