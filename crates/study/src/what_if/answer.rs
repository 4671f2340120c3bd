//! From what was asked to the reports.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use iostack_model::answers::WhatIf;
use iostack_target::{Audience, EXAMPLE, Targets, changes};

use super::chain::{chain, sheets};
use super::named::{self, Named};
use super::{Ready, fill, run, typed};
use crate::sweep::plan::Base;
use crate::sweep::watch::parallel;

/// What is asked.
pub struct Asked<'a> {
    /// The platform or device, as in `sim:NAME`.
    pub platform: Option<&'a str>,
    /// Job files. None: a job from `options`; without those too, one that fills something.
    pub jobs: &'a [PathBuf],
    /// Only these sections of them; none: all.
    pub sections: &'a [String],
    /// Options of the jobs.
    pub options: &'a [(String, String)],
    /// One change, each part `KEY=VALUE`.
    pub set: &'a [String],
    /// Changes on top of each other, each `KEY=VALUE[,KEY=VALUE]`.
    pub step: &'a [String],
    /// What differs in every run, each `KEY=VALUE`.
    pub base: &'a [String],
    /// An improvement with a name.
    pub named: Option<&'a str>,
    /// All improvements with a name.
    pub all: bool,
    /// What can be named.
    pub targets: &'a dyn Targets,
}

type Pairs = Vec<(String, String)>;

/// Runs what was asked for: one chain, or one for each improvement with a name.
pub fn answer(asked: &Asked<'_>, talk: &dyn Audience) -> anyhow::Result<Vec<WhatIf>> {
    let chains = if asked.all {
        named::all()
            .iter()
            .map(|named| of_named(asked, named, talk))
            .collect::<anyhow::Result<Vec<Ready>>>()?
    } else {
        vec![one(asked, talk)?]
    };
    Ok(run(chains, (parallel(None), asked.targets), talk))
}

/// What was asked for: by name, or by changes.
fn one(asked: &Asked<'_>, talk: &dyn Audience) -> anyhow::Result<Ready> {
    if let Some(id) = asked.named {
        return of_named(asked, &named::find(id)?, talk);
    }
    let steps = if asked.step.is_empty() {
        let together: anyhow::Result<Vec<Pairs>> =
            asked.set.iter().map(|text| typed::changes("--set", text)).collect();
        vec![together?.concat()]
    } else {
        asked.step.iter().map(|text| typed::changes("--step", text)).collect::<anyhow::Result<_>>()?
    };
    let Some(platform) = asked.platform else {
        bail!(
            "name a platform or a device (`iostack sim list`), or an improvement (`iostack sim what-if --list`)"
        );
    };
    ensure!(
        steps.iter().any(|step| !step.is_empty()),
        "nothing is changed; say what, like --set {EXAMPLE} (`iostack sim show {platform}` lists what can be)"
    );
    ready(asked, platform, None, asked.options, &steps, talk)
}

fn of_named(asked: &Asked<'_>, named: &Named, talk: &dyn Audience) -> anyhow::Result<Ready> {
    let platform = asked.platform.unwrap_or(&named.platform);
    let mut job = named.job();
    for (key, value) in asked.options {
        job.retain(|(other, _)| other != key);
        job.push((key.clone(), value.clone()));
    }
    ready(asked, platform, Some(named), &job, &[named.set()], talk)
        .with_context(|| format!("`{}` of experiments/what-ifs.toml", named.id))
}

/// Checks all of it; then looks for a job that fills something, unless one was asked for.
fn ready(
    asked: &Asked<'_>,
    platform: &str,
    named: Option<&Named>,
    options: &[(String, String)],
    steps: &[Pairs],
    talk: &dyn Audience,
) -> anyhow::Result<Ready> {
    let targets = asked.targets;
    let device = targets.bare(platform);
    let mut base_changes = named.map(Named::base).unwrap_or_default();
    base_changes.extend(changes(asked.base, EXAMPLE)?);
    let cpus = targets.machine().cpu.cores_online;
    let chain_of = |options: &[(String, String)]| {
        let (jobs, sections, changes) = (asked.jobs, asked.sections, &base_changes);
        chain(&Base { device, jobs, sections, changes, options, cpus, targets }, steps)
    };
    let sheets = sheets(targets, device, &base_changes, steps)?;
    let card = named.map(Named::card);
    // Options alone leave the rest of the job as it is; a job of a file is what its file says.
    let has_job = !asked.jobs.is_empty() || options.iter().any(|(key, _)| key != "seed");
    if has_job {
        return Ok(Ready::new(device, &sheets[0], card, chain_of(options)?));
    }
    chain_of(&fill::plain(&sheets, options))?;
    let first = targets.open(Some(&targets.word(device)), &base_changes)?;
    let filled = fill::options(&*first, &sheets, options, talk.stop());
    Ok(Ready::new(device, &sheets[0], card, chain_of(&filled)?))
}
