//! What is this place, and what may be tried in it? Explores before anything is measured.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use iostack_host::{Held, Scratch, scratch_size};
use iostack_model::{Bytes, Effort, Ladder, Machine, Nanos, Storage, TargetKind, TargetName};

use super::advice;
use super::plan;
use super::planned::Place;

/// A place, explored: what [`super::plan`] wants to know and what [`super::measure`] needs to run.
pub(crate) struct Explored {
    /// For the plan.
    pub(crate) place: Place,
    /// What the user named.
    pub(crate) target: TargetName,
    /// The storage behind it.
    pub(crate) storage: Storage,
    /// The file or device that the jobs use, from now on whatever has its name.
    pub(crate) held: Arc<Held>,
    /// Our scratch file; removed when dropped.
    _scratch: Option<Scratch>,
    /// Its size and why; `None` when there is none.
    pub(crate) scratch_plan: Option<(Bytes, String)>,
    /// What may be measured here.
    pub(crate) ladder: Ladder,
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
pub(crate) fn explore(target: TargetName, machine: &Machine, wishes: &Wishes) -> anyhow::Result<Explored> {
    let named = Held::open(&target.path)?;
    ensure!(named.kind() == target.kind, "`{target}` became something else meanwhile; try again");
    let storage = named.storage()?;
    let (held, region, scratch, scratch_plan) = match target.kind {
        TargetKind::Directory => {
            let free = storage.file_system.as_ref().map_or(Bytes(0), |fs| fs.free);
            let (size, reason) = choose_size(free, machine, wishes)?;
            let scratch = Scratch::create(&target.path, size)?;
            (Arc::clone(scratch.held()), size, Some(scratch), Some((size, reason)))
        }
        TargetKind::File | TargetKind::Block | TargetKind::Sim | TargetKind::Lab => {
            if wishes.destroy_data {
                iostack_host::permit_write(&named, true)?;
            }
            let whole = iostack_host::target_size(&named)?;
            let region = wishes.size.map_or(whole, |size| size.min(whole));
            (Arc::new(named), region, None, None)
        }
    };
    if region < SMALLEST {
        bail!(
            "`{}` has {region}; a check needs at least {SMALLEST}: name a larger target",
            held.path().display()
        );
    }
    let logical_block = iostack_host::logical_block(&held)?;
    let place = Place {
        region: Bytes(region.0 / ALIGNMENT * ALIGNMENT),
        writable: scratch.is_some() || wishes.destroy_data,
        is_file: target.kind != TargetKind::Block,
        direct: iostack_engine::supports_direct(&held),
        logical_block,
        cores: machine.cpu.cores_usable.max(1),
        io_uring: iostack_engine::io_uring_usable(),
        nowait: iostack_host::supports_nowait(&held.handle()).unwrap_or(false),
        libaio: iostack_engine::libaio_usable(),
        raw_device: raw_device(&target, &storage),
        schedulers: schedulers(&storage),
        schedulers_whose: storage
            .scheduled()
            .map_or_else(String::new, |device| format!("tried{}", advice::whose(&storage, &device.name))),
    };
    let ladder = iostack_attribute::ladder::probe();
    Ok(Explored { place, target, storage, held, _scratch: scratch, scratch_plan, ladder })
}

/// Nothing smaller gives 1 MiB sequential I/O room.
const SMALLEST: Bytes = Bytes::mib(16);
/// The region ends on a whole MiB, so that every request size divides it.
const ALIGNMENT: u64 = 1 << 20;

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
fn raw_device(target: &TargetName, storage: &Storage) -> Result<PathBuf, String> {
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

/// Schedulers of the first device that has some, the current one first, when they may be switched.
fn schedulers(storage: &Storage) -> Result<Vec<String>, String> {
    let device = storage.scheduled().ok_or("no device behind this path offers a choice of schedulers")?;
    let queue = &device.queue;
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
