//! `iostack sim check DEVICE`: does it reach what its file claims?

use anyhow::Context;
use iostack_model::answers::{DeviceCard, labelled};
use iostack_sim::claims;
use iostack_sim::run::RunOptions;
use iostack_sim::sheet::card;
use iostack_target::Audience as _;
use schemars::JsonSchema;
use serde::Serialize;

use super::Chosen;
use crate::exit::Ended;
use crate::talk::Talk;
use crate::written::{OutputArg, json_pretty};

/// Arguments of `iostack sim check`.
#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    chosen: Chosen,
    /// Seed of whatever chance does in the device.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    output: OutputArg,
}

/// Answer that `--json` prints.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Checked {
    /// The device, with what was found of each claim.
    card: DeviceCard,
}

iostack_model::kinds! {
    Checked: "sim check", unlabelled;
}

/// Runs each claim's job and prints what was found. Exit 1 when one does not hold.
pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Ended> {
    args.output.refuse()?;
    let sheet = args.chosen.sheet()?;
    anyhow::ensure!(
        !sheet.claims.is_empty(),
        "`{}` claims nothing; add [claims.NAME] to its file (docs/devices.md)",
        sheet.name
    );
    let talk = Talk::new(args.json);
    let stop = iostack_host::signals::stop_flag();
    let options = RunOptions { stop, ..RunOptions::seeded(args.seed) };
    let mut card = card::card(&sheet);
    card.claims.clear();
    for claim in &sheet.claims {
        talk.live(&format!("{}: {}", claim.name, claim.what));
        let tried = claims::try_one(&sheet, claim, &options);
        card.claims.push(tried.with_context(|| format!("the claim `{}` cannot be tried", claim.name))?);
        if stop.load(std::sync::atomic::Ordering::Relaxed) {
            anyhow::bail!("interrupted; nothing was decided");
        }
    }
    talk.clear();
    let hold = card.claims.iter().all(|claim| claim.holds == Some(true));
    let text = if args.json {
        json_pretty(&labelled(&Checked { card }))?
    } else {
        iostack_report::claims(&card).text()
    };
    args.output.answer(&text)?;
    Ok(if hold { Ended::Done } else { Ended::FoundProblem })
}
