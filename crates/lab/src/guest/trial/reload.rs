//! The driver goes and comes back: does anything stay behind?

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::asked::{Findings, Trial};
use super::lane::{CHUNK, Device, Lane};
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

/// Memory that may come and go for other reasons. Less than a device holds, more than a cache grows.
const GROWTH_KIB: i64 = 4096;

/// Unloads and loads, with a little I/O between.
pub(super) fn reload(trial: &Trial, plan: &Plan, promise: &Promise) -> Result<Findings, String> {
    let parameters = plan.modules.iter().find(|(name, _)| *name == trial.module);
    let (_, parameters) = parameters.ok_or_else(|| format!("{} is no module of the plan", trial.module))?;
    let mut findings = Findings::default();
    let mut before = 0;
    for cycle in 0..trial.cycles {
        if cycle % 20 == 0 {
            tell(&Message::Step { text: format!("cycle {cycle} of {}", trial.cycles) });
        }
        if cycle == WARM {
            before = free_kib()?;
        }
        unload(&trial.module)?;
        if PathBuf::from("/sys/module").join(&trial.module).exists() {
            findings.wrong(format!("cycle {cycle}: {} is unloaded and still there", trial.module));
        }
        load(&trial.module, parameters)?;
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
    if trial.cycles > WARM {
        findings.growth_kib = grown(before)?;
    }
    if findings.growth_kib > GROWTH_KIB {
        findings.wrong(format!(
            "{} KiB of memory did not come back in {} cycles",
            findings.growth_kib,
            trial.cycles - WARM
        ));
    }
    Ok(findings)
}

/// Some I/O on the first chunk of a lane; which lane, changes with the cycle.
fn a_little(trial: &Trial, cycle: u64, ready: &Ready) -> Result<Findings, String> {
    let device = Device::open(ready)?;
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

/// Memory that is gone since there were `before` KiB free. What a work queue or a processor's own list still holds comes
/// back within some seconds; what was leaked does not.
fn grown(before: i64) -> Result<i64, String> {
    let begun = Instant::now();
    loop {
        let grown = before - free_kib()?;
        if grown <= GROWTH_KIB || begun.elapsed() > PATIENCE {
            return Ok(grown);
        }
    }
}

/// Free memory when all that can be dropped is.
fn free_kib() -> Result<i64, String> {
    let drop = "/proc/sys/vm/drop_caches";
    fs::write(drop, "3").map_err(failed("write", drop))?;
    // What waits for a grace period of RCU comes back by then.
    std::thread::sleep(Duration::from_millis(300));
    let path = "/proc/meminfo";
    let text = fs::read_to_string(path).map_err(failed("read", path))?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemFree:"));
    let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    number.ok_or_else(|| format!("`{path}` does not say how much memory is free"))
}
