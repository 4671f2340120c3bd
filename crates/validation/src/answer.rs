//! From what was asked to the report.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, ensure};
use iostack_lab::Lab;
use iostack_model::SCHEMA;
use iostack_model::answers::{
    ClockPrices, IoCost, Repro, ReproDocument, ReproDraws, ReproValidated, Reproduced,
};
use iostack_target::{Audience, Targets};

use super::asked::ReproRequest;
use super::counted::{self, Case};
use super::experiment::Experiment;
use super::gather;
use super::published::{Document, Published};
use super::together::{Plans, reproduce};
use super::{basis, builtin, drawn, worked};
use crate::count::Counter;
use crate::count::spec::Spec;
use iostack_study::sweep::watch::parallel;

/// Experiments that are to be run.
pub struct ReproRun<'a> {
    asked: &'a ReproRequest<'a>,
    published: Published,
    experiments: Vec<Experiment>,
    /// The lab counts them; otherwise they are simulated.
    counted: bool,
}

impl<'a> ReproRun<'a> {
    /// Finds them, and refuses those that do not go together.
    pub fn new(asked: &'a ReproRequest<'a>) -> anyhow::Result<ReproRun<'a>> {
        let published = builtin::published();
        let experiments = asked.experiments(&published.claim)?;
        let counted = experiments.iter().filter(|one| one.is_counted()).count();
        ensure!(
            asked.list || counted == 0 || counted == experiments.len(),
            "some of these are simulated and some are counted in the lab; ask for them apart"
        );
        ensure!(
            asked.draws.count == 0 || counted == 0,
            "`--draws` is for simulated experiments: the lab counts, and there is no number to draw"
        );
        ensure!(asked.costs.is_empty() || counted > 0, "`--costs` is for experiments of the lab; add --lab");
        Ok(ReproRun { asked, published, experiments, counted: counted > 0 })
    }

    /// Experiments in their order.
    pub fn experiments(&self) -> &[Experiment] {
        &self.experiments
    }

    /// Runs and judges.
    pub fn run(&self, talk: &dyn Audience) -> anyhow::Result<Repro> {
        let experiments: Vec<&Experiment> = self.experiments.iter().collect();
        if self.counted {
            return Ok(whole(
                in_lab(&experiments, &known(self.asked.costs)?, self.asked.targets, talk)?,
                &self.published,
                talk,
            ));
        }
        let ReproRequest { draws, targets, at_once, .. } = *self.asked;
        let plan = |curve| gather::plan(curve, targets);
        let planned: Plans =
            experiments.iter().map(|one| one.curves.iter().flat_map(plan).collect()).collect();
        let how = (parallel(at_once), targets);
        let mut reproduced = reproduce(&experiments, &planned, how, talk);
        drawn::judge_again((&experiments, &planned), &mut reproduced, draws, how, talk);
        let platforms = basis::platforms(&experiments, &reproduced);
        let missing = self.asked.missing(&self.published);
        let draws = (draws.count > 0).then_some(ReproDraws { count: draws.count, seed: draws.seed });
        let mut all = Repro { platforms, missing, draws, ..whole(reproduced, &self.published, talk) };
        all.documents.extend(experiments.iter().flat_map(|one| one.own_documents()));
        Ok(all)
    }
}

/// Report of measured curves beside their models, without experiments.
pub fn validated(rows: Vec<ReproValidated>) -> Repro {
    let (no_document, nobody) =
        (Published { document: Vec::new(), claim: Vec::new() }, AtomicBool::new(false));
    Repro { validated: rows, ..whole(Vec::new(), &no_document, &nobody) }
}

/// The report, with all that is said of the experiments together.
fn whole(experiments: Vec<Reproduced>, published: &Published, talk: &dyn Audience) -> Repro {
    let document = |known: &Document| ReproDocument {
        id: known.id.clone(),
        title: known.title.clone(),
        published: known.published,
        own: known.own,
    };
    Repro {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        experiments,
        documents: published.document.iter().map(document).collect(),
        platforms: Vec::new(),
        missing: Vec::new(),
        draws: None,
        validated: Vec::new(),
        interrupted: talk.stop().load(Ordering::Relaxed),
    }
}

/// The costs of files of `--json`.
fn known(files: &[PathBuf]) -> anyhow::Result<Vec<IoCost>> {
    let mut costs = Vec::new();
    for path in files {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let stored: Vec<IoCost> = iostack_target::read_json(&text).with_context(|| {
            format!("`{}` holds no costs; write it with iostack lab cost --json", path.display())
        })?;
        costs.extend(stored);
    }
    Ok(costs)
}

/// Runs the jobs of experiments that have such in the lab, counts the others.
fn in_lab(
    experiments: &[&Experiment],
    known: &[IoCost],
    targets: &dyn Targets,
    talk: &dyn Audience,
) -> anyhow::Result<Vec<Reproduced>> {
    let costs: Vec<&Experiment> = experiments.iter().copied().filter(|one| !one.runs_jobs()).collect();
    let mut costs = counted(&costs, known, talk)?.into_iter();
    let mut all = Vec::new();
    for one in experiments {
        if one.runs_jobs() {
            all.push(worked::run(one, targets, talk)?);
        } else {
            all.extend(costs.next());
        }
    }
    Ok(all)
}

/// Counts what is not known yet, each case once, however many experiments ask for it.
fn counted(
    experiments: &[&Experiment],
    known: &[IoCost],
    talk: &dyn Audience,
) -> anyhow::Result<Vec<Reproduced>> {
    let cases = |curve| counted::plan(curve).expect("checked when the file was read");
    let planned: Vec<Vec<Case>> =
        experiments.iter().map(|one| one.curves.iter().flat_map(cases).collect()).collect();
    let mut missing: Vec<Spec> = Vec::new();
    for Case { spec, .. } in planned.iter().flatten() {
        let asked = missing.iter().any(|other| other.command() == spec.command());
        if !asked && !known.iter().any(|cost| spec.is_of(cost)) {
            missing.push(spec.clone());
        }
    }
    let new = if missing.is_empty() {
        Vec::new()
    } else {
        let say = |text: &str| talk.say(text);
        let lab = Lab::open(&say, talk.stop())?;
        Counter { lab, talk, boots: 1, prices: ClockPrices::default() }.each(&missing, true)?
    };
    let new: Vec<_> = new.into_iter().map(|cost| cost.map_err(|error| format!("{error:#}"))).collect();
    let find = |spec: &Spec| -> Result<IoCost, String> {
        if let Some(cost) = known.iter().find(|cost| spec.is_of(cost)) {
            return Ok(cost.clone());
        }
        let place = missing.iter().position(|other| other.command() == spec.command());
        new[place.expect("it was missing")].clone()
    };
    let reproduced = experiments.iter().zip(&planned).map(|(one, cases)| {
        gather::reproduced(one, cases.iter().map(|case| counted::point(case, &find(&case.spec))))
    });
    Ok(reproduced.collect())
}
