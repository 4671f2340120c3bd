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

mod command;
mod draft;
mod engines;
mod expand;
mod jobs;
mod lexer;
mod others;
mod own;
mod set;
mod table;
#[cfg(test)]
mod tests;
mod units;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use iostack_model::Job;

use crate::options::option::{Dialect, OptionDoc, OptionError, Status, suggest};
use crate::options::value::{Set, ValueError, bad, refused};
pub use command::{FioCommand, parse_fio_command};
use draft::Draft;
use lexer::{Section, TypedOption};
pub use own::{FioAsked, FioFormat, FioInstead, fio_command_options, fio_refused_switches};

/// World that parsing needs, so that it does not touch it.
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

/// Jobs of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFile {
    /// The jobs, in order.
    pub jobs: Vec<Job>,
    /// Options that were left out because of [`ParseContext::lenient`].
    pub skipped: Vec<Skipped>,
}

/// An option that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// File it stands in.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: u32,
    /// Name of the option as it was typed.
    pub option: String,
    /// Value as it was typed.
    pub value: String,
    /// Reason why it is not done.
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
    /// Text that was typed, what is wrong, what to do.
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
    /// Problems in order of file and line; never empty.
    pub problems: Vec<Problem>,
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

/// The text of a job file from its bytes. What is no UTF-8 is marked, so that comments may hold it, and a line that does is
/// told by its number.
pub fn fio_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The jobs of a fio job file. `path` names it in errors and is where relative includes start.
pub fn parse_fio(text: &str, path: &Path, context: &ParseContext) -> Result<JobFile, JobFileError> {
    let (sections, problems) = lexer::sections(text, path, context);
    let mut parser = FioParser::new(context, problems);
    let drafts = parser.sections(sections, &mut Vec::new());
    let what = "no job in it; add a section like [job1]".to_owned();
    parser.file(drafts, Problem { path: path.to_owned(), line: 0, what })
}

struct FioParser<'a> {
    context: &'a ParseContext<'a>,
    problems: Vec<Problem>,
    skipped: Vec<Skipped>,
}

/// A section's draft and where it stands.
struct Drafted {
    draft: Draft,
    place: lexer::FilePlace,
}

