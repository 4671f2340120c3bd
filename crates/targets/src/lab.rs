//! Jobs in the lab's machine: the near side sends them, the far side runs them, as any other machine would.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use iostack_lab::devices::{Device, Store};
use iostack_lab::guest::{self, Message, Ready, Work};
use iostack_lab::host::filesystem::FileSystem;
use iostack_lab::host::folder;
use iostack_lab::host::machine::Accelerator;
use iostack_lab::{Lab, Request};
use iostack_model::{Caveat, Job, OutcomeFile, Progress, TargetKind, TargetName};
use serde::{Deserialize, Serialize};

use super::path::{NO_APPS, NO_STATUS, PathTarget};
use super::simulated::changes;
use super::{AllHeld, Given, Options, Scheme, TargetFlags};
use crate::merging;
use crate::{Ability, Audience, Description, RunClock, Target, Wanted, read_json};

const HEADING: &str = "Devices of the lab (lab:DEVICE)";

/// Schedulers of today's kernels.
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// A boot that goes many legs may take so long.
const LEGS_LIMIT_SECONDS: u64 = 3600;

/// Flags of everything that boots.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct LabFlags {
    /// Kernel: a series of the distribution's packages (6.1, 6.12), or a
    /// folder [6.1].
    #[arg(long, value_name = "KERNEL", help_heading = HEADING)]
    pub kernel: Option<String>,
    /// Folder with the driver's source, of one of the lab's devices or of
    /// any other; a folder as DEVICE (./mydriver) says the same.
    #[arg(long, value_name = "FOLDER", help_heading = HEADING)]
    pub source: Option<std::path::PathBuf>,
    /// The disk, where the driver makes several.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub disk: Option<String>,
    /// File system between: ext2, ext3, ext4, xfs, btrfs or reiserfs.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub file_system: Option<String>,
    /// I/O scheduler: none, mq-deadline, kyber or bfq [none].
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub scheduler: Option<String>,
    /// Leave the processor's mitigations as the kernel chooses [off].
    #[arg(long, help_heading = HEADING)]
    pub mitigations: bool,
    /// Tracepoint to enable, such as `block:block_rq_issue`; may be
    /// repeated.
    #[arg(long, value_name = "GROUP:NAME", help_heading = HEADING)]
    pub tracepoint: Vec<String>,
    /// Size of the device in MiB.
    #[arg(long, value_name = "MIB", help_heading = HEADING)]
    pub capacity_mib: Option<u64>,
    /// Seconds without a word after which the machine is given up; not those
    /// in which it waits for a processor [180].
    #[arg(long, value_name = "SECONDS", help_heading = HEADING)]
    pub time_limit: Option<u64>,
}

impl LabFlags {
    /// Its flags, and whether each was given.
    pub(super) fn given(&self) -> Vec<Given> {
        vec![
            ("--kernel", self.kernel.is_some()),
            ("--source", self.source.is_some()),
            ("--disk", self.disk.is_some()),
            ("--file-system", self.file_system.is_some()),
            ("--scheduler", self.scheduler.is_some()),
            ("--mitigations", self.mitigations),
            ("--tracepoint", !self.tracepoint.is_empty()),
            ("--capacity-mib", self.capacity_mib.is_some()),
            ("--time-limit", self.time_limit.is_some()),
        ]
    }

    /// The request for this device with these driver options, checked as far as can be without booting.
    pub fn request(&self, device: &str, set: &[String]) -> anyhow::Result<Request> {
        let (device, source) = folder::meant(Scheme::Lab.bare(device), self.source.as_deref())?;
        let known = Device::of(&device, source.as_deref())?;
        if self.capacity_mib.is_some() && known.store == Store::Unknown {
            bail!(
                "{device} alone knows how large its disk is; leave out --capacity-mib (see `modinfo` for --set)"
            );
        }
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
            device,
            options,
            kernel: self.kernel.clone().unwrap_or(default.kernel),
            file_system: self.file_system.clone(),
            scheduler: scheduler.to_owned(),
            source,
            disk: self.disk.clone(),
            mitigations: self.mitigations,
            tracepoints: self.tracepoint.clone(),
            capacity_mib: self.capacity_mib,
            limit: self.time_limit.map_or(default.limit, Duration::from_secs),
            accelerator: default.accelerator,
            processors: default.processors,
        })
    }
}

/// A device of the lab under its real driver.
pub struct LabTarget {
    description: Description,
    request: Request,
}

impl LabTarget {
    /// Checks what can be without booting; `set` are options of the driver.
    pub fn open(device: &str, flags: &LabFlags, set: &[String]) -> anyhow::Result<LabTarget> {
        let request = flags.request(device, set)?;
        let name = Some(TargetName { kind: TargetKind::Lab, path: request.device.clone().into() });
        // Whose clock it is shows when it boots, and is said by a doubt of each outcome.
        let description = Description {
            name,
            clock: RunClock::Wall,
            repeats: false,
            cannot: vec![NO_APPS, NO_TRACES, NO_STATUS],
        };
        Ok(LabTarget { description, request })
    }
}

/// The guest has no file but its own.
const NO_TRACES: (Ability, &str) =
    (Ability::Traces, "is not replayed in the lab; replay it on a path or on a simulated device");

impl Target for LabTarget {
    type Error = anyhow::Error;

