//! What must be there, and what must not, before a job does something to names of files?
//!
//! Nothing that exists is removed without `--destroy-data`, unless iostack made it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{bail, ensure};
use iostack_host::Held;
use iostack_model::{Bytes, Engine, Job, NameAct, TargetKind};

use super::files::Ground;

impl Ground<'_> {
    /// What has the name; refuses what the act must not be done to.
    pub(crate) fn look_at(&self, job: &Job, act: NameAct, path: &Path) -> anyhow::Result<Option<Held>> {
        iostack_workload::validate(job, job.block_sizes.largest() * u64::from(job.files_each()), Bytes(1))?;
        let Some(held) = Held::find(path)? else { return Ok(None) };
        let (wanted, what) = if act.of_directories() {
            (TargetKind::Directory, "directories")
        } else {
            (TargetKind::File, "files")
        };
        ensure!(held.kind() == wanted, "`{}`: {} is for {what}; name another", path.display(), act.name());
        ensure!(act != NameAct::MakeDirectory, "`{}` exists; remove it, or name another", path.display());
        if !act.looks_only() {
            self.permit_removal(&held)?;
        }
        Ok(Some(held))
    }

    /// What the act is done to: a file or a directory, or the folder of one that is to be made.
    pub(crate) fn named(&mut self, job: &Job, act: NameAct, path: &Path) -> anyhow::Result<Arc<Held>> {
        match self.look_at(job, act, path)? {
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

    fn permit_removal(&self, held: &Held) -> anyhow::Result<()> {
        if held.kind() == TargetKind::File {
            return Ok(iostack_host::permit_write(held, self.destroy_data)?);
        }
        ensure!(
            self.destroy_data || held.is_made(),
            "`{}` exists and was not made by iostack; pass --destroy-data to remove it, or name another",
            held.path().display()
        );
        Ok(())
    }
}

/// Refuses names that several threads have, where what is done to one can be done only once.
pub(crate) fn refuse_shared(job: &Job, names: &[Vec<PathBuf>]) -> anyhow::Result<()> {
    let Engine::Names(act) = job.engine else { return Ok(()) };
    let shared = names.windows(2).find(|pair| pair[0] == pair[1]).and_then(|pair| pair[0].first());
    match shared.filter(|_| !act.looks_only()) {
        None => Ok(()),
        Some(path) => bail!(
            "job `{}`: {} is done once to `{}`, and {} threads ask for it; name a directory, where each has its own",
            job.name,
            act.name(),
            path.display(),
            job.threads
        ),
    }
}
