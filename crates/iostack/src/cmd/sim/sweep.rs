//! `iostack sim sweep DEVICE [JOB] --vary KEY=VALUES`: the same job over many devices that differ in something.

use std::path::PathBuf;

use iostack::targets::Table;
use iostack_model::answers::SweepPoint;
use iostack_study::sweep::{Asked, Ready};

use crate::exit::Ended;
use crate::flags::JobFlags;
use crate::talk;
use crate::written::AnswerArgs;

/// Arguments of `iostack sim sweep`.
#[derive(clap::Args)]
pub(crate) struct SweepArgs {
    /// The device, as in `sim:DEVICE`, or lab:DEVICE, which boots for each
    /// point; several with commas.
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
    #[command(flatten)]
    answer: AnswerArgs,
    #[command(flatten)]
    flags: JobFlags,
}

impl SweepArgs {
    fn asked<'a>(&'a self, table: &'a Table) -> Asked<'a> {
        Asked {
            device: &self.device,
            jobs: &self.jobs,
            sections: &self.section,
            options: &self.flags.options,
            set: &self.set,
            vary: &self.vary,
            targets: table,
        }
    }
}

/// Runs every point and prints. Exit 1 when one failed or was not run.
pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<Ended> {
    args.answer.refuse("sim sweep", None)?;
    let talk = args.answer.talk();
    let table = Table::default();
    let sweep = Ready::of(&args.asked(&table))?;
    if args.dry_run {
        talk::data(&(sweep.commands().join("\n") + "\n"));
        return Ok(Ended::Done);
    }
    let sweep = sweep.run(args.parallel.map(usize::from), &talk);
    args.answer.tell(&sweep, &talk)?;
    let whole = sweep.failed().next().is_none()
        && !sweep.points.iter().any(SweepPoint::is_missing)
        && !sweep.interrupted;
    Ok(if whole { Ended::Done } else { Ended::FoundProblem })
}
