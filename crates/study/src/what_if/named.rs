//! Which improvements have a name? Those that the documents call for: `experiments/what-ifs.toml`, compiled in.

use std::collections::BTreeMap;

use anyhow::Context;
use iostack_model::answers::WhatIfNamed;
use serde::Deserialize;

const FILE: &str = include_str!("../../experiments/what-ifs.toml");

/// An improvement with a name: where it is tried, and what is changed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Name on the command line.
    pub id: String,
    /// The change in words.
    pub title: String,
    /// The document that calls for it, and the place.
    pub(crate) source: String,
    /// Remark on the result.
    #[serde(default)]
    pub(crate) note: String,
    /// The platform, or the device.
    pub platform: String,
    /// Numbers of it that differ in every run.
    #[serde(default)]
    base: BTreeMap<String, toml::Value>,
    /// Numbers of it that are changed.
    set: BTreeMap<String, toml::Value>,
    /// Options of the job; none: a job that fills something.
    #[serde(default)]
    job: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedFile {
    #[serde(default)]
    what_if: Vec<Named>,
}

impl Named {
    /// Card for the report.
    pub(crate) fn card(&self) -> WhatIfNamed {
        WhatIfNamed {
            id: self.id.clone(),
            title: self.title.clone(),
            source: self.source.clone(),
            note: self.note.clone(),
        }
    }

    /// Key and value of what differs in every run.
    pub(crate) fn base(&self) -> Vec<(String, String)> {
        pairs(&self.base)
    }

    /// Key and value of what is changed.
    pub fn set(&self) -> Vec<(String, String)> {
        pairs(&self.set)
    }

    /// Options of its job.
    pub(crate) fn job(&self) -> Vec<(String, String)> {
        pairs(&self.job)
    }
}

fn pairs(table: &BTreeMap<String, toml::Value>) -> Vec<(String, String)> {
    let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    table.iter().map(|(key, value)| (key.clone(), text(value))).collect()
}

/// All, in the order of the file.
pub fn all() -> Vec<Named> {
    let file: NamedFile = toml::from_str(FILE).expect("a test reads what is built in");
    file.what_if
}

/// The one of this name.
pub(crate) fn find(id: &str) -> anyhow::Result<Named> {
    let all = all();
    let near = iostack_workload::suggest(id, all.iter().map(|each| each.id.as_str()));
    let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
    let found = all.into_iter().find(|each| each.id == id);
    found.with_context(|| {
        format!("`{id}` is no improvement with a name; {near}`iostack sim what-if --list` shows all")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::plan::Base;
    use crate::sweep::plan::tests::base as base_of;
    use crate::what_if::chain::{chain, sheets};
    use crate::what_if::fill;
    use iostack_sim::targets::Simulations;

    #[test]
    fn every_improvement_can_be_tried_and_changes_something() {
        let all = all();
        assert!(all.len() >= 9);
        for named in all {
            let (base, set) = (named.base(), [named.set()]);
            let sheets = sheets(&Simulations, &named.platform, &base, &set)
                .unwrap_or_else(|error| panic!("{}: {error}", named.id));
            let job = if named.job().is_empty() { fill::plain(&sheets, &[]) } else { named.job() };
            let base = Base { changes: &base, ..base_of(&named.platform, &job) };
            let links = chain(&base, &set).unwrap_or_else(|error| panic!("{}: {error}", named.id));
            assert_eq!(links.len(), 2, "{}", named.id);
        }
    }

    #[test]
    fn a_name_nearly_right_is_suggested() {
        let error = find("poling").expect_err("no such name").to_string();
        assert!(error.contains("did you mean `polling`?"), "{error}");
    }
}
