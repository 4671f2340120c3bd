//! What does a TOML job file ask?
//!
//! ```toml
//! [defaults]             # holds for every job
//! block_size = "4k"
//! runtime = "10s"
//!
//! [[job]]
//! name = "read"
//! queue_depth = 32
//! ```
//!
//! Keys are our option names, in any order; see [`crate::set_option`]. All that is wrong with a file is said at once, each
//! with its line. Start reading at [`parse_toml`].

use std::path::Path;

use iostack_model::Job;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::options::{OptionError, choose_engine, native, suggest};
use crate::{JobFile, JobFileError, Problem};

type TomlEntry = (String, String, u32);

/// The jobs of a TOML job file; `path` names it in errors.
pub fn parse_toml(text: &str, path: &Path) -> Result<JobFile, JobFileError> {
    let mut parser = TomlParser { text, path, problems: Vec::new() };
    let mut jobs = Vec::new();
    match DeTable::parse(text) {
        Ok(table) => jobs = parser.file(table.get_ref()),
        Err(error) => {
            let line = parser.line(error.span().map_or(0, |span| span.start));
            parser.problem(line, error.message().replace('\n', "; "));
        }
    }
    if jobs.is_empty() && parser.problems.is_empty() {
        parser.problem(0, "no job in it; add [[job]]");
    }
    if parser.problems.is_empty() {
        return Ok(JobFile { jobs, skipped: Vec::new() });
    }
    parser.problems.sort_by(|a, b| (a.line, &a.what).cmp(&(b.line, &b.what)));
    parser.problems.dedup();
    Err(JobFileError { problems: parser.problems })
}

struct TomlParser<'a> {
    text: &'a str,
    path: &'a Path,
    problems: Vec<Problem>,
}

impl TomlParser<'_> {
    fn line(&self, byte: usize) -> u32 {
        self.text.bytes().take(byte).filter(|&b| b == b'\n').count() as u32 + 1
    }

    fn problem(&mut self, line: u32, what: impl Into<String>) {
        self.problems.push(Problem { path: self.path.to_owned(), line, what: what.into() });
    }

    fn file(&mut self, table: &DeTable) -> Vec<Job> {
        let mut defaults = Vec::new();
        let mut tables = Vec::new();
        for (key, value) in table {
            let line = self.line(key.span().start);
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("defaults", DeValue::Table(table)) => defaults = self.entries(table),
                ("job", DeValue::Array(list)) => {
                    for item in list {
                        let line = self.line(item.span().start);
                        match item.get_ref() {
                            DeValue::Table(table) => tables.push((line, self.entries(table))),
                            _ => self.problem(line, "a job is a table; write [[job]]"),
                        }
                    }
                }
                ("job", _) => self.problem(line, "write [[job]] in double brackets"),
                (name, _) => {
                    let what = format!("`{name}` stands outside of [defaults] and [[job]]; move it into one");
                    self.problem(line, what);
                }
            }
        }
        // Checked by itself as well, so that its errors are found even when there is no job.
        let mut scratch = Job::default();
        self.apply(&mut scratch, &defaults);
        tables.into_iter().enumerate().map(|(index, (_, own))| self.job(index, &defaults, &own)).collect()
    }

    fn job(&mut self, index: usize, defaults: &[TomlEntry], own: &[TomlEntry]) -> Job {
        let name = format!("job{}", index + 1);
        let mut job = Job { name, report_group: index as u32, ..Job::default() };
        // As in fio files: jobs that say nothing else must not use the same blocks in step with each other.
        job.seed = job.seed.wrapping_add(index as u64);
        let overridden = |entry: &&TomlEntry| own.iter().all(|(name, ..)| *name != entry.0);
        let all: Vec<TomlEntry> = defaults.iter().filter(overridden).chain(own).cloned().collect();
        self.apply(&mut job, &all);
        choose_engine(&mut job);
        job
    }

    /// Applies the entries in the order of the option table, and keeps them in the order they were typed.
    fn apply(&mut self, job: &mut Job, entries: &[TomlEntry]) {
        let mut ordered: Vec<&TomlEntry> = entries.iter().collect();
        ordered.sort_by_key(|(name, ..)| native::names().position(|known| known == name));
        for (name, value, line) in ordered {
            let suggestion = || suggest(name, native::names());
            let row = native::find(name)
                .ok_or_else(|| OptionError::Unknown { name: name.clone(), suggestion: suggestion() });
            let set = |error| OptionError::from_value(name, value, error);
            if let Err(error) = row.and_then(|row| (row.set)(job, value).map_err(set)) {
                self.problem(*line, error.to_string());
            }
        }
        job.options = entries.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
    }

    /// Keys and values as text, with their lines, in the order they were typed.
    fn entries(&mut self, table: &DeTable) -> Vec<TomlEntry> {
        let mut entries = Vec::new();
        for (key, value) in table {
            let line = self.line(key.span().start);
            if let Some(text) = text_of(value) {
                entries.push((key.get_ref().to_string(), text, line));
            } else {
                self.problem(line, format!("`{}` takes one value or a list of values", key.get_ref()));
            }
        }
        entries.sort_by_key(|&(.., line)| line);
        entries
    }
}

