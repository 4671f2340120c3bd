//! What may be said about a job, and what does each word mean?
//!
//! Two vocabularies, one table each: ours ([`native`], for flags and TOML) and fio's (in `fio/`, for job files that
//! exist). [`set_option`] looks a name up in ours first, then in fio's. The reference in the manual is printed from
//! the same tables by [`options_reference`].
//!
//! Start reading at [`set_option`].

mod app;
pub(crate) mod native;
#[cfg(test)]
mod tests;
pub(crate) mod value;

use iostack_model::{Engine, Job};

use crate::fio;
pub(crate) use value::ValueError;

/// Which vocabulary an option belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Flags of `iostack run` and keys of TOML jobs.
    Native,
    /// Options of fio job files.
    Fio,
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does what it says.
    Supported,
    /// It is accepted and changes nothing; why that is right.
    Harmless(&'static str),
    /// It is refused; why, and what to do instead.
    Refused(&'static str),
}

/// One option, for the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionDoc {
    /// Its name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Whose word it is.
    pub dialect: Dialect,
    /// What it means.
    pub meaning: &'static str,
    /// What becomes of it.
    pub status: Status,
    /// A value it takes, or several separated by commas and spaces.
    pub example: &'static str,
}

/// An option that cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No such name.
    #[error("no option `{name}`{}", did_you_mean(.suggestion.as_deref()))]
    Unknown {
        /// As typed.
        name: String,
        /// A name that looks much like it.
        suggestion: Option<String>,
    },
    /// The value makes no sense.
    #[error("`{name}={value}`: {problem}")]
    BadValue {
        /// As typed.
        name: String,
        /// As typed.
        value: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// It makes sense, but iostack does not do it.
    #[error("`{name}={value}` is not supported: {why}")]
    Refused {
        /// As typed.
        name: String,
        /// As typed.
        value: String,
        /// Why, and what to do instead.
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

/// Sets one option of a job, by our name for it or by fio's, and keeps it in `job.options` as it was typed.
///
/// On error the job is as it was. A dash is as good as an underscore.
pub fn set_option(job: &mut Job, name: &str, value: &str) -> Result<(), OptionError> {
    let key = name.trim_start_matches('-').replace('-', "_");
    let mut changed = job.clone();
    let done = if let Some(row) = native::find(&key) {
        (row.set)(&mut changed, value)
    } else if fio::knows(&key) {
        fio::set_one(&mut changed, &key, value)
    } else {
        let suggestion = suggest(&key, native::names().chain(fio::names()));
        return Err(OptionError::Unknown { name: name.to_owned(), suggestion });
    };
    done.map_err(|error| OptionError::from_value(name, value, error))?;
    changed.options.push((key, value.to_owned()));
    *job = changed;
    Ok(())
}

/// A job that asks for a depth, and says nothing of the engine, gets one that can hold it: libaio, which only direct I/O
/// keeps in flight, else `io_uring`.
///
/// Not of a fio file: there psync is the default whatever depth is asked, as in fio.
pub fn choose_engine(job: &mut Job) {
    let named =
        job.options_global.iter().chain(&job.options).any(|(name, _)| name == "engine" || name == "ioengine");
    if job.queue_depth > 1 && job.engine.is_synchronous() && !named {
        job.engine = if job.direct { Engine::Libaio } else { Engine::IO_URING };
    }
}

/// Our own options, in the order in which they are best applied: what others refine comes first.
pub fn native_options() -> Vec<OptionDoc> {
    let doc = |row: &native::Row| OptionDoc {
        name: row.name,
        aliases: &[],
        dialect: Dialect::Native,
        meaning: row.meaning,
        status: Status::Supported,
        example: row.example,
    };
    native::ROWS.iter().map(doc).collect()
}

/// Every option of both vocabularies, ours first.
pub fn options_reference() -> Vec<OptionDoc> {
    native_options().into_iter().chain(fio::reference()).collect()
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
