//! How many jobs does a section stand for, and which are reported together?
//!
//! `numjobs=4` with `group_reporting` is one job of four threads. Without it, each clone has a report of its own and so
//! is a job of its own, numbered by `thread_first`; likewise when the clones have names of their own.
//!
//! As in fio, a job with `group_reporting` joins the report before it, whatever that one asked for, unless a group begins
//! with it (`show_run_stats` in fio's `stat.c`).

use std::path::PathBuf;

use iostack_model::Job;

use super::draft::{Draft, name_logs};
use super::{Drafted, Problem};
use crate::refuse_wait;

/// A file beyond this is a mistake, not a load.
const MOST_CLONES: usize = 4096;

/// All jobs of the file, in order.
pub(super) fn jobs(drafts: Vec<Drafted>, problems: &mut Vec<Problem>) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for (index, Drafted { mut draft, place }) in drafts.into_iter().enumerate() {
        let clones = draft.clones.unwrap_or(1);
        if jobs.len() + clones as usize > MOST_CLONES {
            problems.push(place.problem(format!("more than {MOST_CLONES} jobs in all; lower numjobs")));
            continue;
        }
        // Sections that say nothing else must not read the same blocks in step with each other.
        draft.job.seed = draft.job.seed.wrapping_add(index as u64);
        if let Err(error) = refuse_wait(&draft.job, &jobs) {
            problems.push(place.problem(format!("[{}]: {error}", draft.job.section())));
        }
        let together = clones == 1 || (draft.group_reporting && !names_differ(&draft));
        let count = if together { 1 } else { clones };
        for clone in 0..count {
            let mut job = clone_of(&draft, clone);
            if together {
                job.threads = clones;
            } else {
                split_cpus(&mut job, clone);
            }
            job.report_group = jobs.last().map_or(0, |before| {
                let joins = draft.group_reporting && !job.new_group && !job.stonewall;
                before.report_group + u32::from(!joins)
            });
            jobs.push(job);
        }
    }
    jobs
}

fn clone_of(draft: &Draft, clone: u32) -> Job {
    let mut draft = draft.clone();
    draft.job.thread_first = clone;
    if makes_names(&draft) {
        (draft.job.files, draft.job.directory) = (file_names(&draft, clone), None);
    }
    if clone > 0 {
        // Only the first has the section's `name=`, as in fio; and a clone waits for the jobs before the section, not
        // for its own twins.
        draft.job.name = draft.job.section.take().unwrap_or(draft.job.name);
        draft.job.stonewall = false;
        draft.job.new_group = false;
    }
    name_logs(&mut draft.job);
    draft.job
}

/// True when clones have names of their own, for reports and logs or for files.
fn names_differ(draft: &Draft) -> bool {
    makes_names(draft) || draft.job.section.is_some()
}

/// True when each clone makes files of names that [`Job::file_names`] would not give.
fn makes_names(draft: &Draft) -> bool {
    draft.filenames.is_empty() && (draft.filename_format.is_some() || draft.directories.len() > 1)
}

fn file_names(draft: &Draft, clone: u32) -> Vec<PathBuf> {
    let directory = draft.directories.get(clone as usize % draft.directories.len().max(1));
    let format = draft.filename_format.as_deref().unwrap_or("$jobname.$jobnum.$filenum");
    (0..draft.job.file_count)
        .map(|file| {
            let name = format
                .replace("$jobname", draft.job.section())
                .replace("$jobnum", &clone.to_string())
                .replace("$filenum", &file.to_string());
            directory.map_or_else(|| PathBuf::from(&name), |directory| directory.join(&name))
        })
        .collect()
}

/// A clone is thread 0 of its own job, so that its share of split CPUs is settled here.
fn split_cpus(job: &mut Job, clone: u32) {
    if let Some(cpus) = job.cpus.as_mut().filter(|cpus| job.cpus_split && !cpus.is_empty()) {
        *cpus = vec![cpus[clone as usize % cpus.len()]];
    }
}
