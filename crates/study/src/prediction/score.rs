//! Which prediction is of which measurement, and how far is it off? Pure.

use anyhow::{bail, ensure};
use iostack_model::answers::{
    Check, PredictedFigure, PredictedPoint, Prediction, PredictionScore, StepKind, WhatIfList,
};
use iostack_model::{Direction, Interval, Job, Outcome};
use iostack_stats::{quantile_interval, samples_needed};

/// Predictions of one origin.
#[derive(Clone, Debug, Default)]
pub struct Predictions {
    /// File or sheet, as typed.
    pub origin: String,
    /// Draws that bands rest on; 0 without bands.
    pub draws: u32,
    /// Jobs that are predicted.
    pub all: Vec<Predicted>,
}

/// Figures of one job, predicted.
#[derive(Clone, Debug, Default)]
pub struct Predicted {
    /// Job that was asked.
    pub job: Job,
    /// I/Os per second; the samples of its interval are draws.
    pub iops: Interval,
    /// 99th percentile of the latency, ns.
    pub latency_p99: Option<Interval>,
}

/// Result of one measurement.
pub struct MeasuredPoint<'a> {
    /// Name of the measurement.
    pub name: String,
    /// Step of a check that it is part of.
    pub step: Option<StepKind>,
    /// Curve and place in the step.
    pub curve: (&'a str, f64),
    /// Outcome of the measurement.
    pub outcome: &'a Outcome,
}

/// Measurement of a run.
impl<'a> From<&'a Outcome> for MeasuredPoint<'a> {
    fn from(outcome: &'a Outcome) -> MeasuredPoint<'a> {
        MeasuredPoint { name: outcome.job.name.clone(), step: None, curve: ("", 0.0), outcome }
    }
}

impl Predictions {
    /// Those of outcomes, which have no bands.
    pub fn of_outcomes<'a>(origin: &str, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Predictions {
        let of = |outcome: &Outcome| Predicted {
            job: outcome.job.clone(),
            iops: Interval::exact(outcome.rate()),
            latency_p99: latency_p99(outcome).map(|p99| Interval::exact(p99.mean)),
        };
        Predictions { origin: origin.to_owned(), draws: 0, all: outcomes.into_iter().map(of).collect() }
    }

    /// Takes that of the job of a list of changes, as things are.
    pub fn of_list(origin: &str, list: &WhatIfList) -> Predictions {
        let of = |outcome: &Outcome| Predicted {
            job: outcome.job.clone(),
            iops: list.iops,
            latency_p99: list.latency_p99,
        };
        let all = list.outcome.iter().map(of).collect();
        Predictions { origin: origin.to_owned(), draws: list.iops.samples, all }
    }

    /// Refuses jobs of which none is predicted, before anything is measured.
    pub fn refuse_others(&self, jobs: &[Job]) -> anyhow::Result<()> {
        let origin = &self.origin;
        let Some(first) = self.all.first() else { bail!("`{origin}` predicts nothing: it has no outcome") };
        let Some(job) = jobs.first() else { return Ok(()) };
        ensure!(
            jobs.iter().any(|job| self.find(job).is_some()),
            "`{origin}` predicts another job: {}; asked is {}. Predict what is asked, with the same flags: \
             iostack sim what-if SHEET --json --output FILE",
            words(&first.job),
            words(job)
        );
        Ok(())
    }

    /// The prediction of this job; where several fit, one through the same interface.
    fn find(&self, job: &Job) -> Option<&Predicted> {
        let alike = || self.all.iter().filter(|each| are_alike(&each.job, job));
        alike().find(|each| each.job.engine == job.engine).or_else(|| alike().next())
    }
}

/// Asks the storage the same, through whatever interface and for however long.
fn are_alike(a: &Job, b: &Job) -> bool {
    let sizes = || {
        let asked = Direction::ALL.iter().filter(|&&direction| a.mix.of(direction) > 0);
        asked.into_iter().all(|&direction| a.block_sizes.of(direction) == b.block_sizes.of(direction))
    };
    let shape = |job: &Job| (job.mix, job.depth(), job.threads, job.direct, job.rate, job.think);
    let finer = |job: &Job| (job.access.clone(), job.follow, job.zones, job.sync, job.batch);
    shape(a) == shape(b) && sizes() && finer(a) == finer(b) && a.host.scheduler == b.host.scheduler
}

