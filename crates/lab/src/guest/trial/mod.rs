//! Does the device keep what it is given?
//!
//! ```text
//!   trial ──► disturbance: a bad range, faults, unloading ──► lanes: random I/O, each sector checked ──► findings
//! ```
//!
//! A thread has a [`lane`] of the device to itself and knows what every sector of it must hold.

mod asked;
mod crew;
mod kept;
mod lane;
mod promise;
mod reload;
mod subsystems;

use std::fs;
use std::path::PathBuf;

use self::asked::WRONG_KEPT;
use self::crew::{churn, each, gathered, lanes};
use self::lane::{CHUNK, Lane, TrialDisk};
use self::promise::Promise;
use super::log::KernelLog;
use super::near_side::{failed, tell};
use super::{Message, Plan, Ready};
pub use asked::{Findings, Trial, TrialKind};

/// Runs the trials and tells what each found, as values named `findings`.
pub(super) fn run(trials: &[Trial], plan: &Plan, ready: &Ready) -> Result<(), String> {
    let mut log = KernelLog::whole();
    let promise = Promise::of_disk(ready)?;
    for trial in trials {
        tell(&Message::Step(format!("{:?}", trial.kind).to_lowercase()));
        let mut findings = match trial.kind {
            TrialKind::Reload => reload::reload(trial, plan, &promise)?,
            TrialKind::Integrity if promise != Promise::Forgets => {
                disturbed(trial, &TrialDisk::open(ready)?, &[], |_, _| ())?
            }
            TrialKind::Integrity => promise.findings(),
            _ if promise != Promise::Keeps => promise.findings(),
            TrialKind::Refusals => refusals(trial, ready)?,
            TrialKind::Faults => faults(trial, ready)?,
            TrialKind::Subsystems => subsystems::subsystems(trial, ready)?,
        };
        // The kernel tells of each I/O that was refused, as it must be where a zone is written out of order.
        let injected = matches!(trial.kind, TrialKind::Refusals | TrialKind::Faults) || findings.refused > 0;
        findings.complaints = log.complaints();
        findings.complaints.retain(|line| !injected || is_defect(line));
        findings.complaints.truncate(WRONG_KEPT);
        let value = serde_json::to_value(&findings).map_err(|error| error.to_string())?;
        tell(&Message::Value { name: "findings".to_owned(), value });
    }
    Ok(())
}

/// True for a line of the log that no error of a disk explains.
fn is_defect(line: &str) -> bool {
    const DEFECTS: &str = include_str!("defects.txt");
    DEFECTS.lines().any(|defect| line.contains(defect))
}

/// Random I/O, while the driver's parameters have these values; each lane is told when that begins and ends.
fn disturbed<'a>(
    trial: &Trial,
    device: &'a TrialDisk,
    parameters: &[(&str, u64)],
    tell: impl Fn(&mut Lane<'a>, bool) + Sync,
) -> Result<Findings, String> {
    let mut lanes = lanes(trial, device)?;
    each(&mut lanes, Lane::fill);
    parameters.iter().try_for_each(|(name, value)| set(trial, name, *value))?;
    each(&mut lanes, |lane| tell(lane, true));
    churn(trial, &mut lanes);
    parameters.iter().rev().try_for_each(|(name, _)| set(trial, name, 0))?;
    each(&mut lanes, |lane| tell(lane, false));
    each(&mut lanes, Lane::check_all);
    Ok(gathered(lanes))
}

/// The bad range is neither aligned to a page nor as long as one.
fn refusals(trial: &Trial, ready: &Ready) -> Result<Findings, String> {
    let device = TrialDisk::open(ready)?;
    let first = device.sectors / 2 / CHUNK * CHUNK + 99;
    let parameters = [("fail_first_lba", first), ("fail_lba_count", 70)];
    let bad = first..first + 70;
    let tell = |lane: &mut Lane<'_>, is_bad: bool| lane.bad = is_bad.then(|| bad.clone());
    let mut findings = disturbed(trial, &device, &parameters, tell)?;
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
    let device = TrialDisk::open(ready)?;
    let timeout = format!("/sys/block/{}/device/timeout", ready.disk);
    fs::write(&timeout, TIMEOUT_SECONDS.to_string()).map_err(failed("write", &timeout))?;
    let parameters = [("timeout_every", TIMEOUT_EVERY), ("lose_every", LOSE_EVERY)];
    let tell = |lane: &mut Lane<'_>, happen: bool| lane.errors_happen = happen;
    let mut findings = disturbed(trial, &device, &parameters, tell)?;
    let filled = device.sectors / CHUNK;
    if findings.reads + findings.writes + findings.discards < 2 * filled + TIMEOUT_EVERY {
        findings.wrong("too few I/Os for a fault to hit one; try more bytes".to_owned());
    }
    Ok(findings)
}

fn set(trial: &Trial, parameter: &str, value: u64) -> Result<(), String> {
    let path = PathBuf::from(format!("/sys/module/{}/parameters/{parameter}", trial.module));
    fs::write(&path, value.to_string()).map_err(failed(&format!("write {value} to"), &path))
}
