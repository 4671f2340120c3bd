//! Devices, kernels and numbers of processors, each with each: which cases are there, and what came of them?
//!
//! What a case lacks (a kernel that the distribution has not) is a skip with its reason; a machine that ends, or a driver
//! that does not compile, is a failure of the trial that was to be next. Start reading at [`cases`], then [`each`].

#![expect(
    clippy::format_push_string,
    reason = "a table is made once, from pieces that read like what they become"
)]

use std::time::Instant;

use anyhow::{bail, ensure};
use iostack_lab::devices::{Device, Store};
use iostack_lab::guest::{Findings, Message, Trial, Work};
use iostack_lab::host::machine::Accelerator;
use iostack_lab::targets::LabFlags;
use iostack_lab::{Lab, LabError, Request, outside};
use iostack_serve::lab::BROUGHT;
use iostack_target::Audience as _;

use super::trial::{TestArgs, TrialName, Tried, Verdict, summary};
use super::{merging, with_processors};
use crate::exit::is_interrupted;
use crate::talk::{Talk, paragraph};

/// A machine and its trials.
pub(super) struct Case {
    pub(super) request: Request,
    pub(super) device: &'static Device,
    /// Trials to make; the one with a boot of its own comes last.
    pub(super) names: Vec<TrialName>,
    /// Trials that were asked for and that the device cannot have, with the reason.
    pub(super) refused: Vec<(TrialName, String)>,
}

impl Case {
    fn new(args: &TestArgs, word: &str, lab: &LabFlags, processors: Option<u32>) -> anyhow::Result<Case> {
        let mut request = lab.request(word, &args.set, BROUGHT)?;
        ensure!(
            request.raid.is_none() && request.drives() == 1,
            "`lab test` tries one disk and its driver; name one drive, and leave out --raid"
        );
        request.accelerator = Accelerator::Emulated;
        let processors = processors.unwrap_or(if request.is_simulated() { 1 } else { 2 });
        let request = with_processors(request, processors, lab)?;
        let device = Device::with_source(&request.device, request.source.as_deref())?;
        let asked = if args.trial.is_empty() { &TrialName::ALL[..] } else { &args.trial };
        let (mut names, mut refused) = (Vec::new(), Vec::new());
        for name in asked {
            match name.refused_by(device, &request.device) {
                Some(why) => refused.push((*name, why)),
                None => names.push(*name),
            }
        }
        names.sort_by_key(|name| *name == TrialName::Merging);
        if args.trial.is_empty() && !names.is_empty() {
            refused.clear();
        }
        Ok(Case { request, device, names, refused })
    }

