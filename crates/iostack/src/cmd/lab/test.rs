//! `iostack lab test DEVICE`: does the driver keep what it is given, also when things go wrong?

use anyhow::{bail, ensure};
use clap::ValueEnum;
use iostack_lab::devices::{Device, Store};
use iostack_lab::guest::{Findings, Message, Trial, TrialKind, Work};
use iostack_lab::host::machine::Accelerator;
use iostack_lab::outside;
use iostack_lab::targets::LabFlags;
use iostack_lab::{Lab, Request};
use iostack_model::Bytes;
use iostack_model::answers::labelled_each;
use iostack_serve::lab::BROUGHT;
use iostack_target::Audience as _;
use schemars::JsonSchema;
use serde::Serialize;

use super::merging;
use crate::exit::Ended;
use crate::talk::{self, Talk, paragraph};
use crate::written;

/// Arguments of `iostack lab test`.
#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// The device (`iostack lab list`), or the folder of a driver.
    device: String,
    /// What to try; may be repeated [all that the device can].
    #[arg(long, value_name = "TRIAL")]
    trial: Vec<TrialName>,
    /// Bytes of random I/O in each trial; faults get a sixteenth of it, since
    /// each of them costs seconds.
    #[arg(long, value_name = "SIZE", default_value = "64m")]
    bytes: Bytes,
    /// How often reload unloads and loads the driver.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    cycles: u32,
    /// Threads that do I/O at the same time.
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    threads: u32,
    /// The guest's processors.
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    processors: u32,
    /// Makes the same requests again.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Option of the device's driver, such as copy=0; may be
    /// repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Emulate the processors, also where this machine could run the guest.
    #[arg(long)]
    emulate: bool,
    /// Every finding, as JSON.
    #[arg(long)]
    json: bool,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    lab: LabFlags,
}

#[derive(Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TrialName {
    /// Random mixed I/O, every sector checked.
    Integrity,
    /// Unload and load the driver again and again.
    Reload,
    /// A range of bad sectors.
    Refusals,
    /// Commands that time out, and lost completions.
    Faults,
    /// Random mixed I/O while the I/O subsystems of tmerge take turns.
    Subsystems,
    /// Groups of the merge library, one command each; callers alone and
    /// together under hybrid temporal merge. A boot of its own.
    Merging,
}

impl TrialName {
    const ALL: [TrialName; 6] = [
        TrialName::Integrity,
        TrialName::Subsystems,
        TrialName::Reload,
        TrialName::Refusals,
        TrialName::Faults,
        TrialName::Merging,
    ];

    /// `None` for what is no trial of any disk.
    fn kind(self) -> Option<TrialKind> {
        match self {
            TrialName::Integrity => Some(TrialKind::Integrity),
            TrialName::Reload => Some(TrialKind::Reload),
            TrialName::Refusals => Some(TrialKind::Refusals),
            TrialName::Faults => Some(TrialKind::Faults),
            TrialName::Subsystems => Some(TrialKind::Subsystems),
            TrialName::Merging => None,
        }
    }

    fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Reason that the device has no such trial.
    fn refused_by(self, device: &Device, name: &str) -> Option<String> {
        match self {
            _ if device.store == Store::Nowhere => {
                Some(format!("{name} forgets what is written, so that there is nothing to check; use brd"))
            }
            TrialName::Refusals if !device.own || device.store == Store::Outside => {
                Some(format!("{name} injects no medium errors; scsi_ram, ata_ram and tmerge do"))
            }
            TrialName::Subsystems | TrialName::Merging if name != "tmerge" => {
                Some(format!("{name} has no subsystems and no command for several requests; tmerge has"))
            }
            TrialName::Faults if !matches!(name, "scsi_ram" | "ata_ram") => {
                Some(format!("{name} loses no commands; scsi_ram and ata_ram do"))
            }
            _ => None,
        }
    }
}

/// A trial and its findings.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Tried {
    device: String,
    kernel: String,
    processors: u32,
    seed: u64,
    trial: TrialName,
    clean: bool,
    findings: Findings,
}

iostack_model::kinds! {
    Tried: "lab test", unlabelled;
}

