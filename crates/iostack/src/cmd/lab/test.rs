//! `iostack lab test DEVICE`: does the driver keep what it is given, also when things go wrong?
//!
//!   devices x kernels x processors ──► cases (matrix.rs) ──► a boot each ──► findings ──► table, TAP, JUnit (ci.rs)

use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::ValueEnum;
use iostack_host::save::{self, Output};
use iostack_lab::devices::{Device, Store};
use iostack_lab::guest::{Findings, Message, Trial, TrialKind, Work};
use iostack_lab::host::machine::Accelerator;
use iostack_lab::outside;
use iostack_lab::targets::LabFlags;
use iostack_lab::{Lab, Request};
use iostack_model::Bytes;
use iostack_model::answers::labelled_each;
use iostack_target::Audience as _;
use schemars::JsonSchema;
use serde::Serialize;

use super::matrix::{self, Case};
use super::{ci, merging};
use crate::exit::Ended;
use crate::talk::{self, Talk, paragraph};
use crate::written;

/// Arguments of `iostack lab test`.
#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Devices (`iostack lab list`), or folders of drivers; of several, each
    /// with each kernel and number of processors.
    #[arg(required = true)]
    pub(super) device: Vec<String>,
    /// Kernels, with a comma: each device on each of them.
    #[arg(long, value_name = "KERNELS", value_delimiter = ',', conflicts_with = "kernel")]
    pub(super) kernels: Vec<String>,
    /// What to try; may be repeated [all that the device can].
    #[arg(long, value_name = "TRIAL")]
    pub(super) trial: Vec<TrialName>,
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
    /// The guest's processors; several numbers with a comma [2, before a
    /// simulated drive 1].
    #[arg(long, visible_alias = "cpus", value_name = "COUNTS", value_delimiter = ',')]
    pub(super) processors: Vec<u32>,
    /// Makes the same requests again.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Option of the device's driver, such as copy=0; may be
    /// repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) set: Vec<String>,
    /// Emulate the processors, also where this machine could run the guest.
    #[arg(long)]
    emulate: bool,
    /// Every finding, as JSON.
    #[arg(long)]
    json: bool,
    /// Write a line a trial to a new file, as TAP.
    #[arg(long, value_name = "FILE")]
    tap: Option<PathBuf>,
    /// Write a new JUnit file: a suite a machine, a case a trial.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    pub(super) lab: LabFlags,
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
    pub(super) const ALL: [TrialName; 6] = [
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

    pub(super) fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Reason that the device has no such trial.
    pub(super) fn refused_by(self, device: &Device, name: &str) -> Option<String> {
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
    pub(super) device: String,
    pub(super) kernel: String,
    pub(super) processors: u32,
    pub(super) seed: u64,
    pub(super) trial: TrialName,
    pub(super) clean: bool,
    pub(super) findings: Findings,
}

/// Verdict of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Failed,
    Skipped,
}

impl Tried {
    /// Its machine in words, as far as it is known.
    pub(super) fn machine(&self) -> String {
        let Tried { device, kernel, processors, .. } = self;
        format!(
            "{device} on Linux {kernel}, {processors} processor{}",
            if *processors == 1 { "" } else { "s" }
        )
    }

    pub(super) fn verdict(&self) -> Verdict {
        match (&self.findings.not_tried, self.clean) {
            (Some(_), _) => Verdict::Skipped,
            (None, true) => Verdict::Passed,
            (None, false) => Verdict::Failed,
        }
    }

    /// Its faults, a line each.
    pub(super) fn faults(&self) -> Vec<String> {
        let logged = self.findings.complaints.iter().map(|line| format!("the kernel's log: {line}"));
        self.findings.wrong.iter().cloned().chain(logged).collect()
    }
}

iostack_model::kinds! {
    Tried: "lab test", unlabelled;
}

/// Boots for each case and does its trials one after the other. Exit 1 when something is wrong.
pub(crate) fn run(args: &TestArgs) -> anyhow::Result<Ended> {
    check(args)?;
    let tap = Output::new("--tap", args.tap.as_ref());
    save::refuse(tap.into_iter().chain(Output::new("--junit", args.junit.as_ref())))?;
    let mut cases = matrix::cases(args)?;
    let talk = Talk::new(args.quiet);
    let say = |text: &str| talk.say(text);
    let lab = Lab::open(&say, iostack_host::signals::stop_flag())?;
    let tried = if let [only] = &mut cases[..] {
        only.alone()?;
        let mut given = Given::default();
        only.run(args, &lab, &talk, &mut given)?;
        let tried = only.tried(args, given, None);
        write(args, &only.request, &tried)?;
        tried
    } else {
        let tried = matrix::each(args, &mut cases, &lab, &talk);
        if args.json {
            talk::data(&written::json(&labelled_each(&tried))?);
        } else {
            talk::data(&matrix::table(&tried));
        }
        tried
    };
    let file = |path: &Option<PathBuf>, text: String, what: &str| {
        path.as_ref().map_or(Ok(()), |path| written::beside(what, path, text.as_bytes(), &talk))
    };
    file(&args.tap, ci::tap(&tried), "TAP").and(file(&args.junit, ci::junit(&tried), "JUnit"))?;
    if let Some(first) = tried.first().filter(|_| tried.iter().all(|one| one.verdict() == Verdict::Skipped)) {
        let why = first.findings.not_tried.as_deref().unwrap_or_default();
        bail!("nothing could be tried on {}: {why}", args.device.join(", "));
    }
    let failed = tried.iter().any(|one| one.verdict() == Verdict::Failed);
    Ok(if failed { Ended::FoundProblem } else { Ended::Done })
}

