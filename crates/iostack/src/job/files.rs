//! Which files does a job use, and what must happen to them before it may start?
//!
//! [`place`] decides names, [`prepare`] touches the disk: it refuses to write over what it did not make, lays out
//! files that are missing or too short, and marks them as made by iostack so that the next run may write again.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use iostack_engine::{Control, Work};
use iostack_model::{Amount, Bytes, Job, Storage, Target, TargetKind, VerifyMode};

/// Files by thread, and what they are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// What is reported as the target.
    pub(crate) target: Target,
    /// Files of each thread.
    pub(crate) files: Vec<Vec<PathBuf>>,
}

/// Names the files of `job`: on the target the user gave, else where the job says.
pub(crate) fn place(job: &Job, on: Option<&Target>) -> anyhow::Result<Placement> {
    if let Some(target) = on {
        let files = match target.kind {
            TargetKind::Directory => own_files(job, &target.path),
            TargetKind::File | TargetKind::Block | TargetKind::Sim | TargetKind::Lab => {
                shared(job, vec![target.path.clone()])
            }
        };
        return Ok(Placement { target: target.clone(), files });
    }
    let directory = job.directory.clone().unwrap_or_default();
    if job.files.is_empty() {
        if job.directory.is_none() {
            bail!(
                "job `{}` names no file; add `--on TARGET` (a file, a directory or a block device)",
                job.name
            );
        }
        let target = Target { kind: TargetKind::Directory, path: std::path::absolute(&directory)? };
        let files = own_files(job, &target.path);
        return Ok(Placement { target, files });
    }
    let paths: Vec<PathBuf> =
        job.files.iter().map(|file| std::path::absolute(directory.join(file))).collect::<Result<_, _>>()?;
    let kind = if is_block(&paths[0]) { TargetKind::Block } else { TargetKind::File };
    Ok(Placement { target: Target { kind, path: paths[0].clone() }, files: shared(job, paths) })
}

fn is_block(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device())
}

/// `NAME.THREAD.FILE` in `directory`, as fio names them.
fn own_files(job: &Job, directory: &Path) -> Vec<Vec<PathBuf>> {
    (0..job.threads)
        .map(|thread| {
            let names = iostack_workload::file_names(job, thread);
            names.into_iter().map(|name| directory.join(name)).collect()
        })
        .collect()
}

fn shared(job: &Job, paths: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
    vec![paths; job.threads as usize]
}

/// What the files cost to make: said to the user.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// Files laid out, with their size.
    pub(crate) files: Vec<(PathBuf, Bytes)>,
}

/// Bytes that each file must have; `None` when the job does not say.
fn needed(job: &Job) -> Option<Bytes> {
    let Some(Amount::Bytes(size)) = job.size else { return None };
    let Amount::Bytes(offset) = job.offset else { return Some(size) };
    let increments = job.offset_increment * u64::from(job.threads + job.thread_first - 1);
    let files = u64::from(job.file_count.max(1)).max(job.files.len() as u64);
    Some(Bytes(size.0 / files) + offset + increments)
}

/// Makes, extends or refuses the files; nothing that exists is written over without `destroy_data`.
pub(crate) fn prepare(
    job: &Job,
    placement: Placement,
    destroy_data: bool,
    control: &Control<'_>,
    made: &mut Made,
) -> anyhow::Result<Work> {
    if let Some(app) = &job.app {
        bail!(
            "job `{}`: app={} runs on simulated platforms only; add --on sim:PLATFORM (`iostack sim list` names them)",
            job.name,
            app.name()
        );
    }
    let mut paths: Vec<&PathBuf> = placement.files.iter().flatten().collect();
    paths.sort();
    paths.dedup();
    for path in paths {
        let exists = path.exists();
        let kind = if is_block(path) { TargetKind::Block } else { TargetKind::File };
        let target = Target { kind, path: path.clone() };
        if exists && job.mix.destroys() {
            iostack_host::permit_write(&target, destroy_data)?;
        }
        if kind == TargetKind::File {
            prepare_file(job, &target, exists, destroy_data, control, made)?;
        }
        let size = iostack_host::target_size(&target)?;
        let logical_block = iostack_host::logical_block(&target)?;
        iostack_workload::validate(job, size, logical_block)
            .with_context(|| format!("job `{}` on `{}`", job.name, path.display()))?;
    }
    let storage = match placement.files.first().and_then(|files| files.first()) {
        Some(path) => iostack_host::storage(path)?,
        None => Storage::default(),
    };
    Ok(Work { job: job.clone(), target: placement.target, storage, files: placement.files })
}

