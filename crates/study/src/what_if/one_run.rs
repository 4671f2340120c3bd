//! What does a platform do when something in it is full? One run.

use std::path::PathBuf;

use anyhow::{Context, bail};
use iostack_model::Outcome;
use iostack_target::{Audience, Targets};

use super::fill;
use crate::sweep::plan::Base;
use crate::sweep::pool::Task;
use crate::sweep::watch::watched;

/// Question with all that it needs.
pub struct OneRun<'a> {
    /// Job files. None: a job from `options`; without those too, one that fills something.
    pub files: &'a [PathBuf],
    /// Options of the jobs.
    pub options: &'a [(String, String)],
    /// The platform, without `sim:`.
    pub device: &'a str,
    /// Changes of it.
    pub changes: Vec<(String, String)>,
    /// Table of targets.
    pub targets: &'a dyn Targets,
}

/// Outcome of [`OneRun`].
pub struct OneRan {
    /// Outcome of the last job.
    pub outcome: Outcome,
    /// The command that does the same alone.
    pub command: String,
    pub(crate) task: Task,
}

impl OneRun<'_> {
    /// Runs the job.
    pub fn run(&self, audience: &dyn Audience) -> anyhow::Result<OneRan> {
        let OneRun { files, options: given, device, ref changes, targets } = *self;
        let asked = !files.is_empty() || given.iter().any(|(key, _)| key != "seed");
        let options = if asked {
            given.to_vec()
        } else {
            let target = targets.open(Some(&targets.word(device)), changes)?;
            fill::options(&*target, &[target.describe().clone()], given, audience.stop())
        };
        let cpus = targets.machine().cpu.cores_online;
        let (changes, options) = (&changes[..], &options[..]);
        let base = Base { device, jobs: files, sections: &[], changes, options, cpus, targets };
        let run = base.runnable(Ok(base.gathered()?));
        let task = run.task.clone();
        let given = watched(std::slice::from_ref(&task), &[device.to_owned()], (1, targets), audience);
        let Some(given) = given.into_iter().next().flatten() else {
            bail!("interrupted; --no-run draws without a run");
        };
        let (command, mut outcomes, error) = run.ended(Some(given));
        match error {
            Some(error) => bail!("{error}; --no-run draws without a run"),
            None => Ok(OneRan { outcome: outcomes.pop().context("a job has an outcome")?, command, task }),
        }
    }
}
