//! `iostack stages`: where the latency of an I/O goes, for a load of our own, a command, or what runs already.

use iostack_attribute::Hurry;
use iostack_attribute::stages::Subject;
use iostack_engine::path::tracing;
use iostack_host::save;
use iostack_model::answers::labelled;
use iostack_model::{Stages, Storage};
use iostack_target::Wanted;

use crate::cmd::attach::{self, CommandArgs, FollowArgs, Followed, Pictures, Whom};
use crate::cmd::run::{self, RunArgs};
use crate::exit::Ended;
use crate::written;

/// Arguments of `iostack stages`.
#[derive(clap::Args)]
pub(crate) struct StagesArgs {
    #[command(flatten)]
    follow: FollowArgs,
    /// Look at a block device, whoever uses it, for --runtime (10 s).
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["pid", "command"])]
    device: Option<String>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    command: CommandArgs,
}

const PICTURES: Pictures<Stages> = Pictures {
    told: |stages| iostack_report::attribution(Some(stages), None),
    live: iostack_report::text::live_stages,
    json: |stages| written::json(&labelled(stages)),
};

/// Looks and prints.
pub(crate) fn run(args: &StagesArgs) -> anyhow::Result<Ended> {
    if let Some(typed) = &args.device {
        return of_device(args, typed);
    }
    let whom = Whom { follow: &args.follow, command: &args.command };
    if !whom.is_named() {
        let wanted = Wanted { stages: true, ..args.run.wanted() };
        return run::load(&args.run, wanted, None);
    }
    save::refuse(run::outputs(&args.run))?;
    let runtime = attach::runtime(&args.run, whom.what(""))?;
    let hurry = Hurry::begin();
    let ladder = attach::ladder();
    let Some(mut followed) = whom.begin()? else { unreachable!("one of them was given") };
    let Followed { pid, children, .. } = followed;
    let subject = if children { Subject::Tree { pid } } else { Subject::Process { pid } };
    let mut trace = tracing::follow(&subject, &Storage::default(), &ladder)?;
    drop(hurry);
    if let Some(command) = &followed.command {
        trace = trace.called(format!("command {}", command.name()));
    }
    let talk = args.run.answer.talk();
    followed.watch(&talk, runtime, &PICTURES, || trace.so_far())?;
    let mut stages = trace.finish();
    let end = attach::tell_end(&followed, &talk, &mut stages.notes);
    let next = whom.again("layers", "where its clocks go").unwrap_or_default();
    attach::print(&args.run, &talk, &stages, &PICTURES, &next)?;
    Ok(end)
}

fn of_device(args: &StagesArgs, typed: &str) -> anyhow::Result<Ended> {
    let talk = args.run.answer.talk();
    let storage = device(typed)?;
    let name = storage.top().map(|device| device.name.clone()).unwrap_or_default();
    save::refuse(run::outputs(&args.run))?;
    let runtime = attach::runtime(&args.run, "--device")?;
    let mut trace = tracing::follow(&Subject::Device { name: &name }, &storage, &attach::ladder())?;
    attach::watch(&talk, runtime, &PICTURES, || trace.so_far(), || false);
    let next = "iostack layers --machine    # where the clocks go";
    attach::print(&args.run, &talk, &trace.finish(), &PICTURES, next)?;
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
