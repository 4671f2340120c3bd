//! Which files does a job use, and what must happen to them before it may start?
//!
//! [`place`] decides names, [`Ground::prepare`] touches the disk: it opens each file once, refuses to write over what
//! iostack did not make, lays out files that are missing or too short, and marks them as made by iostack so that the
//! next run may write again. From then on the files are held, and their names mean nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Control, Work};
use anyhow::{Context, bail, ensure};
use iostack_host::Held;
use iostack_model::{Amount, Bytes, Engine, Job, Mix, NameAct, Storage, TargetKind, TargetName, VerifyMode};

use super::names::{look_at, refuse_shared};

/// Every file and device in use, each once: a device is claimed until all is over.
pub type AllHeld = Arc<Mutex<Vec<Arc<Held>>>>;

/// Files by thread, and what they are.
#[derive(Debug, PartialEq, Eq)]
pub struct Placement {
    /// Name that is reported as the target; of a file that the job names, its kind shows when it is opened.
    pub target: TargetName,
    /// Files of each thread.
    pub files: Vec<Vec<PathBuf>>,
}

/// Names the files of `job`: on the target the user gave, else where the job says.
pub fn place(job: &Job, on: Option<&TargetName>) -> anyhow::Result<Placement> {
    if job.engine == Engine::Null {
        let target = TargetName { kind: TargetKind::File, path: Engine::Null.name().into() };
        return Ok(Placement { target, files: shared(job, Vec::new()) });
    }
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
        let target = TargetName { kind: TargetKind::Directory, path: std::path::absolute(&directory)? };
        let files = own_files(job, &target.path);
        return Ok(Placement { target, files });
    }
    let paths: Vec<PathBuf> =
        job.files.iter().map(|file| std::path::absolute(directory.join(file))).collect::<Result<_, _>>()?;
    let target = TargetName { kind: TargetKind::File, path: paths[0].clone() };
    Ok(Placement { target, files: shared(job, paths) })
}

/// Refuses a job that wants its files as they are.
fn refuse_laying_out(job: &Job, path: &Path, size: Bytes, wanted: Bytes) -> anyhow::Result<()> {
    ensure!(
        !job.beforehand.writes_none,
        "`{}` has {size} of {wanted}, and --readonly keeps it from being laid out; make it, or leave that out",
        path.display()
    );
    if job.verify.is_some_and(|verify| verify.mode == VerifyMode::ReadOnly) {
        bail!(
            "`{}` has {size}, there is nothing to verify up to {wanted}; run the writing job first",
            path.display()
        );
    }
    Ok(())
}

/// `NAME.THREAD.FILE` in `directory`, as fio names them.
fn own_files(job: &Job, directory: &Path) -> Vec<Vec<PathBuf>> {
    (0..job.threads)
        .map(|thread| {
            let names = job.file_names(thread);
            names.into_iter().map(|name| directory.join(name)).collect()
        })
        .collect()
}

fn shared(job: &Job, paths: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
    vec![paths; job.threads as usize]
}

/// Bytes that each file must have; `None` when the job does not say.
fn needed(job: &Job) -> Option<Bytes> {
    let Some(Amount::Bytes(size)) = job.size else { return None };
    let Amount::Bytes(offset) = job.offset else { return Some(size) };
    let increments = job.offset_increment * u64::from(job.threads + job.thread_first - 1);
    let files = u64::from(job.file_count.max(1)).max(job.files.len() as u64);
    Some(Bytes(size.0 / files) + offset + increments)
}

