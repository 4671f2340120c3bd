//! fio's options and engines that change nothing here, or that are refused; each with its reason in `others.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::options::option::{Dialect, OptionDoc, Status};

/// Options or engines that share a reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Other {
    names: String,
    harmless: Option<String>,
    #[serde(default)]
    refused: String,
    /// Values under which a refused option is harmless.
    #[serde(default)]
    unless: Vec<String>,
}

impl Other {
    fn is_called(&self, name: &str) -> bool {
        self.names.split(' ').any(|word| word == name)
    }

    fn status(&'static self) -> Status {
        self.harmless.as_deref().map_or(Status::Refused(&self.refused), Status::Harmless)
    }

    /// The status of the option with this value.
    pub(super) fn status_of_value(&'static self, value: &str) -> Status {
        if self.unless.iter().any(|other| other == value) {
            return Status::Harmless("as asked");
        }
        self.status()
    }

    fn doc(&'static self) -> OptionDoc {
        // Made once a run, and as long there as the table.
        let names: &'static [&'static str] = self.names.split(' ').collect::<Vec<_>>().leak();
        let status = self.status();
        let (Status::Harmless(meaning) | Status::Refused(meaning)) = status else {
            unreachable!("no code here")
        };
        let example = self.unless.first().map_or("", String::as_str);
        OptionDoc { name: names[0], aliases: &names[1..], dialect: Dialect::Fio, meaning, status, example }
    }
}

#[derive(Deserialize)]
struct Others {
    option: Vec<Other>,
    of_engines: Vec<Other>,
    engines: Vec<Other>,
}

static OTHERS: LazyLock<Others> =
    LazyLock::new(|| toml::from_str(include_str!("others.toml")).expect("tests read it"));

/// The row of an option, those of single engines included.
pub(super) fn find(name: &str) -> Option<&'static Other> {
    OTHERS.option.iter().chain(&OTHERS.of_engines).find(|other| other.is_called(name))
}

pub(super) fn why_no_engine(name: &str) -> Option<&'static str> {
    OTHERS.engines.iter().find(|other| other.is_called(name)).map(|other| other.refused.as_str())
}

/// True when fio takes it without a value: `fio --cmdhelp` calls such an option "empty or boolean".
pub(super) fn may_stand_alone(name: &str) -> bool {
    matches!(name, "thread" | "threads" | "exitall_on_error" | "refill_buffers" | "userspace_reap")
}

/// All names but those of options of single engines.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OTHERS.option.iter().map(|other| other.names.as_str())
}

/// The rows for the manual.
pub(super) fn reference() -> impl Iterator<Item = OptionDoc> {
    OTHERS.option.iter().chain(&OTHERS.of_engines).map(Other::doc)
}
