//! Makes a side ready once, so that each of its runs is only the run.

use std::sync::atomic::AtomicBool;

use anyhow::Context;
use iostack_engine::{Control, Work};
use iostack_host::{Journal, SettingGuard};
use iostack_model::{Job, Nanos, Outcome, Storage, TargetKind, TargetName};
use iostack_sim::run::RunOptions;
use iostack_sim::sheet::Sheet;

use super::sides::Side;
use crate::job::files::{self, Ground};
use crate::simulate;
use crate::talk::Talk;

/// Requests between two looks at the stop flag.
const LOOK_EVERY: u64 = 1 << 18;

/// A side that can be run.
pub(crate) enum Ready {
    /// On a real target.
    Real {
        works: Vec<Work>,
        /// Device and scheduler, switched for each run and back.
        scheduler: Option<(String, String)>,
    },
    /// In virtual time.
    Simulated { sheet: Box<Sheet>, device: String, jobs: Vec<Job> },
}

/// Files laid out and held, targets resolved, sheets read.
pub(crate) fn ready(side: &Side, ground: &mut Ground<'_>, talk: &Talk) -> anyhow::Result<Ready> {
    if let Some(device) = simulate::device(side.on.as_deref()) {
        let sheet = Box::new(Sheet::load(device, &side.changes)?);
        return Ok(Ready::Simulated { sheet, device: device.to_owned(), jobs: side.jobs.clone() });
    }
    let on = side.on.as_deref().map(|on| crate::cmd::run::target(on.as_ref())).transpose()?;
    let mut works = Vec::new();
    for job in &side.jobs {
        let placement = files::place(job, on.as_ref())?;
        works.push(ground.prepare(job, placement)?);
    }
    for (path, size) in ground.made.drain(..) {
        talk.say(&format!("laid out {} with {size}; it is kept for the next run", path.display()));
    }
    let scheduler = side.scheduler.as_ref().map(|name| {
        let device = works.first().and_then(|work| work.storage.bottom());
        let device = device
            .with_context(|| format!("`scheduler={name}`: there is no block device below this target"))?;
        anyhow::Ok((device.name.clone(), name.clone()))
    });
    Ok(Ready::Real { works, scheduler: scheduler.transpose()? })
}

impl Ready {
    /// What answers.
    pub(crate) fn target(&self) -> TargetName {
        match self {
            Ready::Real { works, .. } => works[0].target.clone(),
            Ready::Simulated { device, .. } => TargetName { kind: TargetKind::Sim, path: device.into() },
        }
    }

    /// The storage behind it.
    pub(crate) fn storage(&self) -> Storage {
        match self {
            Ready::Real { works, .. } => works[0].storage.clone(),
            Ready::Simulated { .. } => Storage::default(),
        }
    }

    /// The device, if it is simulated.
    pub(crate) fn simulated(&self) -> Option<String> {
        match self {
            Ready::Real { .. } => None,
            Ready::Simulated { device, .. } => Some(device.clone()),
        }
    }

    /// One run; what the seed decides is decided anew.
    pub(crate) fn run(
        &self,
        seed: u64,
        journal: Option<&Journal>,
        stop: &AtomicBool,
    ) -> anyhow::Result<Vec<Outcome>> {
        match self {
            Ready::Real { works, scheduler } => {
                let _guard = scheduler.as_ref().map(|named| switch(named, journal)).transpose()?;
                let seeded = |(index, work): (usize, &Work)| Work {
                    job: with_seed(&work.job, seed, index),
                    ..work.clone()
                };
                let works: Vec<Work> = works.iter().enumerate().map(seeded).collect();
                Ok(iostack_engine::run(&works, &Control { stop, ..Control::none() })?)
            }
            Ready::Simulated { sheet, jobs, .. } => {
                let jobs: Vec<Job> =
                    jobs.iter().enumerate().map(|(index, job)| with_seed(job, seed, index)).collect();
                let options = RunOptions {
                    seed,
                    spans_max: 0,
                    stop,
                    progress: None,
                    progress_every_requests: LOOK_EVERY,
                };
                Ok(iostack_sim::run::run(sheet, &jobs, &options)?.outcomes)
            }
        }
    }

    /// Removes the files that its jobs made and want to be removed.
    pub(crate) fn clean(&self) {
        let Ready::Real { works, .. } = self else { return };
        for held in works.iter().filter(|work| work.job.unlink).flat_map(|work| work.files.iter().flatten()) {
            if held.is_made() {
                let _ = held.remove();
            }
        }
    }
}

fn with_seed(job: &Job, seed: u64, index: usize) -> Job {
    Job { seed: seed.wrapping_add(index as u64), ..job.clone() }
}

fn switch((device, name): &(String, String), journal: Option<&Journal>) -> anyhow::Result<SettingGuard> {
    let journal = journal.context("a changed scheduler cannot be noted anywhere, so none is changed")?;
    Ok(iostack_host::set_scheduler(device, name, journal)?)
}

/// Nanoseconds since.
pub(crate) fn since(started: std::time::Instant) -> Nanos {
    Nanos(started.elapsed().as_nanos() as u64)
}
