//! What do a sheet's numbers rest on?

use crate::sheet::loaded::Sheet;
use crate::sheet::parameter::Unit;
use crate::sheet::source::Source;

/// One number of a sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// `flash.read`
    pub key: &'static str,
    /// As it is written in the file; empty when it is missing.
    pub text: String,
    /// How it is written.
    pub unit: Unit,
    /// What it means.
    pub meaning: &'static str,
    /// Where it comes from.
    pub source: Source,
}

/// How many numbers of a device rest on what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// On a document.
    pub sourced: u32,
    /// On a claim.
    pub fitted: u32,
    /// On a belief, a usual value, or whoever changed it.
    pub assumed: u32,
}

impl Sheet {
    /// Its numbers, in the order of the kind's table.
    pub fn entries(&self) -> Vec<Entry> {
        let parameters = self.kind.parameters.iter();
        parameters
            .map(|parameter| {
                let (text, source) = match self.values.get(parameter.key) {
                    Some(value) => (value.text.clone(), value.source.clone()),
                    None => (parameter.default.unwrap_or("").to_owned(), Source::Default),
                };
                let (key, unit, meaning) = (parameter.key, parameter.unit, parameter.meaning);
                Entry { key, text, unit, meaning, source }
            })
            .collect()
    }

    /// Sheets of the devices inside: the key that names them, and each.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Sheet)> {
        self.members.iter().map(|(key, sheet)| (key.as_str(), sheet))
    }

    /// How many of its numbers, and of those of the devices inside, rest on what. What a device does not have counts
    /// for nothing.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for entry in self.entries() {
            match entry.source {
                Source::Default if entry.text == "none" => {}
                Source::Cited(_) => tally.sourced += 1,
                Source::Fitted(_) => tally.fitted += 1,
                Source::Assumed(_) | Source::Changed | Source::Default => tally.assumed += 1,
            }
        }
        for member in self.members.values() {
            let inside = member.tally();
            tally.sourced += inside.sourced;
            tally.fitted += inside.fitted;
            tally.assumed += inside.assumed;
        }
        tally
    }
}
