//! Is the tree fit to be committed? Every chore that only looks, one line each.

use anyhow::Result;

use crate::chore::Finished;
use crate::tree::Tree;
use crate::{clippy, deny, format, house, licences, spelling, tidy};

/// A chore that only looks.
type Look = fn(&Tree) -> Result<Finished>;

/// Quick ones first, so that a slip is told before clippy has compiled the world.
const LOOKS: &[(&str, Look)] = &[
    ("tidy", tidy::look),
    ("format", format::look),
    ("house", house::look),
    ("spelling", spelling::look),
    ("licences", licences::look),
    ("deny", deny::look),
    ("clippy", clippy::look),
];

/// All of them; true when none failed.
pub(crate) fn all(_arguments: &[String]) -> Result<bool> {
    Ok(each()?.iter().all(|(_, finished)| finished.is_fine()))
}

/// One of them by name; true when it did not fail.
pub(crate) fn one(name: &str) -> Result<bool> {
    let tree = Tree::read()?;
    let look = LOOKS.iter().find(|(known, _)| *known == name);
    let (_, look) = look.unwrap_or_else(|| panic!("`{name}` is in the list of chores but not in LOOKS"));
    Ok(Finished::told(name, look(&tree)).is_fine())
}

/// Runs and prints every one of them, and hands back what came of each.
pub(crate) fn each() -> Result<Vec<(String, Finished)>> {
    let tree = Tree::read()?;
    let told = |&(name, look): &(&str, Look)| (format!("check {name}"), Finished::told(name, look(&tree)));
    Ok(LOOKS.iter().map(told).collect())
}
