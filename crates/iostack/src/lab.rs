//! Jobs in the lab's machine: the near side sends them, the far side runs them, as any other machine would.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use iostack_lab::devices::Device;
use iostack_lab::guest::{self, Message, Ready, Work};
use iostack_lab::host::filesystem::FileSystem;
use iostack_lab::host::machine::Accelerator;
use iostack_lab::{Lab, Request};
use iostack_model::{Caveat, Job, OutcomeFile, TargetKind, TargetName};
use serde::{Deserialize, Serialize};

use crate::merging;
use crate::simulate::changes;
use crate::talk::Talk;
use crate::trace::Wanted;

const HEADING: &str = "Devices of the lab (lab:DEVICE)";

/// Schedulers of today's kernels.
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// A boot that does many steps may take so long.
const STEPS_LIMIT_SECONDS: u64 = 3600;

/// Flags of everything that boots.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct LabFlags {
    /// Kernel: a series of the distribution's packages (6.1, 6.12), or a
    /// folder [6.1].
    #[arg(long, value_name = "KERNEL", help_heading = HEADING)]
    pub(crate) kernel: Option<String>,
    /// Folder with the driver's source, instead of ours: for `scsi_ram`,
    /// `ata_ram` and `tmerge`.
    #[arg(long, value_name = "FOLDER", help_heading = HEADING)]
    pub(crate) source: Option<std::path::PathBuf>,
    /// File system between: ext2, ext3, ext4, xfs, btrfs or reiserfs.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub(crate) file_system: Option<String>,
    /// I/O scheduler: none, mq-deadline, kyber or bfq [none].
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub(crate) scheduler: Option<String>,
    /// Leave the processor's mitigations as the kernel chooses [off].
    #[arg(long, help_heading = HEADING)]
    pub(crate) mitigations: bool,
    /// Tracepoint to enable, such as `block:block_rq_issue`; may be
    /// repeated.
    #[arg(long, value_name = "GROUP:NAME", help_heading = HEADING)]
    pub(crate) tracepoint: Vec<String>,
    /// Size of the device in MiB.
    #[arg(long, value_name = "MIB", help_heading = HEADING)]
    pub(crate) capacity_mib: Option<u64>,
    /// Seconds without a word after which the machine is given up; not those
    /// in which it waits for a processor [180].
    #[arg(long, value_name = "SECONDS", help_heading = HEADING)]
    pub(crate) time_limit: Option<u64>,
}

impl LabFlags {
    /// Refuses the first flag that was given, since the target is none of the lab's.
    pub(crate) fn refuse_elsewhere(&self) -> anyhow::Result<()> {
        let given = [
            (self.kernel.is_some(), "--kernel"),
            (self.source.is_some(), "--source"),
            (self.file_system.is_some(), "--file-system"),
            (self.scheduler.is_some(), "--scheduler"),
            (self.mitigations, "--mitigations"),
            (!self.tracepoint.is_empty(), "--tracepoint"),
            (self.capacity_mib.is_some(), "--capacity-mib"),
            (self.time_limit.is_some(), "--time-limit"),
        ];
        match given.into_iter().find(|&(given, _)| given) {
            Some((_, flag)) => {
                bail!("`{flag}` is for the lab; add --on lab:DEVICE (`iostack lab list` names them)")
            }
            None => Ok(()),
        }
    }

    /// The request for this device with these driver options, checked as far as can be without booting.
    pub(crate) fn request(&self, device: &str, set: &[String]) -> anyhow::Result<Request> {
        let device = device.strip_prefix("lab:").unwrap_or(device);
        let known = Device::named(device)?;
        if let Some(name) = &self.file_system {
            FileSystem::named(name)?;
        }
        let scheduler = self.scheduler.as_deref().unwrap_or("none");
        if !SCHEDULERS.contains(&scheduler) {
            bail!("`{scheduler}` is no scheduler; choose from {}", SCHEDULERS.join(", "));
        }
        if scheduler != "none" && !known.queue {
            bail!("{device} has no request queue, and so no scheduler; leave out --scheduler");
        }
        if let Some(name) = self.tracepoint.iter().find(|name| name.split(':').count() != 2) {
            bail!("`{name}` is no tracepoint; write it like block:block_rq_issue");
        }
        let mut options = changes(set, "copy=0")?;
        options.sort();
        let default = Request::default();
        Ok(Request {
            device: device.to_owned(),
            options,
            kernel: self.kernel.clone().unwrap_or(default.kernel),
            file_system: self.file_system.clone(),
            scheduler: scheduler.to_owned(),
            source: self.source.clone(),
            mitigations: self.mitigations,
            tracepoints: self.tracepoint.clone(),
            capacity_mib: self.capacity_mib,
            limit: self.time_limit.map_or(default.limit, Duration::from_secs),
            accelerator: default.accelerator,
            processors: default.processors,
        })
    }
}

/// The device's name when `typed` names a target of the lab.
pub(crate) fn device(typed: Option<&str>) -> Option<&str> {
    typed?.strip_prefix("lab:")
}

/// What travels to the far side.
#[derive(Serialize, Deserialize)]
struct Order {
    steps: Vec<Step>,
    stages: bool,
    layers: bool,
    sample_rate: u32,
}

