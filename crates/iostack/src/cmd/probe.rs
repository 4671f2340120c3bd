//! `iostack probe [TARGET]`: what is inside this drive?

use iostack_model::Bytes;
use iostack_study::probe::{self, ProbeQuestion};
use iostack_target::Audience as _;

use crate::cmd::studied::{StudyTarget, effort};
use crate::exit::Ended;
use crate::talk;
use crate::written::AnswerArgs;

/// Arguments of `iostack probe`.
#[derive(clap::Args)]
pub(crate) struct ProbeArgs {
    /// Takes about 10 s: no writes that take long.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Three times as long; the time is said first.
    #[arg(long)]
    full: bool,
    /// Only say what would be measured, and how long that takes.
    #[arg(long)]
    plan: bool,
    /// Size of the scratch file, or of the region to use.
    #[arg(long)]
    size: Option<Bytes>,
    /// Reproduces offsets and content.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Allow writing over a file or device that exists: ITS DATA IS LOST.
    #[arg(long)]
    destroy_data: bool,
    #[command(flatten)]
    on: StudyTarget,
    #[command(flatten)]
    answer: AnswerArgs,
}

/// Probes and prints.
pub(crate) fn run(args: &ProbeArgs) -> anyhow::Result<Ended> {
    args.answer.refuse("probe", None)?;
    let talk = args.answer.talk();
    let target = args.on.table(args.destroy_data).target(Some(&args.on.target))?;
    let asked = ProbeQuestion { effort: effort(args.quick, args.full), size: args.size, seed: args.seed };
    if args.plan {
        talk::data(&probe::plan(&asked, &*target, &talk)?);
        return Ok(Ended::Done);
    }
    let probe = probe::answer(&asked, &*target, &talk)?;
    talk.clear();
    args.answer.tell(&probe, &talk)?;
    Ok(Ended::Done)
}
