//! `iostack compare A B`: do two outcomes differ, by how much, how surely?

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::bail;
use iostack_model::answers::{Answer, Check, labelled_each};
use iostack_model::{Machine, Outcome, OutcomeFile};
use iostack_stats::{AbReport, Comparison, ComparisonRow, Judgement};
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::Ended;
use crate::stored::{self, Stored};
use crate::talk::paragraph;
use crate::written::{OutputArg, json};

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
    /// Exit with 1 when a figure of B is worse by more than this, with its
    /// whole interval beyond.
    #[arg(long, value_name = "PERCENT")]
    fail_if_worse: Option<Percent>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    output: OutputArg,
}

/// `5%` or `5`: from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percent(pub(crate) f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(typed: &str) -> Result<Percent, String> {
        let number = typed.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
        let share = number.filter(|percent| (0.0..=100.0).contains(percent));
        share.map(Percent).ok_or_else(|| "it is no share; give percent from 0 to 100, such as 5%".to_owned())
    }
}

/// Outcomes of a file, each under a name that matches its counterpart in the other file.
pub(crate) struct Named {
    /// Version of iostack that ran them.
    pub(crate) iostack: String,
    pub(crate) machine: Machine,
    pub(crate) outcomes: Vec<(String, Outcome)>,
}

/// A job that both files have.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Compared {
    job: String,
    comparison: Comparison,
}

iostack_model::kinds! {
    Compared: "compare", unlabelled;
}

/// The outcomes of a run or a check.
pub(crate) fn named(stored: &Stored) -> anyhow::Result<Named> {
    match stored.kind.as_str() {
        OutcomeFile::KIND => {
            let file: OutcomeFile = stored.parse()?;
            let outcomes = file.outcomes.into_iter().map(|outcome| (outcome.job.name.clone(), outcome));
            Ok(Named { iostack: file.iostack, machine: file.machine, outcomes: outcomes.collect() })
        }
        Check::KIND => {
            let check: Check = stored.parse()?;
            let points = check.steps.into_iter().flat_map(|step| {
                let id = step.id;
                step.points.into_iter().map(move |point| {
                    (format!("{}: {}, {}", id.name(), point.series, point.label), point.outcome)
                })
            });
            Ok(Named { iostack: check.iostack, machine: check.machine, outcomes: points.collect() })
        }
        AbReport::KIND => {
            bail!("`{}` holds both sides already; `iostack report` shows it, with its verdict", stored.path)
        }
        other => bail!(
            "`{}` is of `iostack {other}`, and outcomes are of `iostack run --json` or `iostack check`; name one of these",
            stored.path
        ),
    }
}

/// Each figure that is worse by more than `limit`, wherever in its interval it is.
fn beyond(pairs: &[Compared], Percent(limit): Percent) -> Vec<String> {
    let worse = |row: &&ComparisonRow| {
        let nearest = row.change_percent_low.abs().min(row.change_percent_high.abs());
        row.verdict == Judgement::Worse && nearest > limit
    };
    let said = |job: &str, row: &ComparisonRow| {
        format!(
            "worse by more than {limit} %: {} of `{job}` changed by {:+.1} % (95 %: {:+.1} to {:+.1} %)",
            row.name, row.change_percent, row.change_percent_low, row.change_percent_high
        )
    };
    let each = |pair: &Compared| -> Vec<String> {
        pair.comparison.rows.iter().filter(worse).map(|row| said(&pair.job, row)).collect()
    };
    pairs.iter().flat_map(each).collect()
}

/// Compares and prints.
pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<Ended> {
    args.output.refuse()?;
    let (a, b) = (named(&stored::read(&args.a)?)?, named(&stored::read(&args.b)?)?);
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
        json(&labelled_each(&pairs))?
    } else {
        let each = pairs.iter().map(|Compared { job, comparison }| {
            iostack_report::comparison(comparison, job, [&a_name, &b_name]).text()
        });
        each.collect()
    };
    args.output.answer(&text)?;
    let beyond = args.fail_if_worse.map_or_else(Vec::new, |limit| beyond(&pairs, limit));
    for said in &beyond {
        eprint!("{}", paragraph("iostack: ", said, 9));
    }
    let worse =
        pairs.iter().any(|pair| pair.comparison.rows.iter().any(|row| row.verdict == Judgement::Worse));
    Ok(if args.fail && worse || !beyond.is_empty() { Ended::FoundProblem } else { Ended::Done })
}
