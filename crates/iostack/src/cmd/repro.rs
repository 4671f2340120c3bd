//! `iostack repro [ID]`: published experiments, made again on simulated devices.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context, bail, ensure};
use iostack_model::{Repro, SCHEMA};

use crate::exit::Ended;
use crate::repro::experiment::Experiment;
use crate::repro::gather::{self, Planned};
use crate::repro::published::Claim;
use crate::repro::{builtin, markdown};
use crate::save;
use crate::sweep::pool::Task;
use crate::sweep::watch::{parallel, watched};
use crate::talk::{self, Talk, paragraph};

/// Arguments of `iostack repro`.
#[derive(clap::Args)]
pub(crate) struct ReproArgs {
    /// Experiments: their names (`iostack repro --list`), or files of your own
    /// (.toml). None: all that are built in.
    experiments: Vec<String>,
    /// List the experiments and what each claims, run none.
    #[arg(long)]
    list: bool,
    /// Runs simulated at once [one per CPU].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    parallel: Option<u16>,
    /// Write a page with plots to a new file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the page of the manual instead.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Write each figure as SVG into this directory; figures of the same name
    /// are replaced.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Print JSON: the whole outcome of every run.
    #[arg(long)]
    json: bool,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
}

/// Runs, judges and prints. Exit 1 when a claim does not hold or could not be judged.
pub(crate) fn run(args: &ReproArgs) -> anyhow::Result<Ended> {
    if let Some(path) = &args.html {
        ensure!(!path.exists(), "`{}` exists and is not overwritten; name another file", path.display());
    }
    if let Some(path) = &args.svg {
        ensure!(path.is_dir(), "`{}` is no directory; make it first", path.display());
    }
    let experiments = chosen(&args.experiments)?;
    if args.list {
        talk::data(&experiments.iter().map(listed).collect::<Vec<_>>().concat());
        return Ok(Ended::Done);
    }
    let talk = Talk::new(args.quiet);
    let repro = reproduce(&experiments, args.parallel.map(usize::from), &talk);
    write(args, &repro, &talk)?;
    Ok(if repro.holds() { Ended::Done } else { Ended::FoundProblem })
}

fn listed(experiment: &Experiment) -> String {
    let claims = experiment.verdicts.iter().map(|verdict| paragraph("  - ", &verdict.says, 4));
    paragraph("", &format!("{}: {}", experiment.id, experiment.title), 0) + &claims.collect::<String>()
}

/// Those that were asked for, in that order.
fn chosen(asked: &[String]) -> anyhow::Result<Vec<Experiment>> {
    let claims = builtin::claims();
    if asked.is_empty() {
        return Ok(builtin::ids().filter_map(|id| builtin::experiment(id, &claims)).collect());
    }
    asked.iter().map(|name| one(name, &claims)).collect()
}

fn one(name: &str, claims: &[Claim]) -> anyhow::Result<Experiment> {
    if let Some(experiment) = builtin::experiment(name, claims) {
        return Ok(experiment);
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|extension| extension != "toml") {
        let names: Vec<&str> = builtin::ids().collect();
        bail!("there is no experiment `{name}`; there are: {}; or name a .toml file", names.join(", "));
    }
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read the experiment `{name}`"))?;
    let id = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    Experiment::parse(&id, &text, name, claims).map_err(anyhow::Error::msg)
}

/// All runs of all experiments together, so that no CPU waits for the end of one of them.
fn reproduce(experiments: &[Experiment], asked: Option<usize>, talk: &Talk) -> Repro {
    let planned: Vec<Vec<Planned>> =
        experiments.iter().map(|one| one.curves.iter().flat_map(gather::plan).collect()).collect();
    // The same run may be of several experiments; it is made once.
    let mut tasks: Vec<Task> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut places: Vec<usize> = Vec::new();
    for (one, points) in experiments.iter().zip(&planned) {
        for point in points {
            let known = tasks.iter().position(|task| *task == point.task);
            places.push(known.unwrap_or(tasks.len()));
            if known.is_none() {
                tasks.push(point.task.clone());
                names.push(format!("{}, {}", one.id, point.name()));
            }
        }
    }
    let given = watched(&tasks, &names, parallel(asked), talk);
    let mut places = places.into_iter();
    let reproduced = experiments.iter().zip(&planned).map(|(one, points)| {
        let mine: Vec<_> = places.by_ref().take(points.len()).map(|index| given[index].clone()).collect();
        gather::reproduced(one, points, &mine)
    });
    Repro {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        experiments: reproduced.collect(),
        interrupted: iostack_host::signals::stop_flag().load(Ordering::Relaxed),
    }
}

fn write(args: &ReproArgs, repro: &Repro, talk: &Talk) -> anyhow::Result<()> {
    if args.json {
        talk::data(&(serde_json::to_string(repro).context("a reproduction is plain data")? + "\n"));
    } else if args.markdown {
        talk::data(&markdown::page(repro));
    } else {
        talk::data(&iostack_report::text::repro(repro));
    }
    if let Some(folder) = &args.svg {
        for one in &repro.experiments {
            for (index, plot) in one.plots.iter().enumerate() {
                let path = folder.join(markdown::file(&one.id, index));
                std::fs::write(&path, iostack_report::html::drawing(plot))
                    .with_context(|| format!("cannot write `{}`", path.display()))?;
            }
        }
    }
    if let Some(path) = &args.html {
        save::new_file(path, &iostack_report::html::repro(repro))?;
        talk.say(&format!("report: {}", path.display()));
    }
    Ok(())
}
