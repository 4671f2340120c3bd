//! A real place that a study holds: a scratch file in a directory, a file, or a block device.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::Arc;

use crate::{Control, Work};
use anyhow::{Context, bail, ensure};
use iostack_attribute::classify::Rules;
use iostack_host::clock::Clock;
use iostack_host::{Held, Journal, Scratch, path, scratch_size};
use iostack_model::quoted;
use iostack_model::{
    Bytes, Job, Ladder, Machine, Memory, Nanos, Observer, Outcome, Storage, TargetKind, TargetName,
};
use iostack_target::{
    About, Audience, HostPart, How, Measured, MergeAsked, MergeFound, On, Place, RunClock, Session, Wishes,
};

use super::tracing::{Tracing, chain};
use super::{left, merging, schedulers};

/// Nothing smaller gives 1 MiB sequential I/O room.
const SMALLEST: Bytes = Bytes::mib(16);
/// Threads and rings come and go within milliseconds, and interrupts of the clock every four.
const SHORTEST: Nanos = Nanos::millis(60);
/// The region ends on a whole MiB, so that every request size divides it.
const ALIGNMENT: u64 = 1 << 20;

/// A real place, held.
pub(super) struct Occupied {
    about: About,
    /// The file or device that the jobs use, from now on whatever has its name.
    held: Arc<Held>,
    /// The device below the file, when this user may read it.
    raw_device: Option<Arc<Held>>,
    /// Our scratch file; removed when dropped.
    _scratch: Option<Scratch>,
    ladder: Ladder,
    rules: Option<&'static Rules>,
}

impl Occupied {
    /// Looks at `target` and holds it; what a run that was killed left there goes first. Makes an empty scratch file in a
    /// directory.
    pub(super) fn new(
        target: TargetName,
        wishes: &Wishes,
        destroy_data: bool,
        rules: Option<&'static Rules>,
        audience: &dyn Audience,
    ) -> anyhow::Result<Occupied> {
        left::settings(&|text| audience.warn(text));
        left::files(&target, &|text| audience.warn(text));
        let named = Held::open(&target.path)?;
        ensure!(named.kind() == target.kind, "`{target}` became something else meanwhile; try again");
        let storage = named.storage()?;
        let machine = before(&storage);
        let (held, region, scratch, to_fill) = if target.kind == TargetKind::Directory {
            let (scratch, size, reason) = scratch(&target, &storage, &machine.memory, wishes)?;
            (Arc::clone(scratch.held()), size, Some(scratch), Some(reason))
        } else {
            if destroy_data {
                iostack_host::permit_write(&named, true)?;
            }
            let whole = iostack_host::target_size(&named)?;
            (Arc::new(named), wishes.size.map_or(whole, |size| size.min(whole)), None, None)
        };
        if region < SMALLEST {
            bail!(
                "`{}` has {region}; a check needs at least {SMALLEST}: name a larger target",
                held.path().display()
            );
        }
        let raw_device = raw_device(&target, &storage);
        let (on, end) = self::named(&target);
        let scheduled = storage.scheduled().map_or("", |device| &device.name);
        let place = Place {
            clock: RunClock::Wall,
            tells_inside: false,
            shortest: SHORTEST,
            region: Bytes(region.0 / ALIGNMENT * ALIGNMENT),
            writable: scratch.is_some() || destroy_data,
            to_fill,
            is_file: target.kind != TargetKind::Block,
            buffered: true,
            direct: crate::supports_direct(&held),
            logical_block: iostack_host::logical_block(&held)?,
            cores: machine.cpu.cores_usable.max(1),
            io_uring: crate::io_uring_usable(),
            nowait: iostack_host::supports_nowait(&held.handle()).unwrap_or(false),
            libaio: crate::libaio_usable(),
            raw_device: raw_device
                .as_ref()
                .map(|held| held.path().display().to_string())
                .map_err(Clone::clone),
            schedulers: schedulers(&storage),
            on,
            end: end.to_owned(),
            scheduler_command: format!("echo {{}} > /sys/block/{scheduled}/queue/scheduler"),
        };
        let (raw_device, ladder) = (raw_device.ok(), iostack_attribute::ladder::probe());
        let about = About { place, name: target, storage, machine };
        Ok(Occupied { about, held, raw_device, _scratch: scratch, ladder, rules })
    }
}

impl Session for Occupied {
    fn about(&self) -> &About {
        &self.about
    }

    fn ladder(&self) -> Ladder {
        self.ladder.clone()
    }

    fn run(&self, job: &Job, how: How, audience: &dyn Audience) -> Result<Measured, String> {
        let held = match how.on {
            On::Target => &self.held,
            On::RawDevice => {
                self.raw_device.as_ref().ok_or("there is no raw device below that may be read")?
            }
        };
        let work = Work::on(job.clone(), held, self.about.storage.clone());
        let _switched =
            schedulers::switch(std::slice::from_ref(&work)).map_err(|error| format!("{error:#}"))?;
        if !how.look.any() {
            return Ok(Measured { outcome: run_watched(work, audience, None)?, notes: Vec::new() });
        }
        let (tracing, notes) =
            Tracing::attach_permitted(how.look, self.rules, &self.about.storage, &self.ladder);
        if tracing.sees_nothing() {
            return Err(notes.join("; "));
        }
        let mut outcome = run_watched(work, audience, Some(&tracing.observer()))?;
        tracing.finish(std::slice::from_mut(&mut outcome));
        Ok(Measured { outcome, notes })
    }

