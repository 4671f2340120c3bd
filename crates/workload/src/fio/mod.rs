//! What does a fio job file ask?
//!
//! ```text
//!   text ──► sections ──► options, expanded ──► Draft ──► Job, once for each job it stands for
//!          lexer.rs      expand.rs             table.rs   jobs.rs
//! ```
//!
//! Every option of fio 3.33 is in a table with what becomes of it: supported (`table.rs`), harmless or refused with the
//! reason (`others.rs`). All that is wrong with a file is said at once, each with its line.
//!
//! Where we differ from fio on purpose: a variable that is not set is an error instead of nothing; a number with
//! nonsense behind it is an error instead of the number; shares of block sizes must add up to 100; spaces around `=`
//! are allowed; `randrepeat=0` does not change the seed, so that every run can be repeated.
//!
//! Start reading at [`parse_fio`].

mod draft;
mod expand;
mod jobs;
mod lexer;
mod others;
mod set;
mod table;
#[cfg(test)]
mod tests;
mod units;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use iostack_model::Job;

use crate::options::value::{Set, ValueError, bad, refused};
use crate::options::{Dialect, OptionDoc, OptionError, Status, suggest};
use draft::Draft;
use lexer::{Section, Typed};

/// What parsing needs from the world, so that it does not touch it.
pub struct ParseContext<'a> {
    /// Value of an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Text of an included file.
    pub include: &'a dyn Fn(&Path) -> io::Result<String>,
    /// Leave out options that are unknown or refused, and list them, instead of refusing the file.
    pub lenient: bool,
    /// CPUs of the machine, for `$ncpus`.
    pub cpus: u32,
}

/// What a job file asks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFile {
    /// The jobs, in order.
    pub jobs: Vec<Job>,
    /// What was left out because of [`ParseContext::lenient`].
    pub skipped: Vec<Skipped>,
}

/// An option that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// File it stands in.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: u32,
    /// As typed.
    pub option: String,
    /// As typed.
    pub value: String,
    /// Why it is not done.
    pub why: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: `{}", self.line, self.option)?;
        if !self.value.is_empty() {
            write!(f, "={}", self.value)?;
        }
        write!(f, "` left out: {}", self.why)
    }
}

/// One thing that is wrong with a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// File it stands in.
    pub path: PathBuf,
    /// Line, from 1; 0 for the file as a whole.
    pub line: u32,
    /// What was typed, what is wrong, what to do.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path.display(), self.what),
            line => write!(f, "{}:{line}: {}", self.path.display(), self.what),
        }
    }
}

/// Everything that is wrong with a job file; one line each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.problems))]
pub struct JobFileError {
    /// In order of file and line; never empty.
    pub problems: Vec<Problem>,
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

/// The jobs of a fio job file. `path` names it in errors and is where relative includes start.
pub fn parse_fio(text: &str, path: &Path, context: &ParseContext) -> Result<JobFile, JobFileError> {
    let (sections, problems) = lexer::sections(text, path, context);
    let mut parser = Parser { context, problems, skipped: Vec::new() };
    let mut global: Vec<Typed> = Vec::new();
    let mut drafts = Vec::new();
    for mut section in sections {
        parser.expand(&mut section);
        if section.name == "global" {
            // A global section holds for the sections behind it; it is checked even when there is none.
            let mut own = Draft::fio_default();
            parser.apply(&mut own, &section.options);
            global.extend(section.options);
        } else {
            drafts.push(parser.section(&global, &section));
        }
    }
    if drafts.is_empty() {
        let what = "no job in it; add a section like [job1]".to_owned();
        parser.problems.push(Problem { path: path.to_owned(), line: 0, what });
    }
    let jobs = jobs::jobs(drafts, &mut parser.problems);
    if parser.problems.is_empty() {
        return Ok(JobFile { jobs, skipped: parser.skipped });
    }
    let mut problems = parser.problems;
    problems.sort_by(|a, b| (&a.path, a.line, &a.what).cmp(&(&b.path, b.line, &b.what)));
    problems.dedup();
    Err(JobFileError { problems })
}

struct Parser<'a> {
    context: &'a ParseContext<'a>,
    problems: Vec<Problem>,
    skipped: Vec<Skipped>,
}

/// A section's draft and where it stands.
struct Drafted {
    draft: Draft,
    place: lexer::Place,
}

