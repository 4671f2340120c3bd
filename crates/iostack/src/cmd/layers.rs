//! `iostack layers`: where the CPU clocks of an I/O go, for a load of our own, a command, or what runs already.

use std::path::{Path, PathBuf};

use anyhow::Context;
use iostack_attribute::Hurry;
use iostack_attribute::classify::Rules;
use iostack_attribute::layers::Subject;
use iostack_engine::path::tracing;
use iostack_host::save::{self, Output};
use iostack_model::answers::labelled;
use iostack_model::{BlockDevice, Layers, Storage};
use iostack_report::stacks;
use iostack_target::Wanted;

use crate::cmd::attach::{self, CommandArgs, FollowArgs, Followed, Pictures, Whom};
use crate::cmd::run::{self, RunArgs};
use crate::exit::Ended;
use crate::talk::Talk;
use crate::written;

/// Arguments of `iostack layers`.
#[derive(clap::Args)]
pub(crate) struct LayersArgs {
    #[command(flatten)]
    follow: FollowArgs,
    /// Look at everything that runs, for --runtime (10 s).
    #[arg(long, conflicts_with_all = ["pid", "command"])]
    machine: bool,
    /// Rules that give functions their layers, instead of the built-in ones.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    #[command(flatten)]
    chains: ChainArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    command: CommandArgs,
}

/// Files for the sampled call chains.
#[derive(clap::Args)]
struct ChainArgs {
    /// Write the call chains as folded stacks, for flamegraph.pl, to a new file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    folded: Option<PathBuf>,
    /// Write them for speedscope.app to a new file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    speedscope: Option<PathBuf>,
    /// Write them for profiler.firefox.com to a new file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    firefox: Option<PathBuf>,
}

/// Flag, its file, and how the chains are written there.
type Form<'a> = (&'static str, Option<&'a PathBuf>, fn(&Layers) -> String);

impl ChainArgs {
    fn forms(&self) -> [Form<'_>; 3] {
        [
            ("--folded", self.folded.as_ref(), stacks::folded),
            ("--speedscope", self.speedscope.as_ref(), stacks::speedscope),
            ("--firefox", self.firefox.as_ref(), stacks::firefox),
        ]
    }

    fn files(&self) -> impl Iterator<Item = Output<'_>> {
        self.forms().into_iter().filter_map(|(flag, path, _)| Output::new(flag, path))
    }

    /// Writes what is wanted; what cannot be written does not keep the rest from being so.
    fn write(&self, layers: &Layers, talk: &Talk) -> anyhow::Result<()> {
        let mut all = Ok(());
        for (path, form) in self.forms().into_iter().filter_map(|(_, path, form)| Some((path?, form))) {
            all = all.and(written::beside("call chains", path, &form(layers), talk));
        }
        all
    }
}

const PICTURES: Pictures<Layers> = Pictures {
    told: |layers| iostack_report::attribution(None, Some(layers)),
    live: |layers| format!("{}: {} samples\n", layers.subject, layers.samples),
    json: |layers| written::json(&labelled(layers)),
};

/// Looks and prints.
pub(crate) fn run(args: &LayersArgs) -> anyhow::Result<Ended> {
    let rules = args.rules.as_deref().map(read_rules).transpose()?;
    let whom = Whom { follow: &args.follow, command: &args.command };
    if args.machine || whom.is_named() {
        return look(args, &whom, rules);
    }
    let wanted = Wanted { layers: true, ..args.run.wanted() };
    run::load_beside(&args.run, wanted, rules, args.chains.files(), |file, talk| {
        let layers = file.outcomes.iter().find_map(|outcome| outcome.layers.as_ref());
        layers.map_or(Ok(()), |layers| args.chains.write(layers, talk))
    })
}

fn look(args: &LayersArgs, whom: &Whom<'_>, rules: Option<&'static Rules>) -> anyhow::Result<Ended> {
    let talk = args.run.answer.talk();
    save::refuse(run::outputs(&args.run).chain(args.chains.files()))?;
    let runtime = attach::runtime(&args.run, whom.what("--machine"))?;
    let hurry = Hurry::begin();
    let ladder = attach::ladder();
    let mut followed = whom.begin()?;
    let subject = match followed {
        Some(Followed { pid, children: true, .. }) => Subject::Tree { pid },
        Some(Followed { pid, .. }) => Subject::Process { pid },
        None => Subject::Machine,
    };
    let mut trace =
        tracing::sample(subject, &whole_machine(), &ladder, args.run.wanted().sample_rate, rules)?;
    drop(hurry);
    let Some(followed) = &mut followed else {
        attach::watch(&talk, runtime, &PICTURES, || trace.so_far(), || false);
        let next = "iostack stages --device DEVICE    # where the latency of its I/Os goes";
        return tell(args, &talk, &trace.finish(None, ""), next, Ended::Done);
    };
    if let Some(command) = &followed.command {
        trace = trace.called(format!("command {}", command.name()));
    }
    let before = followed.calls();
    followed.watch(&talk, runtime, &PICTURES, || trace.so_far())?;
    let after = followed.calls();
    // A program that moves no data by read and write calls may do so by io_uring or libaio: then nobody counted.
    let ios = before.zip(after).map(|(before, after)| after.saturating_sub(before)).filter(|&ios| ios > 0);
    let whose = if followed.children { "its processes" } else { "the process" };
    let mut layers = trace.finish(ios, &format!("read and write calls of {whose}"));
    let end = attach::tell_end(followed, &talk, &mut layers.notes);
    let next = whom.again("stages", "where its latency goes").unwrap_or_default();
    tell(args, &talk, &layers, &next, end)
}

/// Prints, and writes the chains.
fn tell(args: &LayersArgs, talk: &Talk, layers: &Layers, next: &str, end: Ended) -> anyhow::Result<Ended> {
    let told = attach::print(&args.run, talk, layers, &PICTURES, next);
    told.and(args.chains.write(layers, talk)).map(|()| end)
}

/// All block devices: whichever the program uses, their interrupts serve it.
fn whole_machine() -> Storage {
    let names = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let device = |name: String| BlockDevice { name, ..BlockDevice::default() };
    Storage {
        devices: names.filter_map(|entry| entry.file_name().into_string().ok()).map(device).collect(),
        ..Storage::default()
    }
}

/// Rules live as long as the program; it reads them once.
fn read_rules(path: &Path) -> anyhow::Result<&'static Rules> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the rules `{}`", path.display()))?;
    let rules = Rules::parse(&text).with_context(|| format!("in the rules `{}`", path.display()))?;
    Ok(Box::leak(Box::new(rules)))
}
