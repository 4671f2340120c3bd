//! `iostack stages`: where the latency of an I/O goes, for a load of our own or for what runs already.

use iostack_attribute::stages::Subject;
use iostack_engine::path::tracing;
use iostack_host::save;
use iostack_model::answers::labelled;
use iostack_model::{Stages, Storage};
use iostack_target::Wanted;

use crate::cmd::attach::{self, Pictures};
use crate::cmd::run::{self, RunArgs};
use crate::exit::Ended;
use crate::written;

/// Arguments of `iostack stages`.
#[derive(clap::Args)]
pub(crate) struct StagesArgs {
    /// Look at a process that runs already, for --runtime (10 s).
    #[arg(long, value_name = "PID", conflicts_with = "device")]
    pid: Option<u32>,
    /// Look at a block device, whoever uses it, for --runtime (10 s).
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    #[command(flatten)]
    run: RunArgs,
}

const PICTURES: Pictures<Stages> = Pictures {
    told: |stages| iostack_report::attribution(Some(stages), None),
    live: iostack_report::text::live_stages,
    json: |stages| written::json(&labelled(stages)),
};

/// Looks and prints.
pub(crate) fn run(args: &StagesArgs) -> anyhow::Result<Ended> {
    let (subject, storage, what) = match (args.pid, &args.device) {
        (Some(pid), _) => (Subject::Process { pid }, Storage::default(), "--pid"),
        (None, Some(typed)) => {
            let storage = device(typed)?;
            let name = storage.top().map(|device| device.name.clone()).unwrap_or_default();
            return look(args, &Subject::Device { name: &name }, &storage, "--device");
        }
        (None, None) => {
            let wanted = Wanted { stages: true, ..args.run.wanted() };
            return run::load(&args.run, wanted, None);
        }
    };
    look(args, &subject, &storage, what)
}

fn look(args: &StagesArgs, subject: &Subject<'_>, storage: &Storage, what: &str) -> anyhow::Result<Ended> {
    let talk = args.run.answer.talk();
    save::refuse(run::outputs(&args.run))?;
    let runtime = attach::runtime(&args.run, what)?;
    let mut trace = tracing::follow(subject, storage, &attach::ladder())?;
    let pid = args.pid;
    attach::watch(&talk, runtime, &PICTURES, || trace.so_far(), || pid.is_some_and(has_ended));
    let stages = trace.finish();
    let next = match pid {
        Some(pid) => format!("iostack layers --pid {pid}    # where its clocks go"),
        None => "iostack layers --machine    # where the clocks go".to_owned(),
    };
    attach::print(&args.run, &talk, &stages, &PICTURES, &next)?;
    Ok(Ended::Done)
}

/// The chain below a device named as `vda`, `/dev/vda` or `block:/dev/vda`.
fn device(typed: &str) -> anyhow::Result<Storage> {
    let path = if typed.contains('/') { typed.to_owned() } else { format!("/dev/{typed}") };
    let target = iostack_host::resolve(&path)?;
    let storage = iostack_host::storage(&target.path)?;
    anyhow::ensure!(
        target.kind == iostack_model::TargetKind::Block && storage.top().is_some(),
        "`{typed}` is no block device; see /sys/block for those there are"
    );
    Ok(storage)
}

/// True when nothing runs under this number any more.
pub(crate) fn has_ended(pid: u32) -> bool {
    !std::path::Path::new(&format!("/proc/{pid}")).exists()
}
