//! A device of the lab as a target: the near side sends jobs, the far side runs them, as any other machine would.

mod flags;
mod place;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, ensure};
use iostack_model::{Caveat, Effort, Job, Nanos, Outcome, OutcomeFile, Progress, TargetKind, TargetName};
use iostack_target::{
    Ability, AnyTarget, Audience, Description, Kind, NO_STATUS, Preparation, RunClock, Session, Target,
    Wanted, Wishes, read_json, unprepared,
};
use serde::{Deserialize, Serialize};

use crate::guest::{self, Message, Ready, Work};
use crate::host::machine::Accelerator;
use crate::outside::{BroughtBy, Outside, Wish, machine_takes};
use crate::{Lab, Request, exec};
pub use flags::{LabFlags, flag};
use place::LabPlace;

/// Beginning of the word of a device of the lab.
pub const PREFIX: &str = "lab:";

/// Properties of devices of the lab that studies must know.
pub const OF_THE_LAB: Kind = Kind {
    name: "of the lab",
    has_numbers: false,
    has_options: true,
    switches_schedulers: true,
    is_alone: true,
};

/// The device of a word; `None` where it is no word of the lab's.
pub fn device(word: &str) -> Option<&str> {
    word.strip_prefix(PREFIX)
}

/// Time for the guest's kernel to come to rest. It idles meanwhile, which takes the emulator no time.
const SETTLE: Duration = Duration::from_secs(2);

/// Parameter of the driver of simulated drives that is written to when a measurement begins.
const BEGIN: &str = "/sys/module/sim_disk/parameters/begin";

/// A boot that goes many legs may take so long.
const LEGS_LIMIT_SECONDS: u64 = 3600;

/// A device of the lab under its real driver.
pub struct LabTarget {
    description: Description,
    request: Request,
    /// Flags and their values, as a command has them.
    words: Vec<(&'static str, String)>,
}

impl LabTarget {
    /// Checks what can be without booting; `set` are options of the driver.
    pub fn open(
        device: &str,
        flags: &LabFlags,
        set: &[String],
        brought_by: BroughtBy,
    ) -> anyhow::Result<LabTarget> {
        let request = flags.request(device, set, brought_by)?;
        let name = Some(TargetName { kind: TargetKind::Lab, path: request.device.clone().into() });
        // Otherwise whose clock it is shows when it boots, and is said by a doubt of each outcome.
        let clock = if request.is_simulated() { RunClock::Virtual } else { RunClock::Wall };
        let cannot = vec![NO_TRACES, NO_STATUS];
        let description = Description { name, cannot, ..Description::of_clock(clock) };
        let typed = flags.typed().into_iter().chain([("--set", set.to_vec())]);
        let words = typed.flat_map(|(flag, values)| values.into_iter().map(move |value| (flag, value)));
        Ok(LabTarget { description, request, words: words.collect() })
    }

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
        if !request.is_simulated() && lab.has_kvm(&request) {
            request.accelerator = Accelerator::Kvm;
            request.processors = 2;
        }
        let legs = vec![Leg { settings: Vec::new(), jobs: jobs.to_vec() }];
        let (mut files, drive) = travel(&lab, &request, LegsOrder { legs, wanted }, audience)?;
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
        if self.request.file_system.is_some() || place::takes_host_time(&self.request)? {
            return Ok(unprepared(self, jobs));
        }
        let wishes = Wishes { effort: Effort::Default, size: None };
        Ok(Box::new(place::Turns { place: self.place(&wishes, audience)?, job: job.clone() }))
    }

    fn occupy<'a>(
        &'a self,
        wishes: &Wishes,
        audience: &dyn Audience,
    ) -> anyhow::Result<Box<dyn Session + 'a>> {
        Ok(Box::new(self.place(wishes, audience)?))
    }
}

/// Order that travels to the far side.
#[derive(Serialize, Deserialize)]
struct LegsOrder {
    legs: Vec<Leg>,
    wanted: Wanted,
}

