//! `iostack sim sweep DEVICE [JOB] --vary KEY=VALUES`: the same job over many devices that differ in something.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::Context;
use iostack_model::{SCHEMA, Sweep, SweepPoint};
use iostack_report::table;

use crate::exit::Ended;
use crate::job::flags::JobFlags;
use crate::save;
use crate::sweep::command;
use crate::sweep::plan::{self, Base, Planned};
use crate::sweep::pool::Task;
use crate::sweep::watch::{parallel, watched};
use crate::talk::{self, Talk};
use crate::target::simulated::{EXAMPLE, changes};

/// Arguments of `iostack sim sweep`.
#[derive(clap::Args)]
pub(crate) struct SweepArgs {
    /// The device, as in `sim:DEVICE`; several with commas.
    device: String,
    /// Job files: fio's (any name) or iostack's (.toml). None: one job from
    /// flags.
    jobs: Vec<PathBuf>,
    /// What is varied: a number of the device, like
    /// `flash.over_provisioning=7%,28%`, or an option of the job, like
    /// `queue_depth=1..128*2`. Ranges: 1..8, 10%..50%+10%, 4k..1m*4. Several:
    /// every combination.
    #[arg(long, value_name = "KEY=VALUES")]
    vary: Vec<String>,
    /// Change a number of the device in every point; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Run only this section of the job file; may be repeated.
    #[arg(long, value_name = "NAME")]
    section: Vec<String>,
    /// Points simulated at once [one per CPU].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    parallel: Option<u16>,
    /// Show the points and their commands, run none.
    #[arg(long)]
    dry_run: bool,
    /// Write every figure of every point to a new CSV file.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// The same as Parquet.
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
    /// Write a page with plots to a new file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON: the whole outcome of every point.
    #[arg(long)]
    json: bool,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    flags: JobFlags,
}

/// Runs every point and prints. Exit 1 when one failed or was not run.
pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<Ended> {
    save::refuse(args.csv.iter().chain(&args.parquet).chain(&args.html))?;
    let talk = Talk::new(args.quiet);
    let changes = changes(&args.set, EXAMPLE)?;
    let base = Base {
        device: &args.device,
        jobs: &args.jobs,
        sections: &args.section,
        changes: &changes,
        options: &args.flags.options,
        cpus: iostack_host::machine().cpu.cores_online,
    };
    let (axes, planned) = plan::plan(&base, &args.vary)?;
    if args.dry_run {
        let commands: Vec<&str> = planned.iter().map(|point| point.command.as_str()).collect();
        talk::data(&(commands.join("\n") + "\n"));
        return Ok(Ended::Done);
    }
    let (points, interrupted) = simulate(planned, args.parallel.map(usize::from), &talk);
    let iostack = env!("CARGO_PKG_VERSION").to_owned();
    let sweep = Sweep { schema: SCHEMA, iostack, device: args.device.clone(), axes, points, interrupted };
    write(args, &sweep, &talk)?;
    let whole =
        sweep.failed().next().is_none() && !sweep.points.iter().any(SweepPoint::is_missing) && !interrupted;
    Ok(if whole { Ended::Done } else { Ended::FoundProblem })
}

/// Every point with what it gave, and whether the sweep was cut short.
fn simulate(planned: Vec<Planned>, asked: Option<usize>, talk: &Talk) -> (Vec<SweepPoint>, bool) {
    let stop = iostack_host::signals::stop_flag();
    let tasks: Vec<Task> = planned.iter().map(|point| point.task.clone()).collect();
    let names: Vec<String> = planned.iter().map(|point| settings(&point.settings)).collect();
    let given = watched(&tasks, &names, parallel(asked), talk);
    let interrupted = stop.load(Ordering::Relaxed);
    let points = planned.into_iter().zip(given).map(|(point, given)| {
        let (outcomes, error) = match given {
            Some(Ok(outcomes)) => (outcomes, None),
            Some(Err(error)) => (Vec::new(), Some(error)),
            None => (Vec::new(), None),
        };
        let command = command::in_window(point.command, &point.task, outcomes.last());
        SweepPoint { settings: point.settings, command, outcomes, error }
    });
    (points.collect(), interrupted)
}

fn settings(settings: &[(String, String)]) -> String {
    let each: Vec<String> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if each.is_empty() { "the only point".to_owned() } else { each.join(" ") }
}

fn write(args: &SweepArgs, sweep: &Sweep, talk: &Talk) -> anyhow::Result<()> {
    if args.json {
        talk::data(&(serde_json::to_string(sweep).context("a sweep is plain data")? + "\n"));
    } else {
        talk::data(&iostack_report::text::sweep(sweep));
    }
    let told = |what: &str, path: &Path| talk.say(&format!("{what}: {}", path.display()));
    if args.csv.is_some() || args.parquet.is_some() {
        let table = table::of_sweep(sweep);
        if let Some(path) = &args.csv {
            save::new_file(path, &table::csv(&table))?;
            told("table", path);
        }
        if let Some(path) = &args.parquet {
            save::new_file(path, &table::parquet(&table))?;
            told("table", path);
        }
    }
    if let Some(path) = &args.html {
        save::new_file(path, &iostack_report::html::sweep(sweep))?;
        told("report", path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_without_a_value_is_refused_as_typed() {
        let error = changes(&["flash.read".to_owned()], EXAMPLE).expect_err("no value").to_string();
        assert!(error.contains("`--set flash.read` is no change"), "{error}");
    }
}
