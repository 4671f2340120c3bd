//! `iostack layers`: where the CPU clocks of an I/O go, for a load of our own or for what runs already.

use std::path::{Path, PathBuf};

use anyhow::Context;
use iostack_attribute::classify::Rules;
use iostack_attribute::layers::Subject;
use iostack_engine::path::tracing;
use iostack_host::save;
use iostack_model::answers::labelled;
use iostack_model::{BlockDevice, Layers, Storage};
use iostack_target::Wanted;

use crate::cmd::attach::{self, Pictures};
use crate::cmd::run::{self, RunArgs};
use crate::cmd::stages::has_ended;
use crate::exit::Ended;
use crate::written;

/// Arguments of `iostack layers`.
#[derive(clap::Args)]
pub(crate) struct LayersArgs {
    /// Look at a process that runs already, for --runtime (10 s).
    #[arg(long, value_name = "PID", conflicts_with = "machine")]
    pid: Option<u32>,
    /// Look at everything that runs, for --runtime (10 s).
    #[arg(long)]
    machine: bool,
    /// Rules that give functions their layers, instead of the built-in ones.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    #[command(flatten)]
    run: RunArgs,
}

const PICTURES: Pictures<Layers> = Pictures {
    told: |layers| iostack_report::attribution(None, Some(layers)),
    live: |layers| format!("{}: {} samples\n", layers.subject, layers.samples),
    json: |layers| written::json(&labelled(layers)),
};

/// Looks and prints.
pub(crate) fn run(args: &LayersArgs) -> anyhow::Result<Ended> {
    let rules = args.rules.as_deref().map(read_rules).transpose()?;
    let wanted = Wanted { layers: true, ..args.run.wanted() };
    match (args.pid, args.machine) {
        (Some(pid), _) => look(args, rules, Subject::Process { pid }, "--pid"),
        (None, true) => look(args, rules, Subject::Machine, "--machine"),
        (None, false) => run::load(&args.run, wanted, rules),
    }
}

fn look(
    args: &LayersArgs,
    rules: Option<&'static Rules>,
    subject: Subject,
    what: &str,
) -> anyhow::Result<Ended> {
    let talk = args.run.answer.talk();
    save::refuse(run::outputs(&args.run))?;
    let runtime = attach::runtime(&args.run, what)?;
    let mut trace =
        tracing::sample(subject, &whole_machine(), &attach::ladder(), args.run.wanted().sample_rate, rules)?;
    let pid = args.pid;
    let before = pid.and_then(calls);
    attach::watch(&talk, runtime, &PICTURES, || trace.so_far(), || pid.is_some_and(has_ended));
    let after = pid.and_then(calls);
    // A program that moves no data by read and write calls may do so by io_uring or libaio: then nobody counted.
    let ios = before.zip(after).map(|(before, after)| after.saturating_sub(before)).filter(|&ios| ios > 0);
    let layers = trace.finish(ios, "read and write calls of the process");
    let next = match pid {
        Some(pid) => format!("iostack stages --pid {pid}    # where its latency goes"),
        None => "iostack stages --device DEVICE    # where the latency of its I/Os goes".to_owned(),
    };
    attach::print(&args.run, &talk, &layers, &PICTURES, &next)?;
    Ok(Ended::Done)
}

/// Read and write calls that a process made up to now (`/proc/PID/io`); `None` when that may not be read.
fn calls(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let field =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    Some(field("syscr:")? + field("syscw:")?)
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