/// Jobs, after these settings of the device: path below `/sys/block/DISK`, value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) jobs: Vec<Job>,
}

/// The near side: runs the jobs on `device`, looked at as `wanted`.
pub(crate) fn execute(
    device: &str,
    jobs: Vec<Job>,
    wanted: Wanted,
    (flags, set): (&LabFlags, &[String]),
    stop: &AtomicBool,
    talk: &Talk,
) -> anyhow::Result<OutcomeFile> {
    let mut request = flags.request(device, set)?;
    let say = |text: &str| talk.say(text);
    let lab = Lab::open(&say, stop)?;
    if lab.has_kvm(&request) {
        request.accelerator = Accelerator::Kvm;
        request.processors = 2;
    }
    let steps = vec![Step { settings: Vec::new(), jobs }];
    let mut files = travel(&lab, &request, steps, wanted, talk)?;
    files.pop().context("the guest ended without an outcome")
}

/// The near side: does the steps in one boot, in virtual time. One file of outcomes a step.
pub(crate) fn execute_steps(
    device: &str,
    set: &[String],
    steps: Vec<Step>,
    stop: &AtomicBool,
    talk: &Talk,
) -> anyhow::Result<Vec<OutcomeFile>> {
    let flags = LabFlags { time_limit: Some(STEPS_LIMIT_SECONDS), ..LabFlags::default() };
    let request = flags.request(device, set)?;
    let say = |text: &str| talk.say(text);
    let lab = Lab::open(&say, stop)?;
    let count = steps.len();
    let files = travel(&lab, &request, steps, Wanted::default(), talk)?;
    ensure!(files.len() == count, "the guest did {} steps of {count}", files.len());
    Ok(files)
}

/// Boots, sends the steps, and brings the outcomes back.
fn travel(
    lab: &Lab<'_>,
    request: &Request,
    steps: Vec<Step>,
    wanted: Wanted,
    talk: &Talk,
) -> anyhow::Result<Vec<OutcomeFile>> {
    let Wanted { stages, layers, sample_rate, .. } = wanted;
    let order = serde_json::to_value(Order { steps, stages, layers, sample_rate })?;
    let mut given = Vec::new();
    let booted = lab.boot(request, Work::Job(order), &mut |message| match message {
        Message::Hello { release } => talk.say(&format!("Linux {release} is up")),
        Message::Value { name, value } if name == "live" => talk.live(value.as_str().unwrap_or_default()),
        Message::Value { name, value } if name == "outcome" => given.push(value.clone()),
        _ => {}
    })?;
    talk.clear();
    let read = |value| serde_json::from_value(value).context("the guest's outcome cannot be read");
    let mut files: Vec<OutcomeFile> = given.into_iter().map(read).collect::<Result<_, _>>()?;
    for outcome in files.iter_mut().flat_map(|file| &mut file.outcomes) {
        outcome.target = TargetName { kind: TargetKind::Lab, path: request.device.clone().into() };
        // The lab's clock is its own, and said by its own doubt.
        outcome.caveats.retain(|doubt| !matches!(doubt, Caveat::ClockNotInvariant { .. }));
        outcome.caveats.insert(0, caveat(request, &booted.release));
    }
    for line in &booted.complaints {
        talk.warn(&format!("the guest's kernel complained: {line}"));
    }
    Ok(files)
}

fn caveat(request: &Request, release: &str) -> Caveat {
    let clock = match request.accelerator {
        Accelerator::Exact => "an instruction is a nanosecond, and one processor serves all",
        Accelerator::Emulated => "emulated processors, slower than real ones by a factor that varies",
        Accelerator::Kvm => "a virtual machine's processors",
    };
    Caveat::Lab { device: request.device.clone(), kernel: release.to_owned(), clock: clock.to_owned() }
}

/// The far side: runs the order on the guest's device.
pub(crate) fn run_job(order: &serde_json::Value, ready: &Ready) -> Result<(), String> {
    if merging::is_meant(order) {
        return merging::run(ready);
    }
    let order: Order = serde_json::from_value(order.clone()).map_err(|error| error.to_string())?;
    let target = match &ready.folder {
        Some(folder) => TargetName { kind: TargetKind::Directory, path: folder.clone() },
        None => TargetName { kind: TargetKind::Block, path: ready.path.clone() },
    };
    let wanted = Wanted {
        stages: order.stages,
        layers: order.layers,
        sample_rate: order.sample_rate,
        ..Wanted::default()
    };
    let live = |text: &str| value("live", text.into());
    for Step { settings, jobs } in order.steps {
        for (path, text) in settings {
            let path = format!("/sys/block/{}/{path}", ready.disk);
            std::fs::write(&path, &text)
                .map_err(|error| format!("cannot write `{text}` to `{path}`: {error}"))?;
        }
        let ran = crate::cmd::run::run_jobs(jobs, Some(&target), true, wanted, Some(&live), &live);
        let file = ran.map_err(|error| format!("{error:#}"))?;
        value("outcome", serde_json::to_value(&file).map_err(|error| error.to_string())?);
    }
    Ok(())
}

fn value(name: &str, value: serde_json::Value) {
    guest::tell(&Message::Value { name: name.to_owned(), value });
}
