//! Jobs in the lab's machine: the near side sends them, the far side runs them, as any other machine would.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::{Args, FromArgMatches};
use iostack_lab::devices::{Device, SIMULATED, Store};
use iostack_lab::guest::{self, Message, Ready, Work};
use iostack_lab::host::filesystem::FileSystem;
use iostack_lab::host::folder;
use iostack_lab::host::machine::Accelerator;
use iostack_lab::{CHUNK_KIB, Lab, MEMORY_LEAST_MIB, Raid, Request, SCHEDULERS, SYSFS};
use iostack_model::{Caveat, Effort, Job, Outcome, OutcomeFile, Progress, TargetKind, TargetName};
use iostack_serve::layers;
use serde::{Deserialize, Serialize};

use super::path::{NO_APPS, NO_STATUS, PathTarget};
use super::simulated::{EXAMPLE, changes};
use super::{AllHeld, Given, Options, Scheme, TargetFlags};
use crate::lab_place::{self, LabPlace};
use crate::outside::{self, Outside};
use crate::read_json;
use crate::{exec, merging};
use iostack_target::{
    Ability, Audience, Description, Preparation, RunClock, Session, Target, Wanted, Wishes, unprepared,
};

const HEADING: &str = "Devices of the lab (lab:DEVICE)";

/// How fast the processor before a simulated drive is taken to be: one of 2008 that runs the kernel, when the drives of the
/// documents were sold (2.5 GHz, an instruction a clock).
const SIMULATED_GHZ: f64 = 2.5;

/// More, no test has tried.
const MEMORY_MOST_MIB: u64 = 64 << 10;

/// What the guest's kernel is given to come to rest. It idles meanwhile, which takes the emulator no time.
const SETTLE: Duration = Duration::from_secs(2);

/// Of the driver of simulated drives: written to when a measurement begins.
const BEGIN: &str = "/sys/module/sim_disk/parameters/begin";

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
    /// How fast the emulated processor is taken to be: instructions a
    /// nanosecond, before a simulated drive [2.5].
    #[arg(long, value_name = "NUMBER", help_heading = HEADING)]
    pub ghz: Option<f64>,
    /// Memory of the machine in MiB, page cache and all [512].
    #[arg(long, value_name = "MIB", help_heading = HEADING)]
    pub memory_mib: Option<u64>,
    /// One disk of several simulated drives (sim:x25e,x25e), by the kernel's
    /// md: 0, 1, 5, 6 or 10.
    #[arg(long, value_name = "LEVEL", help_heading = HEADING)]
    pub raid: Option<u32>,
    /// KiB of a chunk of the RAID [512].
    #[arg(long, value_name = "KIB", requires = "raid", help_heading = HEADING)]
    pub chunk_kib: Option<u32>,
    /// What lies over each simulated drive, such as "delay(80us)"; see
    /// `iostack serve --help`. May be repeated, from the program down.
    #[arg(long, value_name = "LAYER", help_heading = HEADING)]
    pub layer: Vec<String>,
    /// Module of the kernel to load beside what the device needs, such as
    /// `dm_mod`; may be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = HEADING)]
    pub module: Vec<String>,
    /// Commands that each simulated drive takes at once, 1 to 1024 [256].
    #[arg(long, value_name = "COUNT", help_heading = HEADING, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub drive_depth: Option<u32>,
    /// Seconds without a word after which the machine is given up; not those
    /// in which it waits for a processor [180].
    #[arg(long, value_name = "SECONDS", help_heading = HEADING)]
    pub time_limit: Option<u64>,
}

/// The flag of the lab that a key of an experiment means: `lab.file_system`.
pub fn flag(key: &str) -> Option<String> {
    key.strip_prefix("lab.").map(|name| format!("--{}", name.replace('_', "-")))
}

impl LabFlags {
    /// From keys of an experiment, `lab.file_system`, and their values.
    pub fn of(pairs: &[(String, String)]) -> anyhow::Result<LabFlags> {
        let words = pairs.iter().filter_map(|(key, value)| Some([flag(key)?, value.clone()])).flatten();
        let command = LabFlags::augment_args(clap::Command::new("lab").no_binary_name(true));
        Ok(LabFlags::from_arg_matches(&command.try_get_matches_from(words)?)?)
    }

