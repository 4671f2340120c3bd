//! What would a sheet answer to jobs that were measured elsewhere?

use anyhow::ensure;
use iostack_model::answers::Prediction;
use iostack_model::{Amount, Bytes, Effort, Job};
use iostack_target::{Audience, Targets, Wishes};

use super::draws::{self, Draws};
use super::score::{MeasuredPoint, Predicted, Predictions, score, words};
use crate::sweep::pool::{RunWindow, Task};

/// The number of a platform that names its I/O scheduler.
const SCHEDULER: &str = "platform.scheduler";

/// A sheet that can be asked.
pub struct SheetPredictor<'a> {
    sheet: String,
    targets: &'a dyn Targets,
}

impl<'a> SheetPredictor<'a> {
    /// The sheet of this name or file; refused before anything is measured when it is none.
    pub fn open(typed: &str, targets: &'a dyn Targets) -> anyhow::Result<SheetPredictor<'a>> {
        let sheet = targets.bare(typed).to_owned();
        let word = targets.word(&sheet);
        ensure!(
            targets.kind(&word).has_numbers,
            "`{typed}` is no sheet that could predict; name one of `iostack sim list`, or a file of `iostack calibrate`"
        );
        targets.open(Some(&word), &[])?;
        Ok(SheetPredictor { sheet, targets })
    }

    /// Runs the jobs of all measurements on the sheet, and scores it.
    pub fn beside(&self, measured: &[MeasuredPoint<'_>], draws: Draws, talk: &dyn Audience) -> Prediction {
        let mut jobs: Vec<&Job> = Vec::new();
        for point in measured {
            let job = &point.outcome.job;
            if !jobs.contains(&job) {
                jobs.push(job);
            }
        }
        let region = self.region(talk);
        let tasks: Vec<Task> = jobs.iter().map(|job| self.task(job, region)).collect();
        let answers = draws::answers(&tasks, draws, self.targets, talk);
        let mut predictions = Predictions { origin: self.sheet.clone(), draws: 0, all: Vec::new() };
        let mut failed = Vec::new();
        for (job, answer) in jobs.iter().zip(answers) {
            match answer {
                Ok(answer) => {
                    let (iops, latency_p99) = (answer.iops(), answer.latency_p99());
                    predictions.draws = predictions.draws.max(iops.samples);
                    predictions.all.push(Predicted { job: (*job).clone(), iops, latency_p99 });
                }
                Err(error) => failed.push((words(job), error)),
            }
        }
        let mut told = score(&predictions, measured);
        for (asked, error) in failed {
            let wanted = format!(" ({asked}): not predicted");
            for line in told.unpaired.iter_mut().filter(|line| line.ends_with(&wanted)) {
                *line = format!("{line}: {error}");
            }
        }
        told
    }

    /// Bytes of the sheet's drive; as many as there may be where it does not say.
    fn region(&self, talk: &dyn Audience) -> Bytes {
        let held = self.targets.open(Some(&self.targets.word(&self.sheet)), &[]).ok().and_then(|target| {
            let held = target.occupy(&Wishes { effort: Effort::Quick, size: None }, talk).ok()?;
            Some(held.about().place.region)
        });
        held.unwrap_or(Bytes(u64::MAX))
    }

    /// The job on the sheet, without what names the machine that it ran on; on all of a drive that is smaller than that one.
    fn task(&self, job: &Job, region: Bytes) -> Task {
        let mut own = Job { files: Vec::new(), directory: None, cpus: None, ..job.clone() };
        own.options.clear();
        let end = own.size.map_or(0, |size| size.of(region).0).saturating_add(own.offset.of(region).0);
        if end > region.0 {
            (own.offset, own.size) = (Amount::Bytes(Bytes(0)), None);
        }
        let scheduler = own.host.scheduler.take();
        let changes = scheduler.map(|name| (SCHEDULER.to_owned(), name)).into_iter().collect();
        Task { device: self.sheet.clone(), changes, jobs: Ok(vec![own]), window: RunWindow::Brief }
    }
}
