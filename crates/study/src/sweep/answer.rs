//! From what was asked to the report.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use iostack_model::SCHEMA;
use iostack_model::answers::{Sweep, SweepAxis, SweepPoint};
use iostack_target::{Audience, EXAMPLE, Targets, changes};

use super::command;
use super::plan::{self, Base, Planned};
use super::pool::Task;
use super::watch::{parallel, watched};

/// What is asked.
pub struct Asked<'a> {
    /// The device, as in `sim:DEVICE`; several with commas.
    pub device: &'a str,
    /// Job files. None: one job from `options`.
    pub jobs: &'a [PathBuf],
    /// Only these sections of them; none: all.
    pub sections: &'a [String],
    /// Options of the jobs.
    pub options: &'a [(String, String)],
    /// Changes of the device in every point, each `KEY=VALUE`.
    pub set: &'a [String],
    /// What is varied, each `KEY=VALUES`.
    pub vary: &'a [String],
    /// What can be named.
    pub targets: &'a dyn Targets,
}

/// A sweep whose points are known.
pub struct Ready<'a> {
    targets: &'a dyn Targets,
    device: String,
    axes: Vec<SweepAxis>,
    planned: Vec<Planned>,
}

impl<'a> Ready<'a> {
    /// Every combination.
    pub fn of(asked: &Asked<'a>) -> anyhow::Result<Ready<'a>> {
        let changes = changes(asked.set, EXAMPLE)?;
        let base = Base {
            device: asked.device,
            jobs: asked.jobs,
            sections: asked.sections,
            changes: &changes,
            options: asked.options,
            cpus: asked.targets.machine().cpu.cores_online,
            targets: asked.targets,
        };
        let (axes, planned) = plan::plan(&base, asked.vary)?;
        Ok(Ready { targets: asked.targets, device: asked.device.to_owned(), axes, planned })
    }

    /// What runs each point alone.
    pub fn commands(&self) -> Vec<&str> {
        self.planned.iter().map(|point| point.command.as_str()).collect()
    }

    /// Runs every point, so many at once; `None`: as many as there are CPUs.
    pub fn run(self, at_once: Option<usize>, talk: &dyn Audience) -> Sweep {
        let (points, interrupted) = simulate(self.planned, (parallel(at_once), self.targets), talk);
        let iostack = env!("CARGO_PKG_VERSION").to_owned();
        Sweep { schema: SCHEMA, iostack, device: self.device, axes: self.axes, points, interrupted }
    }
}

/// Every point with what it gave, and whether the sweep was cut short.
fn simulate(
    planned: Vec<Planned>,
    (parallel, targets): (usize, &dyn Targets),
    talk: &dyn Audience,
) -> (Vec<SweepPoint>, bool) {
    let tasks: Vec<Task> = planned.iter().map(|point| point.task.clone()).collect();
    let names: Vec<String> = planned.iter().map(|point| settings(&point.settings)).collect();
    let given = watched(&tasks, &names, (parallel, targets), talk);
    let interrupted = talk.stop().load(Ordering::Relaxed);
    let points = planned.into_iter().zip(given).map(|(point, given)| {
        let (outcomes, error) = match given {
            Some(Ok(outcomes)) => (outcomes, None),
            Some(Err(error)) => (Vec::new(), Some(error)),
            None => (Vec::new(), None),
        };
        let command = command::in_window(point.command, &point.task, outcomes.last());
        SweepPoint { settings: point.settings, command, outcomes, error }
    });
    (points.collect(), interrupted)
}

fn settings(settings: &[(String, String)]) -> String {
    let each: Vec<String> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if each.is_empty() { "the only point".to_owned() } else { each.join(" ") }
}
