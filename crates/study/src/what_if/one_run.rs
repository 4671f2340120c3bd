//! What does a platform do when something in it is full? One run.

use std::path::PathBuf;

use anyhow::{Context, bail};
use iostack_model::Outcome;
use iostack_target::{Audience, Targets};
use iostack_workload::gather;

use super::{fill, steady};
use crate::sweep::command::{self, Parts};
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

impl OneRun<'_> {
    /// Outcome of the last job, and the command that does the same alone.
    pub fn run(self, audience: &dyn Audience) -> anyhow::Result<(Outcome, String)> {
        let OneRun { files, options: given, device, changes, targets } = self;
        let asked = !files.is_empty() || given.iter().any(|(key, _)| key != "seed");
        let options = if asked {
            given.to_vec()
        } else {
            let target = targets.open(Some(&targets.word(device)), &changes)?;
            fill::options(&*target, &[target.describe().clone()], given, audience.stop())
        };
        let jobs = gather::gather(files, &[], &options, false, targets.machine().cpu.cores_online)?.jobs;
        let command = command::of(
            &Parts { jobs: files, sections: &[], device, changes: &changes, options: &options },
            targets,
        );
        let steady = files.is_empty() && !steady::ends(&options);
        let task = Task { device: device.to_owned(), changes, jobs: Ok(jobs), steady };
        match watched(std::slice::from_ref(&task), &[device.to_owned()], (1, targets), audience)
            .pop()
            .flatten()
        {
            Some(Ok(outcomes)) => {
                let last = outcomes.into_iter().last().context("a job has an outcome")?;
                let command = command::in_window(command, &task, Some(&last));
                Ok((last, command))
            }
            Some(Err(error)) => bail!("{error}; --no-run draws without a run"),
            None => bail!("interrupted; --no-run draws without a run"),
        }
    }
}
