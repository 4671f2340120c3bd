//! fio's options that do here what they do there.

use super::draft::Draft;
use crate::options::value::Set;

/// One supported option of fio.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) meaning: &'static str,
    pub(super) example: &'static str,
    /// `time_based` for `time_based=1`.
    pub(super) may_stand_alone: bool,
    /// The option that this one refines, and so is applied before it, whichever was typed first.
    pub(super) leans_on: &'static str,
    pub(super) set: fn(&mut Draft, &str) -> Set,
}

impl Row {
    const fn leaning_on(mut self, leader: &'static str) -> Row {
        self.leans_on = leader;
        self
    }

    const fn or(mut self, aliases: &'static [&'static str]) -> Row {
        self.aliases = aliases;
        self
    }
}

const fn value(
    name: &'static str,
    meaning: &'static str,
    example: &'static str,
    set: fn(&mut Draft, &str) -> Set,
) -> Row {
    Row { name, aliases: &[], meaning, example, may_stand_alone: false, leans_on: "", set }
}

const fn flag(name: &'static str, meaning: &'static str, set: fn(&mut Draft, &str) -> Set) -> Row {
    Row { name, aliases: &[], meaning, example: "1", may_stand_alone: true, leans_on: "", set }
}

const MILLISECOND: u64 = 1_000_000;
const MICROSECOND: u64 = 1_000;

/// Assigns a field of the draft, or of its job.
macro_rules! put {
    ($($field:ident).+, $read:expr) => {
        |draft: &mut crate::fio::draft::Draft, text: &str| {
            draft.$($field).+ = $read(text)?.into();
            Ok(())
        }
    };
}

/// Assigns a field of bytes.
macro_rules! put_size {
    ($($field:ident).+ $([$index:literal])?) => {
        |draft: &mut crate::fio::draft::Draft, text: &str| {
            draft.$($field).+ $([$index])? = crate::fio::units::size(text, draft.kb_base)?.into();
            Ok(())
        }
    };
}

mod asked;
mod data;
mod logs;
mod pace;
mod place;

/// The table.
pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    [asked::ROWS, pace::ROWS, data::ROWS, place::ROWS, logs::ROWS].into_iter().flatten()
}

/// The row of a name.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    rows().find(|row| row.name == name || row.aliases.contains(&name))
}
