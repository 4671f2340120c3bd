//! `iostack merge [TARGET]`: does temporal merging pay on this device?

use std::ffi::OsString;

use iostack_model::{Bytes, Direction, Effort};
use iostack_study::merge::{self, Asked};
use iostack_target::Audience as _;

use crate::exit::Ended;
use crate::written::AnswerArgs;

/// Arguments of `iostack merge`.
#[derive(clap::Args)]
pub(crate) struct MergeArgs {
    /// A directory (a scratch file is made in it), a file or a block device
    /// (both only read), or sim:PLATFORM (`iostack sim list`).
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
    /// `platform.cores=4`; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
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

    fn asked(&self) -> Asked<'_> {
        Asked {
            target: &self.target,
            effort: self.effort(),
            direction: self.direction(),
            size: self.size,
            seed: self.seed,
            destroy_data: self.destroy_data,
            set: &self.set,
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
    let merge = merge::answer(&args.asked(), &talk)?;
    talk.clear();
    args.answer.tell(&merge, &talk)?;
    let failed = merge.tables.iter().flat_map(|table| &table.cells).any(|cell| !cell.failures.is_empty());
    Ok(if failed { Ended::FoundProblem } else { Ended::Done })
}