/// `randread 4 KiB, depth 32, 4 threads`.
pub(crate) fn words(job: &Job) -> String {
    let (least, most) = (job.block_sizes.smallest(), job.block_sizes.largest());
    let size = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let mut words = vec![format!("{} {size}", job.rw_name())];
    if job.mix.read > 0 && job.mix.destroys() {
        words.push(format!("{} % reads", job.mix.read));
    }
    words.push(format!("depth {}", job.depth()));
    if job.threads > 1 {
        words.push(format!("{} threads", job.threads));
    }
    if !job.direct {
        words.push("buffered".to_owned());
    }
    let every = job.sync.fsync_every.max(job.sync.fdatasync_every);
    if every > 0 {
        words.push(format!("flushed each {every}"));
    }
    if let Some(rate) = job.rate {
        words.push(format!("{} IOPS and thread asked", rate.iops));
    }
    words.join(", ")
}

/// The 99th percentile, where there are I/Os enough for one.
pub(crate) fn latency_p99(outcome: &Outcome) -> Option<Interval> {
    let latency = outcome.latency();
    let enough = latency.count >= samples_needed(0.99);
    enough.then(|| quantile_interval(&latency, 0.99)).flatten()
}

/// Measurements of a check that a sheet could predict: those that show speed. Looking inside costs speed, and what lasts
/// minutes is no one figure.
pub fn measured_by_check(check: &Check) -> Vec<MeasuredPoint<'_>> {
    let steps = check.steps.iter().filter(|step| !matches!(step.id, StepKind::Places | StepKind::Sustained));
    let points = steps.flat_map(|step| step.points.iter().map(move |point| (step, point)));
    let plain = points.filter(|(_, point)| {
        let outcome = &point.outcome;
        outcome.stages.is_none() && outcome.layers.is_none() && outcome.target == check.target
    });
    let measured = plain.map(|(step, point)| MeasuredPoint {
        name: format!("{}: {}, {}", step.id.name(), point.series, point.label),
        step: Some(step.id),
        curve: (point.series.name(), point.x),
        outcome: &point.outcome,
    });
    measured.collect()
}

/// Predicted beside measured.
pub fn score(predictions: &Predictions, measured: &[MeasuredPoint<'_>]) -> Prediction {
    let mut told =
        Prediction { origin: predictions.origin.clone(), draws: predictions.draws, ..Prediction::default() };
    for point in measured {
        let job = &point.outcome.job;
        match predictions.find(job) {
            Some(predicted) => told.points.push(beside(predicted, point)),
            None => told.unpaired.push(format!("{} ({}): not predicted", point.name, words(job))),
        }
    }
    told.iops = scored(told.points.iter().map(|point| point.iops));
    told.latency_p99 = scored(told.points.iter().filter_map(|point| point.latency_p99));
    told
}

fn beside(predicted: &Predicted, point: &MeasuredPoint<'_>) -> PredictedPoint {
    let MeasuredPoint { name, step, curve: (series, x), outcome } = point;
    let [asked, ran] = [&predicted.job, &outcome.job].map(|job| job.engine.name());
    let p99 = predicted.latency_p99.zip(latency_p99(outcome));
    PredictedPoint {
        name: name.clone(),
        asked: words(&outcome.job),
        step: *step,
        series: (*series).to_owned(),
        x: *x,
        iops: figure(predicted.iops, rate(outcome)),
        latency_p99: p99.map(|(predicted, measured)| figure(predicted, measured)),
        note: (asked != ran).then(|| format!("predicted for {asked}, measured with {ran}")),
    }
}

/// I/Os per second, with an interval where there is one.
fn rate(outcome: &Outcome) -> Interval {
    if outcome.iops.samples >= 3 { outcome.iops } else { Interval::exact(outcome.rate()) }
}

fn figure(predicted: Interval, measured: Interval) -> PredictedFigure {
    let error = (measured.mean > 0.0).then(|| (predicted.mean / measured.mean - 1.0) * 100.0);
    let holds = predicted.low <= measured.mean && measured.mean <= predicted.high;
    let within = (predicted.samples > 0).then_some(holds);
    PredictedFigure { predicted, measured, error_percent: error, within }
}

fn scored(figures: impl Iterator<Item = PredictedFigure>) -> PredictionScore {
    let figures: Vec<PredictedFigure> = figures.collect();
    let mut errors: Vec<f64> = figures.iter().filter_map(|each| each.error_percent).map(f64::abs).collect();
    errors.sort_by(f64::total_cmp);
    let count =
        |holds: fn(&PredictedFigure) -> bool| figures.iter().filter(|each| holds(each)).count() as u32;
    let (lower, upper) = (errors.len().saturating_sub(1) / 2, errors.len() / 2);
    PredictionScore {
        points: errors.len() as u32,
        median_percent: errors.get(lower).zip(errors.get(upper)).map(|(a, b)| f64::midpoint(*a, *b)),
        worst_percent: errors.last().copied(),
        banded: count(|each| each.within.is_some()),
        within: count(|each| each.within == Some(true)),
    }
}
