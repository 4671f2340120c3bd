//! What are the machine, its kernel and its driver told? Words, from a request. Pure.

use std::mem;

use crate::devices::{Device, Store};
use crate::guest::{TrialKind, Work};
use crate::host::filesystem::FileSystem;
use crate::host::mailbox::{self, DiskShape};
use crate::{LabError, Request};

/// MiB of a device by default: the measured region and room for a file system's own.
const CAPACITY_MIB: u64 = 64;

/// MiB that the guest needs beside the device.
const MEMORY_MIB: u64 = 512;

/// MiB of memory without which the machine does not boot: the kernel unpacks this program beside itself.
pub const MEMORY_LEAST_MIB: u64 = 320;
/// MiB more for a driver that does not say how much it takes. The host gives them when they are touched.
const ANYONES_MIB: u64 = 1024;

/// Beginning of an option that is no parameter of the driver's but a file of the device's, below `/sys/block/DISK`.
pub const SYSFS: &str = "sysfs.";

/// Words for every kernel: where it talks, that an oops ends it, and that addresses are those of its `System.map`.
const APPEND: &str =
    "console=ttyS0 loglevel=4 nokaslr oops=panic panic=-1 nowatchdog cryptomgr.notests rdinit=/init";

/// The kernel takes the time-stamp counter, an instruction a tick, to be as quick as it was told, and holds all other clocks to
/// it; without a second clock nothing contradicts.
const SPEED: &str = " tsc=reliable pmtmr=0";

/// The kernel remembers who took each piece of its general memory. That makes taking it slower.
const OWNERS: &str = " slub_debug=U,kmalloc-*";

/// MiB of the device.
pub(crate) fn capacity(request: &Request, shapes: &[DiskShape]) -> Result<u64, LabError> {
    if let [first, ..] = shapes {
        let each: Vec<u64> = shapes.iter().map(|shape| shape.capacity).collect();
        return Ok(request.raid.map_or(first.capacity, |raid| raid.capacity(&each)) >> 20);
    }
    let made = request.file_system.as_deref().map(FileSystem::named).transpose()?;
    let least = made.map_or(CAPACITY_MIB, |made| made.capacity_mib);
    Ok(request.flags.capacity_mib.unwrap_or(CAPACITY_MIB).max(least))
}

/// MiB of the machine: beside what is asked for, a device that lies in it, and programs. While it boots these are there twice,
/// packed and unpacked.
pub(crate) fn memory(
    request: &Request,
    device: &Device,
    capacity_mib: u64,
    image_bytes: u64,
) -> Result<u32, LabError> {
    let device_mib = match device.store {
        Store::Driver(..) => capacity_mib,
        Store::Unknown => ANYONES_MIB,
        Store::Emulator | Store::Nowhere | Store::Outside => 0,
    };
    let programs_mib = if request.programs.is_empty() { 0 } else { image_bytes >> 20 };
    let asked = request.flags.memory_mib.unwrap_or(MEMORY_MIB).max(MEMORY_LEAST_MIB + programs_mib);
    let all = asked.saturating_add(device_mib).saturating_add(programs_mib);
    u32::try_from(all).map_err(|_| LabError::Asked(format!("no machine has {all} MiB of memory; give fewer")))
}

/// `NAME=VALUE NAME=VALUE`: the device's, its size, then those asked for, which win.
pub(crate) fn options(request: &Request, device: &Device, capacity_mib: u64, shapes: &[DiskShape]) -> String {
    if device.store == Store::Outside {
        return mailbox::options(shapes, request.flags.drive_depth);
    }
    let mut all: Vec<(String, String)> = Vec::new();
    let mut put = |name: &str, value: &str| {
        all.retain(|(other, _)| other != name);
        all.push((name.to_owned(), value.to_owned()));
    };
    for (name, value) in &device.options {
        put(name, value);
    }
    if let Store::Driver(parameter, unit) = &device.store {
        put(parameter, &((capacity_mib << 20) / unit).to_string());
    }
    for (name, value) in request.options.iter().filter(|(name, _)| !name.starts_with(SYSFS)) {
        put(name, value);
    }
    let words: Vec<String> =
        mem::take(&mut all).iter().map(|(name, value)| format!("{name}={value}")).collect();
    words.join(" ")
}

/// The kernel passes over a parameter that a module does not have.
pub(crate) fn check_options(request: &Request, driver: &str, known: &[String]) -> Result<(), LabError> {
    let asked = request.options.iter().map(|(name, _)| name).filter(|name| !name.starts_with(SYSFS));
    match asked.into_iter().find(|name| !known.contains(name)) {
        Some(name) if known.is_empty() => Err(LabError::Asked(format!(
            "`{name}` is no parameter of {driver}, which has none; leave out --set"
        ))),
        Some(name) => Err(LabError::Asked(format!(
            "`{name}` is no parameter of {driver}; choose from {}",
            known.join(", ")
        ))),
        None => Ok(()),
    }
}

/// Names of the simulated disks.
pub(crate) fn disks(shapes: &[DiskShape]) -> Vec<String> {
    (0..shapes.len()).map(|number| format!("sim{number}")).collect()
}

/// Parameters of a kernel's module that would ask somebody otherwise.
pub(crate) fn parameters(module: &str) -> &'static str {
    match module {
        // Which of two ways to lay out disks of different sizes: today's.
        "raid0" => "default_layout=2",
        _ => "",
    }
}

/// Files to write, and what to each; `{disk}` stands for the disk's name.
pub(crate) fn settings(request: &Request, device: &Device) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    if device.queue {
        settings.push(("/sys/block/{disk}/queue/scheduler".to_owned(), request.scheduler.clone()));
    }
    for (name, value) in &request.options {
        if let Some(path) = name.strip_prefix(SYSFS) {
            settings.push((format!("/sys/block/{{disk}}/{path}"), value.clone()));
        }
    }
    for name in &request.tracepoints {
        let path = format!("/sys/kernel/tracing/events/{}/enable", name.replace(':', "/"));
        settings.push((path, "1".to_owned()));
    }
    settings
}

/// Schedulers of today's kernels.
pub const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The module that brings a scheduler.
pub(crate) fn scheduler_module(scheduler: &str) -> Option<&str> {
    match scheduler {
        "none" => None,
        "kyber" => Some("kyber_iosched"),
        other => Some(other),
    }
}

/// Words for the kernel's command line.
pub(crate) fn append(request: &Request, outside: bool, work: &Work) -> String {
    let reloads =
        matches!(work, Work::Trial(trials) if trials.iter().any(|one| one.kind == TrialKind::Reload));
    let owners = if reloads { OWNERS } else { "" };
    let mitigations = if request.mitigations { "" } else { " mitigations=off" };
    let mailbox = if outside { mailbox::reserved() } else { String::new() };
    let speed = request.khz.map(|khz| format!(" tsc_early_khz={khz}{SPEED}")).unwrap_or_default();
    format!("{APPEND}{mitigations}{mailbox}{speed}{owners}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_sysfs_is_a_setting_and_no_parameter() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let request = Request {
            device: "tmerge".to_owned(),
            options: vec![pair("fixed_ns", "1"), pair("sysfs.tmerge/subsystem", "stm")],
            ..Request::default()
        };
        let device = Device::named("tmerge").expect("one of them");
        assert_eq!(options(&request, device, 64, &[]), "capacity_mib=64 fixed_ns=1");
        assert!(settings(&request, device).contains(&pair("/sys/block/{disk}/tmerge/subsystem", "stm")));
    }
}
