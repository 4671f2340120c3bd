//! Which devices are built in? The files of `platforms/devices/`, compiled in.

use crate::sheet::Sheet;

/// Name and text of each file, in the order in which they are listed.
const FILES: &[(&str, &str)] = &[("zero", include_str!("../../../platforms/devices/zero.toml"))];

/// A device in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its name, as in `sim:NAME`.
    pub name: String,
    /// What it is, in a few words.
    pub title: String,
    /// Its kind.
    pub kind: &'static str,
    /// When it was sold, or what it is typical of.
    pub year: Option<u32>,
}

/// All devices that are built in.
pub fn catalogue() -> Vec<Summary> {
    let sheets =
        names().map(|name| Sheet::load(name, &[]).expect("a test reads every file that is built in"));
    sheets
        .map(|sheet| Summary {
            name: sheet.name,
            title: sheet.title,
            kind: sheet.kind.name,
            year: sheet.year,
        })
        .collect()
}

/// Their names.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The text of a file that is built in: an example to start from.
pub fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
