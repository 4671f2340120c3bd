//! `iostack iolat [TARGET]`: the tool of 2008, for today.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use iostack_host::save::Output;
use iostack_report::Told as _;
use iostack_study::iolat::{self, IolatQuestion};
use iostack_target::Audience as _;

use crate::cmd::studied::StudyTarget;
use crate::exit::Ended;
use crate::written::{self, AnswerArgs};

/// Arguments of `iostack iolat`.
#[derive(clap::Args)]
pub(crate) struct IolatArgs {
    #[command(flatten)]
    question: IolatQuestion,
    #[command(flatten)]
    on: StudyTarget,
    /// Allow writing over a file or device that exists: ITS DATA IS LOST.
    #[arg(long)]
    destroy_data: bool,
    /// Keep this run in a new file, to compare later ones with.
    #[arg(long, value_name = "FILE")]
    save_reference: Option<PathBuf>,
    /// Compare with a saved reference, or with a table printed in 2008:
    /// `scsi_ram` or `ata_ram`.
    #[arg(long, value_name = "FILE|NAME")]
    against: Option<String>,
    /// Exit with 1 when a test is slower than the reference, beyond the
    /// intervals.
    #[arg(long, requires = "against")]
    fail: bool,
    #[command(flatten)]
    answer: AnswerArgs,
}

/// Tests, compares and prints. Exit 1 when it is slower and that was asked for.
pub(crate) fn run(args: &IolatArgs) -> anyhow::Result<Ended> {
    args.answer.refuse("iolat", Output::new("--save-reference", args.save_reference.as_ref()))?;
    let talk = args.answer.talk();
    let target = args.on.table(args.destroy_data).target(Some(&args.on.target))?;
    let iolat = iolat::answer(&args.question, args.against.as_deref(), &*target, &talk)?;
    talk.clear();
    let answer = args.answer.tell(&iolat, &talk);
    let reference = args.save_reference.as_ref().map_or(Ok(()), |path| {
        ensure!(
            !iolat.interrupted,
            "the reference `{}` is not saved: half a run is no reference",
            path.display()
        );
        let kept = iolat::to_save(&iolat).json().context("a run is plain data")?;
        written::beside("reference", path, &kept, &talk)
    });
    answer.and(reference)?;
    let slower = iolat.comparison.as_ref().is_some_and(|comparison| comparison.slower);
    Ok(if args.fail && slower { Ended::FoundProblem } else { Ended::Done })
}
