//! `iostack sim`: everything about simulated devices that is not a run.

pub(crate) mod check;
mod keys;
pub(crate) mod list;
mod show;
mod sweep;
mod what_if;

use anyhow::Context;
use iostack_sim::sheet::{Sheet, catalogue};
use iostack_sim::targets::Simulations;
use iostack_target::{EXAMPLE, Targets as _, changes};

use crate::exit::Ended;

/// Arguments of `iostack sim`.
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    command: SimCommand,
}

#[derive(clap::Subcommand)]
enum SimCommand {
    /// Which platforms and devices are built in?
    List(list::ListArgs),
    /// A platform or device: a drawing, what is full in it, its numbers and why
    /// to believe them.
    Show(show::ShowArgs),
    /// Which numbers does a kind of device have?
    Keys(keys::KeysArgs),
    /// Does a device reach what its file claims?
    Check(check::CheckArgs),
    /// Run the same job over everything that is varied, in device and job.
    Sweep(sweep::SweepArgs),
    /// What would a change give, and where does the limit move?
    WhatIf(what_if::WhatIfArgs),
}

/// Does what was asked.
pub(crate) fn run(args: &SimArgs) -> anyhow::Result<Ended> {
    match &args.command {
        SimCommand::List(args) => list::run(args),
        SimCommand::Show(args) => show::run(args),
        SimCommand::Keys(args) => keys::run(args),
        SimCommand::Check(args) => check::run(args),
        SimCommand::Sweep(args) => sweep::run(args),
        SimCommand::WhatIf(args) => what_if::run(args),
    }
}

/// A device, perhaps with other numbers.
#[derive(clap::Args)]
struct Chosen {
    /// Its name, or the path of its file.
    device: String,
    /// Change a number of it; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Chosen {
    /// Name without `sim:`.
    fn name(&self) -> &str {
        Simulations.bare(&self.device)
    }

    fn changes(&self) -> anyhow::Result<Vec<(String, String)>> {
        changes(&self.set, EXAMPLE)
    }

    fn sheet(&self) -> anyhow::Result<Sheet> {
        Ok(Sheet::load(self.name(), &self.changes()?)?)
    }
}

/// The file of a device, built in or not.
fn file_text(device: &str) -> anyhow::Result<String> {
    let device = Simulations.bare(device);
    match catalogue::text(device) {
        Some(text) => Ok(text.to_owned()),
        None => std::fs::read_to_string(device).with_context(|| format!("cannot read `{device}`")),
    }
}
