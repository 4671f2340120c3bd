//! From what was asked to the findings.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::ensure;
use iostack_model::answers::{Probe, ProbeFinding, Scratch};
use iostack_model::{Bytes, Caveat, Effort, Interval, Nanos, SCHEMA};
use iostack_target::{About, Audience, Place, Session, Target, Wishes};

use super::measure::Prober;
use super::plan::{QUESTIONS, whole};
use crate::check::doubts::one_of_each;
use crate::check::fill;
use crate::check::measure::{Examiner, how_long, started_unix_ms};
use crate::check::plan::fill_limit;

/// Question of `iostack probe`.
#[derive(Clone, Copy, Debug)]
pub struct ProbeQuestion {
    /// Time that it may take.
    pub effort: Effort,
    /// Size of the scratch file, or of the region to probe.
    pub size: Option<Bytes>,
    /// Reproduces offsets and content.
    pub seed: u64,
}

/// Tells what would be asked, and how long it takes, a line each; nothing is measured.
pub fn plan(asked: &ProbeQuestion, target: &dyn Target, talk: &dyn Audience) -> anyhow::Result<String> {
    let session = target.occupy(&Wishes { effort: asked.effort, size: asked.size }, talk)?;
    let About { place, name, .. } = session.about();
    let long = how_long(&*session, whole(place, asked.effort));
    let mut text = format!("iostack probe {name}: {}, {long}\n", place.region);
    for question in &QUESTIONS {
        let what = if question.writes { "writes" } else { "reads" };
        let time = question.time(asked.effort).as_secs_f64();
        let said = question
            .left_out(place, asked.effort)
            .map_or(format!("{time:.0} s"), |why| format!("not asked: {why}"));
        let _ = writeln!(text, "  {what:<6}  {}: {said}", question.title);
    }
    Ok(text)
}

/// Asks every question that may be asked, until all are or Ctrl-C is pressed.
pub fn answer(asked: &ProbeQuestion, target: &dyn Target, talk: &dyn Audience) -> anyhow::Result<Probe> {
    let started = Instant::now();
    let mut session = target.occupy(&Wishes { effort: asked.effort, size: asked.size }, talk)?;
    let started_unix_ms = started_unix_ms(&*session);
    let place = session.about().place.clone();
    ensure!(
        place.region >= Bytes::mib(16),
        "`{}` has {} to probe; it takes 16 MiB at least: name a larger one, or a larger --size",
        session.about().name,
        place.region
    );
    let (name, time) = (session.about().name.clone(), whole(&place, asked.effort));
    let what = if place.writable { "reading and writing" } else { "reading only" };
    talk.say(&format!("probing {name} {}, {what}", how_long(&*session, time)));
    let scratch = fill::fill(&mut *session, fill_limit(asked.effort), None, talk)?;
    let examiner = Examiner { session: &*session, talk, started, deadline: None };
    let mut prober = Prober::new(&examiner, asked.effort, asked.seed);
    let mut findings = ask_all(&mut prober, time);
    prober.read_again();
    for finding in &mut findings {
        name_doubts(finding, &place, &prober);
    }
    let Prober { elapsed, caveats, notes, .. } = prober;
    let interrupted = talk.stop().load(Ordering::Relaxed);
    Ok(told(
        asked,
        &*session,
        Told { started_unix_ms, elapsed, scratch, findings, caveats, notes, interrupted },
    ))
}

/// All that came of it.
struct Told {
    started_unix_ms: u64,
    elapsed: Nanos,
    scratch: Option<Scratch>,
    findings: Vec<ProbeFinding>,
    caveats: Vec<Caveat>,
    notes: Vec<String>,
    interrupted: bool,
}