/// A value as it would be typed on the command line; lists with commas.
fn text_of(value: &Spanned<DeValue>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Integer(number) => {
            u64::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(on) => Some(on.to_string()),
        DeValue::Array(list) => list
            .iter()
            .map(|item| if matches!(item.get_ref(), DeValue::Array(_)) { None } else { text_of(item) })
            .collect::<Option<Vec<_>>>()
            .map(|items| items.join(",")),
        DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{Access, Amount, BlockSizes, Bytes, Engine, Mix, Nanos};

    fn parse(text: &str) -> Result<JobFile, JobFileError> {
        parse_toml(text, Path::new("jobs.toml"))
    }

    #[test]
    fn jobs_take_the_defaults_and_their_own() {
        let file = parse(
            "[defaults]\nruntime = \"10s\"\nblock_size = \"8k\"\n\n[[job]]\nfixed_buffers = true\nqueue_depth = 32\n\
             engine = \"io_uring\"\ncpus = [0, 1]\n\n[[job]]\nname = \"log\"\nblock_size = 4096\npattern = \"sequential\"\n\
             read_percent = 0\nsize = \"50%\"\nstonewall = true\n",
        )
        .expect("sound");
        let [first, second] = &file.jobs[..] else { panic!("two jobs") };
        assert_eq!((first.name.as_str(), first.queue_depth), ("job1", 32));
        assert_eq!(first.cpus, Some(vec![0, 1]));
        assert!(matches!(first.engine, Engine::IoUring { fixed_buffers: true, .. }));
        assert_eq!(first.block_sizes, BlockSizes::all(Bytes(8192)));
        assert_eq!((first.runtime, second.runtime), (Some(Nanos::secs(10)), Some(Nanos::secs(10))));
        assert_eq!((second.mix, &second.access), (Mix::WRITE, &Access::Sequential));
        assert_eq!(second.size, Some(Amount::Percent(50.0)));
        assert_eq!(second.block_sizes, BlockSizes::all(Bytes(4096)));
        assert_ne!((first.report_group, first.seed), (second.report_group, second.seed));
        assert_eq!(second.options.len(), 7);
    }

    #[test]
    fn all_errors_are_said_with_their_lines() {
        let text =
            "[defaults]\nqueue_deph = 3\n[[job]]\nruntime = 10\n[[job]]\nsize = \"4x\"\nname = { a = 1 }\n";
        let error = parse(text).expect_err("four errors").to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines.len(), 4, "{error}");
        assert_eq!(lines[0], "jobs.toml:2: no option `queue_deph`; did you mean `queue_depth`?");
        assert!(lines[1].starts_with("jobs.toml:4: `runtime=10`: `10` is not a time"), "{error}");
        assert!(lines[2].starts_with("jobs.toml:6: `size=4x`"), "{error}");
        assert!(lines[3].starts_with("jobs.toml:7: `name` takes one value"), "{error}");
    }

    #[test]
    fn what_is_no_job_file_is_refused() {
        for (text, expected) in [
            ("", "jobs.toml: no job in it"),
            ("[job]\nsize = 1\n", "jobs.toml:1: write [[job]]"),
            ("runtime = \"1s\"\n[[job]]\n", "jobs.toml:1: `runtime` stands outside"),
            ("[[job]]\nsize = \n", "jobs.toml:2: "),
            ("job = [1]\n", "jobs.toml:1: a job is a table"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
