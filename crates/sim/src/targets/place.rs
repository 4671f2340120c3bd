//! A simulated drive or platform that a study holds: each job finds it as its sheet says, so that no job is told by the
//! one before it.

use anyhow::ensure;
use iostack_model::quoted;
use iostack_model::{
    BlockDevice, Bytes, Cpu, Job, Ladder, Machine, Nanos, Outcome, Progress, Queue, Storage, TargetName,
};
use iostack_target::{About, Audience, How, Measured, On, Place, RunClock, Session, Wishes};

use crate::run::{self, RunOptions};
use crate::sheet::{Sheet, catalogue};

const NOTHING_BELOW: &str = "a simulated drive has no other way to it";

/// The number of a platform that names its I/O scheduler.
const SCHEDULER: &str = "platform.scheduler";

/// Since then kernels have the schedulers of today (Linux 4.12 brought the last of them).
const OF_TODAY: u32 = 2017;

/// A simulated drive or platform, held.
pub(super) struct SimulatedPlace {
    sheet: Sheet,
    about: About,
}

impl SimulatedPlace {
    /// The drive of `sheet`, named so, which holds `capacity` in units of `block`.
    pub(super) fn new(
        name: &TargetName,
        sheet: &Sheet,
        (capacity, block): (Bytes, Bytes),
        wishes: &Wishes,
    ) -> anyhow::Result<SimulatedPlace> {
        let region = wishes.size.map_or(capacity, |size| size.min(capacity));
        ensure!(
            region >= Bytes::mib(16),
            "`{name}` has {region} to measure; a check needs at least 16 MiB: name a larger one, or a larger --size"
        );
        let is_platform = sheet.kind.name == "platform";
        let buffered = is_platform && sheet.has("platform.memory");
        let (current, schedulers) = schedulers(sheet, is_platform);
        let cores = if is_platform { sheet.count("platform.cores").unwrap_or(1) as u32 } else { 1 };
        let named = quoted(&name.to_string());
        let with = |wanted: &dyn Fn(&str) -> bool| {
            let changed = sheet.changed.iter().filter(|(key, _)| wanted(key));
            let words = changed.map(|(key, value)| format!(" --set {}", quoted(&format!("{key}={value}"))));
            format!("{named}{}", words.collect::<Vec<_>>().concat())
        };
        let place = Place {
            clock: RunClock::Virtual,
            tells_inside: true,
            shortest: Nanos(0),
            region: Bytes(region.0 >> 20 << 20),
            to_fill: None,
            writable: true,
            is_file: buffered,
            buffered,
            direct: true,
            logical_block: block,
            cores,
            io_uring: true,
            nowait: true,
            libaio: true,
            raw_device: Err(NOTHING_BELOW.to_owned()),
            schedulers: schedulers.clone(),
            on: with(&|_| true),
            end: String::new(),
            scheduler_command: format!(
                "iostack check {} --set {SCHEDULER}={{}}",
                with(&|key| key != SCHEDULER)
            ),
        };
        let queue =
            Queue { scheduler: current, schedulers: schedulers.unwrap_or_default(), ..Queue::default() };
        let cpu =
            Cpu { model: sheet.title.clone(), cores_usable: cores, tsc_invariant: true, ..Cpu::default() };
        let storage = Storage { file_system: None, devices: vec![drive(sheet, (capacity, block), queue)] };
        let machine = Machine { cpu, ..Machine::default() };
        Ok(SimulatedPlace {
            sheet: sheet.clone(),
            about: About { place, name: name.clone(), storage, machine },
        })
    }

    /// The sheet with what the job asks of the machine before the drive.
    fn sheet_for(&self, job: &Job) -> Result<Sheet, String> {
        match &job.host.scheduler {
            Some(name) if *name != self.about.storage.devices[0].queue.scheduler => {
                self.sheet.with(&[(SCHEDULER.to_owned(), name.clone())]).map_err(|error| error.to_string())
            }
            _ => Ok(self.sheet.clone()),
        }
    }
}

/// The drive as an inventory has it.
fn drive(sheet: &Sheet, (capacity, block): (Bytes, Bytes), queue: Queue) -> BlockDevice {
    BlockDevice {
        name: sheet.name.clone(),
        model: Some(sheet.title.clone()),
        driver: "simulated".to_owned(),
        size: capacity,
        logical_block: block,
        physical_block: block,
        queue,
        ..BlockDevice::default()
    }
}

/// The scheduler before the drives, and those of its time that may be tried, this one first, or why none may.
fn schedulers(sheet: &Sheet, is_platform: bool) -> (String, Result<Vec<String>, String>) {
    if !is_platform {
        let why = "a drive alone has no scheduler before it; name a platform (`iostack sim list`)";
        return ("none".to_owned(), Err(why.to_owned()));
    }
    let current = sheet.word(SCHEDULER).unwrap_or("none").to_owned();
    if sheet.word("platform.os").is_ok_and(|os| os.starts_with("windows")) {
        return (current, Err("this system has no choice of schedulers".to_owned()));
    }
    let is_today = |year: Option<u32>| year.is_some_and(|year| year >= OF_TODAY);
    let others = catalogue::all_of("scheduler").filter(|other| is_today(other.year) == is_today(sheet.year));
    let others =
        ["none".to_owned()].into_iter().chain(others.map(|other| other.name)).filter(|name| *name != current);
    let all = [current.clone()].into_iter().chain(others).collect();
    (current, Ok(all))
}

impl Session for SimulatedPlace {
    fn about(&self) -> &About {
        &self.about
    }

    fn ladder(&self) -> Ladder {
        Ladder::default()
    }

    /// A drive of its own for each job. What happened inside stands in every outcome.
    fn run(&self, job: &Job, how: How, audience: &dyn Audience) -> Result<Measured, String> {
        if how.on == On::RawDevice {
            return Err(NOTHING_BELOW.to_owned());
        }
        let report = |progress: &Progress| audience.progress(progress);
        let progress: Option<&dyn Fn(&Progress)> = if audience.watches() { Some(&report) } else { None };
        let options = RunOptions { stop: audience.stop(), progress, ..RunOptions::seeded(job.seed) };
        let mut plain = job.clone();
        plain.host.scheduler = None;
        let ran = run::run(&self.sheet_for(job)?, &[plain], &options).map_err(|error| error.to_string())?;
        let outcome: Option<Outcome> = ran.outcomes.into_iter().next();
        let mut outcome = outcome.ok_or_else(|| "the simulation returned no outcome".to_owned())?;
        outcome.storage.clone_from(&self.about.storage);
        outcome.job.host.scheduler.clone_from(&job.host.scheduler);
        Ok(Measured { outcome, notes: Vec::new() })
    }
}
