//! A simulated device: jobs, or a trace, in virtual time.
//!
//! The outcome holds nothing of the machine that simulates, so that the same seed writes the same bytes everywhere.

use std::cell::RefCell;
use std::path::PathBuf;

use anyhow::{Context, bail};
use iostack_host::save;
use iostack_model::answers::TimelineSpan;
use iostack_model::{Bytes, Job, Machine, OutcomeFile, Progress, SCHEMA, TargetKind, TargetName};
use iostack_sim::engine::World;
use iostack_sim::run::{self, Ran, Replay, RunOptions};
use iostack_sim::sheet::Sheet;
use iostack_workload::trace::kept;

use super::Given;
use crate::path::NO_STATUS;
use crate::recorded::Opened;
use iostack_target::{Ability, Audience, Description, RunClock, Session, Target, Wanted, Wishes};

use crate::simulated_place::SimulatedPlace;

/// Requests between two looks at the stop flag and two lines of progress.
const PROGRESS_EVERY: u64 = 1 << 18;

/// Stretches of requests' ways that a timeline holds: more makes viewers slow.
const SPANS_MAX: usize = 200_000;

/// A change, for errors.
pub const EXAMPLE: &str = "flash.over_provisioning=28%";

const NO_LAYERS: &str =
    "a simulated device has no CPU clocks to sample; leave --layers out, or name a real target";

const HEADING: &str = "Simulated targets (--on sim:DEVICE)";

/// Arguments that only a simulated target has.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SimFlags {
    /// Change a number of the simulated device, such as
    /// `flash.over_provisioning=28%`; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", help_heading = HEADING)]
    pub set: Vec<String>,
    /// Write the way of single requests to a new file, for ui.perfetto.dev.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub timeline: Option<PathBuf>,
}

impl SimFlags {
    /// Its flags, and whether each was given.
    pub(super) fn given(&self) -> Vec<Given> {
        vec![self.given_set(), ("--timeline", self.timeline.is_some())]
    }

    /// The one that is of use elsewhere too.
    pub(super) fn given_set(&self) -> Given {
        ("--set", !self.set.is_empty())
    }
}

/// `KEY=VALUE`, split. An error shows `example`.
pub fn changes(set: &[String], example: &str) -> anyhow::Result<Vec<(String, String)>> {
    let split = |text: &String| match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => bail!("`--set {text}` is no change; write it like --set {example}"),
    };
    set.iter().map(split).collect()
}

/// A simulated device, as its sheet and the changes have it.
pub struct SimulatedTarget {
    description: Description,
    sheet: Sheet,
    flags: SimFlags,
    /// Requests of the last run, for `--timeline`.
    spans: RefCell<Vec<TimelineSpan>>,
}

impl SimulatedTarget {
    /// Reads the sheet of `device`.
    pub fn open(device: &str, flags: &SimFlags) -> anyhow::Result<SimulatedTarget> {
        let sheet = Sheet::load(device, &changes(&flags.set, EXAMPLE)?)?;
        let name = Some(TargetName { kind: TargetKind::Sim, path: device.into() });
        let cannot = vec![
            (Ability::Layers, NO_LAYERS),
            (Ability::Threads, "is for threads of a real machine; leave it out"),
            NO_STATUS,
        ];
        let description = Description { name, clock: RunClock::Virtual, repeats: true, cannot };
        Ok(SimulatedTarget { description, sheet, flags: flags.clone(), spans: RefCell::default() })
    }
}

impl Target for SimulatedTarget {
    fn describe(&self) -> &Description {
        &self.description
    }

    /// Runs the jobs, or the trace.
    fn run(&self, jobs: &[Job], wanted: Wanted, audience: &dyn Audience) -> anyhow::Result<OutcomeFile> {
        self.description.refuse(jobs, wanted)?;
        let report = |progress: &Progress| audience.progress(progress);
        let options = RunOptions {
            seed: jobs.first().map_or(1, |job| job.seed),
            spans_max: if self.flags.timeline.is_some() { SPANS_MAX } else { 0 },
            stop: audience.stop(),
            progress: audience.watches().then_some(&report),
            progress_every_requests: PROGRESS_EVERY,
        };
        let ran = match jobs {
            [job] if job.recorded.is_some() => replay(&self.sheet, job, &options)?,
            _ => run::run(&self.sheet, jobs, &options)?,
        };
        *self.spans.borrow_mut() = ran.timeline;
        let iostack = env!("CARGO_PKG_VERSION").to_owned();
        let machine = Machine::default();
        Ok(OutcomeFile { schema: SCHEMA, iostack, started_unix_ms: 0, machine, outcomes: ran.outcomes })
    }

    fn occupy<'a>(&'a self, wishes: &Wishes, _: &dyn Audience) -> anyhow::Result<Box<dyn Session + 'a>> {
        let name = self.description.name.as_ref().context("a simulated target has a name")?;
        Ok(Box::new(SimulatedPlace::new(name, &self.sheet, shape(&self.sheet, 1)?, wishes)?))
    }

    fn beside(&self, audience: &dyn Audience) -> anyhow::Result<()> {
        let Some(path) = &self.flags.timeline else { return Ok(()) };
        save::new_file(path, &iostack_sim::timeline(&self.spans.borrow()))?;
        audience.say(&format!("timeline: {} (open it at https://ui.perfetto.dev)", path.display()));
        Ok(())
    }
}

/// Runs the trace of the job.
fn replay(sheet: &Sheet, job: &Job, options: &RunOptions<'_>) -> anyhow::Result<Ran> {
    let recorded = job.recorded.clone().unwrap_or_default();
    let opened = Opened::of(job, &recorded)?;
    let mut trace = opened.read(shape(sheet, options.seed)?.0)?;
    let how = Replay { job: opened.told(job.clone()), speed: opened.speed() };
    let mut ran = run::replay(sheet, &mut kept(&mut trace, &recorded), &how, options)?;
    if let Some(doubt) = opened.doubt(&trace) {
        ran.outcomes.iter_mut().for_each(|outcome| outcome.caveats.insert(0, doubt.clone()));
    }
    Ok(ran)
}

/// How much the drive holds, and its smallest unit.
fn shape(sheet: &Sheet, seed: u64) -> anyhow::Result<(Bytes, Bytes)> {
    let mut world = World::new();
    let root = iostack_sim::build(sheet, &mut world, seed)?;
    world.set_root(root);
    let shape = world.shape().context("a device says its capacity")?;
    Ok((shape.capacity, shape.block))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_without_a_value_is_refused_as_typed() {
        let error = changes(&["flash.read".to_owned()], EXAMPLE).expect_err("no value").to_string();
        assert!(error.contains("`--set flash.read` is no change"), "{error}");
    }
}
