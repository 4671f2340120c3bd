//! `iostack repro [ID]`: published experiments, made again on simulated devices, or counted in the lab.

use std::path::PathBuf;

use anyhow::ensure;
use iostack::targets::TargetTable;
use iostack_host::save::{self, Output, Taken};
use iostack_model::answers::{Repro, labelled};
use iostack_study::calibrate;
use iostack_study::prediction::Draws;
use iostack_target::Audience as _;
use iostack_validation::{Experiment, ReproRequest, ReproRun};

use crate::cmd::calibrate::sources;
use crate::exit::Ended;
use crate::talk::{self, Talk, paragraph};
use crate::written::{self, OutputArg};

/// Flags of published experiments alone.
const NOT_VALIDATED: [&str; 6] = ["experiments", "lab", "costs", "draws", "list", "svg"];

/// Arguments of `iostack repro`.
#[derive(clap::Args)]
pub(crate) struct ReproArgs {
    /// Experiments: their names (`iostack repro --list`), a document (cmu,
    /// intel08, intel10, samsung, taejin), a claim (`cmu.device_a`), or files of
    /// your own (.toml, or a folder of such), which may carry their own claims.
    /// None: all that are simulated.
    experiments: Vec<String>,
    /// Those that the lab counts: it boots about 30 machines, half a minute
    /// each.
    #[arg(long, conflicts_with = "experiments")]
    lab: bool,
    /// Costs counted earlier (iostack lab cost --json, lab bench --json): these
    /// cases are not counted again; may be repeated.
    #[arg(long, value_name = "FILE")]
    costs: Vec<PathBuf>,
    /// Judge again so often with the numbers drawn that the sheets do not know
    /// exactly, and say in how many draws each verdict holds.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    draws: u32,
    /// List the experiments and what each claims, run none.
    #[arg(long)]
    list: bool,
    /// Instead: curves that were measured (JSON of check, run, probe, iolat or
    /// fio, or a table), beside what a sheet fitted to part of each file says of the rest,
    /// a closed network of four numbers, and a roofline.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = NOT_VALIDATED)]
    validation: Vec<PathBuf>,
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
    #[command(flatten)]
    output: OutputArg,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
}

/// Runs, judges and prints. Exit 1 when a claim does not hold or could not be judged.
pub(crate) fn run(args: &ReproArgs) -> anyhow::Result<Ended> {
    if let Some(path) = &args.svg {
        ensure!(path.is_dir(), "`{}` is no directory; make it first", path.display());
        save::refuse_unwritable(&path.join("figure.svg"))?;
    }
    let table = TargetTable::default();
    if !args.validation.is_empty() {
        let page = Output::new("--html", args.html.as_ref());
        save::refuse(args.output.wanted().into_iter().chain(page))?;
        let talk = Talk::new(args.quiet);
        let rows = calibrate::validate(&sources(&args.validation)?, &table, &talk)?;
        talk.clear();
        write(args, &iostack_validation::validated(rows), &talk)?;
        return Ok(Ended::Done);
    }
    let asked = ReproRequest {
        names: &args.experiments,
        lab: args.lab,
        list: args.list,
        costs: &args.costs,
        draws: Draws { count: args.draws, seed: 1 },
        at_once: args.parallel.map(usize::from),
        targets: &table,
    };
    let ready = ReproRun::new(&asked)?;
    let figures = figures(args, ready.experiments());
    let figures = figures.iter().map(|path| Output { option: "--svg", path, taken: Taken::Replaced });
    let page = Output::new("--html", args.html.as_ref());
    save::refuse(args.output.wanted().into_iter().chain(page).chain(figures))?;
    if args.list {
        talk::data(&ready.experiments().iter().map(listed).collect::<Vec<_>>().concat());
        return Ok(Ended::Done);
    }
    let talk = Talk::new(args.quiet);
    let repro = ready.run(&talk)?;
    write(args, &repro, &talk)?;
    Ok(if repro.holds() { Ended::Done } else { Ended::FoundProblem })
}

fn listed(experiment: &Experiment) -> String {
    let claims = experiment.claims().map(|claim| paragraph("  - ", claim, 4));
    let how = if experiment.is_counted() { " (counted in the lab: by name, or --lab)" } else { "" };
    paragraph("", &format!("{}: {}{how}", experiment.id, experiment.title), 0) + &claims.collect::<String>()
}

/// The files of `--svg`.
fn figures(args: &ReproArgs, experiments: &[Experiment]) -> Vec<PathBuf> {
    let each = |one: &Experiment| {
        (0..one.plots()).map(|plot| iostack_report::figure_file(&one.id, plot)).collect::<Vec<_>>()
    };
    let names = || experiments.iter().flat_map(each);
    args.svg.iter().flat_map(|folder| names().map(move |name| folder.join(name))).collect()
}

fn write(args: &ReproArgs, repro: &Repro, talk: &Talk) -> anyhow::Result<()> {
    let text = if args.json {
        written::json(&labelled(repro))?
    } else if args.markdown {
        iostack_report::manual(repro).markdown()
    } else {
        iostack_report::repro(repro).text()
    };
    let answer = args.output.answer(&text);
    let figures = args.svg.as_ref().map_or(Ok(()), |folder| {
        repro.experiments.iter().try_for_each(|one| {
            one.plots.iter().enumerate().try_for_each(|(index, plot)| {
                let path = folder.join(iostack_report::figure_file(&one.id, index));
                save::replace(&path, &iostack_report::html::drawing(plot))
            })
        })
    });
    let page = written::page(args.html.as_ref(), || iostack_report::repro(repro).html(), talk);
    answer.and(figures).and(page)
}
