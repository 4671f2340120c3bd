//! `iostack repro [ID]`: published experiments, made again on simulated devices, or counted in the lab.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::{Context, ensure};
use iostack_lab::Lab;
use iostack_model::{ClockPrices, IoCost, Repro, ReproDocument, Reproduced, SCHEMA};

use super::lab::count::Counter;
use super::lab::spec::Spec;
use crate::exit::Ended;
use crate::repro::asked::Asked;
use crate::repro::counted::{self, Case};
use crate::repro::experiment::Experiment;
use crate::repro::gather::{self, Planned};
use crate::repro::published::{Document, Published};
use crate::repro::{basis, builtin, markdown, worked};
use crate::save;
use crate::sweep::pool::{self, Given, Task};
use crate::sweep::watch::{parallel, watched};
use crate::talk::{self, Talk, paragraph};

/// Arguments of `iostack repro`.
#[derive(clap::Args)]
pub(crate) struct ReproArgs {
    /// Experiments: their names (`iostack repro --list`), a document (cmu,
    /// intel08, intel10, samsung, taejin), a claim (`cmu.device_a`), or files of
    /// your own (.toml). None: all that are simulated.
    experiments: Vec<String>,
    /// Those that the lab counts: it boots about 30 machines, half a minute
    /// each.
    #[arg(long, conflicts_with = "experiments")]
    lab: bool,
    /// Costs counted earlier (iostack lab cost --json, lab bench --json): these
    /// cases are not counted again; may be repeated.
    #[arg(long, value_name = "FILE")]
    costs: Vec<PathBuf>,
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
    save::refuse(&args.html)?;
    if let Some(path) = &args.svg {
        ensure!(path.is_dir(), "`{}` is no directory; make it first", path.display());
        save::refuse_unwritable(&path.join("figure.svg"))?;
    }
    let published = builtin::published();
    let asked = Asked { names: &args.experiments, lab: args.lab, list: args.list };
    let experiments = asked.experiments(&published.claim)?;
    let counted_ones = experiments.iter().filter(|one| one.is_counted()).count();
    ensure!(
        args.list || counted_ones == 0 || counted_ones == experiments.len(),
        "some of these are simulated and some are counted in the lab; ask for them apart"
    );
    ensure!(args.costs.is_empty() || counted_ones > 0, "`--costs` is for experiments of the lab; add --lab");
    if args.list {
        talk::data(&experiments.iter().map(listed).collect::<Vec<_>>().concat());
        return Ok(Ended::Done);
    }
    let talk = Talk::new(args.quiet);
    let experiments: Vec<&Experiment> = experiments.iter().collect();
    let repro = if counted_ones > 0 {
        whole(in_lab(&experiments, &known(&args.costs)?, &talk)?, &published)
    } else {
        let reproduced = reproduce(&experiments, args.parallel.map(usize::from), &talk);
        let platforms = basis::platforms(&experiments, &reproduced);
        let missing = asked.missing(&published);
        Repro { platforms, missing, ..whole(reproduced, &published) }
    };
    write(args, &repro, &talk)?;
    Ok(if repro.holds() { Ended::Done } else { Ended::FoundProblem })
}

fn listed(experiment: &Experiment) -> String {
    let claims = experiment.verdicts.iter().map(|verdict| paragraph("  - ", &verdict.says, 4));
    let how = if experiment.is_counted() { " (counted in the lab: by name, or --lab)" } else { "" };
    paragraph("", &format!("{}: {}{how}", experiment.id, experiment.title), 0) + &claims.collect::<String>()
}

/// With all that is said of the experiments together.
fn whole(experiments: Vec<Reproduced>, published: &Published) -> Repro {
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
        interrupted: iostack_host::signals::stop_flag().load(Ordering::Relaxed),
    }
}

/// The costs of files of `--json`.
fn known(files: &[PathBuf]) -> anyhow::Result<Vec<IoCost>> {
    let mut costs = Vec::new();
    for path in files {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let stored: Vec<IoCost> = serde_json::from_str(&text).with_context(|| {
            format!("`{}` holds no costs; write it with iostack lab cost --json", path.display())
        })?;
        costs.extend(stored);
    }
    Ok(costs)
}

/// Runs the jobs of experiments that have such in the lab, counts the others.
fn in_lab(experiments: &[&Experiment], known: &[IoCost], talk: &Talk) -> anyhow::Result<Vec<Reproduced>> {
    let costs: Vec<&Experiment> = experiments.iter().copied().filter(|one| !one.runs_jobs()).collect();
    let mut costs = counted(&costs, known, talk)?.into_iter();
    let mut all = Vec::new();
    for one in experiments {
        if one.runs_jobs() {
            all.push(worked::run(one, talk)?);
        } else {
            all.extend(costs.next());
        }
    }
    Ok(all)
}

/// Counts what is not known yet, each case once, however many experiments ask for it.
fn counted(experiments: &[&Experiment], known: &[IoCost], talk: &Talk) -> anyhow::Result<Vec<Reproduced>> {
    let planned: Vec<Vec<Case>> = experiments.iter().map(|one| counted::cases(one)).collect();
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
        let lab = Lab::open(&say, iostack_host::signals::stop_flag())?;
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

/// All runs of all experiments together, so that no CPU waits for the end of one of them.
fn reproduce(experiments: &[&Experiment], asked: Option<usize>, talk: &Talk) -> Vec<Reproduced> {
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
    // The longest first, so that no CPU is left with one of them at the end.
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by(|&a, &b| pool::weight(&tasks[b]).total_cmp(&pool::weight(&tasks[a])));
    let ordered: Vec<Task> = order.iter().map(|&index| tasks[index].clone()).collect();
    let names: Vec<String> = order.iter().map(|&index| names[index].clone()).collect();
    let mut given: Vec<Option<Given>> = tasks.iter().map(|_| None).collect();
    for (one, &index) in watched(&ordered, &names, parallel(asked), talk).into_iter().zip(&order) {
        given[index] = one;
    }
    let mut places = places.into_iter();
    let reproduced = experiments.iter().zip(&planned).map(|(one, points)| {
        let mine: Vec<_> = places.by_ref().take(points.len()).map(|index| given[index].clone()).collect();
        gather::simulated(one, points, &mine)
    });
    reproduced.collect()
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
                save::replace(&path, &iostack_report::html::drawing(plot))?;
            }
        }
    }
    if let Some(path) = &args.html {
        save::new_file(path, &iostack_report::html::repro(repro))?;
        talk.say(&format!("report: {}", path.display()));
    }
    Ok(())
}