    /// Its flags, and whether each was given.
    pub(super) fn given(&self) -> Vec<Given> {
        self.typed().into_iter().map(|(flag, values)| (flag, !values.is_empty())).collect()
    }

    /// Its flags, each with its values; one that takes none has an empty one where it was given.
    fn typed(&self) -> Vec<(&'static str, Vec<String>)> {
        fn one<T: ToString>(value: Option<&T>) -> Vec<String> {
            value.map(T::to_string).into_iter().collect()
        }
        let source = self.source.as_ref().map(|path| path.display().to_string());
        vec![
            ("--kernel", one(self.kernel.as_ref())),
            ("--source", one(source.as_ref())),
            ("--disk", one(self.disk.as_ref())),
            ("--file-system", one(self.file_system.as_ref())),
            ("--scheduler", one(self.scheduler.as_ref())),
            ("--mitigations", one(self.mitigations.then(String::new).as_ref())),
            ("--tracepoint", self.tracepoint.clone()),
            ("--capacity-mib", one(self.capacity_mib.as_ref())),
            ("--ghz", one(self.ghz.as_ref())),
            ("--memory-mib", one(self.memory_mib.as_ref())),
            ("--raid", one(self.raid.as_ref())),
            ("--chunk-kib", one(self.chunk_kib.as_ref())),
            ("--layer", self.layer.clone()),
            ("--module", self.module.clone()),
            ("--drive-depth", one(self.drive_depth.as_ref())),
            ("--time-limit", one(self.time_limit.as_ref())),
        ]
    }

    /// The request for this device with these driver options, checked as far as can be without booting.
    pub fn request(&self, device: &str, set: &[String]) -> anyhow::Result<Request> {
        let (device, source) = folder::meant(Scheme::Lab.bare(device), self.source.as_deref())?;
        let known = Device::of(&device, source.as_deref())?;
        let simulated = device.starts_with(SIMULATED);
        self.check(&device, known, simulated)?;
        let example = if simulated { EXAMPLE } else { "copy=0" };
        // What is no file of the disk's is the drive's.
        let of_drive = |(name, _): &(String, String)| simulated && !name.starts_with(SYSFS);
        let (drive, mut options): (Vec<_>, Vec<_>) = changes(set, example)?.into_iter().partition(of_drive);
        options.sort();
        let default = Request::default();
        let raid = self.raid(simulated, &device)?;
        Ok(Request {
            raid,
            layers: self.layer.clone(),
            modules: self.module.clone(),
            drive_depth: self.drive_depth,
            device,
            options,
            drive,
            kernel: self.kernel.clone().unwrap_or_else(|| default.kernel.clone()),
            file_system: self.file_system.clone(),
            scheduler: self.scheduler_name().to_owned(),
            source,
            disk: self.disk.clone(),
            mitigations: self.mitigations,
            tracepoints: self.tracepoint.clone(),
            capacity_mib: self.capacity_mib,
            limit: self.time_limit.map_or(default.limit, Duration::from_secs),
            khz: self.khz(simulated)?,
            memory_mib: self.memory_mib,
            ..default
        })
    }
}

impl LabFlags {
    fn scheduler_name(&self) -> &str {
        self.scheduler.as_deref().unwrap_or("none")
    }

