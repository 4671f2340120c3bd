//! What is an option, and what is wrong with one?

use super::value::{Set, ValueError};

/// Vocabulary of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Flags of `iostack run` and keys of TOML jobs.
    Native,
    /// Options of fio job files.
    Fio,
}

/// Support of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does what it says.
    Supported,
    /// It is accepted and changes nothing; the text says why that is right.
    Harmless(&'static str),
    /// It is refused; the text says why, and what to do instead.
    Refused(&'static str),
}

/// One option, for the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionDoc {
    /// Name that the manual sorts it by.
    pub name: &'static str,
    /// Other names of the option.
    pub aliases: &'static [&'static str],
    /// Vocabulary that the option belongs to.
    pub dialect: Dialect,
    /// Meaning in a few words, for the manual.
    pub meaning: &'static str,
    /// Support of the option.
    pub status: Status,
    /// Value that the option takes, or several separated by commas and spaces.
    pub example: &'static str,
}

/// An option with what it does to a job, or to the draft of one.
pub(crate) struct OptionRow<J: 'static> {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) meaning: &'static str,
    pub(crate) example: &'static str,
    /// `time_based` is enough for `time_based=1`.
    pub(crate) may_stand_alone: bool,
    /// The option that this one refines, and so is applied before it, whichever was typed first.
    pub(crate) leans_on: &'static str,
    pub(crate) set: fn(&mut J, &str) -> Set,
}

/// A row that takes a value.
pub(crate) const fn row<J>(name: &'static str, set: fn(&mut J, &str) -> Set) -> OptionRow<J> {
    OptionRow { name, aliases: &[], meaning: "", example: "", may_stand_alone: false, leans_on: "", set }
}

impl<J> OptionRow<J> {
    /// Meaning and example, for the manual.
    pub(crate) const fn says(mut self, meaning: &'static str, example: &'static str) -> Self {
        (self.meaning, self.example) = (meaning, example);
        self
    }

    pub(crate) const fn alone(mut self) -> Self {
        self.may_stand_alone = true;
        self
    }

    pub(crate) const fn leaning_on(mut self, leader: &'static str) -> Self {
        self.leans_on = leader;
        self
    }

    pub(crate) const fn or(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub(crate) fn doc(&self, dialect: Dialect) -> OptionDoc {
        let &OptionRow { name, aliases, meaning, example, .. } = self;
        OptionDoc { name, aliases, dialect, meaning, status: Status::Supported, example }
    }
}

impl OptionDoc {
    /// True when this is one of its names.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// An option that cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No such name.
    #[error("no option `{name}`{}", did_you_mean(.suggestion.as_deref()))]
    Unknown {
        /// Name as it was typed.
        name: String,
        /// Known name that looks much like it.
        suggestion: Option<String>,
    },
    /// The value makes no sense.
    #[error("`{name}={value}`: {problem}")]
    BadValue {
        /// Name as it was typed.
        name: String,
        /// Value as it was typed.
        value: String,
        /// Problem with the value, and what would be right.
        problem: String,
    },
    /// It makes sense, but iostack does not do it.
    #[error("`{name}={value}` is not supported: {why}")]
    Refused {
        /// Name as it was typed.
        name: String,
        /// Value as it was typed.
        value: String,
        /// Reason, and what to do instead.
        why: String,
    },
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

impl OptionError {
    /// True when leaving the option out is what `--lenient` is for: the name is unknown or what it asks is refused. A
    /// value that makes no sense is an error even then.
    pub fn may_be_skipped(&self) -> bool {
        !matches!(self, OptionError::BadValue { .. })
    }

    pub(crate) fn from_value(name: &str, value: &str, error: ValueError) -> OptionError {
        let (name, value) = (name.to_owned(), value.to_owned());
        match error {
            ValueError::Bad(problem) => OptionError::BadValue { name, value, problem },
            ValueError::Refused(why) => OptionError::Refused { name, value, why },
        }
    }
}

/// The known name nearest to what was typed, if one is near enough to be a typo.
pub fn suggest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let far = (typed.len() / 3).clamp(1, 3);
    known
        .filter(|name| name.len().abs_diff(typed.len()) <= far)
        .map(|name| (distance(typed, name), name))
        .filter(|&(distance, _)| distance <= far)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name.to_owned())
}

/// Letters to insert, delete, replace or swap with their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