/// Boots once and does the trials one after the other. Exit 1 when something is wrong.
pub(crate) fn run(args: &TestArgs) -> anyhow::Result<Ended> {
    let mut request = args.lab.request(&args.device, &args.set, BROUGHT)?;
    ensure!(
        request.raid.is_none() && request.drives() == 1,
        "`lab test` tries one disk and its driver; name one drive, and leave out --raid"
    );
    request.accelerator = Accelerator::Emulated;
    request.processors = args.processors;
    let device = Device::with_source(&request.device, request.source.as_deref())?;
    let names = names(args, device, &request.device)?;
    let talk = Talk::new(args.quiet);
    let say = |text: &str| talk.say(text);
    let lab = Lab::open(&say, iostack_host::signals::stop_flag())?;
    if request.is_simulated() {
        (request.accelerator, request.processors) = (Accelerator::Exact, 1);
    } else if !args.emulate && lab.has_kvm(&request) {
        request.accelerator = Accelerator::Kvm;
    }
    let trials: Vec<Trial> =
        names.iter().filter_map(|name| trial(args, *name, device, &request.device)).collect();
    let mut given = Vec::new();
    let mut release = String::new();
    if !trials.is_empty() {
        (release, given) = boot(&lab, &request, Work::Trial(trials), &talk)?;
    }
    if names.contains(&TrialName::Merging) {
        // What it counts must not depend on who is quicker: virtual time.
        let exact = Request { accelerator: Accelerator::Exact, processors: 1, ..request.clone() };
        let (of, found) = boot(&lab, &exact, Work::Job(merging::order()), &talk)?;
        release = of;
        given.extend(found);
    }
    ensure!(given.len() == names.len(), "the guest did {} trials of {}", given.len(), names.len());
    let tried: Vec<Tried> = names
        .into_iter()
        .zip(given)
        .map(|(trial, findings): (TrialName, Findings)| Tried {
            device: request.device.clone(),
            kernel: release.clone(),
            processors: if trial == TrialName::Merging { 1 } else { request.processors },
            seed: args.seed,
            trial,
            clean: findings.is_clean(),
            findings,
        })
        .collect();
    write(args, &request, &tried)?;
    let mut left = tried.iter().filter(|one| one.findings.not_tried.is_none()).peekable();
    if left.peek().is_none() {
        bail!("nothing could be tried on {}", request.device);
    }
    Ok(if left.all(|one| one.clean) { Ended::Done } else { Ended::FoundProblem })
}

/// One boot: the kernel's release, and what was found.
fn boot(
    lab: &Lab<'_>,
    request: &Request,
    work: Work,
    talk: &Talk,
) -> anyhow::Result<(String, Vec<Findings>)> {
    let mut given: Vec<Findings> = Vec::new();
    let mut unread = None;
    let booted = outside::boot(lab, request, work, &mut |message| match message {
        Message::Hello(release) => talk.say(&format!("Linux {release} is up")),
        Message::Step(text) => talk.live(text),
        Message::Value { name, value } if name == "findings" => match serde_json::from_value(value.clone()) {
            Ok(findings) => given.push(findings),
            Err(error) => unread = Some(error),
        },
        _ => {}
    })?;
    talk.clear();
    match unread {
        Some(error) => bail!("the guest's findings cannot be read: {error}"),
        None => Ok((booted.release, given)),
    }
}

/// Trials to make; the one with a boot of its own comes last.
fn names(args: &TestArgs, device: &Device, called: &str) -> anyhow::Result<Vec<TrialName>> {
    ensure!((1..=64).contains(&args.threads), "`--threads {}` cannot be had; choose 1 to 64", args.threads);
    ensure!((1..=64).contains(&args.processors), "`--processors {}`: choose 1 to 64", args.processors);
    ensure!(args.cycles > 0, "`--cycles 0` tries nothing; choose 1 or more");
    ensure!(args.bytes.0 >= 1 << 20, "`--bytes {}` is little; choose 1m or more", args.bytes);
    if args.lab.file_system.is_some() {
        bail!("lab test writes to the device itself; leave out --file-system");
    }
    let asked = if args.trial.is_empty() { &TrialName::ALL[..] } else { &args.trial };
    let refused = asked.iter().find_map(|name| name.refused_by(device, called));
    let mut possible: Vec<_> =
        asked.iter().copied().filter(|name| name.refused_by(device, called).is_none()).collect();
    possible.sort_by_key(|name| *name == TrialName::Merging);
    match refused {
        Some(why) if !args.trial.is_empty() || possible.is_empty() => bail!("{why}"),
        _ => Ok(possible),
    }
}

