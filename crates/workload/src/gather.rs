//! The jobs that were asked for: from job files, from flags, or from both.

use std::path::Path;

use anyhow::{Context, bail};
use iostack_model::{Job, Nanos};

use crate::{JobFile, ParseContext, choose_engine, fio_text, parse_fio, parse_toml, refuse_wait, set_option};

/// Jobs and what was left out under `--lenient`.
pub struct Gathered {
    /// Jobs in the order of the files.
    pub jobs: Vec<Job>,
    /// One line for each option that was skipped.
    pub skipped: Vec<String>,
}

/// Reads the job files (or starts from the default job) and sets the flags' options on every job.
pub fn gather(
    files: &[std::path::PathBuf],
    sections: &[String],
    flags: &[(String, String)],
    lenient: bool,
    cpus: u32,
) -> anyhow::Result<Gathered> {
    let mut jobs = Vec::new();
    let mut skipped = Vec::new();
    for path in files {
        let file = read(path, lenient, cpus)?;
        skipped.extend(file.skipped.iter().map(|skip| format!("{}: {skip}", path.display())));
        // Jobs of a later file wait for the earlier file's.
        let first = jobs.len();
        jobs.extend(file.jobs);
        if let Some(job) = jobs.get_mut(first)
            && first > 0
        {
            job.stonewall = true;
        }
    }
    if files.is_empty() {
        jobs.push(Job::default());
    }
    let mut jobs = of_sections(jobs, sections)?;
    apply(&mut jobs, flags)?;
    for (index, job) in jobs.iter().enumerate() {
        refuse_wait(job, &jobs[..index])?;
    }
    Ok(Gathered { jobs, skipped })
}

/// Sets the flags' options on every job.
pub fn apply(jobs: &mut [Job], flags: &[(String, String)]) -> anyhow::Result<()> {
    for job in jobs {
        for (name, value) in flags {
            set_option(job, name, value)?;
        }
        let asks = |name: &str| matches!(name.replace('-', "_").as_str(), "queue_depth" | "iodepth");
        if flags.iter().any(|(name, _)| asks(name)) {
            choose_engine(job);
        }
        if !flags.iter().any(|(name, _)| name == "slice") {
            job.slice = slice(job);
        }
    }
    Ok(())
}

/// Per-second series are what people read; a run of a few seconds gets shorter elements, because an interval needs
/// several.
fn slice(job: &Job) -> Nanos {
    match job.runtime {
        Some(runtime) if runtime < Nanos::secs(10) && job.slice == Nanos::secs(1) => {
            Nanos((runtime.0 / 20).max(25_000_000))
        }
        _ => job.slice,
    }
}

/// Those of the sections that were asked for; of all, where none was.
pub fn of_sections(jobs: Vec<Job>, sections: &[String]) -> anyhow::Result<Vec<Job>> {
    if sections.is_empty() {
        return Ok(jobs);
    }
    for section in sections {
        if !jobs.iter().any(|job| job.section() == section) {
            let names: Vec<&str> = jobs.iter().map(Job::section).collect();
            bail!("there is no section `{section}`; the job file has {}", names.join(", "));
        }
    }
    Ok(jobs.into_iter().filter(|job| sections.iter().any(|section| job.section() == section)).collect())
}

fn read(path: &Path, lenient: bool, cpus: u32) -> anyhow::Result<JobFile> {
    let unread = || format!("cannot read the job file `{}`", path.display());
    let bytes = std::fs::read(path).with_context(unread)?;
    if path.extension().is_some_and(|extension| extension == "toml") {
        let text = String::from_utf8(bytes).with_context(unread)?;
        return Ok(parse_toml(&text, path)?);
    }
    let context = ParseContext {
        env: &|name| std::env::var(name).ok(),
        include: &|path| std::fs::read(path).map(|bytes| fio_text(&bytes)),
        lenient,
        cpus,
    };
    Ok(parse_fio(&fio_text(&bytes), path, &context)?)
}

#[cfg(test)]
mod tests {
    use iostack_model::Engine;

    use super::*;

    #[test]
    fn a_short_run_has_elements_enough_for_an_interval() {
        let of = |runtime| slice(&Job { runtime, ..Job::default() });
        assert_eq!(of(Some(Nanos::secs(2))), Nanos::millis(100));
        assert_eq!(of(Some(Nanos::secs(60))), Nanos::secs(1));
        assert_eq!(of(None), Nanos::secs(1));
    }

    #[test]
    fn a_depth_chooses_an_engine_that_holds_it_unless_one_is_named() {
        let engine = |flags: &[(&str, &str)]| {
            let flags: Vec<_> = flags.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            gather(&[], &[], &flags, false, 1).expect("flags").jobs.remove(0).engine
        };
        assert_eq!(engine(&[("queue_depth", "2")]), Engine::Libaio);
        assert_eq!(engine(&[("queue-depth", "32"), ("direct", "false")]), Engine::IO_URING);
        assert_eq!(engine(&[("direct", "false"), ("iodepth", "2")]), Engine::IO_URING);
        assert_eq!(engine(&[("queue_depth", "1")]), Engine::Psync);
        assert_eq!(engine(&[("engine", "psync"), ("queue_depth", "32")]), Engine::Psync);
        assert_eq!(
            engine(&[("queue_depth", "32"), ("ioengine", "pvsync2")]),
            Engine::Pvsync2 { hipri: false }
        );
        assert_eq!(engine(&[("queue_depth", "32"), ("engine", "io_uring")]), Engine::IO_URING);
    }

    #[test]
    fn a_missing_section_is_named_with_those_there_are() {
        let error =
            of_sections(vec![Job::default()], &["x".into()]).expect_err("no such section").to_string();
        assert!(error.contains("`x`") && error.contains("job"), "{error}");
    }
}
