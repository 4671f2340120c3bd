//! What must be there, and what must not, before a job does something to names of files?
//!
//! Nothing that exists is removed without `--destroy-data`, unless iostack made it.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use iostack_host::Held;
use iostack_model::{Bytes, Engine, Job, NameAct, TargetKind};

/// Finds what has the name; refuses what the act must not be done to.
pub(super) fn look_at(job: &Job, act: NameAct, path: &Path, destroy_data: bool) -> Result<Option<Held>> {
    iostack_workload::validate(job, job.block_sizes.largest() * u64::from(job.files_each()), Bytes(1))?;
    let Some(held) = Held::find(path)? else { return Ok(None) };
    let (wanted, what) = if act.of_directories() {
        (TargetKind::Directory, "directories")
    } else {
        (TargetKind::File, "files")
    };
    ensure!(held.kind() == wanted, "`{}`: {} is for {what}; name another", path.display(), act.name());
    ensure!(act != NameAct::MakeDirectory, "`{}` exists; remove it, or name another", path.display());
    if !act.looks_only() && held.kind() == TargetKind::File {
        iostack_host::permit_write(&held, destroy_data)?;
    } else if !act.looks_only() {
        ensure!(
            destroy_data || held.is_made(),
            "`{}` exists and was not made by iostack; pass --destroy-data to remove it, or name another",
            path.display()
        );
    }
    Ok(Some(held))
}

/// Refuses names that several threads have, where what is done to one can be done only once.
pub(super) fn refuse_shared(job: &Job, names: &[Vec<PathBuf>]) -> Result<()> {
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
