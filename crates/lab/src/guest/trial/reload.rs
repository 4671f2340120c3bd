//! The driver goes and comes back: does anything stay behind?

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::asked::{Findings, Trial};
use super::kept::{DriverAddresses, KeptBytes, growing, kept};
use super::lane::{CHUNK, Lane, TrialDisk};
use super::promise::Promise;
use crate::guest::device::found;
use crate::guest::device::load;
use crate::guest::near_side::{failed, tell};
use crate::guest::{Message, Plan, Ready};
use crate::sys::guest as sys;

/// A module that is in use longer than that will not become free.
const PATIENCE: Duration = Duration::from_secs(5);

/// Cycles after which the kernel's caches have their size.
const WARM: u32 = 5;

/// Cycles without which what grows cannot be told from what comes and goes.
const LEAST: u32 = WARM + 4;

/// Unloads and loads, with a little I/O between.
pub(super) fn reload(trial: &Trial, plan: &Plan, promise: &Promise) -> Result<Findings, String> {
    let parameters = plan.modules.iter().find(|(name, _)| *name == trial.module);
    let (_, parameters) = parameters.ok_or_else(|| format!("{} is no module of the plan", trial.module))?;
    let mut findings = Findings::default();
    let (mut places, mut looks) = (DriverAddresses::default(), Vec::new());
    let middle = WARM + trial.cycles.saturating_sub(WARM) / 2;
    places.note(&trial.module)?;
    for cycle in 0..trial.cycles {
        if cycle % 20 == 0 {
            tell(&Message::Step(format!("cycle {cycle} of {}", trial.cycles)));
        }
        unload(&trial.module)?;
        if PathBuf::from("/sys/module").join(&trial.module).exists() {
            findings.wrong(format!("cycle {cycle}: {} is unloaded and still there", trial.module));
        }
        if trial.cycles >= LEAST && [WARM, middle, trial.cycles - 1].contains(&cycle) {
            looks.extend(settled(&places));
        }
        load(&trial.module, parameters)?;
        places.note(&trial.module)?;
        let disk = found(&plan.find, 1).map_err(|text| format!("cycle {cycle}: {text}"))?;
        let ready = Ready { path: format!("/dev/{disk}").into(), disk, folder: None };
        findings.add(if *promise == Promise::Keeps {
            a_little(
                &Trial { seed: trial.seed + u64::from(cycle), ..trial.clone() },
                u64::from(cycle),
                &ready,
            )?
        } else {
            one_read(&ready)?
        });
        findings.cycles += 1;
    }
    if let Ok(looks) = <[KeptBytes; 3]>::try_from(looks) {
        let left = growing(&looks);
        findings.left_bytes = Some(left.values().sum());
        for (what, bytes) in left {
            findings.wrong(format!(
                "{bytes} bytes were taken and not given back in {} cycles: {what}",
                trial.cycles - 1 - WARM
            ));
        }
    }
    Ok(findings)
}

/// Bytes that the driver keeps when nothing waits any more that is given back later.
fn settled(places: &DriverAddresses) -> Option<KeptBytes> {
    let begun = Instant::now();
    let mut last = kept(places)?;
    while !last.is_empty() && begun.elapsed() < PATIENCE {
        // What waits for a grace period of RCU, or in a work queue, comes back by then.
        std::thread::sleep(Duration::from_millis(300));
        last = kept(places)?;
    }
    Some(last)
}

/// Some I/O on the first chunk of a lane; which lane, changes with the cycle.
fn a_little(trial: &Trial, cycle: u64, ready: &Ready) -> Result<Findings, String> {
    let device = TrialDisk::open(ready)?;
    let lanes = (device.sectors / CHUNK).clamp(1, 8);
    let mut lane = Lane::new(&device, cycle % lanes..lanes, trial).short();
    lane.fill();
    (0..4).for_each(|_| lane.step());
    lane.check_all();
    Ok(lane.findings)
}

/// A read of a disk that cannot be held to what it holds.
fn one_read(ready: &Ready) -> Result<Findings, String> {
    let mut bytes = [0; 4096];
    let read = File::open(&ready.path).and_then(|mut disk| disk.read_exact(&mut bytes));
    read.map_err(failed("read", &ready.path))?;
    Ok(Findings { reads: 1, bytes: bytes.len() as u64, ..Findings::default() })
}

fn unload(module: &str) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match sys::unload_module(module) {
            Ok(()) => return Ok(()),
            Err(error) if is_busy(&error) && begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(format!("the module {module} does not unload: {error}")),
        }
    }
}

fn is_busy(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY))
}