fn prepare_file(
    job: &Job,
    target: &Target,
    exists: bool,
    destroy_data: bool,
    control: &Control<'_>,
    made: &mut Made,
) -> anyhow::Result<()> {
    let path = &target.path;
    let size = if exists { iostack_host::target_size(target)? } else { Bytes(0) };
    let Some(needed) = needed(job) else {
        if exists {
            return Ok(());
        }
        bail!(
            "`{}` does not exist; give --size SIZE and it is made, or name an existing target",
            path.display()
        );
    };
    if size >= needed {
        return Ok(());
    }
    if job.verify.is_some_and(|verify| verify.mode == VerifyMode::ReadOnly) {
        bail!(
            "`{}` has {size}, there is nothing to verify up to {needed}; run the writing job first",
            path.display()
        );
    }
    if exists && size.0 > 0 && !iostack_host::is_made(path) && !destroy_data {
        bail!(
            "`{}` has {size} and the job wants {needed}; lower --size, or pass --destroy-data to overwrite and extend it",
            path.display()
        );
    }
    if !exists {
        // Marked before it holds anything, so that a run that is killed meanwhile leaves nothing unknown behind.
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .with_context(|| format!("cannot make `{}`", path.display()))?;
        iostack_host::mark_made(path);
    }
    let result = iostack_engine::lay_out(path, needed, &job.data, job.seed, control);
    if let Err(error) = result {
        if !exists {
            let _ = std::fs::remove_file(path);
        }
        return Err(error.into());
    }
    made.files.push((path.clone(), needed));
    Ok(())
}

/// Block devices that `job` writes, opened so that nobody can mount them meanwhile; those in `held` are held already.
pub(crate) fn hold(job: &Job, work: &Work, held: &[(PathBuf, File)]) -> anyhow::Result<Vec<(PathBuf, File)>> {
    let mut more: Vec<(PathBuf, File)> = Vec::new();
    for path in work.files.iter().flatten().filter(|path| job.mix.destroys() && is_block(path)) {
        if held.iter().chain(&more).all(|(known, _)| known != path) {
            more.push((path.clone(), iostack_host::open_exclusive(path, 0)?));
        }
    }
    Ok(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_gets_its_own_files_in_a_directory() {
        let job = Job { name: "a/b".into(), threads: 2, file_count: 2, ..Job::default() };
        let on = Target { kind: TargetKind::Directory, path: "/d".into() };
        let placement = place(&job, Some(&on)).expect("a directory");
        assert_eq!(placement.files[1], [PathBuf::from("/d/a-b.1.0"), PathBuf::from("/d/a-b.1.1")]);
    }

    #[test]
    fn threads_share_a_named_file() {
        let job = Job { threads: 3, files: vec!["/x".into()], ..Job::default() };
        let placement = place(&job, None).expect("a file");
        assert_eq!(placement.files, vec![vec![PathBuf::from("/x")]; 3]);
    }

    #[test]
    fn a_job_without_file_says_how_to_give_one() {
        let error = place(&Job::default(), None).expect_err("no file").to_string();
        assert!(error.contains("--on TARGET"), "{error}");
    }

    #[test]
    fn a_file_holds_offset_increments_of_all_threads() {
        let job = Job {
            size: Some(Amount::Bytes(Bytes(100))),
            offset: Amount::Bytes(Bytes(10)),
            offset_increment: Bytes(1000),
            threads: 3,
            ..Job::default()
        };
        assert_eq!(needed(&job), Some(Bytes(2110)));
    }
}
