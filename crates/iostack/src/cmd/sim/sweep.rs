//! `iostack sim sweep DEVICE [JOB] --vary KEY=VALUES`: the same job over many devices that differ in something.

use iostack::targets::TargetTable;
use iostack_model::answers::SweepPoint;
use iostack_study::sweep::{PlannedSweep, SweepQuestion};

use crate::exit::Ended;
use crate::flags::JobFlags;
use crate::talk;
use crate::written::AnswerArgs;

/// Arguments of `iostack sim sweep`.
#[derive(clap::Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    question: SweepQuestion,
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

/// Runs every point and prints. Exit 1 when one failed or was not run.
pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<Ended> {
    args.answer.refuse("sim sweep", None)?;
    let talk = args.answer.talk();
    let table = TargetTable::default();
    let question = SweepQuestion { options: args.flags.options.clone(), ..args.question.clone() };
    let sweep = PlannedSweep::new(&question, &table)?;
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
