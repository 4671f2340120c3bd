//! A simulated device: jobs, or a trace, in virtual time.
//!
//! The outcome holds nothing of the machine that simulates, so that the same seed writes the same bytes everywhere.

mod all;
mod likely;
mod place;

use std::cell::RefCell;
use std::path::PathBuf;

use anyhow::Context;
use iostack_model::answers::TimelineSpan;
use iostack_model::{Bytes, Job, Machine, Nanos, OutcomeFile, Progress, SCHEMA, TargetKind, TargetName};
use iostack_target::{
    Ability, Audience, Beside, Description, NO_STATUS, Number, RunClock, Session, Target, Wanted, Wishes,
};
use iostack_workload::trace::{OpenFifo, Opened, kept};

use crate::engine::World;
use crate::run::{self, Ran, Replay, RunOptions};
use crate::sheet::{Sheet, SheetNumber, Source, Unit};
pub use all::{PREFIX, SIMULATED, Simulations};
use place::SimulatedPlace;

/// Stretches of requests' ways that a timeline holds: more makes viewers slow.
const SPANS_MAX: usize = 200_000;

const NO_LAYERS: &str =
    "a simulated device has no CPU clocks to sample; leave --layers out, or name a real target";

/// Options of opening a simulated device.
#[derive(Clone)]
pub struct SimulatedOptions {
    /// A new file for the ways of single requests.
    pub timeline: Option<PathBuf>,
    /// Opens a trace that is a FIFO.
    pub fifo: OpenFifo,
}

/// A simulated device, as its sheet and the changes have it.
pub struct SimulatedTarget {
    description: Description,
    sheet: Sheet,
    options: SimulatedOptions,
    /// Requests of the last run, for a timeline.
    spans: RefCell<Vec<TimelineSpan>>,
}

impl SimulatedTarget {
    /// Reads the sheet of `device`, with these changes.
    pub fn open(
        device: &str,
        changes: &[(String, String)],
        options: SimulatedOptions,
    ) -> anyhow::Result<SimulatedTarget> {
        let sheet = Sheet::load(device, changes)?;
        let cannot = vec![
            (Ability::Layers, NO_LAYERS),
            (Ability::Threads, "is for threads of a real machine; leave it out"),
            NO_STATUS,
        ];
        let description = Description {
            name: Some(TargetName { kind: TargetKind::Sim, path: device.into() }),
            cannot,
            title: sheet.title.clone(),
            numbers: numbers(&sheet),
            ..Description::of_clock(RunClock::Virtual)
        };
        Ok(SimulatedTarget { description, sheet, options, spans: RefCell::default() })
    }
}

/// Its own numbers, and those of the devices inside.
fn numbers(sheet: &Sheet) -> Vec<Number> {
    let own = sheet.entries().into_iter().map(number);
    let inside = sheet.members().flat_map(|(role, member)| {
        numbers(member)
            .into_iter()
            .map(move |number| Number { key: format!("{role}.{}", number.key), ..number })
    });
    own.chain(inside).collect()
}

fn number(entry: SheetNumber) -> Number {
    let range = likely::range(&entry);
    let SheetNumber { key, text, unit, meaning, source, .. } = entry;
    let value = match unit {
        Unit::Time => text.parse::<Nanos>().ok().map(|time| time.0 as f64),
        Unit::Bytes => text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64),
        Unit::Count | Unit::Number => text.parse().ok(),
        Unit::Share => text.strip_suffix('%').and_then(|share| share.trim().parse().ok()),
        Unit::Rate | Unit::PerSecond | Unit::Points | Unit::Word(_) | Unit::Device(_) => None,
    };
    let words = if let Unit::Word(words) = unit { words } else { &[] };
    let scales = matches!(unit, Unit::Time | Unit::Rate | Unit::Share | Unit::PerSecond | Unit::Number)
        && text != "none";
    let assumed = matches!(source, Source::Assumed(_) | Source::Default);
    Number { key: key.to_owned(), text, value, range, scales, assumed, words, meaning }
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
            spans_max: if self.options.timeline.is_some() { SPANS_MAX } else { 0 },
            stop: audience.stop(),
            progress: audience.watches().then_some(&report),
            ..RunOptions::seeded(jobs.first().map_or(1, |job| job.seed))
        };
        let ran = match jobs {
            [job] if job.recorded.is_some() => replay(&self.sheet, job, &options, self.options.fifo)?,
            _ => run::run(&self.sheet, jobs, &options)?,
        };
        *self.spans.borrow_mut() = ran.timeline;
        let iostack = env!("CARGO_PKG_VERSION").to_owned();
        let machine = Machine::default();
        Ok(OutcomeFile {
            schema: SCHEMA,
            iostack,
            started_unix_ms: 0,
            machine,
            outcomes: ran.outcomes,
            prediction: None,
        })
    }

    fn occupy<'a>(&'a self, wishes: &Wishes, _: &dyn Audience) -> anyhow::Result<Box<dyn Session + 'a>> {
        let name = self.description.name.as_ref().context("a simulated target has a name")?;
        Ok(Box::new(SimulatedPlace::new(name, &self.sheet, shape(&self.sheet, 1)?, wishes)?))
    }

    fn beside(&self) -> Option<Beside> {
        let path = self.options.timeline.clone()?;
        let said = format!("timeline: {} (open it at https://ui.perfetto.dev)", path.display());
        Some(Beside { path, text: crate::timeline(&self.spans.borrow()), said })
    }
}

/// Runs the trace of the job.
fn replay(sheet: &Sheet, job: &Job, options: &RunOptions<'_>, fifo: OpenFifo) -> anyhow::Result<Ran> {
    let recorded = job.recorded.clone().unwrap_or_default();
    let opened = Opened::open(job, &recorded, fifo)?;
    let mut trace = opened.read(shape(sheet, options.seed)?.0)?;
    let how = Replay { job: opened.told(job.clone()), speed: opened.speed() };
    let mut ran = run::replay(sheet, &mut kept(&mut trace, &recorded), &how, options)?;
    if let Some(doubt) = opened.doubt(&trace) {
        ran.outcomes.iter_mut().for_each(|outcome| outcome.caveats.insert(0, doubt.clone()));
    }
    Ok(ran)
}

/// Capacity of the drive, and its smallest unit.
fn shape(sheet: &Sheet, seed: u64) -> anyhow::Result<(Bytes, Bytes)> {
    let mut world = World::new();
    let root = crate::build(sheet, &mut world, seed)?;
    world.set_root(root);
    let shape = world.shape().context("a device says its capacity")?;
    Ok((shape.capacity, shape.block))
}
