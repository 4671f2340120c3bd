//! fio's options that do here what they do there.

use super::draft::Draft;
use crate::options::option::{self, OptionRow};
use crate::options::value::Set;

type Row = OptionRow<Draft>;

const fn row(name: &'static str, set: fn(&mut Draft, &str) -> Set) -> Row {
    option::row(name, set)
}

const MILLISECOND: u64 = 1_000_000;

mod asked;
mod data;
mod logs;
mod pace;
mod place;

pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    [asked::ROWS, pace::ROWS, data::ROWS, place::ROWS, logs::ROWS].into_iter().flatten()
}

/// The row of a name.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    rows().find(|row| row.name == name || row.aliases.contains(&name))
}