impl Parser<'_> {
    fn expand(&mut self, section: &mut Section) {
        section.options.retain_mut(|typed| {
            let Some(value) = &typed.value else { return true };
            match expand::expand(value, self.context) {
                Ok(expanded) => {
                    typed.value = Some(expanded);
                    true
                }
                Err(what) => {
                    self.problems.push(typed.place.problem(format!("`{}={value}`: {what}", typed.name)));
                    false
                }
            }
        });
    }

    fn section(&mut self, global: &[Typed], section: &Section) -> Drafted {
        let mut draft = Draft::fio_default();
        self.apply(&mut draft, global);
        draft.job.options_global = std::mem::take(&mut draft.job.options);
        // A name in a global section is nobody's: fio gives each job that of its section.
        draft.job.name.clone_from(&section.name);
        self.apply(&mut draft, &section.options);
        draft.job.section = Some(section.name.clone()).filter(|section| *section != draft.job.name);
        if let Err(ValueError::Bad(what) | ValueError::Refused(what)) = draft.finish() {
            self.problems.push(section.place.problem(format!("[{}]: {what}", section.name)));
        }
        Drafted { draft, place: section.place.clone() }
    }

    fn apply(&mut self, draft: &mut Draft, options: &[Typed]) {
        // Units hold for the whole section, wherever they are set.
        for typed in options.iter().filter(|typed| typed.name == "kb_base") {
            draft.kb_base = if typed.value.as_deref() == Some("1000") { 1000 } else { 1024 };
        }
        for typed in options {
            let value = typed.value.as_deref().unwrap_or_default();
            match set(draft, &typed.name, typed.value.as_deref()) {
                Ok(()) => draft.job.options.push((typed.name.clone(), value.to_owned())),
                Err(error) if self.context.lenient && error.may_be_skipped() => {
                    let skipped = Skipped {
                        path: typed.place.path.clone(),
                        line: typed.place.line,
                        option: typed.name.clone(),
                        value: value.to_owned(),
                        why: why(&error),
                    };
                    if !self.skipped.contains(&skipped) {
                        self.skipped.push(skipped);
                    }
                }
                Err(error) => self.problems.push(typed.place.problem(error.to_string())),
            }
        }
    }
}

fn why(error: &OptionError) -> String {
    match error {
        OptionError::Refused { why, .. } => why.clone(),
        other => other.to_string(),
    }
}

/// Sets one option of a draft.
fn set(draft: &mut Draft, name: &str, value: Option<&str>) -> Result<(), OptionError> {
    let typed = value.unwrap_or_default();
    let done = if let Some(row) = table::find(name) {
        match value {
            None | Some("") if !row.may_stand_alone => {
                bad(format!("a value is missing, like {name}={}", row.example))
            }
            _ => (row.set)(draft, typed),
        }
    } else if let Some(other) = others::find(name) {
        match other.status_of(typed) {
            Status::Refused(why) => refused(why),
            Status::Supported | Status::Harmless(_) => Ok(()),
        }
    } else {
        let suggestion = suggest(name, names());
        return Err(OptionError::Unknown { name: name.to_owned(), suggestion });
    };
    done.map_err(|error| OptionError::from_value(name, typed, error))
}

/// True for every option of fio, whatever becomes of it.
pub(crate) fn knows(name: &str) -> bool {
    table::find(name).is_some() || others::find(name).is_some()
}

/// Every name of every option of fio.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let supported = table::ROWS.iter().flat_map(|row| row.aliases.iter().chain([&row.name]));
    supported.copied().chain(others::names())
}

/// Options that wait for one that may come later, and which.
const WAITING: &[(&str, &[&str])] = &[
    ("rw", &["rwmixread", "rwmixwrite", "norandommap", "random_distribution"]),
    ("readwrite", &["rwmixread", "rwmixwrite", "norandommap", "random_distribution"]),
    ("ioengine", &["hipri", "fixedbufs", "registerfiles", "sqthread_poll"]),
];

/// Sets one option of a finished job, and once more those typed before that were waiting for it.
pub(crate) fn set_one(job: &mut Job, name: &str, value: &str) -> Set {
    let waiting = WAITING.iter().find(|(leader, _)| *leader == name).map_or(&[][..], |(_, waiting)| *waiting);
    let before =
        job.options_global.iter().chain(&job.options).filter(|(name, _)| waiting.contains(&name.as_str()));
    let mut draft = Draft::new(job.clone());
    for (name, value) in before.map(|(n, v)| (n.as_str(), v.as_str())).chain([(name, value)]) {
        set(&mut draft, name, Some(value)).map_err(|error| match error {
            OptionError::Refused { why, .. } => ValueError::Refused(why),
            OptionError::BadValue { problem, .. } => ValueError::Bad(problem),
            OptionError::Unknown { .. } => ValueError::Bad(error.to_string()),
        })?;
    }
    draft.finish()?;
    *job = draft.job;
    if let Some(clones) = draft.clones {
        job.threads = clones;
    }
    Ok(())
}

/// fio's options, for the manual.
pub(crate) fn reference() -> impl Iterator<Item = OptionDoc> {
    let supported = table::ROWS.iter().map(|row| OptionDoc {
        name: row.name,
        aliases: row.aliases,
        dialect: Dialect::Fio,
        meaning: row.meaning,
        status: Status::Supported,
        example: row.example,
    });
    supported.chain(others::reference())
}
