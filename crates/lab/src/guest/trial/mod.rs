//! Does the device keep what it is given?
//!
//! ```text
//!   trial ──► disturbance: a bad range, faults, unloading ──► lanes: random I/O, each sector checked ──► findings
//! ```
//!
//! A thread has a [`lane`] of the device to itself and knows what every sector of it must hold.

mod lane;
mod reload;
mod subsystems;

use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use self::lane::{CHUNK, Device, Lane};
use super::boot::{failed, tell};
use super::{Message, Plan, Ready};

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialKind {
    /// Random mixed I/O by several threads, every sector checked.
    Integrity,
    /// A range answers with medium errors: what touches it fails, all else is right.
    Refusals,
    /// Commands time out and completions get lost: I/O ends, and data is never wrong.
    Faults,
    /// The driver is unloaded and loaded again and again: nothing is left behind.
    Reload,
    /// The I/O subsystem is changed again and again under random mixed I/O, every sector checked.
    Subsystems,
}

/// One trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// What is tried.
    pub kind: TrialKind,
    /// Bytes of random I/O.
    pub bytes: u64,
    /// How often the driver is loaded anew.
    pub cycles: u32,
    /// Threads, each with one I/O at a time.
    pub threads: u32,
    /// Makes the same requests again.
    pub seed: u64,
    /// Module of the driver.
    pub module: String,
}

/// What a trial found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// Reads that were asked for.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Discards.
    pub discards: u64,
    /// Bytes of all of them that succeeded.
    pub bytes: u64,
    /// I/Os that ended in an error because a bad sector was touched, as they must.
    pub refused: u64,
    /// I/Os that ended in another error.
    pub errors: u64,
    /// Sectors that held something else than was written last.
    pub wrong_sectors: u64,
    /// Times that the driver was unloaded and loaded, that the subsystem was changed, or groups that were sent.
    pub cycles: u32,
    /// Memory that did not come back, from the fifth cycle to the last.
    pub growth_kib: i64,
    /// What is wrong, in words; not all of it when there is much.
    pub wrong: Vec<String>,
    /// What the kernel complained of; with injected errors, only what is no report of them.
    pub complaints: Vec<String>,
}

/// Sentences that are kept.
const WRONG_KEPT: usize = 20;

impl Findings {
    fn wrong(&mut self, text: String) {
        if self.wrong.len() < WRONG_KEPT {
            self.wrong.push(text);
        }
    }

    fn add(&mut self, other: Findings) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.discards += other.discards;
        self.bytes += other.bytes;
        self.refused += other.refused;
        self.errors += other.errors;
        self.wrong_sectors += other.wrong_sectors;
        other.wrong.into_iter().for_each(|text| self.wrong(text));
    }

    /// True when nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.wrong.is_empty() && self.complaints.is_empty()
    }
}

/// Runs the trials and tells what each found, as values named `findings`.
pub(super) fn run(trials: &[Trial], plan: &Plan, ready: &Ready) -> Result<(), String> {
    let mut log = Log::open();
    for trial in trials {
        tell(&Message::Step { text: format!("{:?}", trial.kind).to_lowercase() });
        let mut findings = match trial.kind {
            TrialKind::Integrity => integrity(trial, ready)?,
            TrialKind::Refusals => refusals(trial, ready)?,
            TrialKind::Faults => faults(trial, ready)?,
            TrialKind::Reload => reload::reload(trial, plan)?,
            TrialKind::Subsystems => subsystems::subsystems(trial, ready)?,
        };
        let injected = matches!(trial.kind, TrialKind::Refusals | TrialKind::Faults);
        findings.complaints = log.complaints();
        findings.complaints.retain(|line| !injected || is_defect(line));
        findings.complaints.truncate(WRONG_KEPT);
        let value = serde_json::to_value(&findings).map_err(|error| error.to_string())?;
        tell(&Message::Value { name: "findings".to_owned(), value });
    }
    Ok(())
}

/// What no error of a disk explains.
fn is_defect(line: &str) -> bool {
    const DEFECTS: [&str; 12] = [
        "WARNING:",
        "BUG:",
        "Oops",
        "cut here",
        "Call Trace",
        "lockup",
        "blocked for more",
        "refcount",
        "corruption",
        "use-after-free",
        "possible recursive",
        "circular locking",
    ];
    DEFECTS.iter().any(|defect| line.contains(defect))
}

/// The kernel's log, read on from where it was read last.
struct Log(Option<File>);

