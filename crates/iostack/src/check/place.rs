//! What is this place, and what may be tried in it? Explores before anything is measured.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use iostack_host::{Effort, Scratch, scratch_size};
use iostack_model::{Bytes, Ladder, Machine, Nanos, Storage, Target, TargetKind};

use super::plan::{self, Place};

/// A place, explored: what [`super::plan`] wants to know and what [`super::measure`] needs to run.
pub(crate) struct Explored {
    /// For the plan.
    pub(crate) place: Place,
    /// What the user named.
    pub(crate) target: Target,
    /// The storage behind it.
    pub(crate) storage: Storage,
    /// Our scratch file; removed when dropped.
    scratch: Option<Scratch>,
    /// Its size and why; `None` when there is none.
    pub(crate) scratch_plan: Option<(Bytes, String)>,
    /// What may be measured here.
    pub(crate) ladder: Ladder,
}

impl Explored {
    /// The file or device that the jobs use.
    pub(crate) fn path(&self) -> &Path {
        self.scratch.as_ref().map_or(self.target.path.as_path(), Scratch::path)
    }
}

/// Options of the command that decide what may be touched.
pub(crate) struct Wishes {
    /// Time the user gives.
    pub(crate) effort: Effort,
    /// Scratch size, instead of the chosen one.
    pub(crate) size: Option<Bytes>,
    /// Existing data of the target may be destroyed.
    pub(crate) destroy_data: bool,
}

/// Looks at `target`. Makes an empty scratch file in a directory; [`super::measure::fill`] fills it.
pub(crate) fn explore(target: Target, machine: &Machine, wishes: &Wishes) -> anyhow::Result<Explored> {
    let storage = iostack_host::storage(&target.path)?;
    let (path, region, scratch, scratch_plan) = match target.kind {
        TargetKind::Directory => {
            let free = storage.file_system.as_ref().map_or(Bytes(0), |fs| fs.free);
            let (size, reason) = choose_size(free, machine, wishes)?;
            let scratch = Scratch::create(&target.path, size)?;
            (scratch.path().to_owned(), size, Some(scratch), Some((size, reason)))
        }
        TargetKind::File | TargetKind::Block | TargetKind::Sim | TargetKind::Lab => {
            if wishes.destroy_data {
                iostack_host::permit_write(&target, true)?;
            }
            let whole = iostack_host::target_size(&target)?;
            let region = wishes.size.map_or(whole, |size| size.min(whole));
            (target.path.clone(), region, None, None)
        }
    };
    if region < SMALLEST {
        bail!("`{}` has {region}; a check needs at least {SMALLEST}: name a larger target", path.display());
    }
    let logical_block = iostack_host::logical_block(&Target { kind: kind_of(&target), path: path.clone() })?;
    let place = Place {
        region: Bytes(region.0 / ALIGNMENT * ALIGNMENT),
        writable: scratch.is_some() || wishes.destroy_data,
        is_file: target.kind != TargetKind::Block,
        direct: iostack_engine::supports_direct(&path),
        logical_block,
        cores: machine.cpu.cores_usable.max(1),
        io_uring: iostack_engine::io_uring_usable(),
        nowait: iostack_host::supports_nowait(&path).unwrap_or(false),
        libaio: iostack_engine::libaio_usable(),
        raw_device: raw_device(&target, &storage),
        schedulers: schedulers(&storage),
    };
    let ladder = iostack_attribute::ladder::probe();
    Ok(Explored { place, target, storage, scratch, scratch_plan, ladder })
}

/// Nothing smaller gives 1 MiB sequential I/O room.
const SMALLEST: Bytes = Bytes::mib(16);
/// The region ends on a whole MiB, so that every request size divides it.
const ALIGNMENT: u64 = 1 << 20;

/// The scratch file of a directory is a file, the rest are what they are.
fn kind_of(target: &Target) -> TargetKind {
    match target.kind {
        TargetKind::Directory => TargetKind::File,
        other => other,
    }
}

fn choose_size(free: Bytes, machine: &Machine, wishes: &Wishes) -> anyhow::Result<(Bytes, String)> {
    match wishes.size {
        Some(size) if size > free => {
            bail!("--size {size} does not fit: {free} are free; name a smaller size or another directory")
        }
        Some(size) => Ok((size, "as asked with --size".to_owned())),
        None => scratch_size(free, &machine.memory, wishes.effort).context("no scratch file was made"),
    }
}

/// The device that the file system sits on, when this user may read it.
fn raw_device(target: &Target, storage: &Storage) -> Result<PathBuf, String> {
    if target.kind == TargetKind::Block {
        return Err("the target is the raw device".to_owned());
    }
    let device = storage.top().ok_or("there is no block device below the file")?;
    let path = Path::new("/dev").join(&device.name);
    match std::fs::File::open(&path) {
        Ok(_) => Ok(path),
        Err(error) => Err(format!("{} cannot be read for comparison: {error}", path.display())),
    }
}

/// Schedulers of the lowest device, the current one first, when they may be switched.
fn schedulers(storage: &Storage) -> Result<Vec<String>, String> {
    let device = storage.bottom().ok_or("there is no block device behind this path")?;
    let queue = &device.queue;
    if queue.schedulers.len() < 2 {
        return Err(format!("{} offers no choice of schedulers", device.name));
    }
    let setting = format!("/sys/block/{}/queue/scheduler", device.name);
    if std::fs::OpenOptions::new().write(true).open(&setting).is_err() {
        return Err(format!(
            "switching schedulers needs write access to {setting}: run as root to compare them"
        ));
    }
    let others = queue.schedulers.iter().filter(|name| **name != queue.scheduler);
    Ok(std::iter::once(&queue.scheduler).chain(others).cloned().collect())
}

/// Time that filling the scratch file may take, of a promise.
pub(crate) fn fill_limit(effort: Effort) -> Option<Nanos> {
    plan::promised(effort).map(|promised| Nanos(promised.0 / 5))
}