    /// Refuses what this device cannot have.
    fn check(&self, device: &str, known: &Device, simulated: bool) -> anyhow::Result<()> {
        if self.capacity_mib.is_some() && known.store == Store::Unknown {
            bail!(
                "{device} alone knows how large its disk is; leave out --capacity-mib (see `modinfo` for --set)"
            );
        }
        if let Some(name) = &self.file_system {
            FileSystem::named(name)?;
        }
        let scheduler = self.scheduler_name();
        if !SCHEDULERS.contains(&scheduler) {
            bail!("`{scheduler}` is no scheduler; choose from {}", SCHEDULERS.join(", "));
        }
        if scheduler != "none" && !known.queue {
            bail!("{device} has no request queue, and so no scheduler; leave out --scheduler");
        }
        if let Some(name) = self.tracepoint.iter().find(|name| name.split(':').count() != 2) {
            bail!("`{name}` is no tracepoint; write it like block:block_rq_issue");
        }
        if simulated && self.capacity_mib.is_some() {
            bail!("a simulated drive has its own capacity; leave out --capacity-mib");
        }
        if let Some(asked) =
            self.memory_mib.filter(|asked| !(MEMORY_LEAST_MIB..=MEMORY_MOST_MIB).contains(asked))
        {
            bail!(
                "a machine with {asked} MiB of memory does not boot; give --memory-mib {MEMORY_LEAST_MIB} to \
                 {MEMORY_MOST_MIB}"
            );
        }
        layers::check(&self.layer).map_err(anyhow::Error::msg)?;
        for (flag, is_given) in
            [("--layer", !self.layer.is_empty()), ("--drive-depth", self.drive_depth.is_some())]
        {
            ensure!(
                simulated || !is_given,
                "`{flag}` is for simulated drives; leave it out, or name one: --on sim:x25e"
            );
        }
        Ok(())
    }

    fn raid(&self, simulated: bool, device: &str) -> anyhow::Result<Option<Raid>> {
        let Some(level) = self.raid else { return Ok(None) };
        ensure!(simulated, "`--raid` is of simulated drives; name them with commas: --on sim:x25e,x25e");
        let chunk_kib = self.chunk_kib.unwrap_or(CHUNK_KIB);
        Ok(Some(Raid::of(level, chunk_kib, outside::count(device))?))
    }

    fn khz(&self, simulated: bool) -> anyhow::Result<Option<u32>> {
        ensure!(
            simulated || self.ghz.is_none(),
            "`--ghz` is for simulated drives, whose clock it goes by; elsewhere an instruction is a nanosecond"
        );
        let ghz = self.ghz.or(simulated.then_some(SIMULATED_GHZ));
        // Beyond it the kernel's own timers and calibrations are too coarse.
        ensure!(
            ghz.is_none_or(|ghz| (0.1..=64.0).contains(&ghz)),
            "`--ghz {}` is no speed of a processor; give 0.1 to 64",
            ghz.unwrap_or_default()
        );
        Ok(ghz.map(|ghz| (ghz * 1e6).round() as u32))
    }
}

/// A device of the lab under its real driver.
pub struct LabTarget {
    description: Description,
    request: Request,
    /// Flags and their values, as a command has them.
    words: Vec<(&'static str, String)>,
}

impl LabTarget {
    /// Checks what can be without booting; `set` are options of the driver.
    pub fn open(device: &str, flags: &LabFlags, set: &[String]) -> anyhow::Result<LabTarget> {
        let request = flags.request(device, set)?;
        let name = Some(TargetName { kind: TargetKind::Lab, path: request.device.clone().into() });
        // Otherwise whose clock it is shows when it boots, and is said by a doubt of each outcome.
        let repeats = outside::is_meant(&request);
        let description = Description {
            name,
            clock: if repeats { RunClock::Virtual } else { RunClock::Wall },
            repeats,
            cannot: vec![NO_APPS, NO_TRACES, NO_STATUS],
        };
        outside::sheets(&request)?;
        let typed = flags.typed().into_iter().chain([("--set", set.to_vec())]);
        let words = typed.flat_map(|(flag, values)| values.into_iter().map(move |value| (flag, value)));
        Ok(LabTarget { description, request, words: words.collect() })
    }
}

impl LabTarget {
    fn place(&self, wishes: &Wishes, audience: &dyn Audience) -> anyhow::Result<LabPlace> {
        let name = self.description.name.as_ref().context("a device of the lab has a name")?;
        LabPlace::new(name, &self.request, &self.words, wishes, audience)
    }
}

/// The guest has no file but its own.
const NO_TRACES: (Ability, &str) =
    (Ability::Traces, "is not replayed in the lab; replay it on a path or on a simulated device");

impl Target for LabTarget {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn run(&self, jobs: &[Job], wanted: Wanted, audience: &dyn Audience) -> anyhow::Result<OutcomeFile> {
        self.description.refuse(jobs, wanted)?;
        let say = |text: &str| audience.say(text);
        let lab = Lab::open(&say, audience.stop())?;
        let mut request = self.request.clone();
        if !outside::is_meant(&request) && lab.has_kvm(&request) {
            request.accelerator = Accelerator::Kvm;
            request.processors = 2;
        }
        let seed = jobs.first().map_or(1, |job| job.seed);
        let mut drive = Outside::of(&request, seed, false)?;
        let legs = vec![Leg { settings: Vec::new(), jobs: jobs.to_vec() }];
        let order = serde_json::to_value(Order { legs, wanted })?;
        let mut files = travel(&lab, &request, order, drive.as_mut(), audience)?;
        let mut file = files.pop().context("the guest ended without an outcome")?;
        if let Some(drive) = drive {
            for outcome in &mut file.outcomes {
                outcome.inside = drive.inside(outcome);
                if let Some(inside) = &mut outcome.inside {
                    inside.changed.extend(request.between());
                }
            }
            drive.end()?;
        }
        Ok(file)
    }

