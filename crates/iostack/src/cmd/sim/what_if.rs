//! `iostack sim what-if PLATFORM --set KEY=VALUE`: before, after, and where the limit moved.

use std::path::PathBuf;

use anyhow::Context as _;
use iostack::targets::TargetTable;
use iostack_host::save::{self, Output};
use iostack_model::answers::{WhatIf, labelled, labelled_each};
use iostack_study::prediction::DRAWS;
use iostack_study::what_if::named::{self, Named};
use iostack_study::what_if::{self, ListQuestion, WhatIfQuestion};
use iostack_target::Audience as _;

use crate::exit::Ended;
use crate::flags::JobFlags;
use crate::talk::{Talk, data, paragraph};
use crate::written::{self, OutputArg};

/// Flags that say what changes; without them all changes are tried.
const CHANGED: [&str; 5] = ["set", "step", "named", "all", "list"];

/// Arguments of `iostack sim what-if`.
#[derive(clap::Args)]
pub(crate) struct WhatIfArgs {
    #[command(flatten)]
    question: WhatIfQuestion,
    /// The improvements with a name.
    #[arg(long, conflicts_with_all = ["set", "step", "named", "platform"])]
    list: bool,
    /// Drives to try in place of this one, where all changes are tried [one
    /// of each class].
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', conflicts_with_all = CHANGED)]
    drives: Vec<String>,
    /// Draws of the numbers that the sheet does not know exactly; 0 for no band.
    #[arg(long, value_name = "N", default_value_t = DRAWS, conflicts_with_all = CHANGED)]
    draws: u32,
    /// Write a page with bars to a new file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON: the whole outcome of every run.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    output: OutputArg,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    flags: JobFlags,
}

/// Runs and prints. Exit 1 when a run failed or was not run.
pub(crate) fn run(args: &WhatIfArgs) -> anyhow::Result<Ended> {
    let html = Output::new("--html", args.html.as_ref());
    save::refuse(args.output.wanted().into_iter().chain(html))?;
    let talk = Talk::new(args.quiet);
    if args.list {
        for each in named::all() {
            data(&line(&each));
        }
        data("\nnext: iostack sim what-if --named interrupt-grouping\n");
        return Ok(Ended::Done);
    }
    let question = WhatIfQuestion { options: args.flags.options.clone(), ..args.question.clone() };
    let asked = &question;
    if asked.platform.is_some() && asked.named.is_none() && asked.set.is_empty() && asked.step.is_empty() {
        return list(args, asked, &talk);
    }
    let results = what_if::answer(&question, &TargetTable::default(), &talk)?;
    talk.clear();
    write(args, &results, &talk)?;
    let whole = results.iter().all(WhatIf::is_whole);
    Ok(if whole { Ended::Done } else { Ended::FoundProblem })
}

/// All changes, most gain first. Exit 1 when one of them failed.
fn list(args: &WhatIfArgs, question: &WhatIfQuestion, talk: &Talk) -> anyhow::Result<Ended> {
    let seed = question.options.iter().find(|(key, _)| key == "seed");
    let seed = seed.map_or(Ok(1), |(_, typed)| typed.parse()).context("--seed is a count")?;
    let more = ListQuestion { drives: args.drives.clone(), draws: args.draws, seed };
    let list = what_if::list(question, &more, &TargetTable::default(), talk)?;
    talk.clear();
    let told = iostack_report::what_if_list(&list);
    let text = if args.json { written::json(&labelled(&list))? } else { told.text() };
    args.output.answer(&text).and(written::page(args.html.as_ref(), || told.html(), talk))?;
    let whole = !list.interrupted && list.gains.iter().all(|gain| gain.error.is_none());
    Ok(if whole { Ended::Done } else { Ended::FoundProblem })
}

fn line(named: &Named) -> String {
    let change: Vec<String> = named.set().iter().map(|(key, value)| format!("{key}={value}")).collect();
    paragraph(&format!("{:<20} ", named.id), &named.title, 21)
        + &paragraph(&format!("{:21}", ""), &format!("on {}: {}", named.platform, change.join(" ")), 21)
}

fn write(args: &WhatIfArgs, results: &[WhatIf], talk: &Talk) -> anyhow::Result<()> {
    match results {
        [one] if !args.question.all => {
            let told = || iostack_report::what_if(one);
            let text = if args.json { written::json(&labelled(one))? } else { told().text() };
            args.output.answer(&text).and(written::page(args.html.as_ref(), || told().html(), talk))
        }
        all if args.json => args.output.answer(&written::json(&labelled_each(all))?),
        all => args.output.answer(&iostack_report::what_ifs_markdown(all)),
    }
}