/// Jobs, after these settings of the device: path below `/sys/block/DISK`, value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// Settings to make first, each a path and its value.
    pub settings: Vec<(String, String)>,
    /// Jobs to run then.
    pub jobs: Vec<Job>,
}

/// The near side: goes the legs in one boot, in virtual time. One file of outcomes a leg.
pub fn execute_legs(
    device: &str,
    flags: &LabFlags,
    set: &[String],
    legs: Vec<Leg>,
    brought_by: BroughtBy,
    audience: &dyn Audience,
) -> anyhow::Result<Vec<OutcomeFile>> {
    let flags = LabFlags { time_limit: Some(LEGS_LIMIT_SECONDS), ..flags.clone() };
    let request = flags.request(device, set, brought_by)?;
    let say = |text: &str| audience.say(text);
    let lab = Lab::open(&say, audience.stop())?;
    let count = legs.len();
    let order = LegsOrder { legs, wanted: Wanted::default() };
    let (files, drive) = travel(&lab, &request, order, audience)?;
    drive.map_or(Ok(()), Outside::end)?;
    ensure!(files.len() == count, "the guest went {} legs of {count}", files.len());
    Ok(files)
}

/// Outcomes of the legs, and the simulated drive that they went to.
type Travelled = (Vec<OutcomeFile>, Option<Box<dyn Outside>>);

/// Boots, sends the legs, and brings the outcomes back, and the simulated drives.
fn travel(
    lab: &Lab<'_>,
    request: &Request,
    order: LegsOrder,
    audience: &dyn Audience,
) -> anyhow::Result<Travelled> {
    let seed = order.legs.iter().flat_map(|leg| &leg.jobs).next().map_or(1, |job| job.seed);
    let mut drive = request.bring(Wish { seed, ..Wish::default() })?;
    let order = serde_json::to_value(order)?;
    let mut given = Vec::new();
    let drives = machine_takes(drive.as_mut());
    let gone = lab.boot(request, Work::Job(order), drives, &mut |message| match message {
        Message::Hello(release) => audience.say(&format!("Linux {release} is up")),
        Message::Value { name, value } if name == "progress" => {
            // A rate of nothing in no time is no number, and no line.
            if let Ok(progress) = Progress::deserialize(value) {
                audience.progress(&progress);
            }
        }
        Message::Value { name, value } if name == "outcome" => given.push(value.to_string()),
        _ => {}
    });
    if let Some(why) = drive.as_ref().and_then(|drive| drive.full()) {
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
    Ok((files, drive))
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

/// Caveat that figures are of the lab, and of which clock.
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

/// The far side: runs the order on the guest's device, a target that `open` gives by its name.
pub fn run_job(
    order: &serde_json::Value,
    ready: &Ready,
    open: &dyn Fn(TargetName) -> AnyTarget,
) -> Result<(), String> {
    if exec::is_meant(order) {
        return exec::run(order, ready);
    }
    let target = open(match &ready.folder {
        Some(folder) => TargetName { kind: TargetKind::Directory, path: folder.clone() },
        None => TargetName { kind: TargetKind::Block, path: ready.path.clone() },
    });
    if place::is_meant(order) {
        return place::run(order, &*target);
    }
    let order: LegsOrder = read_json(&order.to_string()).map_err(|error| error.to_string())?;
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

/// Waits until what came before is over, such as the file system's making and what a kernel still does after its boot.
pub(crate) fn settle() -> Result<(), String> {
    if !Path::new(BEGIN).exists() {
        return Ok(());
    }
    std::thread::sleep(SETTLE);
    std::fs::write(BEGIN, "1").map_err(|error| format!("cannot write to `{BEGIN}`: {error}"))
}

/// Name of the value that says what is done at present.
const LIVE: &str = "live";

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

    fn point(&self, series: &str, label: &str, _: Nanos, _: Nanos) {
        value(LIVE, format!("{series}: {label}").into());
    }
}

/// Tells the near side a value.
pub fn value(name: &str, value: serde_json::Value) {
    guest::tell(&Message::Value { name: name.to_owned(), value });
}