fn trial(args: &TestArgs, name: TrialName, device: &Device, called: &str) -> Option<Trial> {
    Some(Trial {
        kind: name.kind()?,
        bytes: if name == TrialName::Faults { args.bytes.0 / 16 } else { args.bytes.0 },
        cycles: args.cycles,
        threads: args.threads,
        seed: args.seed,
        module: device.module(called),
        // The kernel lets a driver choose; those of the lab all zero.
        discards_to_zero: device.store != Store::Unknown,
    })
}

fn write(args: &TestArgs, request: &Request, tried: &[Tried]) -> anyhow::Result<()> {
    if args.json {
        talk::data(&written::json(&labelled_each(tried))?);
        return Ok(());
    }
    let how = if request.accelerator == Accelerator::Kvm { "" } else { "emulated " };
    let release = tried.first().map_or("", |one| &one.kernel);
    let mut out = paragraph(
        &format!("{} ", request.device),
        &format!("on Linux {release}, {} {how}processors, seed {}", request.processors, args.seed),
        0,
    );
    for one in tried {
        let verdict = match (&one.findings.not_tried, one.clean) {
            (Some(_), _) => "-    ",
            (None, true) => "ok   ",
            (None, false) => "WRONG",
        };
        let first = format!("{verdict} {:<11}", one.trial.word());
        out += &paragraph(&first, &summary(one), 17);
        for text in &one.findings.wrong {
            out += &paragraph("        wrong: ", text, 10);
        }
        for text in &one.findings.complaints {
            out += &paragraph("        the kernel's log: ", text, 10);
        }
    }
    let mut typed = vec![args.device.clone()];
    typed.extend(args.lab.source.iter().map(|folder| format!("--source {}", folder.display())));
    typed.extend(args.lab.disk.iter().map(|name| format!("--disk {name}")));
    let typed = typed.join(" ");
    let next = match tried.iter().find(|one| !one.clean && one.findings.not_tried.is_none()) {
        Some(one) => {
            format!("\nNext: iostack lab test {typed} --trial {} --seed {}\n", one.trial.word(), args.seed)
        }
        None => format!("\nNext: iostack lab cost {typed}\n"),
    };
    out.push_str(&next);
    talk::data(&out);
    Ok(())
}

fn summary(tried: &Tried) -> String {
    let found = &tried.findings;
    if let Some(why) = &found.not_tried {
        return format!("not tried: {why}");
    }
    let moved = format!(
        "{} reads, {} writes, {} discards, {} moved",
        found.reads,
        found.writes,
        found.discards,
        Bytes(found.bytes)
    );
    let own = match tried.trial {
        TrialName::Integrity => String::new(),
        TrialName::Refusals => format!("; {} refused for bad sectors", found.refused),
        TrialName::Faults => format!("; {} ended as errors", found.errors),
        TrialName::Subsystems => format!("; the subsystem changed {} times", found.cycles),
        TrialName::Merging => {
            format!("; {} groups, {} refused for a bad sector", found.cycles, found.refused)
        }
        TrialName::Reload => {
            let left = match found.left_bytes {
                Some(0) => "all memory given back".to_owned(),
                Some(bytes) => format!("{bytes} bytes of memory kept"),
                None => "memory not judged (9 cycles are the least)".to_owned(),
            };
            format!("; loaded {} times, {left}", found.cycles)
        }
    };
    let verdict = match found.wrong_sectors {
        0 if found.writes == 0 => "; no data checked".to_owned(),
        0 => "; every sector right".to_owned(),
        count => format!("; {count} SECTORS WRONG"),
    };
    moved + &own + &verdict
}