impl<'a> FioParser<'a> {
    fn new(context: &'a ParseContext<'a>, problems: Vec<Problem>) -> FioParser<'a> {
        FioParser { context, problems, skipped: Vec::new() }
    }

    /// The drafts of all jobs. A global section holds for the sections behind it: `global` grows.
    fn sections(&mut self, sections: Vec<Section>, global: &mut Vec<TypedOption>) -> Vec<Drafted> {
        let mut drafts = Vec::new();
        let mut holds_for_nobody = false;
        for mut section in sections {
            self.expand(&mut section);
            holds_for_nobody = section.name == "global";
            if holds_for_nobody {
                global.extend(section.options);
            } else {
                drafts.push(self.section(global, &section));
            }
        }
        if holds_for_nobody {
            // What refines an option waits for one; all else is checked.
            let alone: Vec<_> =
                global.iter().filter(|typed| leader(&typed.name).is_none()).cloned().collect();
            self.apply(&mut Draft::fio_default(), &alone, &[]);
        }
        drafts
    }

    /// The jobs that the drafts stand for, or all that is wrong: `nothing`, where there is none.
    fn file(mut self, drafts: Vec<Drafted>, nothing: Problem) -> Result<JobFile, JobFileError> {
        if drafts.is_empty() && self.problems.is_empty() {
            self.problems.push(nothing);
        }
        let jobs = jobs::jobs(drafts, &mut self.problems);
        if self.problems.is_empty() {
            return Ok(JobFile { jobs, skipped: self.skipped });
        }
        let mut problems = self.problems;
        problems.sort_by(|a, b| (&a.path, a.line, &a.what).cmp(&(&b.path, b.line, &b.what)));
        problems.dedup();
        Err(JobFileError { problems })
    }

    fn expand(&mut self, section: &mut Section) {
        section.options.retain_mut(|typed| {
            let Some(value) = &typed.value else { return true };
            let expanded = expand::expand(value, self.context);
            let is_pattern = matches!(typed.name.as_str(), "buffer_pattern" | "verify_pattern");
            match expanded.and_then(|value| {
                if is_pattern { expand::with_files(value, self.context) } else { Ok(value) }
            }) {
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

    fn section(&mut self, global: &[TypedOption], section: &Section) -> Drafted {
        let mut draft = Draft::fio_default();
        draft.job.name.clone_from(&section.name);
        self.apply(&mut draft, global, &section.options);
        draft.job.section = Some(section.name.clone()).filter(|section| *section != draft.job.name);
        if let Err(ValueError::Bad(what) | ValueError::Refused(what)) = draft.finish() {
            self.problems.push(section.place.problem(format!("[{}]: {what}", section.name)));
        }
        draft.finish_depth();
        Drafted { draft, place: section.place.clone() }
    }

    /// Options that others refine come first, whatever was typed first; the job keeps them as typed.
    fn apply(&mut self, draft: &mut Draft, global: &[TypedOption], own: &[TypedOption]) {
        let all: Vec<&TypedOption> = global.iter().chain(own).collect();
        // Units hold for the whole section, wherever they are set.
        for typed in all.iter().filter(|typed| typed.name == "kb_base") {
            draft.kb_base = if typed.value.as_deref() == Some("1000") { 1000 } else { 1024 };
        }
        // A name in a global section is nobody's: fio gives each job that of its section.
        let nobodys = |index: usize| index < global.len() && all[index].name == "name";
        let mut left_out: Vec<usize> = (0..all.len()).collect();
        left_out.sort_by_key(|&index| leader(&all[index].name).is_some());
        left_out.retain(|&index| !nobodys(index) && !self.apply_one(draft, all[index]));
        for (index, typed) in all.iter().enumerate().filter(|(index, _)| !left_out.contains(index)) {
            let options =
                if index < global.len() { &mut draft.job.options_global } else { &mut draft.job.options };
            // As fio keeps it: by the option's first name.
            let name = table::find(&typed.name).map_or(typed.name.as_str(), |row| row.name);
            options.push((name.to_owned(), typed.value.clone().unwrap_or_default()));
        }
    }

    /// True when it was done.
    fn apply_one(&mut self, draft: &mut Draft, typed: &TypedOption) -> bool {
        let Err(error) = set(draft, &typed.name, typed.value.as_deref()) else { return true };
        if !(self.context.lenient && error.may_be_skipped()) {
            self.problems.push(typed.place.problem(error.to_string()));
            return false;
        }
        let skipped = Skipped {
            path: typed.place.path.clone(),
            line: typed.place.line,
            option: typed.name.clone(),
            value: typed.value.clone().unwrap_or_default(),
            why: why(&error),
        };
        if !self.skipped.contains(&skipped) {
            self.skipped.push(skipped);
        }
        false
    }
}

/// The option that this one refines.
fn leader(name: &str) -> Option<&'static str> {
    table::find(name).map(|row| row.leans_on).filter(|leader| !leader.is_empty())
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
        match other.status_of_value(typed) {
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
    let supported = table::rows().flat_map(|row| row.aliases.iter().chain([&row.name]));
    supported.copied().chain(others::names())
}

/// Sets one option of a finished job, and once more those typed before that refine it.
pub(crate) fn set_one(job: &mut Job, name: &str, value: &str) -> Set {
    let row = table::find(name).map(|row| row.name);
    let before = job.options_global.iter().chain(&job.options);
    let before = before.filter(|(refines, _)| row.is_some() && leader(refines) == row);
    let mut draft = Draft::new(job.clone());
    for (name, value) in [(name, value)].into_iter().chain(before.map(|(n, v)| (n.as_str(), v.as_str()))) {
        set(&mut draft, name, Some(value)).map_err(|error| match error {
            OptionError::Refused { why, .. } => ValueError::Refused(why),
            OptionError::BadValue { problem, .. } => ValueError::Bad(problem),
            OptionError::Unknown { .. } => ValueError::Bad(error.to_string()),
        })?;
    }
    draft.finish()?;
    *job = draft.job;
    draft::name_logs(job);
    if let Some(clones) = draft.clones {
        job.threads = clones;
    }
    Ok(())
}

/// fio's options, for the manual.
pub(crate) fn reference() -> impl Iterator<Item = OptionDoc> {
    table::rows().map(|row| row.doc(Dialect::Fio)).chain(others::reference())
}
