//! From an experiment to its tasks, and from what they gave to its verdicts.

use std::path::{Path, PathBuf};

use iostack_lab::targets::PREFIX;
use iostack_model::Job;
use iostack_model::answers::{
    ReproCurve, ReproLine, ReproPlot, ReproPoint, ReproPredicted, ReproVerdict, Reproduced,
};
use iostack_target::Targets;
use iostack_workload::gather;

use super::curve::Curve;
use super::experiment::{Experiment, Plot, Predicted, TestSubject, Verdict};
use super::lines::{self, Over};
use super::predicate::{self, Test, judge, percent};
use super::published::Claim;
use super::{basis, builtin};
use iostack_study::sweep::axis::is_parameter;
use iostack_study::sweep::command::{self, Parts};
use iostack_study::sweep::plan::in_order;
use iostack_study::sweep::pool::{Given, RunWindow, Task};

/// One run of an experiment.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) curve: String,
    /// The value of what is varied.
    pub(crate) at: String,
    /// Runs this point alone.
    pub(crate) command: String,
    pub(crate) task: Task,
    /// The run has a boot of its own.
    pub(crate) anew: bool,
}

impl Planned {
    /// Curve and point, for progress.
    pub(crate) fn name(&self) -> String {
        if self.at.is_empty() { self.curve.clone() } else { format!("{}, {}", self.curve, self.at) }
    }
}

/// The runs of a curve, in order.
pub(crate) fn plan(curve: &Curve, targets: &dyn Targets) -> Vec<Planned> {
    match &curve.vary {
        None => vec![point(curve, "", targets)],
        Some((_, values)) => values.iter().map(|value| point(curve, value, targets)).collect(),
    }
}

/// The run at a value of what is varied; at an empty one when nothing is.
fn point(curve: &Curve, at: &str, targets: &dyn Targets) -> Planned {
    let (mut changes, mut options) = (curve.changes.clone(), curve.options.clone());
    for (key, value) in curve.varied_at(at) {
        let list = if is_parameter(&key) { &mut changes } else { &mut options };
        list.retain(|(other, _)| *other != key);
        list.push((key, value));
        in_order(&mut options);
    }
    let file: Vec<PathBuf> = curve.jobs.iter().map(|name| Path::new(builtin::FOLDER).join(name)).collect();
    let parts =
        Parts { jobs: &file, sections: &[], device: &curve.device, changes: &changes, options: &options };
    let command = command::of(&parts, targets);
    let jobs = jobs(curve, &options);
    let task = Task { device: curve.device.clone(), changes, jobs, window: RunWindow::Own };
    Planned { curve: curve.name.clone(), at: at.to_owned(), command, task, anew: curve.anew }
}

fn jobs(curve: &Curve, options: &[(String, String)]) -> Result<Vec<Job>, String> {
    let mut jobs = match &curve.jobs {
        None => vec![Job::default()],
        Some(name) => {
            let text = builtin::job_file(name).ok_or_else(|| format!("there is no job file `{name}`"))?;
            iostack_workload::parse_toml(text, Path::new(name)).map_err(|error| error.to_string())?.jobs
        }
    };
    gather::apply(&mut jobs, options).map_err(|error| format!("{error:#}"))?;
    Ok(jobs)
}

/// Results of an experiment: one [`Given`] a run, in the order of [`plan`] over all curves.
pub(crate) fn simulated(experiment: &Experiment, planned: &[Planned], given: &[Option<Given>]) -> Reproduced {
    reproduced(experiment, planned.iter().zip(given).map(|(point, given)| result(point, given.as_ref())))
}

/// Results of an experiment, from the points of all curves in their order.
pub(crate) fn reproduced(
    experiment: &Experiment,
    mut points: impl Iterator<Item = ReproPoint>,
) -> Reproduced {
    let curves: Vec<ReproCurve> = experiment
        .curves
        .iter()
        .map(|curve| {
            let count = curve.vary.as_ref().map_or(1, |(_, values)| values.len());
            ReproCurve {
                name: curve.name.clone(),
                device: curve.device.clone(),
                varied: curve.vary.as_ref().map_or(String::new(), |(key, _)| key.clone()),
                points: points.by_ref().take(count).collect(),
            }
        })
        .collect();
    Reproduced {
        id: experiment.id.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        measured: experiment.measured.clone(),
        simulated: experiment.simulated.clone(),
        plots: experiment.plots.iter().map(|plot| drawn(plot, &curves)).collect(),
        verdicts: experiment.verdicts.iter().map(|one| verdict(one, experiment, &curves)).collect(),
        predicted: experiment.predicted.iter().flat_map(|one| predicted(one, &curves)).collect(),
        curves,
    }
}

fn result(point: &Planned, given: Option<&Given>) -> ReproPoint {
    let (outcome, error) = match given {
        // The last job is the one that was measured; those before it prepared the device.
        Some(Ok(outcomes)) => (outcomes.last().filter(|outcome| !outcome.interrupted).cloned(), None),
        Some(Err(error)) => (None, Some(error.clone())),
        None => (None, None),
    };
    ReproPoint { at: point.at.clone(), command: point.command.clone(), outcome, cost: None, error }
}