    fn describe(&self) -> &Description {
        &self.description
    }

    fn run(&self, jobs: &[Job], wanted: Wanted, audience: &dyn Audience) -> anyhow::Result<OutcomeFile> {
        self.description.refuse(jobs, wanted).map_err(anyhow::Error::msg)?;
        let say = |text: &str| audience.say(text);
        let lab = Lab::open(&say, audience.stop())?;
        let mut request = self.request.clone();
        if lab.has_kvm(&request) {
            request.accelerator = Accelerator::Kvm;
            request.processors = 2;
        }
        let legs = vec![Leg { settings: Vec::new(), jobs: jobs.to_vec() }];
        let mut files = travel(&lab, &request, legs, wanted, audience)?;
        files.pop().context("the guest ended without an outcome")
    }
}

/// What travels to the far side.
#[derive(Serialize, Deserialize)]
struct Order {
    legs: Vec<Leg>,
    wanted: Wanted,
}

/// Jobs, after these settings of the device: path below `/sys/block/DISK`, value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// What is set before, each a name and its value.
    pub settings: Vec<(String, String)>,
    /// What is run then.
    pub jobs: Vec<Job>,
}

/// The near side: goes the legs in one boot, in virtual time. One file of outcomes a leg.
pub fn execute_legs(
    device: &str,
    set: &[String],
    legs: Vec<Leg>,
    audience: &dyn Audience,
) -> anyhow::Result<Vec<OutcomeFile>> {
    let flags = LabFlags { time_limit: Some(LEGS_LIMIT_SECONDS), ..LabFlags::default() };
    let request = flags.request(device, set)?;
    let say = |text: &str| audience.say(text);
    let lab = Lab::open(&say, audience.stop())?;
    let count = legs.len();
    let files = travel(&lab, &request, legs, Wanted::default(), audience)?;
    ensure!(files.len() == count, "the guest went {} legs of {count}", files.len());
    Ok(files)
}

/// Boots, sends the legs, and brings the outcomes back.
fn travel(
    lab: &Lab<'_>,
    request: &Request,
    legs: Vec<Leg>,
    wanted: Wanted,
    audience: &dyn Audience,
) -> anyhow::Result<Vec<OutcomeFile>> {
    let order = serde_json::to_value(Order { legs, wanted })?;
    let mut given = Vec::new();
    let booted = lab.boot(request, Work::Job(order), &mut |message| match message {
        Message::Hello { release } => audience.say(&format!("Linux {release} is up")),
        Message::Value { name, value } if name == "progress" => {
            // A rate of nothing in no time is no number, and no line.
            if let Ok(progress) = Progress::deserialize(value) {
                audience.progress(&progress);
            }
        }
        Message::Value { name, value } if name == "outcome" => given.push(value.to_string()),
        _ => {}
    })?;
    let read = |text: &String| read_json(text).context("the guest's outcome cannot be read");
    let mut files: Vec<OutcomeFile> = given.iter().map(read).collect::<Result<_, _>>()?;
    for outcome in files.iter_mut().flat_map(|file| &mut file.outcomes) {
        outcome.target = TargetName { kind: TargetKind::Lab, path: request.device.clone().into() };
        // The lab's clock is its own, and said by its own doubt.
        outcome.caveats.retain(|doubt| !matches!(doubt, Caveat::ClockNotInvariant { .. }));
        outcome.caveats.insert(0, caveat(request, &booted.release));
    }
    for line in &booted.complaints {
        audience.warn(&format!("the guest's kernel complained: {line}"));
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
pub fn run_job(order: &serde_json::Value, ready: &Ready) -> Result<(), String> {
    if merging::is_meant(order) {
        return merging::run(ready);
    }
    let order: Order = read_json(&order.to_string()).map_err(|error| error.to_string())?;
    let name = match &ready.folder {
        Some(folder) => TargetName { kind: TargetKind::Directory, path: folder.clone() },
        None => TargetName { kind: TargetKind::Block, path: ready.path.clone() },
    };
    // All there is in the guest was made for this.
    let flags = TargetFlags::default();
    let options = Options { flags: &flags, destroy_data: true, rules: None, held: AllHeld::default() };
    for Leg { settings, jobs } in order.legs {
        for (path, text) in settings {
            let path = format!("/sys/block/{}/{path}", ready.disk);
            std::fs::write(&path, &text)
                .map_err(|error| format!("cannot write `{text}` to `{path}`: {error}"))?;
        }
        let ran = PathTarget::open(Some(name.clone()), &options).run(&jobs, order.wanted, &Wire);
        let file = ran.map_err(|error| format!("{error:#}"))?;
        value("outcome", serde_json::to_value(&file).map_err(|error| error.to_string())?);
    }
    Ok(())
}

/// Tells the near side how far it is. What else would be worth knowing is of files that go with the guest.
struct Wire;

impl Audience for Wire {
    fn stop(&self) -> &AtomicBool {
        iostack_host::signals::stop_flag()
    }

    fn watches(&self) -> bool {
        true
    }

    fn progress(&self, progress: &Progress) {
        if let Ok(progress) = serde_json::to_value(progress) {
            value("progress", progress);
        }
    }
}

fn value(name: &str, value: serde_json::Value) {
    guest::tell(&Message::Value { name: name.to_owned(), value });
}
