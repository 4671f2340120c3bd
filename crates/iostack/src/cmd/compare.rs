//! `iostack compare A B`: do two outcomes differ, by how much, how surely?

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use iostack_model::answers::{Answer, Check, labelled_each};
use iostack_model::{Machine, Outcome, OutcomeFile};
use iostack_stats::{AbReport, Comparison};
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::Ended;
use crate::stored;
use crate::written::OutputArg;

/// Arguments of `iostack compare`.
#[derive(clap::Args)]
pub(crate) struct CompareArgs {
    /// Outcome to compare from (JSON of `run --json` or `check`).
    a: PathBuf,
    /// Outcome to compare to.
    b: PathBuf,
    /// Exit with 1 when B is worse than A in any figure.
    #[arg(long)]
    fail: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    output: OutputArg,
}

/// Outcomes of a file, each under a name that matches its counterpart in the other file.
pub(crate) struct Named {
    pub(crate) machine: Machine,
    pub(crate) outcomes: Vec<(String, Outcome)>,
}

/// A job that both files have.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Compared {
    /// Its name.
    job: String,
    /// From the first file to the second.
    comparison: Comparison,
}

iostack_model::kinds! {
    Compared: "compare", unlabelled;
}

/// Reads an outcome file or a check.
pub(crate) fn read(path: &Path) -> anyhow::Result<Named> {
    let stored = stored::read(path)?;
    match stored.kind.as_str() {
        OutcomeFile::KIND => {
            let file: OutcomeFile = stored.parse()?;
            let outcomes = file.outcomes.into_iter().map(|outcome| (outcome.job.name.clone(), outcome));
            Ok(Named { machine: file.machine, outcomes: outcomes.collect() })
        }
        Check::KIND => {
            let check: Check = stored.parse()?;
            let points = check.steps.into_iter().flat_map(|step| {
                let id = step.id;
                step.points.into_iter().map(move |point| {
                    (format!("{}: {}, {}", id.name(), point.series, point.label), point.outcome)
                })
            });
            Ok(Named { machine: check.machine, outcomes: points.collect() })
        }
        AbReport::KIND => bail!(
            "`{}` holds both sides already; `iostack report` shows it, with its verdict",
            path.display()
        ),
        other => bail!(
            "`{}` is of `iostack {other}`; compare outcomes of `iostack run --json` or `iostack check`",
            path.display()
        ),
    }
}

/// Compares and prints.
pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<Ended> {
    args.output.refuse()?;
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let mut pairs = Vec::new();
    // With one outcome on each side they belong together whatever they are called.
    let lone = a.outcomes.len() == 1 && b.outcomes.len() == 1;
    for (name, before) in &a.outcomes {
        if let Some((_, after)) = b.outcomes.iter().find(|(other, _)| lone || other == name) {
            let machines = (&a.machine, &b.machine);
            let comparison = iostack_stats::compare(before, after, machines, iostack_doubt::says);
            pairs.push(Compared { job: name.clone(), comparison });
        }
    }
    if pairs.is_empty() {
        bail!(
            "`{}` and `{}` have no job in common; compare outcomes of the same job",
            args.a.display(),
            args.b.display()
        );
    }
    let (a_name, b_name) = (args.a.display().to_string(), args.b.display().to_string());
    let text = if args.json {
        serde_json::to_string(&labelled_each(&pairs)).context("a comparison is plain data")? + "\n"
    } else {
        let each = pairs.iter().map(|Compared { job, comparison }| {
            iostack_report::comparison(comparison, job, [&a_name, &b_name]).text()
        });
        each.collect()
    };
    args.output.answer(&text)?;
    let worse = pairs
        .iter()
        .any(|pair| pair.comparison.rows.iter().any(|row| row.verdict == iostack_stats::Judgement::Worse));
    Ok(if args.fail && worse { Ended::FoundProblem } else { Ended::Done })
}
