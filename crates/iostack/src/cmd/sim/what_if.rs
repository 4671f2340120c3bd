//! `iostack sim what-if PLATFORM --set KEY=VALUE`: before, after, and where the limit moved.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use iostack_model::WhatIf;

use crate::exit::Ended;
use crate::job::flags::JobFlags;
use crate::save;
use crate::sweep::plan::Base;
use crate::sweep::watch::parallel;
use crate::talk::{Talk, data, paragraph};
use crate::target::Scheme;
use crate::target::simulated::{EXAMPLE, changes};
use crate::what_if::chain::{chain, sheets};
use crate::what_if::named::{self, Named};
use crate::what_if::{self, Ready, fill, typed};

/// Arguments of `iostack sim what-if`.
#[derive(clap::Args)]
pub(crate) struct WhatIfArgs {
    /// The platform or device, as in `sim:NAME`.
    platform: Option<String>,
    /// Job files: fio's (any name) or iostack's (.toml). None: a job from
    /// flags; without flags one that fills something.
    jobs: Vec<PathBuf>,
    /// A change: a number of the platform, like
    /// `platform.adapter.adapter.coalesce=8`, or an option of the job, like
    /// `queue_depth=64`; several are one change.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Changes on top of each other, one run after each:
    /// "KEY=VALUE[,KEY=VALUE]", may be repeated.
    #[arg(long, value_name = "CHANGES", conflicts_with = "set")]
    step: Vec<String>,
    /// A number that differs in every run, before and after; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    base: Vec<String>,
    /// An improvement with a name.
    #[arg(long, value_name = "ID", conflicts_with_all = ["set", "step"])]
    named: Option<String>,
    /// The improvements with a name.
    #[arg(long, conflicts_with_all = ["set", "step", "named", "platform"])]
    list: bool,
    /// Run all improvements with a name; a table in Markdown.
    #[arg(long, conflicts_with_all = ["set", "step", "named", "platform", "list", "html"])]
    all: bool,
    /// Run only this section of the job file; may be repeated.
    #[arg(long, value_name = "NAME")]
    section: Vec<String>,
    /// Write a page with bars to a new file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON: the whole outcome of every run.
    #[arg(long)]
    json: bool,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    flags: JobFlags,
}

type Pairs = Vec<(String, String)>;

/// Runs and prints. Exit 1 when a run failed or was not run.
pub(crate) fn run(args: &WhatIfArgs) -> anyhow::Result<Ended> {
    save::refuse(&args.html)?;
    let talk = Talk::new(args.quiet);
    if args.list {
        for each in named::all() {
            data(&line(&each));
        }
        data("\nnext: iostack sim what-if --named interrupt-grouping\n");
        return Ok(Ended::Done);
    }
    let chains = if args.all {
        let each = named::all();
        each.iter().map(|named| of_named(args, named)).collect::<anyhow::Result<Vec<Ready>>>()?
    } else {
        vec![one(args)?]
    };
    let results = what_if::run(chains, parallel(None), &talk);
    talk.clear();
    write(args, &results, &talk)?;
    let whole = results.iter().all(WhatIf::is_whole);
    Ok(if whole { Ended::Done } else { Ended::FoundProblem })
}

fn line(named: &Named) -> String {
    let change: Vec<String> = named.set().iter().map(|(key, value)| format!("{key}={value}")).collect();
    paragraph(&format!("{:<20} ", named.id), &named.title, 21)
        + &paragraph(&format!("{:21}", ""), &format!("on {}: {}", named.platform, change.join(" ")), 21)
}

/// What was asked for: by name, or by changes.
fn one(args: &WhatIfArgs) -> anyhow::Result<Ready> {
    if let Some(id) = &args.named {
        return of_named(args, &named::find(id)?);
    }
    let steps = if args.step.is_empty() {
        let together: anyhow::Result<Vec<Pairs>> =
            args.set.iter().map(|text| typed::changes("--set", text)).collect();
        vec![together?.concat()]
    } else {
        args.step.iter().map(|text| typed::changes("--step", text)).collect::<anyhow::Result<_>>()?
    };
    let Some(platform) = &args.platform else {
        bail!(
            "name a platform or a device (`iostack sim list`), or an improvement (`iostack sim what-if --list`)"
        );
    };
    ensure!(
        steps.iter().any(|step| !step.is_empty()),
        "nothing is changed; say what, like --set {EXAMPLE} (`iostack sim show {platform}` lists what can be)"
    );
    ready(args, platform, None, &args.flags.options, &steps, Vec::new())
}

fn of_named(args: &WhatIfArgs, named: &Named) -> anyhow::Result<Ready> {
    let platform = args.platform.as_ref().unwrap_or(&named.platform);
    let mut job = named.job();
    for (key, value) in &args.flags.options {
        job.retain(|(other, _)| other != key);
        job.push((key.clone(), value.clone()));
    }
    ready(args, platform, Some(named), &job, &[named.set()], named.base())
        .with_context(|| format!("`{}` of experiments/what-ifs.toml", named.id))
}

/// Checks all of it; then looks for a job that fills something, unless one was asked for.
fn ready(
    args: &WhatIfArgs,
    platform: &str,
    named: Option<&Named>,
    options: &[(String, String)],
    steps: &[Pairs],
    mut base_changes: Pairs,
) -> anyhow::Result<Ready> {
    let device = Scheme::Simulated.bare(platform);
    base_changes.extend(changes(&args.base, EXAMPLE)?);
    let cpus = iostack_host::machine().cpu.cores_online;
    let chain_of = |options: &[(String, String)]| {
        let (jobs, sections, changes) = (&args.jobs, &args.section, &base_changes);
        chain(&Base { device, jobs, sections, changes, options, cpus }, steps)
    };
    let sheets = sheets(device, &base_changes, steps)?;
    let card = named.map(Named::card);
    // Options alone leave the rest of the job as it is; a job of a file is what its file says.
    let asked = !args.jobs.is_empty() || options.iter().any(|(key, _)| key != "seed");
    if asked {
        return Ok(Ready::new(device, &sheets[0], card, chain_of(options)?));
    }
    chain_of(&fill::plain(&sheets, options))?;
    let stop = iostack_host::signals::stop_flag();
    let filled = fill::options(&sheets, options, stop);
    Ok(Ready::new(device, &sheets[0], card, chain_of(&filled)?))
}

fn write(args: &WhatIfArgs, results: &[WhatIf], talk: &Talk) -> anyhow::Result<()> {
    let json = |text: serde_json::Result<String>| text.context("runs are plain data").map(|text| text + "\n");
    match results {
        [one] if !args.all => {
            data(&if args.json {
                json(serde_json::to_string(one))?
            } else {
                iostack_report::text::what_if(one)
            });
            if let Some(path) = &args.html {
                save::new_file(path, &iostack_report::html::what_if(one))?;
                talk.say(&format!("report: {}", path.display()));
            }
        }
        all if args.json => data(&json(serde_json::to_string(all))?),
        all => data(&iostack_report::text::what_ifs_markdown(all)),
    }
    Ok(())
}
