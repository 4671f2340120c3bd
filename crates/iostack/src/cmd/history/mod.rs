//! `iostack history [SERIES]`: did a figure change over time, when, and what changed with it?
//!
//! ```text
//!   answers ──► found ──► store ──► series ──► steps ──► History ──► report
//!               figures    kept     by name    stats
//! ```

mod found;
mod store;
mod told;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use iostack_model::answers::{History, HistoryFigure};
use iostack_model::{Nanos, SCHEMA};

use crate::cmd::compare::Percent;
use crate::exit::{self, Ended};
use crate::stored;
use crate::talk::{Talk, data, paragraph};
use crate::written::AnswerArgs;
use store::{HistoryStore, StoreContent};

/// Arguments of `iostack history`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    act: Option<HistoryAct>,
    /// One series by its number, or those whose machine, target or job has
    /// these words [every series].
    series: Option<String>,
    #[command(flatten)]
    place: PlaceArg,
    /// The figure in which steps are looked for.
    #[arg(long, value_enum, default_value_t = Figure::Iops, value_name = "FIGURE")]
    figure: Figure,
    /// Leave out runs from before a day in UTC, as 2026-03-01, or from longer
    /// ago than a time, as 90d.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Exit with 1 when the newest step of a series is worse by more than this.
    #[arg(long, value_name = "PERCENT")]
    fail_if_worse: Option<Percent>,
    #[command(flatten)]
    answer: AnswerArgs,
}

#[derive(clap::Args)]
struct PlaceArg {
    /// The folder of the history [`$IOSTACK_HISTORY`, or `iostack/history`
    /// where this user's data is].
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum HistoryAct {
    /// Keep outcomes of run, check or ab.
    Add(AddArgs),
}

/// Arguments of `iostack history add`.
#[derive(clap::Args)]
struct AddArgs {
    /// JSON of `run --json`, `check` or `ab --json`; `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What the machine is called, where several are alike [its processor].
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    #[command(flatten)]
    place: PlaceArg,
}

/// A figure, as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Figure {
    Iops,
    P50,
    P99,
}

/// Adds, or tells.
pub(crate) fn run(args: &HistoryArgs) -> anyhow::Result<Ended> {
    if let Some(HistoryAct::Add(add_args)) = &args.act {
        return add(add_args);
    }
    args.answer.refuse("history", None)?;
    let since_unix_ms = args.since.as_deref().map(since).transpose()?;
    let store = HistoryStore::find(args.place.store.as_ref())?;
    let talk = args.answer.talk();
    let mut kept = store.read()?;
    if let Some(mended) = &kept.mended {
        talk.say(mended);
    }
    let history = history(args, &store, &mut kept, since_unix_ms)?;
    args.answer.tell(&history, &talk)?;
    ensure!(
        history.problems.is_empty(),
        "what is shown is without {} of the answers in `{}`: {}",
        history.problems.len(),
        store.folder.display(),
        history.problems.join("; ")
    );
    let worse = args.fail_if_worse.map_or_else(Vec::new, |Percent(limit)| told::beyond(&history, limit));
    for said in &worse {
        eprint!("{}", paragraph("iostack: ", said, 9));
    }
    Ok(if worse.is_empty() { Ended::Done } else { Ended::FoundProblem })
}

fn history(
    args: &HistoryArgs,
    store: &HistoryStore,
    kept: &mut StoreContent,
    since_unix_ms: Option<u64>,
) -> anyhow::Result<History> {
    let noted = std::mem::take(&mut kept.entries).into_iter().flat_map(|entry| entry.outcomes);
    let mut series = told::series(noted, since_unix_ms.unwrap_or(0));
    if let Some(typed) = &args.series {
        series = told::chosen(series, typed);
        ensure!(!series.is_empty(), "no series is called `{typed}`; `iostack history` lists them");
    }
    let figure = match args.figure {
        Figure::Iops => HistoryFigure::Iops,
        Figure::P50 => HistoryFigure::P50,
        Figure::P99 => HistoryFigure::P99,
    };
    let (mut known, is_one) = (BTreeMap::new(), args.series.is_some() && series.len() == 1);
    for one in &mut series {
        one.steps = told::steps(one, figure);
        // A list has room for the newest; what changed with each stands where the series stands alone.
        let from = if is_one { 0 } else { one.steps.len().saturating_sub(1) };
        told::explain(one, from, &mut known, |answer| {
            store.answer(answer).map_err(|error| kept.problems.push(format!("{error:#}"))).ok()
        });
    }
    Ok(History {
        schema: SCHEMA,
        iostack: env!("IOSTACK_VERSION").to_owned(),
        store: store.folder.display().to_string(),
        figure,
        since_unix_ms,
        chosen: args.series.clone(),
        series,
        problems: std::mem::take(&mut kept.problems),
    })
}

/// Keeps each file; one that cannot be read does not keep the others from being so.
fn add(args: &AddArgs) -> anyhow::Result<Ended> {
    let machine = args.machine.as_deref();
    if let Some(name) = machine {
        let is_fit = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
        ensure!(
            name.chars().all(is_fit) && !name.is_empty() && !name.starts_with('.'),
            "`--machine {name}` cannot be the name of a folder; give letters, digits, `-`, `_` or `.`"
        );
    }
    let store = HistoryStore::find(args.place.store.as_ref())?;
    let (mut answers, mut outcomes, mut there, mut lost) = (0, 0, 0, 0);
    for file in &args.files {
        match read(file).and_then(|stored| store.add(&stored, machine)) {
            Ok(Some(count)) => (answers, outcomes) = (answers + 1, outcomes + count),
            Ok(None) => there += 1,
            Err(error) => {
                lost += 1;
                Talk::new(false).warn(&format!("{error:#}"));
            }
        }
        // Not before the first, so that a signal ends the wait for standard input at once.
        if exit::is_interrupted() {
            break;
        }
    }
    let folder = store.folder.display();
    let again = if there > 0 { format!("; {there} were there already") } else { String::new() };
    data(&format!("added to {folder}: {answers} answers with {outcomes} outcomes{again}\n"));
    if lost > 0 {
        bail!("{lost} of {} files are not in the history; the reasons stand above", args.files.len());
    }
    Ok(Ended::Done)
}

fn read(file: &Path) -> anyhow::Result<stored::Stored> {
    if file != Path::new("-") {
        return stored::read(file);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
    stored::of_text(text, "standard input".to_owned())
}

/// Milliseconds since 1970 of a day, or of so long ago.
fn since(typed: &str) -> anyhow::Result<u64> {
    const DAY_MS: i64 = 86_400_000;
    if let Ok(ago) = typed.parse::<Nanos>() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis() as u64);
        return Ok(now.saturating_sub(ago.0 / 1_000_000));
    }
    let parts: Vec<i64> = typed.split('-').filter_map(|part| part.parse().ok()).collect();
    match parts[..] {
        [year @ 1970..=9999, month @ 1..=12, day @ 1..=31] if typed.len() == 10 => {
            // A year that begins in March has its leap day at its end.
            let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
            let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
            Ok(u64::try_from((days - 719_468) * DAY_MS).unwrap_or(0))
        }
        _ => bail!("`--since {typed}` is no day and no time; give a day as 2026-03-01, or a time ago as 90d"),
    }
}
