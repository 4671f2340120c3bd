//! What happens around the drive? Threads, cores, layers with their clocks, locks, interrupts.
//!
//! ```text
//!   thread ─► system call, vfs, block, driver on a core ─► (lock) ─► adapter ─► drive
//!      ▲                                                                          │
//!      └── return ◄── switch ◄── wake ◄── interrupt, on a core that it interrupts ◄┘
//! ```
//!
//! Each step takes the clocks that the system's and the adapter's sheets give, on a core; a core runs one thing at a time.
//! Interrupts come first and make whatever runs end later; threads wait for a core in one queue, in order. What a thread
//! does between its last completion and its next I/O takes no time unless the job or the system says so.
//!
//! Start reading at `part.rs`; `steps.rs` is what a thread does, `turns.rs` when, `paths.rs` what each step costs.

mod buffered;
mod cache;
mod crew;
mod elevator;
mod filesystem;
mod interrupt;
mod layer;
mod line;
mod lock;
mod machine;
mod merge;
mod part;
mod paths;
mod steps;
mod system;
mod thread;
mod together;
mod turns;

use crate::sheet::{Sheet, SheetError};
use iostack_model::Engine;
use iostack_workload::Rng;

use crate::adapter::{Adapter, Driver, Hardware};
use crate::devices;
use crate::devices::parameter::{count_within, time_or};
use crate::engine::{Part, PartId, World};
use filesystem::FileSystem;
use machine::{Drives, Machine};
use merge::subsystem::Subsystem;
use part::Host;
use system::System;
use thread::Wait;
use together::Together;

/// The scheduler, and how many I/Os it lets into a drive.
fn scheduler_of(sheet: &Sheet, drive: &Sheet) -> Result<Scheduler, SheetError> {
    if !sheet.has("platform.scheduler") {
        return Ok(None);
    }
    let member = sheet.device("platform.scheduler")?;
    let own = format!("{}.queue_depth", drive.kind.name);
    let (known, place) = if sheet.has("platform.drive_depth") {
        (sheet, "platform.drive_depth")
    } else {
        (drive, own.as_str())
    };
    let is_known = known.kind.parameters.iter().any(|parameter| parameter.key == place) && known.has(place);
    let depth = if is_known { count_within(known, place, 1, 1 << 20)? } else { u64::MAX };
    Ok(Some((elevator::SchedulerSpec::read(&member, drive.kind.name == "hdd")?, depth)))
}

/// A scheduler, and how many I/Os it lets into a drive.
type Scheduler = Option<(elevator::SchedulerSpec, u64)>;

/// Drives, adapters above them, schedulers above these.
fn drives_of(
    sheet: &Sheet,
    drive: &Sheet,
    scheduler: &Scheduler,
    world: &mut World,
    seed: u64,
) -> Result<Drives, SheetError> {
    let adapters = count_within(sheet, "platform.adapters", 1, 64)? as usize;
    let count = count_within(sheet, "platform.drives", 1, 256)? as usize;
    let mut drives = Vec::new();
    for index in 0..count {
        drives.push(devices::build(drive, world, Rng::stream(seed, index as u64).next_u64())?);
    }
    let shape = world.shape_of(drives[0]).expect("a drive has a shape");
    if world.zones_of(drives[0]).is_some() {
        let what = "a host that knows zones is not simulated";
        return Err(sheet.refuse("platform.drive", what, "run the jobs on the drive itself"));
    }
    let adapter = sheet.device("platform.adapter")?;
    let extended = sheet.has("platform.outstanding") || sheet.word("platform.subsystem")? != "async";
    let hardware = Hardware::read(&adapter, extended)?;
    let in_a_row = sheet.word("platform.spread")? == "offsets";
    if !in_a_row && count > 1 && world.sim.keeps_stamps() {
        let remedy = "set platform.spread=offsets, or platform.drives=1";
        let what = "a job that verifies needs one space for all threads";
        return Err(sheet.refuse("platform.spread", what, remedy));
    }
    let parts: Vec<PartId> = (0..adapters)
        .map(|first| {
            let own = drives.iter().skip(first).step_by(adapters).copied().collect();
            world.add(Box::new(Adapter::new(hardware.clone(), own)))
        })
        .collect();
    let doors = (0..count).map(|drive| match scheduler {
        Some((spec, depth)) => {
            world.add(Box::new(elevator::Elevator::new(spec, parts[drive % adapters], *depth)))
        }
        None => parts[drive % adapters],
    });
    let doors = doors.collect();
    Ok(Drives { adapters: parts, doors, count, shape, in_a_row })
}