    fn merge(&self, asked: &MergeAsked, audience: &dyn Audience) -> anyhow::Result<MergeFound> {
        merging::merge(&self.held, &self.about.place, asked, audience)
    }

    fn turn(&self, part: HostPart) -> Result<Option<[f64; 2]>, String> {
        turn(part)
    }

    fn keep(&mut self, region: Bytes) {
        let place = &mut self.about.place;
        (place.region, place.to_fill) = (region, None);
        // An empty file takes no data without waiting, so only now can it be asked.
        place.nowait = iostack_host::supports_nowait(&self.held.handle()).unwrap_or(false);
    }
}

/// One turn of a loop with the part, and of the same without it.
fn turn(part: HostPart) -> Result<Option<[f64; 2]>, String> {
    let count = part.count();
    let each = |clocks: f64| clocks / f64::from(count);
    match part {
        HostPart::SystemCall => {
            let (call, none) = (path::null_calls(count), path::no_calls(count));
            let both = [call, none].map(|turn| each(turn.ticks as f64));
            Ok((!call.disturbed && !none.disturbed).then_some(both))
        }
        HostPart::Switch => {
            let per_ns = Clock::calibrated().tsc_hz() as f64 / 1e9;
            let turn = path::hand_to_another(count).and_then(|other| Ok([other, path::hand_to_self(count)?]));
            // One round trip is two switches.
            turn.map(|[other, own]| Some([each(other as f64 * per_ns) / 2.0, each(own as f64 * per_ns)]))
                .map_err(|error| format!("the threads could not be set up: {}", chain(&error)))
        }
    }
}

/// An empty file of ours in the directory, its size, and why it has that.
fn scratch(
    target: &TargetName,
    storage: &Storage,
    memory: &Memory,
    wishes: &Wishes,
) -> anyhow::Result<(Scratch, Bytes, String)> {
    let free = storage.file_system.as_ref().map_or(Bytes(0), |fs| fs.free);
    let (size, reason) = choose_size(free, memory, wishes)?;
    Ok((Scratch::create(&target.path, size)?, size, reason))
}

/// Words for what a command names, and their end: in a directory `run` lays out a file for itself, and removes it.
fn named(target: &TargetName) -> (String, &'static str) {
    let (path, end) = match target.kind {
        TargetKind::Directory => (target.path.join("iostack-file"), " --unlink true"),
        _ => (target.path.clone(), ""),
    };
    (quoted(&path.display().to_string()), end)
}

/// The machine before this storage, with what it lets through.
fn before(storage: &Storage) -> Machine {
    let mut machine = iostack_host::machine();
    machine.virtualisation.io_limit = iostack_host::cgroup_io_limit(storage);
    machine.virtualisation.io_limits = iostack_host::cgroup_io_limits(storage);
    machine
}

/// One run of one job, of which nobody hears: they are short and many.
fn run_watched(
    work: Work,
    audience: &dyn Audience,
    observer: Option<&dyn Observer>,
) -> Result<Outcome, String> {
    let control = Control { stop: audience.stop(), observer, ..Control::none() };
    let mut outcomes = crate::run(&[work], &control).map_err(|error| chain(&error))?;
    outcomes.pop().ok_or_else(|| "the engine returned no outcome".to_owned())
}

fn choose_size(free: Bytes, memory: &Memory, wishes: &Wishes) -> anyhow::Result<(Bytes, String)> {
    match wishes.size {
        Some(size) if size > free => {
            bail!("--size {size} does not fit: {free} are free; name a smaller size or another directory")
        }
        Some(size) => Ok((size, "as asked with --size".to_owned())),
        None => scratch_size(free, memory, wishes.effort).context("no scratch file was made"),
    }
}

/// The device that the file system sits on, when this user may read it.
fn raw_device(target: &TargetName, storage: &Storage) -> Result<Arc<Held>, String> {
    if target.kind == TargetKind::Block {
        return Err("the target is the raw device".to_owned());
    }
    let device = storage.top().ok_or("there is no block device below the file")?;
    let path = Path::new("/dev").join(&device.name);
    let held = File::open(&path)
        .map_err(|error| error.to_string())
        .and_then(|_| Held::open(&path).map(Arc::new).map_err(|error| chain(&error)));
    held.map_err(|error| format!("{} cannot be read for comparison: {error}", path.display()))
}

/// Schedulers of the first device that has some, the current one first, when they may be switched.
fn schedulers(storage: &Storage) -> Result<Vec<String>, String> {
    let device = storage.scheduled().ok_or("no device behind this path offers a choice of schedulers")?;
    let queue = &device.queue;
    let setting = format!("/sys/block/{}/queue/scheduler", device.name);
    if OpenOptions::new().write(true).open(&setting).is_err() {
        return Err(format!(
            "switching schedulers needs write access to {setting}: run as root to compare them"
        ));
    }
    Journal::open().map_err(|error| format!("schedulers are not compared: {error}"))?;
    let others = queue.schedulers.iter().filter(|name| **name != queue.scheduler);
    Ok(std::iter::once(&queue.scheduler).chain(others).cloned().collect())
}