fn told(asked: &ProbeQuestion, session: &dyn Session, told: Told) -> Probe {
    let About { place, name, storage, machine } = session.about();
    let caveats = one_of_each(told.caveats.iter());
    let mut findings = told.findings;
    for finding in &mut findings {
        doubt(finding, &caveats);
    }
    Probe {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: told.started_unix_ms,
        elapsed: told.elapsed,
        effort: asked.effort,
        seed: asked.seed,
        target: name.clone(),
        machine: machine.clone(),
        storage: storage.clone(),
        scratch: told.scratch,
        region: place.region,
        writes: place.writable,
        is_file: place.is_file,
        findings,
        caveats,
        notes: told.notes,
        interrupted: told.interrupted,
    }
}

/// Asks one question after the other.
fn ask_all(prober: &mut Prober<'_>, time: Nanos) -> Vec<ProbeFinding> {
    let (place, effort) = (prober.place(), prober.effort);
    let mut left = time;
    let mut findings = Vec::new();
    for question in &QUESTIONS {
        let examiner = prober.examiner;
        if let Some(reason) = question.left_out(place, effort) {
            findings.extend(question.not_asked(&reason));
        } else if examiner.stopped() {
            findings.extend(question.not_asked("interrupted before it was measured"));
        } else {
            examiner.talk.step(question.title, examiner.elapsed(), examiner.elapsed() + left);
            // A later question may know an earlier finding better.
            for finding in (question.ask)(prober) {
                match findings.iter_mut().find(|before: &&mut ProbeFinding| before.key == finding.key) {
                    Some(before) => *before = finding,
                    None => findings.push(finding),
                }
            }
            left = Nanos(left.0.saturating_sub(question.time(effort).0));
        }
    }
    findings
}

/// Findings that are about addresses, or about all of the drive.
const OF_ADDRESSES: [&str; 5] = ["stripe", "mapping_unit", "programming_unit", "read_ahead", "slc"];

/// Doubts that do not widen the interval: its subject may be another one than it seems.
fn name_doubts(finding: &mut ProbeFinding, place: &Place, prober: &Prober<'_>) {
    if finding.value.is_none() {
        return;
    }
    if place.is_file && OF_ADDRESSES.contains(&finding.key.as_str()) {
        let doubt =
            "The target is a file: the file system chooses where its addresses lie, and has a share in this.";
        finding.doubts.push(doubt.to_owned());
    }
    if prober.limits.credits.is_some() && !finding.key.starts_with("cap.") {
        let doubt = "A bucket of tokens held the rate meanwhile, as of a volume with credits: this may be the bucket's.";
        finding.doubts.push(doubt.to_owned());
    }
}

/// Others who used the drive or the CPU, and a region that does not answer as one, widen every interval.
fn doubt(finding: &mut ProbeFinding, caveats: &[Caveat]) {
    for caveat in caveats {
        let (wider, why) = match caveat {
            Caveat::ForeignIo { share, .. } => (1.0 + share * 4.0, "others used the drive meanwhile"),
            Caveat::ForeignCpu { share } => (1.0 + share, "others kept the CPUs busy"),
            Caveat::Steal { share } => (1.0 + share, "the hypervisor took CPU time away"),
            Caveat::UnwrittenExtents { .. } => (2.0, "part of the region was never written"),
            Caveat::Drift { low, high, .. } => {
                (high / low, "the same reads gave another rate later: the drive drifts")
            }
            Caveat::Slope { per_minute } => {
                (1.0 + per_minute.abs(), "the rate of a steady load drifted: no steady state")
            }
            Caveat::Unstable { relative } => (1.0 + relative, "the rate of a steady load had no level"),
            Caveat::CachedReads { .. } | Caveat::CacheBelow { .. } => (2.0, "a cache answered reads"),
            _ => continue,
        };
        finding.doubts.push(format!("The interval is wider by {wider:.2}: {why}."));
        finding.value = finding.value.map(|value| Interval {
            low: value.mean - (value.mean - value.low) * wider,
            high: value.mean + (value.high - value.mean) * wider,
            ..value
        });
    }
}