impl Log {
    fn open() -> Log {
        Log(File::options().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg").ok())
    }

    /// Messages of level warning and worse since the last call.
    fn complaints(&mut self) -> Vec<String> {
        let Some(log) = &mut self.0 else { return vec!["the kernel's log cannot be read".to_owned()] };
        let mut lines = Vec::new();
        let mut record = vec![0; 8192];
        loop {
            match log.read(&mut record) {
                Ok(length @ 1..) => {
                    lines.extend(super::device::complaint(&String::from_utf8_lossy(&record[..length])));
                }
                // The log ran over; what comes next is the oldest there is.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                _ => return lines,
            }
        }
    }
}

fn integrity(trial: &Trial, ready: &Ready) -> Result<Findings, String> {
    let device = Device::open(ready)?;
    let mut lanes = lanes(trial, &device);
    each(&mut lanes, Lane::fill);
    churn(trial, &mut lanes);
    each(&mut lanes, Lane::check_all);
    Ok(gathered(lanes))
}

/// The bad range is neither aligned to a page nor as long as one.
fn refusals(trial: &Trial, ready: &Ready) -> Result<Findings, String> {
    let device = Device::open(ready)?;
    let first = device.sectors / 2 / CHUNK * CHUNK + 99;
    let bad = first..first + 70;
    let mut lanes = lanes(trial, &device);
    each(&mut lanes, Lane::fill);
    set(trial, "fail_first_lba", first)?;
    set(trial, "fail_lba_count", bad.end - bad.start)?;
    each(&mut lanes, |lane| lane.bad = Some(bad.clone()));
    churn(trial, &mut lanes);
    set(trial, "fail_lba_count", 0)?;
    each(&mut lanes, |lane| lane.bad = None);
    each(&mut lanes, Lane::check_all);
    let mut findings = gathered(lanes);
    if findings.refused == 0 {
        findings.wrong("no I/O touched the bad sectors; try more bytes".to_owned());
    }
    Ok(findings)
}

/// Seconds after which the kernel gives up a command: each fault costs as much.
const TIMEOUT_SECONDS: u64 = 2;

/// Primes, so that they hit now this thread and now that.
const TIMEOUT_EVERY: u64 = 53;
const LOSE_EVERY: u64 = 37;

fn faults(trial: &Trial, ready: &Ready) -> Result<Findings, String> {
    let device = Device::open(ready)?;
    let timeout = format!("/sys/block/{}/device/timeout", ready.disk);
    fs::write(&timeout, TIMEOUT_SECONDS.to_string()).map_err(failed("write", &timeout))?;
    let mut lanes = lanes(trial, &device);
    each(&mut lanes, Lane::fill);
    set(trial, "timeout_every", TIMEOUT_EVERY)?;
    set(trial, "lose_every", LOSE_EVERY)?;
    each(&mut lanes, |lane| lane.errors_happen = true);
    churn(trial, &mut lanes);
    set(trial, "timeout_every", 0)?;
    set(trial, "lose_every", 0)?;
    each(&mut lanes, |lane| lane.errors_happen = false);
    let filled = device.sectors / CHUNK;
    each(&mut lanes, Lane::check_all);
    let mut findings = gathered(lanes);
    if findings.reads + findings.writes + findings.discards < 2 * filled + TIMEOUT_EVERY {
        findings.wrong("too few I/Os for a fault to hit one; try more bytes".to_owned());
    }
    Ok(findings)
}

fn set(trial: &Trial, parameter: &str, value: u64) -> Result<(), String> {
    let path = PathBuf::from(format!("/sys/module/{}/parameters/{parameter}", trial.module));
    fs::write(&path, value.to_string()).map_err(failed(&format!("write {value} to"), &path))
}

fn lanes<'a>(trial: &Trial, device: &'a Device) -> Vec<Lane<'a>> {
    let count = u64::from(trial.threads);
    (0..count).map(|number| Lane::new(device, number..count, trial.seed)).collect()
}

/// Each lane by a thread of its own.
fn each<'a>(lanes: &mut [Lane<'a>], act: impl Fn(&mut Lane<'a>) + Sync) {
    std::thread::scope(|scope| {
        for lane in lanes {
            scope.spawn(|| act(lane));
        }
    });
}

/// Random I/O until the bytes are moved.
fn churn(trial: &Trial, lanes: &mut [Lane<'_>]) {
    let share = trial.bytes / lanes.len() as u64;
    each(lanes, |lane| {
        let begun = lane.findings.bytes;
        // What fails moves nothing, and may not go on for ever.
        let most = 1000 + share / 512;
        let mut percent = 0;
        for _ in 0..most {
            let moved = lane.findings.bytes - begun;
            if moved >= share {
                break;
            }
            if lane.number == 0 && moved * 20 / share.max(1) > percent {
                percent = moved * 20 / share.max(1);
                tell(&Message::Step { text: format!("{} % of the I/O done", percent * 5) });
            }
            lane.step();
        }
    });
}

fn gathered(lanes: Vec<Lane<'_>>) -> Findings {
    let mut all = Findings::default();
    for lane in lanes {
        all.add(lane.findings);
    }
    all
}

/// True when the two share a sector.
fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