fn drawn(plot: &Plot, curves: &[ReproCurve]) -> ReproPlot {
    let chosen = plot.curves.iter().map(|&index| &curves[index]);
    ReproPlot {
        heading: plot.heading.clone(),
        over: match plot.over {
            Over::Time => "time".to_owned(),
            Over::Varied | Over::Alone => curves[plot.curves[0]].varied.clone(),
        },
        figure: plot.figure.label(curves[plot.curves[0]].device == PREFIX),
        lines: chosen
            .map(|curve| ReproLine {
                name: curve.name.clone(),
                points: lines::line(curve, &plot.figure, plot.over, None),
            })
            .collect(),
    }
}

/// Points at which both curves have a figure.
fn predicted(one: &Predicted, curves: &[ReproCurve]) -> Vec<ReproPredicted> {
    let (ran, by) = (&curves[one.ran], &curves[one.by]);
    let points = ran.points.iter().zip(&by.points);
    let both = points.filter_map(|(point, before)| {
        Some(ReproPredicted {
            curve: ran.name.clone(),
            at: point.at.clone(),
            figure: one.figure.label(true),
            ran: one.figure.of_point(point)?,
            predicted: one.figure.of_point(before)?,
        })
    });
    both.collect()
}

/// The line that a subject names, ours divided by `scale`.
fn look(subject: &TestSubject, curves: &[ReproCurve], scale: f64) -> Vec<(f64, f64)> {
    let line = lines::line(&curves[subject.curve], &subject.figure, subject.over, subject.at.as_deref());
    let inside = line.into_iter().filter(|&(x, _)| subject.from <= x && x <= subject.to);
    inside.map(|(x, y)| (x, y / scale)).collect()
}

fn verdict(verdict: &Verdict, experiment: &Experiment, curves: &[ReproCurve]) -> ReproVerdict {
    let subjects = std::iter::once(&verdict.first).chain(&verdict.second);
    let looked_at = subjects.flat_map(|subject| {
        let points = curves[subject.curve].points.iter();
        points.filter(move |point| subject.at.as_ref().is_none_or(|at| point.at == *at))
    });
    let missing = { looked_at }.find(|point| point.outcome.is_none() && point.cost.is_none());
    let judged = if let Some(point) = missing {
        Err(point.error.clone().unwrap_or_else(|| "not run to its end".to_owned()))
    } else {
        // Of a ratio the whole is scaled, of all else both.
        let other = if verdict.test.is_of_ratios() { 1.0 } else { verdict.written.scale };
        let second = verdict.second.as_ref().map(|subject| look(subject, curves, other));
        let first = look(&verdict.first, curves, verdict.written.scale);
        judge(verdict.test, &first, second.as_deref(), verdict.figure_claimed)
    };
    let (ours, difference, holds) = match judged {
        Ok(judged) => (judged.ours, judged.difference, Some(judged.holds)),
        Err(why) => (why, None, None),
    };
    let (basis, fitted) = basis::basis_of_verdict(verdict, &experiment.curves);
    let claimed = verdict.figure_claimed.filter(|_| verdict.test.is_of_figures());
    ReproVerdict {
        claim: verdict.claim.id.clone(),
        field: verdict.written.field.clone().unwrap_or_default(),
        reading: verdict.written.reading.clone(),
        says: verdict.written.says.clone(),
        test: describe(verdict.test),
        claimed: claimed.map_or("-".to_owned(), predicate::number),
        ours,
        difference: difference.filter(|share| share.is_finite()),
        holds,
        fitted,
        basis,
        drawn: None,
        why: verdict.written.why.clone(),
    }
}

/// Figures of a claim that no verdict of these experiments is on.
pub(crate) fn not_judged(claim: &Claim, ids: &[&str], claims: &[Claim]) -> Vec<Option<String>> {
    let experiments = ids.iter().filter_map(|id| builtin::experiment(id, claims));
    let judged: Vec<Option<String>> = { experiments }
        .flat_map(|one| one.verdicts)
        .filter(|verdict| verdict.claim.id == claim.id)
        .map(|verdict| verdict.written.field)
        .collect();
    claim.fields().into_iter().filter(|field| !judged.contains(field)).collect()
}

/// The test in words.
fn describe(test: Test) -> String {
    match test {
        Test::Value { within } => format!("within {}", percent(within)),
        Test::Points { within } => format!("within {within} points"),
        Test::InRange { least, most, within } => {
            let (least, most) = (predicate::number(least), predicate::number(most));
            let more =
                if within > 0.0 { format!(", {} more allowed", percent(within)) } else { String::new() };
            format!("their mean is claimed; from {least} to {most}{more}")
        }
        Test::Adds { within } => format!("their difference, within {}", percent(within)),
        Test::AtMost => "at most".to_owned(),
        Test::AtLeast => "at least".to_owned(),
        Test::KneeAt { within } => format!("first within {} of the best, and stays", percent(within)),
        Test::BendsAt => "the sharpest bend".to_owned(),
        Test::Rises { by } => format!("never falls, ends {} times higher", predicate::number(by)),
        Test::FlatWithin { within } => format!("lowest within {} of the highest", percent(within)),
        Test::FallsThenLevel { to, within } => {
            format!("falls fast to {} or less, then level within {}", percent(to), percent(within))
        }
        Test::LevelsWhenLow { windows, within } => format!(
            "level within {} from the floor on, give or take {} windows",
            percent(within),
            predicate::number(windows)
        ),
        Test::EqualShape { to, within } => {
            format!("both fall to {} or less, shares alike within {}", percent(to), percent(within))
        }
        Test::Above { by } => format!("everywhere at least {} times", predicate::number(by)),
    }
}