    /// One job on a bare device needs one boot for all its runs.
    fn prepare<'a>(&'a self, jobs: &[Job], audience: &dyn Audience) -> Preparation<'a> {
        let [job] = jobs else { return Ok(unprepared(self, jobs)) };
        self.description.refuse(jobs, Wanted::default())?;
        if self.request.file_system.is_some() || lab_place::takes_host_time(&self.request)? {
            return Ok(unprepared(self, jobs));
        }
        let wishes = Wishes { effort: Effort::Default, size: None };
        Ok(Box::new(lab_place::Turns { place: self.place(&wishes, audience)?, job: job.clone() }))
    }

    fn occupy<'a>(
        &'a self,
        wishes: &Wishes,
        audience: &dyn Audience,
    ) -> anyhow::Result<Box<dyn Session + 'a>> {
        Ok(Box::new(self.place(wishes, audience)?))
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
    flags: &LabFlags,
    set: &[String],
    legs: Vec<Leg>,
    audience: &dyn Audience,
) -> anyhow::Result<Vec<OutcomeFile>> {
    let flags = LabFlags { time_limit: Some(LEGS_LIMIT_SECONDS), ..flags.clone() };
    let request = flags.request(device, set)?;
    let seed = legs.iter().flat_map(|leg| &leg.jobs).next().map_or(1, |job| job.seed);
    let mut drive = Outside::of(&request, seed, false)?;
    let say = |text: &str| audience.say(text);
    let lab = Lab::open(&say, audience.stop())?;
    let count = legs.len();
    let order = serde_json::to_value(Order { legs, wanted: Wanted::default() })?;
    let files = travel(&lab, &request, order, drive.as_mut(), audience)?;
    drive.map_or(Ok(()), Outside::end)?;
    ensure!(files.len() == count, "the guest went {} legs of {count}", files.len());
    Ok(files)
}

/// Boots, sends the legs, and brings the outcomes back.
fn travel(
    lab: &Lab<'_>,
    request: &Request,
    order: serde_json::Value,
    mut drive: Option<&mut Outside>,
    audience: &dyn Audience,
) -> anyhow::Result<Vec<OutcomeFile>> {
    let mut given = Vec::new();
    let drives = outside::drives(drive.as_deref_mut());
    let gone = lab.boot_with(request, Work::Job(order), drives, &mut |message| match message {
        Message::Hello { release } => audience.say(&format!("Linux {release} is up")),
        Message::Value { name, value } if name == "progress" => {
            // A rate of nothing in no time is no number, and no line.
            if let Ok(progress) = Progress::deserialize(value) {
                audience.progress(&progress);
            }
        }
        Message::Value { name, value } if name == "outcome" => given.push(value.to_string()),
        _ => {}
    });
    if let Some(why) = drive.and_then(|drive| drive.full()) {
        audience.warn(why);
    }
    let booted = gone?;
    let read = |text: &String| read_json(text).context("the guest's outcome cannot be read");
    let mut files: Vec<OutcomeFile> = given.iter().map(read).collect::<Result<_, _>>()?;
    for outcome in files.iter_mut().flat_map(|file| &mut file.outcomes) {
        as_target(outcome, request, &booted.release);
    }
    for line in &booted.complaints {
        audience.warn(&format!("the guest's kernel complained: {line}"));
    }
    Ok(files)
}

