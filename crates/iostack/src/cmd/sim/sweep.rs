//! `iostack sim sweep DEVICE [JOB] --vary KEY=VALUES`: the same job over many devices that differ in something.

use std::path::PathBuf;

use anyhow::Context;
use iostack_answers::{Sweep, SweepPoint};
use iostack_host::save;
use iostack_report::table::{self, Table};
use iostack_study::sweep::{Asked, Ready};

use crate::exit::Ended;
use crate::flags::JobFlags;
use crate::talk::{self, Talk};
use crate::written;

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

impl SweepArgs {
    fn asked(&self) -> Asked<'_> {
        Asked {
            device: &self.device,
            jobs: &self.jobs,
            sections: &self.section,
            options: &self.flags.options,
            set: &self.set,
            vary: &self.vary,
        }
    }
}

/// Runs every point and prints. Exit 1 when one failed or was not run.
pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<Ended> {
    save::refuse(args.csv.iter().chain(&args.parquet).chain(&args.html))?;
    let talk = Talk::new(args.quiet);
    let sweep = Ready::of(&args.asked())?;
    if args.dry_run {
        talk::data(&(sweep.commands().join("\n") + "\n"));
        return Ok(Ended::Done);
    }
    let sweep = sweep.run(args.parallel.map(usize::from), &talk);
    write(args, &sweep, &talk)?;
    let whole = sweep.failed().next().is_none()
        && !sweep.points.iter().any(SweepPoint::is_missing)
        && !sweep.interrupted;
    Ok(if whole { Ended::Done } else { Ended::FoundProblem })
}

fn write(args: &SweepArgs, sweep: &Sweep, talk: &Talk) -> anyhow::Result<()> {
    if args.json {
        talk::data(&(serde_json::to_string(sweep).context("a sweep is plain data")? + "\n"));
    } else {
        talk::data(&iostack_report::sweep(sweep).text());
    }
    let table = (args.csv.is_some() || args.parquet.is_some()).then(|| table::of_sweep(sweep));
    let beside = |path: &Option<PathBuf>, content: fn(&Table) -> Vec<u8>| match (path, &table) {
        (Some(path), Some(table)) => written::beside("table", path, &content(table), talk),
        _ => Ok(()),
    };
    let csv = beside(&args.csv, |table| table::csv(table).into_bytes());
    let parquet = beside(&args.parquet, table::parquet);
    let page = written::page(args.html.as_ref(), || iostack_report::sweep(sweep).html(), talk);
    csv.and(parquet).and(page)
}