/// Completions and time of an interrupt, where these have an end.
fn budget_of(sheet: &Sheet) -> Result<Option<(u64, u64)>, SheetError> {
    let [count, time] = ["platform.budget", "platform.budget_time"].map(|key| sheet.has(key));
    let has = sheet.word("platform.subsystem")? == "async" && !sheet.has("platform.memory");
    if !(has && (count || time)) {
        return Ok(None);
    }
    let count = if count { count_within(sheet, "platform.budget", 1, 1 << 32)? } else { u64::MAX };
    Ok(Some((count, time_or(sheet, "platform.budget_time", u64::MAX)?)))
}

/// The machine's own numbers, and how requests reach its drives.
fn machine_of(
    sheet: &Sheet,
    (system, driver): (&System, &Driver),
    scheduler: &Scheduler,
) -> Result<Machine, SheetError> {
    let ghz = sheet.number("platform.ghz")?;
    if !(0.001..=1000.0).contains(&ghz) {
        return Err(sheet.refuse("platform.ghz", "no core has such a clock", "write it like 2.93"));
    }
    let outstanding = sheet.has("platform.outstanding");
    let outstanding =
        outstanding.then(|| count_within(sheet, "platform.outstanding", 1, 1 << 20)).transpose()?;
    Ok(Machine {
        cores: count_within(sheet, "platform.cores", 1, 1024)? as usize,
        ns_per_clock: 1.0 / ghz,
        contention: scheduler.as_ref().map_or(0.0, |(spec, _)| spec.contention),
        register_read: sheet.number("platform.register_read")?,
        one_for_all: sheet.word("platform.interrupts")? == "one",
        wait: match sheet.word("platform.completion")? {
            "hybrid" => Wait::Nap,
            "interrupt" if system.completion != "poll" => Wait::Sleep,
            _ => Wait::Spin,
        },
        subsystem: Subsystem::named(sheet.word("platform.subsystem")?, driver.copies),
        outstanding: outstanding.map(|count| count as u32),
        budget: budget_of(sheet)?,
    })
}

/// Threads of this engine look for completions themselves.
pub(crate) fn asks_to_poll(engine: Engine) -> bool {
    matches!(engine, Engine::IoUring { poll: true, .. } | Engine::Pvsync2 { hipri: true })
}

pub(crate) fn build(sheet: &Sheet, world: &mut World, seed: u64) -> Result<PartId, SheetError> {
    let os = sheet.device("platform.os")?;
    let mut driver = Driver::read(&sheet.device("platform.adapter")?)?;
    let drive = sheet.device("platform.drive")?;
    let scheduler = scheduler_of(sheet, &drive)?;
    let cpi = sheet.number("platform.cpi")?;
    if !(0.01..=100.0).contains(&cpi) {
        return Err(sheet.refuse("platform.cpi", "no core is that quick or slow", "write it like 0.8"));
    }
    let mut system = System::read(&os, cpi)?;
    if let Some((spec, _)) = &scheduler {
        (system.scheduler, system.scheduler_hold) = (spec.clocks * cpi, spec.hold * cpi);
    }
    if system.completion == "poll" {
        driver = driver.in_program();
    }
    let below = drives_of(sheet, &drive, &scheduler, world, seed)?;
    let fs = sheet.has("platform.fs").then(|| sheet.device("platform.fs")).transpose()?;
    let fs = fs.map(|fs| FileSystem::read(&fs, below.shape.capacity.0, cpi)).transpose()?;
    system.through_files = fs.as_ref().map_or(0.0, |fs| fs.clocks);
    let spaces = if below.in_a_row { 1 } else { below.count as u32 };
    let mut host = Host::new(machine_of(sheet, (&system, &driver), &scheduler)?, &system, &driver, below);
    host.keep_together(Together::read(sheet)?);
    let shape = host.shape().expect("a host has a shape");
    if !sheet.has("platform.memory") {
        return Ok(world.add(Box::new(host)));
    }
    let fs = fs.map_or_else(FileSystem::none, Ok)?;
    let config = buffered::Config::read(sheet, shape, spaces, fs.area)?;
    host.kernel_threads = spaces as usize;
    let (host, proves) = (world.add(Box::new(host)), world.sim.keeps_stamps());
    Ok(world.add(Box::new(buffered::Buffered::new(host, config, system, fs, proves))))
}
