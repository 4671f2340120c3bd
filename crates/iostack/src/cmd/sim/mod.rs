//! `iostack sim`: everything about simulated devices that is not a run.

mod check;
mod keys;
mod list;
mod show;
mod sweep;

use anyhow::{Context, bail};
use iostack_sim::catalogue;
use iostack_sim::sheet::Sheet;

use crate::exit::Ended;

/// Arguments of `iostack sim`.
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Which devices are built in?
    List(list::ListArgs),
    /// A device: a drawing, its numbers and why to believe them.
    Show(show::ShowArgs),
    /// Which numbers does a kind of device have?
    Keys(keys::KeysArgs),
    /// Does a device reach what its file claims?
    Check(check::CheckArgs),
    /// Run the same job over everything that is varied, in device and job.
    Sweep(sweep::SweepArgs),
}

/// Does what was asked.
pub(crate) fn run(args: &SimArgs) -> anyhow::Result<Ended> {
    match &args.command {
        Command::List(args) => list::run(args),
        Command::Show(args) => show::run(args),
        Command::Keys(args) => keys::run(args),
        Command::Check(args) => check::run(args),
        Command::Sweep(args) => sweep::run(args),
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
    fn sheet(&self) -> anyhow::Result<Sheet> {
        let device = self.device.strip_prefix("sim:").unwrap_or(&self.device);
        Ok(Sheet::load(device, &changes(&self.set)?)?)
    }
}

/// `KEY=VALUE`, split.
fn changes(set: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let split = |text: &String| match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => bail!("`--set {text}` is no change; write it like --set flash.over_provisioning=28%"),
    };
    set.iter().map(split).collect()
}

/// The file of a device, built in or not.
fn file_text(device: &str) -> anyhow::Result<String> {
    let device = device.strip_prefix("sim:").unwrap_or(device);
    match catalogue::text(device) {
        Some(text) => Ok(text.to_owned()),
        None => std::fs::read_to_string(device).with_context(|| format!("cannot read `{device}`")),
    }
}

/// Lines of at most 80 columns: the first begins with `first`, the others `indent` columns in.
fn paragraph(first: &str, text: &str, indent: usize) -> String {
    let mut lines = vec![first.to_owned()];
    let mut bare = true;
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("it begins with one");
        if !bare && last.chars().count() + 1 + word.chars().count() > 80 {
            lines.push(format!("{}{word}", " ".repeat(indent)));
            continue;
        }
        if !bare {
            last.push(' ');
        }
        last.push_str(word);
        bare = false;
    }
    lines.join("\n") + "\n"
}
