//! `iostack compare A B`: do two outcomes differ, by how much, how surely?

use std::path::{Path, PathBuf};

use anyhow::bail;
use iostack_model::{Machine, Outcome};

use crate::exit::Ended;
use crate::stored::{self, Stored};
use crate::talk::data;

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
}

/// Outcomes of a file, each under a name that matches its counterpart in the other file.
pub(crate) struct Named {
    pub(crate) machine: Machine,
    pub(crate) outcomes: Vec<(String, Outcome)>,
}

/// Reads an outcome file or a check.
pub(crate) fn read(path: &Path) -> anyhow::Result<Named> {
    match stored::read(path)? {
        Stored::Run(file) => {
            let outcomes = file.outcomes.into_iter().map(|outcome| (outcome.job.name.clone(), outcome));
            Ok(Named { machine: file.machine, outcomes: outcomes.collect() })
        }
        Stored::Check(check) => {
            let points = check.steps.into_iter().flat_map(|step| {
                let id = step.id;
                step.points.into_iter().map(move |point| {
                    (format!("{}: {}, {}", id.name(), point.series, point.label), point.outcome)
                })
            });
            Ok(Named { machine: check.machine, outcomes: points.collect() })
        }
        Stored::Ab(_) => bail!(
            "`{}` holds both sides already; `iostack report` shows it, with its verdict",
            path.display()
        ),
    }
}

/// Compares and prints.
pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<Ended> {
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let mut pairs = Vec::new();
    // With one outcome on each side they belong together whatever they are called.
    let lone = a.outcomes.len() == 1 && b.outcomes.len() == 1;
    for (name, before) in &a.outcomes {
        if let Some((_, after)) = b.outcomes.iter().find(|(other, _)| lone || other == name) {
            pairs.push((
                name,
                iostack_stats::compare(before, after, (&a.machine, &b.machine), iostack_doubt::says),
            ));
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
    if args.json {
        let list: Vec<_> = pairs
            .iter()
            .map(|(name, comparison)| serde_json::json!({ "job": name, "comparison": comparison }))
            .collect();
        data(&format!("{}\n", serde_json::Value::from(list)));
    } else {
        for (name, comparison) in &pairs {
            data(&iostack_report::comparison(comparison, name, [&a_name, &b_name]).text());
        }
    }
    let worse = pairs.iter().any(|(_, comparison)| {
        comparison.rows.iter().any(|row| row.verdict == iostack_stats::Judgement::Worse)
    });
    Ok(if args.fail && worse { Ended::FoundProblem } else { Ended::Done })
}
