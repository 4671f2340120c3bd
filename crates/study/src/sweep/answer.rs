//! From what was asked to the report.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use iostack_model::SCHEMA;
use iostack_model::answers::{Sweep, SweepAxis, SweepPoint};
use iostack_target::{Audience, EXAMPLE, Targets, changes};

use super::plan::{self, Base, Planned};
use super::pool::Task;
use super::watch::{parallel, watched};

/// Question of `iostack sim sweep`; its docs are the help of its flags.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SweepQuestion {
    /// The device, as in `sim:DEVICE`, or lab:DEVICE, which boots for each
    /// point; several with commas.
    pub device: String,
    /// Job files: fio's (any name) or iostack's (.toml). None: one job from
    /// flags.
    pub jobs: Vec<PathBuf>,
    /// What is varied: a number of the device, like
    /// `flash.over_provisioning=7%,28%`, or an option of the job, like
    /// `queue_depth=1..128*2`. Ranges: 1..8, 10%..50%+10%, 4k..1m*4. Several:
    /// every combination.
    #[arg(long, value_name = "KEY=VALUES")]
    pub vary: Vec<String>,
    /// Change a number of the device in every point; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Run only this section of the job file; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub section: Vec<String>,
    /// Options of the jobs, which are flags of their own.
    #[arg(skip)]
    pub options: Vec<(String, String)>,
}

/// A sweep whose points are known.
pub struct PlannedSweep<'a> {
    targets: &'a dyn Targets,
    device: String,
    axes: Vec<SweepAxis>,
    planned: Vec<Planned>,
}

impl<'a> PlannedSweep<'a> {
    /// Plans every combination.
    pub fn new(asked: &SweepQuestion, targets: &'a dyn Targets) -> anyhow::Result<PlannedSweep<'a>> {
        let base = Base {
            device: &asked.device,
            jobs: &asked.jobs,
            sections: &asked.section,
            changes: &changes(&asked.set, EXAMPLE)?,
            options: &asked.options,
            cpus: targets.machine().cpu.cores_online,
            targets,
        };
        let (axes, planned) = plan::plan(&base, &asked.vary)?;
        Ok(PlannedSweep { targets, device: asked.device.clone(), axes, planned })
    }

    /// Commands that run each point alone.
    pub fn commands(&self) -> Vec<&str> {
        self.planned.iter().map(|point| point.run.command.as_str()).collect()
    }

    /// Runs every point, so many at once; `None`: as many as there are CPUs.
    pub fn run(self, at_once: Option<usize>, talk: &dyn Audience) -> Sweep {
        let PlannedSweep { targets, device, axes, planned } = self;
        let tasks: Vec<Task> = planned.iter().map(|point| point.run.task.clone()).collect();
        let names: Vec<String> = planned.iter().map(|point| settings(&point.settings)).collect();
        let given = watched(&tasks, &names, (parallel(at_once), targets), talk);
        let interrupted = talk.stop().load(Ordering::Relaxed);
        let points = planned.into_iter().zip(given).map(|(point, given)| {
            let (command, outcomes, error) = point.run.ended(given);
            SweepPoint { settings: point.settings, command, outcomes, error }
        });
        let (points, iostack) = (points.collect(), env!("CARGO_PKG_VERSION").to_owned());
        Sweep { schema: SCHEMA, iostack, device, axes, points, interrupted }
    }
}

fn settings(settings: &[(String, String)]) -> String {
    let each: Vec<String> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if each.is_empty() { "the only point".to_owned() } else { each.join(" ") }
}