/// Files and sums on which jobs that run together stand.
pub(crate) struct Ground<'a> {
    /// The command has `--destroy-data`.
    destroy_data: bool,
    /// Means to watch and stop laying out.
    control: &'a Control<'a>,
    /// Files laid out, with their size.
    pub(crate) made: Vec<(PathBuf, Bytes)>,
    held: &'a AllHeld,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(destroy_data: bool, control: &'a Control<'a>, held: &'a AllHeld) -> Ground<'a> {
        crate::allow_many_files();
        Ground { destroy_data, control, made: Vec::new(), held }
    }

    /// Makes, extends or refuses the files; nothing that exists is written over without `destroy_data`.
    pub(crate) fn prepare(&mut self, job: &Job, placement: Placement) -> anyhow::Result<Work> {
        let Placement { mut target, files: names } = placement;
        if job.engine == Engine::Null {
            let size = needed(job).with_context(|| {
                format!("job `{}`: the null engine has no file that has a size; give --size SIZE", job.name)
            })?;
            iostack_workload::validate(job, size, Bytes(1))?;
        }
        refuse_shared(job, &names)?;
        let mut paths: Vec<&PathBuf> = names.iter().flatten().collect();
        paths.sort();
        paths.dedup();
        // All are looked at before the first is removed.
        if let Engine::Names(act) = job.engine {
            paths.iter().try_for_each(|path| look_at(job, act, path, self.destroy_data).map(drop))?;
        }
        let mut known: Vec<(&PathBuf, Arc<Held>)> = Vec::with_capacity(paths.len());
        for path in paths {
            let held = match job.engine {
                Engine::Names(act) => self.named(job, act, path)?,
                _ => self.ready(job, path)?,
            };
            known.push((path, held));
        }
        let held = |path: &PathBuf| {
            let at = known.binary_search_by_key(&path, |(name, _)| name).expect("each name was held");
            Arc::clone(&known[at].1)
        };
        let files: Vec<Vec<Arc<Held>>> =
            names.iter().map(|thread| thread.iter().map(held).collect()).collect();
        let first = files.first().and_then(|files| files.first());
        if let Some(first) = first.filter(|_| target.kind != TargetKind::Directory) {
            target.kind = first.kind();
        }
        let storage = first.map_or(Ok(Storage::default()), |first| first.storage())?;
        Ok(Work { job: job.clone(), target, storage, files, recording: None })
    }

    /// The file or directory that the act is done to, or the folder of one that is to be made.
    fn named(&mut self, job: &Job, act: NameAct, path: &Path) -> anyhow::Result<Arc<Held>> {
        match look_at(job, act, path, self.destroy_data)? {
            found if act.makes() => {
                found.map_or(Ok(()), |held| held.remove())?;
                Ok(Arc::new(Held::place(path)?))
            }
            Some(held) if act.of_directories() => Ok(Arc::new(held)),
            None if act.of_directories() && job.beforehand.writes_none => {
                bail!("`{}` does not exist, and --readonly keeps it from being made", path.display())
            }
            None if act.of_directories() => Ok(Arc::new(Held::make_directory(path)?)),
            found => self.laid_out(job, path, found.map(Arc::new).as_ref()),
        }
    }

    /// The file or device of this name, as the job needs it.
    fn ready(&mut self, job: &Job, path: &Path) -> anyhow::Result<Arc<Held>> {
        let found = Held::find(path)?.map(|held| self.once(held));
        if let Some(held) = &found {
            ensure!(
                held.kind() != TargetKind::Directory,
                "`{}` is a directory; name a file in it",
                path.display()
            );
            if job.destroys() {
                iostack_host::permit_write(held, self.destroy_data)?;
            }
        }
        let held = match found {
            Some(held) if held.kind() == TargetKind::Block => held,
            found => self.laid_out(job, path, found.as_ref())?,
        };
        let changes_length = matches!(job.engine, Engine::Fallocate | Engine::Truncate);
        ensure!(
            !changes_length || held.kind() == TargetKind::File,
            "job `{}`: {} works on files; `{}` is a device",
            job.name,
            job.engine.name(),
            path.display()
        );
        let size =
            iostack_host::target_size(&held)?.max(needed(job).filter(|_| changes_length).unwrap_or_default());
        if job.write_pointers.is_some()
            && held.kind() == TargetKind::Block
            && let Some(model) = iostack_host::zone_model(&held.handle())?
        {
            bail!(
                "job `{}`: `{}` is {model}: the write pointers of a drive are not followed; zonemode=zbd runs on \
                 files and on drives without zones, or leave it out and read",
                job.name,
                path.display()
            );
        }
        let logical_block = iostack_host::logical_block(&held)?;
        iostack_workload::validate(job, size, logical_block)
            .with_context(|| format!("job `{}` on `{}`", job.name, path.display()))?;
        Ok(held)
    }

    /// The one that is held already, where this is the same.
    fn once(&self, held: Held) -> Arc<Held> {
        let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find(|known| known.is_same(&held)) {
            return Arc::clone(known);
        }
        let held = Arc::new(held);
        all.push(Arc::clone(&held));
        held
    }

    /// The file, which is there or not, with all the bytes that the job needs.
    fn laid_out(&mut self, job: &Job, path: &Path, found: Option<&Arc<Held>>) -> anyhow::Result<Arc<Held>> {
        let size = found.map_or(Ok(Bytes(0)), |held| iostack_host::target_size(held))?;
        let wanted = needed(job);
        if let Some(held) = found
            && wanted.is_none_or(|wanted| size >= wanted)
        {
            return Ok(Arc::clone(held));
        }
        if found.is_none() {
            ensure!(
                !job.beforehand.makes_none,
                "`{}` does not exist, and allow_file_create=0 keeps it from being made; make it, or leave that out",
                path.display()
            );
            iostack_host::permit_new(path)?;
        }
        let Some(wanted) = wanted else {
            bail!(
                "`{}` does not exist; give --size SIZE and it is made, or name an existing target",
                path.display()
            )
        };
        refuse_laying_out(job, path, size, wanted)?;
        // Who sets the length by itself begins without one.
        if matches!(job.engine, Engine::Fallocate | Engine::Truncate) && job.mix == Mix::WRITE {
            return Ok(found.map_or_else(
                || Held::make(path).map(|held| self.once(held)),
                |held| Ok(Arc::clone(held)),
            )?);
        }
        let held = match found {
            Some(held) => {
                self.permit_filling(held, size, wanted)?;
                Arc::clone(held)
            }
            None => self.once(Held::make(path)?),
        };
        let result = crate::lay_out(&held, wanted, &job.data, job.seed, self.control);
        if let Err(error) = result {
            if found.is_none() {
                let _ = held.remove();
            }
            return Err(error.into());
        }
        self.made.push((path.to_owned(), wanted));
        Ok(held)
    }

    /// Refuses to write content to a file that is there and too short, also for a job that only reads.
    fn permit_filling(&self, held: &Held, size: Bytes, wanted: Bytes) -> anyhow::Result<()> {
        let theirs = !held.is_made() && !self.destroy_data;
        if theirs && size.0 == 0 {
            bail!(
                "`{}` is empty and was not made by iostack; pass --destroy-data to have it filled with {wanted}, or \
                 name a file that does not exist",
                held.path().display()
            );
        }
        if theirs {
            bail!(
                "`{}` has {size} and the job wants {wanted}; lower --size, or pass --destroy-data to overwrite and extend it",
                held.path().display()
            );
        }
        Ok(iostack_host::permit_write(held, self.destroy_data)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_gets_its_own_files_in_a_directory() {
        let job = Job { name: "a/b".into(), threads: 2, file_count: 2, ..Job::default() };
        let on = TargetName { kind: TargetKind::Directory, path: "/d".into() };
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
