//! `iostack ab JOB_A JOB_B --on TARGET`: which of two does better?

use std::path::PathBuf;

use iostack::targets::{Table, TargetFlags};
use iostack_model::Nanos;
use iostack_study::ab::{self, Asked, Primary, is_worse};
use iostack_target::Audience as _;

use crate::exit::Ended;
use crate::flags::JobFlags;
use crate::written::AnswerArgs;

/// Arguments of `iostack ab`.
#[derive(clap::Args)]
pub(crate) struct AbArgs {
    /// Job files: one for both sides, or one for A and one for B. None: one
    /// job from flags.
    jobs: Vec<PathBuf>,
    /// What answers: a file, a directory, a block device or sim:DEVICE.
    #[arg(long, value_name = "TARGET")]
    on: Option<String>,
    /// What A has of its own: an option of the job, on=TARGET,
    /// scheduler=NAME (of the device below), or a number of a simulated
    /// device; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    a: Vec<String>,
    /// What B has of its own, likewise.
    #[arg(long, value_name = "KEY=VALUE")]
    b: Vec<String>,
    /// Stop at this time at the latest [2m].
    #[arg(long, value_name = "TIME", conflicts_with = "blocks")]
    time: Option<Nanos>,
    /// Stop after so many blocks of four runs at the latest [simulated: 24].
    #[arg(long, value_name = "COUNT")]
    blocks: Option<u32>,
    /// The difference that matters: a smaller one need not be told from none.
    #[arg(long, value_name = "PERCENT", default_value = "2%")]
    difference: String,
    /// The figure that gives the answer [what the jobs leave free].
    #[arg(long, value_enum, value_name = "FIGURE")]
    figure: Option<Primary>,
    /// Run only this section of the job files; may be repeated.
    #[arg(long, value_name = "NAME")]
    section: Vec<String>,
    /// Change a number of the simulated device of both sides; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
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

impl AbArgs {
    fn asked<'a>(&'a self, table: &'a Table) -> Asked<'a> {
        Asked {
            jobs: &self.jobs,
            sections: &self.section,
            on: self.on.clone(),
            options: &self.flags.options,
            set: &self.set,
            own: [&self.a, &self.b],
            time: self.time,
            blocks: self.blocks,
            difference: &self.difference,
            figure: self.figure,
            targets: table,
        }
    }
}

/// Runs the turns and prints. Exit 1 when I/Os failed, or when B is worse and that was asked for.
pub(crate) fn run(args: &AbArgs) -> anyhow::Result<Ended> {
    args.answer.refuse("ab", None)?;
    let talk = args.answer.talk();
    let table = Table::new(TargetFlags::default(), args.destroy_data);
    let (report, failed) = ab::answer(&args.asked(&table), &talk)?;
    talk.clear();
    args.answer.tell(&report, &talk)?;
    let worse = args.fail && is_worse(&report.rows);
    Ok(if failed || worse { Ended::FoundProblem } else { Ended::Done })
}
