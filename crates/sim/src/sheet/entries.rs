//! What do a sheet's numbers rest on?

use crate::sheet::loaded::Sheet;
use crate::sheet::parameter::Unit;
use crate::sheet::source::Source;

/// One number of a sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetNumber {
    /// Table and key, like `flash.read`.
    pub key: &'static str,
    /// Value as the file has it; empty when it is missing.
    pub text: String,
    /// Unit of the value.
    pub unit: Unit,
    /// Meaning in one line.
    pub meaning: &'static str,
    /// Source of the value.
    pub source: Source,
    /// False for a usual value that means nothing beside the others: the time limit of an order that is not this one.
    pub applies: bool,
}

impl SheetNumber {
    /// True for what the device has, whether the file says it or not.
    pub fn is_had(&self) -> bool {
        self.source != Source::Default || self.text != "none" && self.applies
    }
}

/// Counts of a device's numbers by what they rest on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceTally {
    /// Numbers that a document gives.
    pub sourced: u32,
    /// Numbers that were chosen for a claim.
    pub fitted: u32,
    /// Numbers that are assumed, usual, or changed.
    pub assumed: u32,
}

impl Sheet {
    /// Numbers of the sheet, in the order of the kind's table.
    pub fn entries(&self) -> Vec<SheetNumber> {
        let parameters = self.kind.parameters.iter();
        parameters
            .map(|parameter| {
                let (text, source) = match self.values.get(parameter.key) {
                    Some(value) => (value.text.clone(), value.source.clone()),
                    None => (parameter.default.unwrap_or("").to_owned(), Source::Default),
                };
                let (key, unit, meaning) = (parameter.key, parameter.unit, parameter.meaning);
                let applies = parameter.only.is_none_or(|only| self.is_one_of(only));
                SheetNumber { key, text, unit, meaning, source, applies }
            })
            .collect()
    }

    /// The first is a key, the others are values of it; see [`Parameter::only`](crate::sheet::Parameter::only).
    fn is_one_of(&self, only: &[&str]) -> bool {
        let usual = self.kind.parameters.iter().find(|parameter| parameter.key == only[0]);
        let text = self.values.get(only[0]).map(|value| value.text.as_str());
        let text = text.or(usual.and_then(|usual| usual.default)).unwrap_or_default();
        only[1..].iter().any(|word| word.strip_prefix('!').map_or(text == *word, |other| text != other))
    }

    /// Sheets of the devices inside: the key that names them, and each.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Sheet)> {
        self.members.iter().map(|(key, sheet)| (key.as_str(), sheet))
    }

    /// Counts of its numbers, and of those of the devices inside, by what they rest on. What a device does not have is not
    /// counted.
    pub fn tally(&self) -> SourceTally {
        let mut tally = SourceTally::default();
        for entry in self.entries().iter().filter(|entry| entry.is_had()) {
            match entry.source {
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