/// The guest's outcome as one of this target.
pub(crate) fn as_target(outcome: &mut Outcome, request: &Request, release: &str) {
    outcome.target = TargetName { kind: TargetKind::Lab, path: request.device.clone().into() };
    // The lab's clock is its own, and said by its own doubt; the guest's memory is no cache of a device.
    let of_hardware =
        |doubt: &Caveat| matches!(doubt, Caveat::ClockNotInvariant { .. } | Caveat::SmallRegion { .. });
    outcome.caveats.retain(|doubt| !of_hardware(doubt));
    outcome.caveats.insert(0, caveat(request, release));
}

/// That figures are of the lab, and of which clock.
pub fn caveat(request: &Request, release: &str) -> Caveat {
    let clock = match (request.accelerator, request.khz) {
        (Accelerator::Exact, Some(khz)) => format!(
            "an instruction is {:.3} ns (--ghz {}), and one processor serves all",
            1e6 / f64::from(khz),
            f64::from(khz) / 1e6
        ),
        (Accelerator::Exact, None) => {
            "an instruction is a nanosecond, and one processor serves all".to_owned()
        }
        (Accelerator::Emulated, _) => {
            "emulated processors, slower than real ones by a factor that varies".to_owned()
        }
        (Accelerator::Kvm, _) => "a virtual machine's processors".to_owned(),
    };
    Caveat::Lab { device: request.device.clone(), kernel: release.to_owned(), clock }
}

/// The far side: runs the order on the guest's device.
pub fn run_job(order: &serde_json::Value, ready: &Ready) -> Result<(), String> {
    if merging::is_meant(order) {
        return merging::run(ready);
    }
    if exec::is_meant(order) {
        return exec::run(order, ready);
    }
    let name = match &ready.folder {
        Some(folder) => TargetName { kind: TargetKind::Directory, path: folder.clone() },
        None => TargetName { kind: TargetKind::Block, path: ready.path.clone() },
    };
    // All there is in the guest was made for this.
    let flags = TargetFlags::default();
    let options = Options { flags: &flags, destroy_data: true, rules: None, held: AllHeld::default() };
    let target = PathTarget::open(Some(name), &options);
    if lab_place::is_meant(order) {
        return lab_place::run(order, &target);
    }
    let order: Order = read_json(&order.to_string()).map_err(|error| error.to_string())?;
    for Leg { settings, jobs } in order.legs {
        for (path, text) in settings {
            let path = format!("/sys/block/{}/{path}", ready.disk);
            std::fs::write(&path, &text)
                .map_err(|error| format!("cannot write `{text}` to `{path}`: {error}"))?;
        }
        settle()?;
        let ran = target.run(&jobs, order.wanted, &Wire);
        let file = ran.map_err(|error| format!("{error:#}"))?;
        value("outcome", serde_json::to_value(&file).map_err(|error| error.to_string())?);
    }
    Ok(())
}

/// What came before, such as the file system and what a kernel still does after its boot, is not of what comes now.
pub(crate) fn settle() -> Result<(), String> {
    if !Path::new(BEGIN).exists() {
        return Ok(());
    }
    std::thread::sleep(SETTLE);
    std::fs::write(BEGIN, "1").map_err(|error| format!("cannot write to `{BEGIN}`: {error}"))
}

/// Tells the near side how far it is. What else would be worth knowing is of files that go with the guest.
pub(crate) struct Wire;

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

/// Tells the near side a value.
pub fn value(name: &str, value: serde_json::Value) {
    guest::tell(&Message::Value { name: name.to_owned(), value });
}
