//! `iostack merge [TARGET]`: does temporal merging pay on this device?

use std::ffi::OsString;

use anyhow::Context;
use iostack::targets::{Table, TargetFlags};
use iostack_lab::targets::LabFlags;
use iostack_model::{Bytes, Direction, Effort};
use iostack_study::merge::{self, Asked};
use iostack_target::{Audience as _, changes};

use crate::exit::Ended;
use crate::written::AnswerArgs;

/// Arguments of `iostack merge`.
#[derive(clap::Args)]
pub(crate) struct MergeArgs {
    /// A directory (a scratch file is made in it), a file or a block device
    /// (both only read), sim:PLATFORM (`iostack sim list`), or lab:DEVICE.
    #[arg(default_value = ".")]
    target: OsString,
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
    /// Change a number of a simulated platform, such as
    /// `platform.cores=4`, or an option of the lab's driver; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    lab: LabFlags,
    #[command(flatten)]
    answer: AnswerArgs,
}

impl MergeArgs {
    fn effort(&self) -> Effort {
        match (self.quick, self.full) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Full,
            _ => Effort::Default,
        }
    }

    fn direction(&self) -> Direction {
        if self.write { Direction::Write } else { Direction::Read }
    }
}

/// Measures and prints. Exit 1 when a request failed or brought wrong data.
pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<Ended> {
    args.answer.refuse("merge", None)?;
    let talk = args.answer.talk();
    let table = Table::new(TargetFlags::of(&[], &args.lab), args.destroy_data);
    let asked = Asked {
        on: args.target.to_str().context("the target's name is no text")?,
        effort: args.effort(),
        direction: args.direction(),
        size: args.size,
        seed: args.seed,
        destroy_data: args.destroy_data,
        changes: &changes(&args.set, "platform.cores=4")?,
        targets: &table,
    };
    let merge = merge::answer(&asked, &talk)?;
    talk.clear();
    args.answer.tell(&merge, &talk)?;
    let failed = merge.tables.iter().flat_map(|table| &table.cells).any(|cell| !cell.failures.is_empty());
    Ok(if failed { Ended::FoundProblem } else { Ended::Done })
}
