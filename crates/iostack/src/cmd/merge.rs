//! `iostack merge [TARGET]`: does temporal merging pay on this device?

use anyhow::Context;
use iostack::targets::{TargetFlags, TargetTable};
use iostack_model::{Bytes, Direction};
use iostack_study::merge::{self, MergeQuestion};
use iostack_target::{Audience as _, changes};

use crate::cmd::studied::{StudyTarget, effort};
use crate::exit::Ended;
use crate::written::AnswerArgs;

/// Arguments of `iostack merge`.
#[derive(clap::Args)]
pub(crate) struct MergeArgs {
    /// About 15 s.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// As long as the answers need; the time is said first.
    #[arg(long)]
    full: bool,
    /// Measure writes instead of reads.
    #[arg(long)]
    write: bool,
    /// Size of the scratch file, or of the region to use.
    #[arg(long)]
    size: Option<Bytes>,
    /// Reproduces offsets and content.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Allow --write over a file or device that exists: ITS DATA IS LOST.
    #[arg(long, requires = "write")]
    destroy_data: bool,
    #[command(flatten)]
    on: StudyTarget,
    #[command(flatten)]
    answer: AnswerArgs,
}

/// Measures and prints. Exit 1 when a request failed or brought wrong data.
pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<Ended> {
    args.answer.refuse("merge", None)?;
    let talk = args.answer.talk();
    let table = TargetTable::new(TargetFlags::of_study(&[], &args.on.lab), args.destroy_data);
    let asked = MergeQuestion {
        on: args.on.target.to_str().context("the target's name is no text")?,
        effort: effort(args.quick, args.full),
        direction: if args.write { Direction::Write } else { Direction::Read },
        size: args.size,
        seed: args.seed,
        destroy_data: args.destroy_data,
        changes: &changes(&args.on.set, "platform.cores=4")?,
        targets: &table,
    };
    let merge = merge::answer(&asked, &talk)?;
    talk.clear();
    args.answer.tell(&merge, &talk)?;
    let failed = merge.tables.iter().flat_map(|table| &table.cells).any(|cell| !cell.failures.is_empty());
    Ok(if failed { Ended::FoundProblem } else { Ended::Done })
}
