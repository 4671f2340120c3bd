//! From what was asked to the reports.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use iostack_model::answers::WhatIf;
use iostack_target::{Audience, EXAMPLE, Targets, changes};

use super::chain::{chain, sheets};
use super::named::{self, Named};
use super::{WhatIfChain, fill, run, typed};
use crate::sweep::plan::{Base, put};
use crate::sweep::watch::parallel;

/// Question of `iostack sim what-if`; its docs are the help of its flags.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct WhatIfQuestion {
    /// The platform or device, as in `sim:NAME`.
    pub platform: Option<String>,
    /// Job files: fio's (any name) or iostack's (.toml). None: a job from
    /// flags; without flags one that fills something.
    pub jobs: Vec<PathBuf>,
    /// A change: a number of the platform, like
    /// `platform.adapter.adapter.coalesce=8`, or an option of the job, like
    /// `queue_depth=64`; several are one change.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Changes on top of each other, one run after each:
    /// "KEY=VALUE[,KEY=VALUE]", may be repeated.
    #[arg(long, value_name = "CHANGES", conflicts_with = "set")]
    pub step: Vec<String>,
    /// A number that differs in every run, before and after; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub base: Vec<String>,
    /// An improvement with a name.
    #[arg(long, value_name = "ID", conflicts_with_all = ["set", "step"])]
    pub named: Option<String>,
    /// Run all improvements with a name; a table in Markdown.
    #[arg(long, conflicts_with_all = ["set", "step", "named", "platform", "list", "html"])]
    pub all: bool,
    /// Run only this section of the job file; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub section: Vec<String>,
    /// Options of the jobs, which are flags of their own.
    #[arg(skip)]
    pub options: Vec<(String, String)>,
}

/// A question, and the table that it is asked of.
type Typed<'a> = (&'a WhatIfQuestion, &'a dyn Targets);

pub(super) type Pairs = Vec<(String, String)>;

/// Runs what was asked for: one chain, or one for each improvement with a name.
pub fn answer(
    asked: &WhatIfQuestion,
    targets: &dyn Targets,
    talk: &dyn Audience,
) -> anyhow::Result<Vec<WhatIf>> {
    let chains = if asked.all {
        named::all()
            .iter()
            .map(|named| of_named((asked, targets), named, talk))
            .collect::<anyhow::Result<Vec<WhatIfChain>>>()?
    } else {
        vec![one((asked, targets), talk)?]
    };
    Ok(run(chains, (parallel(None), targets), talk))
}

/// Chain that was asked for by name or by changes.
fn one((asked, targets): Typed<'_>, talk: &dyn Audience) -> anyhow::Result<WhatIfChain> {
    if let Some(id) = &asked.named {
        return of_named((asked, targets), &named::find(id)?, talk);
    }
    let steps = if asked.step.is_empty() {
        let together: anyhow::Result<Vec<Pairs>> =
            asked.set.iter().map(|text| typed::changes("--set", text)).collect();
        vec![together?.concat()]
    } else {
        asked.step.iter().map(|text| typed::changes("--step", text)).collect::<anyhow::Result<_>>()?
    };
    let Some(platform) = &asked.platform else {
        bail!(
            "name a platform or a device (`iostack sim list`), or an improvement (`iostack sim what-if --list`)"
        );
    };
    ensure!(
        steps.iter().any(|step| !step.is_empty()),
        "nothing is changed; say what, like --set {EXAMPLE} (`iostack sim show {platform}` lists what can be)"
    );
    ready((asked, targets), platform, None, &asked.options, &steps, talk)
}

fn of_named((asked, targets): Typed<'_>, named: &Named, talk: &dyn Audience) -> anyhow::Result<WhatIfChain> {
    let platform = asked.platform.as_ref().unwrap_or(&named.platform);
    let mut job = named.job();
    for (key, value) in &asked.options {
        put(&mut job, key, value);
    }
    ready((asked, targets), platform, Some(named), &job, &[named.set()], talk)
        .with_context(|| format!("`{}` of experiments/what-ifs.toml", named.id))
}

/// Checks all of it; then looks for a job that fills something, unless one was asked for.
fn ready(
    (asked, targets): Typed<'_>,
    platform: &str,
    named: Option<&Named>,
    options: &[(String, String)],
    steps: &[Pairs],
    talk: &dyn Audience,
) -> anyhow::Result<WhatIfChain> {
    let device = targets.bare(platform);
    let mut base_changes = named.map(Named::base).unwrap_or_default();
    base_changes.extend(changes(&asked.base, EXAMPLE)?);
    let cpus = targets.machine().cpu.cores_online;
    let chain_of = |options: &[(String, String)]| {
        let (jobs, sections, changes) = (&asked.jobs, &asked.section, &base_changes);
        chain(&Base { device, jobs, sections, changes, options, cpus, targets }, steps)
    };
    let sheets = sheets(targets, device, &base_changes, steps)?;
    // Options alone leave the rest of the job as it is; a job of a file is what its file says.
    let has_job = !asked.jobs.is_empty() || options.iter().any(|(key, _)| key != "seed");
    let links = if has_job {
        chain_of(options)?
    } else {
        chain_of(&fill::plain(&sheets, options))?;
        let first = targets.open(Some(&targets.word(device)), &base_changes)?;
        chain_of(&fill::options(&*first, &sheets, options, talk.stop()))?
    };
    let (title, named) = (sheets[0].title.clone(), named.map(Named::card));
    Ok(WhatIfChain { device: device.to_owned(), title, named, links })
}