    /// Refuses what cannot be tried, where there is no other case.
    pub(super) fn alone(&self) -> anyhow::Result<()> {
        self.refused.first().map_or(Ok(()), |(_, why)| bail!("{why}"))
    }
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
        let mut error = error.map(findings_of);
        let row = |(trial, findings): (TrialName, Findings)| Tried {
            device: self.request.device.clone(),
            kernel: release.clone(),
            processors: if trial == TrialName::Merging { 1 } else { self.request.processors },
            seed: args.seed,
            trial,
            clean: findings.is_clean(),
            findings,
        };
        let mut next = || findings.next().or_else(|| take(&mut error)).unwrap_or_default();
        let done: Vec<_> = self.names.iter().map(|name| (*name, next())).collect();
        let refused = self.refused.iter().map(|(name, why)| (*name, skipped(why)));
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

/// Each device with each kernel and each number of processors, once.
pub(super) fn cases(args: &TestArgs) -> anyhow::Result<Vec<Case>> {
    let kernels: Vec<Option<String>> = match &args.kernels[..] {
        [] => vec![args.lab.kernel.clone()],
        several => several.iter().cloned().map(Some).collect(),
    };
    let processors: Vec<Option<u32>> = match &args.processors[..] {
        [] => vec![None],
        several => several.iter().copied().map(Some).collect(),
    };
    let mut cases: Vec<Case> = Vec::new();
    for word in &args.device {
        for kernel in &kernels {
            let lab = LabFlags { kernel: kernel.clone(), ..args.lab.clone() };
            for count in &processors {
                let case = Case::new(args, word, &lab, *count)?;
                if cases.iter().all(|known| known.request != case.request) {
                    cases.push(case);
                }
            }
        }
    }
    Ok(cases)
}

/// Tries each case, until Ctrl-C; the others go on where one fails.
pub(super) fn each(args: &TestArgs, cases: &mut [Case], lab: &Lab<'_>, talk: &Talk) -> Vec<Tried> {
    let (begun, all) = (Instant::now(), cases.len());
    let mut tried = Vec::new();
    for (done, case) in cases.iter_mut().enumerate() {
        let mut given = Given::default();
        let ran = if is_interrupted() {
            Err(LabError::Interrupted.into())
        } else if case.names.is_empty() {
            Ok(())
        } else {
            let left = begun.elapsed().as_secs() * (all - done) as u64 / (done as u64).max(1);
            let left =
                if done == 0 { "a minute or two each".to_owned() } else { format!("about {left} s left") };
            let Request { device, kernel, processors, .. } = &case.request;
            talk.say(&format!(
                "{} of {all}: {device} on Linux {kernel}, --processors {processors} ({left})",
                done + 1
            ));
            case.run(args, lab, talk, &mut given)
        };
        tried.extend(case.tried(args, given, ran.err().as_ref()));
    }
    tried
}

/// Findings of a trial that was not made.
pub(super) fn skipped(why: &str) -> Findings {
    Findings { not_tried: Some(why.to_owned()), ..Findings::default() }
}

/// Findings of the trial that an error kept from being made, or in which it came.
pub(super) fn findings_of(error: &anyhow::Error) -> Findings {
    let text = format!("{error:#}");
    match error.downcast_ref::<LabError>() {
        Some(LabError::Guest { .. } | LabError::Asked(_)) => {
            Findings { wrong: vec![text], ..Findings::default() }
        }
        _ => skipped(&text),
    }
}

/// Takes the findings of an error; for the next trial there is left that it was not made.
pub(super) fn take(error: &mut Option<Findings>) -> Option<Findings> {
    let now = error.clone();
    if let Some(Findings { wrong, not_tried: not_tried @ None, .. }) = error {
        wrong.clear();
        *not_tried = Some("the machine had ended in an earlier trial, or never begun".to_owned());
    }
    now
}

/// One table of all cases, and below it what failed and what was skipped, with the reason.
pub(super) fn table(tried: &[Tried]) -> String {
    let same = |one: &Tried, other: &Tried| one.machine() == other.machine();
    let machines: Vec<&[Tried]> = tried.chunk_by(same).collect();
    let widest =
        |of: &dyn Fn(&Tried) -> usize, most: usize| tried.iter().map(of).max().unwrap_or(0).clamp(6, most);
    let device = widest(&|one| one.device.chars().count(), 18);
    let kernel = widest(&|one| one.kernel.chars().count(), 28);
    let mut out = format!("{:<device$}  {:<kernel$}  CPUS  PASSED  FAILED  SKIPPED\n", "DEVICE", "KERNEL");
    let mut below = String::new();
    for trials in machines {
        let one = &trials[0];
        let [passed, failed, skipped] = counts(trials);
        out += &format!(
            "{:<device$}  {:<kernel$}  {:>4}  {passed:>6}  {failed:>6}  {skipped:>7}\n",
            end_of(&one.device, device),
            end_of(&one.kernel, kernel),
            one.processors
        );
        for trial in trials.iter().filter(|trial| trial.verdict() == Verdict::Failed) {
            below += &paragraph(
                "WRONG   ",
                &format!("{}, {}: {}", trial.machine(), trial.trial.word(), summary(trial)),
                8,
            );
            trial.faults().iter().for_each(|fault| below += &paragraph("        ", fault, 10));
        }
        let skipped: Vec<&Tried> = trials.iter().filter(|one| one.verdict() == Verdict::Skipped).collect();
        for alike in skipped.chunk_by(|one, other| one.findings.not_tried == other.findings.not_tried) {
            let names: Vec<String> = alike.iter().map(|one| one.trial.word()).collect();
            let why = alike[0].findings.not_tried.as_deref().unwrap_or_default();
            below += &paragraph("skipped ", &format!("{}, {}: {why}", one.machine(), names.join(", ")), 8);
        }
    }
    let [passed, failed, skipped] = counts(tried);
    let all = tried.len();
    let sum = format!("{passed} of {all} trials passed, {failed} failed, {skipped} skipped");
    let gap = if below.is_empty() { "" } else { "\n" };
    format!("{out}{gap}{below}\nMATRIX  {sum}\n")
}

/// The last so many characters of a name, which tell paths apart.
fn end_of(name: &str, most: usize) -> String {
    let all = name.chars().count();
    if all <= most {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(all + 1 - most).collect::<String>())
    }
}

/// Passed, failed and skipped trials.
pub(super) fn counts(tried: &[Tried]) -> [usize; 3] {
    [Verdict::Passed, Verdict::Failed, Verdict::Skipped]
        .map(|verdict| tried.iter().filter(|one| one.verdict() == verdict).count())
}
