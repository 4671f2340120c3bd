//! `iostack ab JOB_A JOB_B --on TARGET`: which of two does better?

use iostack::targets::{TargetFlags, TargetTable};
use iostack_study::ab::{self, AbQuestion, is_worse};
use iostack_target::Audience as _;

use crate::exit::Ended;
use crate::flags::JobFlags;
use crate::written::AnswerArgs;

/// Arguments of `iostack ab`.
#[derive(clap::Args)]
pub(crate) struct AbArgs {
    #[command(flatten)]
    question: AbQuestion,
    /// Allow writing over a file or device that exists: ITS DATA IS LOST.
    #[arg(long)]
    destroy_data: bool,
    /// Exit with 1 when B is worse than A in any figure.
    #[arg(long)]
    fail: bool,
    #[command(flatten)]
    answer: AnswerArgs,
    #[command(flatten)]
    flags: JobFlags,
}

/// Runs the turns and prints. Exit 1 when I/Os failed, or when B is worse and that was asked for.
pub(crate) fn run(args: &AbArgs) -> anyhow::Result<Ended> {
    args.answer.refuse("ab", None)?;
    let talk = args.answer.talk();
    let table = TargetTable::new(TargetFlags::default(), args.destroy_data);
    let question = AbQuestion { options: args.flags.options.clone(), ..args.question.clone() };
    let (report, failed) = ab::answer(&question, &table, &talk)?;
    talk.clear();
    args.answer.tell(&report, &talk)?;
    let worse = args.fail && is_worse(&report.rows);
    Ok(if failed || worse { Ended::FoundProblem } else { Ended::Done })
}
