//! `iostack merge [TARGET]`: does temporal merging pay on this device?

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use iostack_lab::guest::Ready;
use iostack_model::answers::MergeReport;
use iostack_model::{Bytes, Caveat, Direction, Effort, Nanos, TargetKind, TargetName};
use iostack_study::merge::{self, Asked};
use iostack_target::Audience;
use iostack_targets::lab::{self, LabFlags};
use iostack_targets::{self as target, Scheme, TargetFlags, lab_place, read_json};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::exit::Ended;
use crate::talk::Talk;
use crate::written::AnswerArgs;

/// Arguments of `iostack merge`.
#[derive(clap::Args)]
pub(crate) struct MergeArgs {
    /// A directory (a scratch file is made in it), a file or a block device
    /// (both only read), sim:PLATFORM (`iostack sim list`), or lab:DEVICE.
    #[arg(default_value = ".")]
    target: OsString,
    /// About 15 s.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// As long as the answers need; the time is said first.
    #[arg(long)]
    full: bool,
    /// Measure writes instead of reads.
    #[arg(long)]
    write: bool,
    /// Size of the scratch file, or of the region to use.
    #[arg(long)]
    size: Option<Bytes>,
    /// Reproduces offsets and content.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Allow --write over a file or device that exists: ITS DATA IS LOST.
    #[arg(long, requires = "write")]
    destroy_data: bool,
    /// Change a number of a simulated platform, such as
    /// `platform.cores=4`, or an option of the lab's driver; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    lab: LabFlags,
    #[command(flatten)]
    answer: AnswerArgs,
}

impl MergeArgs {
    fn effort(&self) -> Effort {
        match (self.quick, self.full) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Full,
            _ => Effort::Default,
        }
    }

    fn asked(&self) -> Asked<'_> {
        Asked {
            target: &self.target,
            effort: self.effort(),
            direction: self.direction(),
            size: self.size,
            seed: self.seed,
            destroy_data: self.destroy_data,
            set: &self.set,
            shorter: 1,
        }
    }

    fn direction(&self) -> Direction {
        if self.write { Direction::Write } else { Direction::Read }
    }
}

/// Measures and prints. Exit 1 when a request failed or brought wrong data.
pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<Ended> {
    args.answer.refuse("merge", None)?;
    let talk = args.answer.talk();
    target::refuse_others(&args.target, &TargetFlags::of(&args.set, &args.lab))?;
    let merge = match target::scheme(args.target.to_str().unwrap_or_default()) {
        (Scheme::Lab, device) => in_the_lab(args, device, &talk)?,
        _ => merge::answer(&args.asked(), &talk)?,
    };
    talk.clear();
    args.answer.tell(&merge, &talk)?;
    let failed = merge.tables.iter().flat_map(|table| &table.cells).any(|cell| !cell.failures.is_empty());
    Ok(if failed { Ended::FoundProblem } else { Ended::Done })
}

/// How the order for the guest is told from others.
const MERGE: &str = "merge";

/// In the lab nobody disturbs, and each instruction takes time of ours.
const SHORTER: u64 = 10;

/// What the guest is to do.
#[derive(Serialize, Deserialize)]
struct Order {
    effort: Effort,
    direction: Direction,
    size: Option<Bytes>,
    seed: u64,
}

/// The same measurement, by this program in the guest.
fn in_the_lab(args: &MergeArgs, device: &str, talk: &Talk) -> anyhow::Result<MergeReport> {
    let request = args.lab.request(device, &args.set)?;
    let order =
        Order { effort: args.effort(), direction: args.direction(), size: args.size, seed: args.seed };
    let mut found = None;
    let release = lab_place::found(&request, json!({ MERGE: order }), talk, &mut |name, value| match name {
        "live" => talk.live(value.as_str().unwrap_or_default()),
        MERGE => found = Some(value.to_string()),
        _ => {}
    })?;
    let found = found.context("the guest ended without an answer")?;
    let mut report: MergeReport = read_json(&found).context("the guest's answer cannot be read")?;
    report.target = TargetName { kind: TargetKind::Lab, path: PathBuf::from(&request.device) };
    report.changes = request.options.iter().chain(&request.drive).cloned().collect();
    report.started_unix_ms = 0;
    // Every clock of the guest counts instructions.
    report.machine.cpu.tsc_invariant = true;
    report
        .caveats
        .retain(|doubt| !matches!(doubt, Caveat::SmallRegion { .. } | Caveat::ClockNotInvariant { .. }));
    report.caveats.insert(0, lab::caveat(&request, &release));
    Ok(report)
}

/// In the guest: measures the device, if that is the order.
pub(crate) fn far_side(order: &Value, ready: &Ready) -> Option<Result<(), String>> {
    let order = order.get(MERGE)?;
    Some(measure(order, ready).map_err(|error| format!("{error:#}")))
}

fn measure(order: &Value, ready: &Ready) -> anyhow::Result<()> {
    let Order { effort, direction, size, seed } = read_json(&order.to_string())?;
    let place = ready.folder.as_ref().unwrap_or(&ready.path);
    let asked = Asked {
        target: place.as_os_str(),
        effort,
        direction,
        size,
        seed,
        // All there is in the guest was made for this.
        destroy_data: true,
        set: &[],
        shorter: SHORTER,
    };
    let report = merge::answer(&asked, &Inside)?;
    lab::value(MERGE, serde_json::to_value(&report)?);
    Ok(())
}

/// In the guest: tells the near side what is done at present.
struct Inside;

impl Audience for Inside {
    fn stop(&self) -> &AtomicBool {
        iostack_host::signals::stop_flag()
    }

    fn point(&self, series: &str, label: &str, _: Nanos, _: Nanos) {
        lab::value("live", format!("{series}: {label}").into());
    }
}
