//! `iostack doctor`: what may be measured here, why not more, and what lifts it.

use iostack_model::answers::labelled;

use crate::exit::Ended;
use crate::written::{OutputArg, json};

/// Arguments of `iostack doctor`.
#[derive(clap::Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    output: OutputArg,
}

/// Tries every rung and prints the ladder.
pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<Ended> {
    args.output.refuse()?;
    let ladder = iostack_attribute::ladder::probe();
    let text = if args.json { json(&labelled(&ladder))? } else { iostack_report::ladder(&ladder).text() };
    args.output.answer(&text)?;
    Ok(Ended::Done)
}
