//! An answer of earlier, from its file: what it is stands in its `kind`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use iostack_model::OutcomeFile;
use iostack_model::answers::{Answer, Check, IoCost, Iolat, MergeReport, Served, Sweep};
use iostack_report::Told;
use iostack_stats::AbReport;
use iostack_target::read_json;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::cmd::schema::{self, KINDS};

/// Fields by which files from before there was a `kind` are told apart, the first that is found.
const BEFORE_KIND: &[(&str, &str)] = &[
    ("arms", AbReport::KIND),
    ("verdict", Check::KIND),
    ("outcomes", OutcomeFile::KIND),
    ("tests", Iolat::KIND),
    ("tables", MergeReport::KIND),
    ("served", Served::KIND),
    ("axes", Sweep::KIND),
    ("modes", IoCost::KIND),
];

/// One answer of a file.
pub(crate) struct Stored {
    /// Kind of the answer; one of our schemas describes it.
    pub(crate) kind: String,
    pub(crate) path: String,
    pub(crate) text: String,
}

/// First fields of an answer.
#[derive(Deserialize)]
#[serde(expecting = "an answer of iostack")]
struct Label {
    /// Refused before anything else where it is newer, since then nothing else is sure.
    #[serde(default = "known", deserialize_with = "iostack_model::schema")]
    #[expect(dead_code, reason = "it is read to be refused")]
    schema: u32,
    kind: Option<Value>,
}

fn known() -> u32 {
    iostack_model::SCHEMA
}

/// Reads the one answer of a file, or of an array in it.
pub(crate) fn read(path: &Path) -> anyhow::Result<Stored> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the outcome `{}`", path.display()))?;
    of_text(text, path.display().to_string())
}

/// The same of what stands in the file already.
pub(crate) fn of_text(mut text: String, path: String) -> anyhow::Result<Stored> {
    if text.trim_start().starts_with('[') {
        let all: Vec<Value> = read_json(&text).with_context(|| none(&path))?;
        let [one] = &all[..] else {
            bail!(
                "`{path}` holds {} answers, and only one is read; cut one out, as with jq '.[0]'",
                all.len()
            )
        };
        text = one.to_string();
    }
    let kind = kind(&text).with_context(|| none(&path))?;
    ensure!(
        schema::describes(&kind),
        "`{path}` is of the kind \"{kind}\", which this iostack does not know; update iostack, or name a file of {}",
        shown()
    );
    Ok(Stored { kind, path, text })
}

impl Stored {
    /// Reads it whole; what is impossible in it is named with its field.
    pub(crate) fn parse<A: DeserializeOwned>(&self) -> anyhow::Result<A> {
        let Stored { kind, path, text } = self;
        read_json(text).with_context(|| format!("`{path}` is not an outcome of `iostack {kind}`"))
    }

    /// The answer as something that every form can be made of.
    pub(crate) fn told(&self) -> anyhow::Result<Box<dyn Told>> {
        let Stored { kind, path, .. } = self;
        match KINDS.iter().find(|known| known.name == kind).and_then(|known| known.told) {
            Some(told) => told(self),
            None => bail!(
                "`{path}` is of `iostack {kind}`, which is not shown again; `iostack report` shows {}",
                shown()
            ),
        }
    }
}

fn kind(text: &str) -> anyhow::Result<String> {
    match read_json::<Label>(text)?.kind {
        Some(Value::String(kind)) => Ok(kind),
        Some(other) => bail!("`kind` is {other}, and must be a word: one of {}", shown()),
        None => {
            let fields: BTreeMap<String, Option<IgnoredAny>> = read_json(text)?;
            let found = BEFORE_KIND.iter().find(|(field, _)| fields.get(*field).is_some_and(Option::is_some));
            let (_, kind) = found.with_context(|| format!("it has no `kind`, and is not of {}", shown()))?;
            Ok((*kind).to_owned())
        }
    }
}

fn none(path: &str) -> String {
    format!("`{path}` is not an outcome of iostack; make one with `iostack run --json` or `iostack check`")
}

fn shown() -> String {
    let shown = KINDS.iter().filter(|kind| kind.told.is_some());
    shown.map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_fields_tell_has_a_schema() {
        for (_, kind) in BEFORE_KIND {
            assert!(schema::describes(kind), "{kind}");
        }
        assert!(!schema::describes("fio"));
    }
}
