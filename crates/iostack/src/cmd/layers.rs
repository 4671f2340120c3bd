//! `iostack layers`: where the CPU clocks of an I/O go, for a load of our own or for what runs already.

use iostack_attribute::layers::{LayerTrace, Subject};
use iostack_host::clock::Clock;
use iostack_model::{Layers, Storage};

use crate::cmd::attach::{self, Pictures};
use crate::cmd::run::{self, RunArgs};
use crate::cmd::stages::has_ended;
use crate::exit::Ended;
use crate::talk::Talk;
use crate::trace::Wanted;

/// Arguments of `iostack layers`.
#[derive(clap::Args)]
pub(crate) struct LayersArgs {
    /// Look at a process that runs already, for --runtime (10 s).
    #[arg(long, value_name = "PID", conflicts_with = "machine")]
    pid: Option<u32>,
    /// Look at everything that runs, for --runtime (10 s).
    #[arg(long)]
    machine: bool,
    #[command(flatten)]
    run: RunArgs,
}

const PICTURES: Pictures<Layers> = Pictures {
    text: iostack_report::text::layers,
    live: |layers| format!("{}: {} samples\n", layers.subject, layers.samples),
    html: |layers| {
        iostack_report::html::attribution(&layers.subject, None, Some(layers), Some(&layers.ladder))
    },
    json: |layers| serde_json::to_string(layers),
};

/// Looks and prints.
pub(crate) fn run(args: &LayersArgs) -> anyhow::Result<Ended> {
    match (args.pid, args.machine) {
        (Some(pid), _) => look(args, Subject::Process { pid }, "--pid"),
        (None, true) => look(args, Subject::Machine, "--machine"),
        (None, false) => {
            let wanted = Wanted { layers: true, ..args.run.wanted() };
            attach::load(&args.run, wanted)
        }
    }
}

fn look(args: &LayersArgs, subject: Subject, what: &str) -> anyhow::Result<Ended> {
    let talk = Talk::new(args.run.quiet);
    run::refuse_existing(&args.run)?;
    let runtime = attach::runtime(&args.run, what)?;
    let hz = Clock::calibrated().tsc_hz();
    let rate = args.run.wanted().sample_rate;
    let mut trace = LayerTrace::start(subject, &Storage::default(), &attach::ladder(), hz, rate)?;
    let pid = args.pid;
    attach::watch(&talk, runtime, &PICTURES, || trace.so_far(), || pid.is_some_and(has_ended));
    let layers = trace.finish(None, "");
    let next = match pid {
        Some(pid) => format!("iostack stages --pid {pid}    # where its latency goes"),
        None => "iostack stages --device DEVICE    # where the latency of its I/Os goes".to_owned(),
    };
    attach::print(&args.run, &talk, &layers, &PICTURES, &next)?;
    Ok(Ended::Done)
}
