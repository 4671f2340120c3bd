//! `iostack doctor`: what may be measured here, why not more, and what lifts it.

use anyhow::Context;

use crate::exit::Ended;
use crate::talk::data;

/// Arguments of `iostack doctor`.
#[derive(clap::Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Tries every rung and prints the ladder.
pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<Ended> {
    let ladder = iostack_attribute::ladder::probe();
    if args.json {
        data(&(serde_json::to_string(&ladder).context("a ladder is plain data")? + "\n"));
    } else {
        data(&iostack_report::ladder(&ladder).text());
    }
    Ok(Ended::Done)
}