/// Findings of a case's trials, in their order, and the release of its kernel.
#[derive(Default)]
pub(super) struct Given {
    release: Option<String>,
    findings: Vec<Findings>,
}

impl Case {
    /// Does the trials; what was found until an error is in `given`.
    pub(super) fn run(
        &mut self,
        args: &TestArgs,
        lab: &Lab<'_>,
        talk: &Talk,
        given: &mut Given,
    ) -> anyhow::Result<()> {
        if self.request.is_simulated() {
            ensure!(
                self.request.processors == 1,
                "a simulated drive's machine has one processor; leave out --processors"
            );
            self.request.accelerator = Accelerator::Exact;
        } else if !args.emulate && lab.has_kvm(&self.request) {
            self.request.accelerator = Accelerator::Kvm;
        }
        let (request, names) = (&self.request, &self.names);
        let trials: Vec<Trial> =
            names.iter().filter_map(|name| trial(args, *name, self.device, &request.device)).collect();
        if !trials.is_empty() {
            boot(lab, request, Work::Trial(trials), talk, given)?;
        }
        if names.contains(&TrialName::Merging) {
            // What it counts must not depend on who is quicker: virtual time.
            let exact = Request { accelerator: Accelerator::Exact, processors: 1, ..request.clone() };
            boot(lab, &exact, Work::Job(merging::order()), talk, given)?;
        }
        let (got, all) = (given.findings.len(), names.len());
        ensure!(got == all, "the guest did {got} trials of {all}");
        Ok(())
    }

    /// Its trials with what was found; those behind `error` were not tried, nor any that it keeps from all.
    pub(super) fn tried(&self, args: &TestArgs, given: Given, error: Option<&anyhow::Error>) -> Vec<Tried> {
        let release = given.release.unwrap_or_else(|| self.request.kernel.clone());
        let mut findings = given.findings.into_iter();
        let mut error = error.map(matrix::findings_of);
        let row = |(trial, findings): (TrialName, Findings)| Tried {
            device: self.request.device.clone(),
            kernel: release.clone(),
            processors: if trial == TrialName::Merging { 1 } else { self.request.processors },
            seed: args.seed,
            trial,
            clean: findings.is_clean(),
            findings,
        };
        let mut next = || findings.next().or_else(|| matrix::take(&mut error)).unwrap_or_default();
        let done: Vec<_> = self.names.iter().map(|name| (*name, next())).collect();
        let refused = self.refused.iter().map(|(name, why)| (*name, matrix::skipped(why)));
        done.into_iter().chain(refused).map(row).collect()
    }
}

/// Boots a machine for this work.
fn boot(lab: &Lab<'_>, request: &Request, work: Work, talk: &Talk, given: &mut Given) -> anyhow::Result<()> {
    let mut unread = None;
    let booted = outside::boot(lab, request, work, &mut |message| match message {
        Message::Hello(release) => {
            talk.say(&format!("Linux {release} is up"));
            given.release = Some(release.clone());
        }
        Message::Step(text) => talk.live(text),
        Message::Value { name, value } if name == "findings" => match serde_json::from_value(value.clone()) {
            Ok(findings) => given.findings.push(findings),
            Err(error) => unread = Some(error),
        },
        _ => {}
    });
    talk.clear();
    given.release = Some(booted?.release);
    unread.map_or(Ok(()), |error| bail!("the guest's findings cannot be read: {error}"))
}

/// Refuses numbers that cannot be had.
fn check(args: &TestArgs) -> anyhow::Result<()> {
    ensure!((1..=64).contains(&args.threads), "`--threads {}` cannot be had; choose 1 to 64", args.threads);
    for processors in &args.processors {
        ensure!((1..=64).contains(processors), "`--processors {processors}`: choose 1 to 64");
    }
    ensure!(args.cycles > 0, "`--cycles 0` tries nothing; choose 1 or more");
    ensure!(args.bytes.0 >= 1 << 20, "`--bytes {}` is little; choose 1m or more", args.bytes);
    if args.lab.file_system.is_some() {
        bail!("lab test writes to the device itself; leave out --file-system");
    }
    Ok(())
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
        let verdict = match one.verdict() {
            Verdict::Skipped => "-    ",
            Verdict::Passed => "ok   ",
            Verdict::Failed => "WRONG",
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
    let mut typed = args.device.clone();
    typed.extend(args.lab.source.iter().map(|folder| format!("--source {}", folder.display())));
    typed.extend(args.lab.disk.iter().map(|name| format!("--disk {name}")));
    let typed = typed.join(" ");
    let next = match tried.iter().find(|one| one.verdict() == Verdict::Failed) {
        Some(one) => {
            format!("\nNext: iostack lab test {typed} --trial {} --seed {}\n", one.trial.word(), args.seed)
        }
        None => format!("\nNext: iostack lab cost {typed}\n"),
    };
    out.push_str(&next);
    talk::data(&out);
    Ok(())
}

pub(super) fn summary(tried: &Tried) -> String {
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
