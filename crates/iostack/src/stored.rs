//! An answer of earlier, from its file.

use std::path::Path;

use anyhow::{Context, bail};
use iostack_model::OutcomeFile;
use iostack_model::answers::{Check, Iolat, MergeReport, Served, Sweep};
use iostack_report::Told;
use iostack_stats::AbReport;
use iostack_targets::read_json;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// What iostack writes as an answer.
pub(crate) enum Stored {
    /// Of `iostack run`.
    Run(Box<OutcomeFile>),
    /// Of `iostack check`.
    Check(Box<Check>),
    /// Of `iostack ab`.
    Ab(Box<AbReport>),
    /// Of `iostack iolat`.
    Iolat(Box<Iolat>),
    /// Of `iostack merge`.
    Merge(Box<MergeReport>),
    /// Of `iostack serve`.
    Served(Box<Served>),
    /// Of `iostack sim sweep`.
    Sweep(Box<Sweep>),
}

impl Stored {
    /// In every form.
    pub(crate) fn told(&self) -> &dyn Told {
        match self {
            Stored::Run(file) => file.as_ref(),
            Stored::Check(check) => check.as_ref(),
            Stored::Ab(ab) => ab.as_ref(),
            Stored::Iolat(iolat) => iolat.as_ref(),
            Stored::Merge(merge) => merge.as_ref(),
            Stored::Served(served) => served.as_ref(),
            Stored::Sweep(sweep) => sweep.as_ref(),
        }
    }
}

/// What tells them apart: fields that each alone has.
#[derive(Deserialize)]
struct Kind {
    /// Refused before anything else where it is newer, since then nothing else is sure.
    #[serde(default = "known", deserialize_with = "iostack_model::schema")]
    #[expect(dead_code, reason = "it is read to be refused")]
    schema: u32,
    outcomes: Option<IgnoredAny>,
    verdict: Option<IgnoredAny>,
    arms: Option<IgnoredAny>,
    tests: Option<IgnoredAny>,
    tables: Option<IgnoredAny>,
    axes: Option<IgnoredAny>,
    served: Option<IgnoredAny>,
}

fn known() -> u32 {
    iostack_model::SCHEMA
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
    Ok(match read_json(text)? {
        Kind { arms: Some(_), .. } => Stored::Ab(boxed(text)?),
        Kind { verdict: Some(_), .. } => Stored::Check(boxed(text)?),
        Kind { outcomes: Some(_), .. } => Stored::Run(boxed(text)?),
        Kind { tests: Some(_), .. } => Stored::Iolat(boxed(text)?),
        Kind { tables: Some(_), .. } => Stored::Merge(boxed(text)?),
        Kind { served: Some(_), .. } => Stored::Served(boxed(text)?),
        Kind { axes: Some(_), .. } => Stored::Sweep(boxed(text)?),
        _ => bail!("it is not of run, check, iolat, merge, ab, serve or sim sweep"),
    })
}

fn boxed<T: DeserializeOwned>(text: &str) -> anyhow::Result<Box<T>> {
    read_json(text).map(Box::new)
}
