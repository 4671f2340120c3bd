//! On what was it measured?
//!
//! The machine as a list, and the way of an I/O from the program to the hardware as boxes from top to bottom.

use iostack_model::{BlockDevice, FileSystem, Machine, Queue, Storage, TargetName};

use super::escape::{self, within};
use super::numbers::Quantity;
use crate::lists::Joined;

/// The machine: names and values, those that say nothing left out.
pub(crate) fn machine(machine: &Machine) -> Vec<(&'static str, String)> {
    let (cpu, kernel, around) = (&machine.cpu, &machine.kernel, &machine.virtualisation);
    let or_none = |text: &Option<String>, none: &str| text.clone().unwrap_or_else(|| none.to_owned());
    let rings = match kernel.io_uring_disabled {
        Some(0) | None => "open to all",
        Some(1) => "privileged only",
        Some(_) => "switched off",
    };
    let rate = if cpu.tsc_invariant { "invariant" } else { "may change its rate" };
    let clock = match cpu.tsc_hz {
        0 => "no counter".to_owned(),
        hz => format!("tsc {:.3} GHz, {rate}", hz as f64 / 1e9),
    };
    let (usable, online, nodes) = (cpu.cores_usable, cpu.cores_online, cpu.nodes);
    let (plural, smt) = (if nodes == 1 { "" } else { "s" }, if cpu.smt { ", SMT" } else { "" });
    let all = vec![
        ("Processor", cpu.model.clone()),
        ("CPUs", format!("{usable} usable of {online} online, {nodes} NUMA node{plural}{smt}")),
        ("Governor", or_none(&cpu.governor, "not visible")),
        ("Counter", clock),
        ("Memory", format!("{} of {} available", machine.memory.available, machine.memory.total)),
        ("Kernel", format!("{} {}", kernel.release, kernel.version)),
        ("Distribution", kernel.distribution.clone()),
        ("Clock source", kernel.clock_source.clone()),
        ("io_uring", rings.to_owned()),
        ("Hypervisor", or_none(&around.hypervisor, "none: bare metal")),
        ("Container", or_none(&around.container, "none seen")),
        ("I/O limit", or_none(&around.io_limit, "none")),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// The way of an I/O from the target down, as boxes.
pub(crate) fn chain(storage: &Storage, target: &TargetName) -> String {
    let mut boxes = vec![boxed("target", &target.to_string(), &[])];
    if let Some(system) = &storage.file_system {
        boxes.push(file_system(system));
    }
    boxes.extend(storage.devices.iter().map(device));
    if storage.devices.is_empty() {
        boxes.push(boxed("nothing visible", "No block device is behind this path", &[]));
    }
    format!("<ol class=\"chain\">{}</ol>", boxes.concat())
}

/// One box: its role, its name, its settings.
fn boxed(role: &str, name: &str, settings: &[(&str, String)]) -> String {
    let setting = |(name, value): &(&str, String)| {
        within(&format!("<li><span>{name}</span> "), escape::text(value), "</li>")
    };
    let settings = within("<ul>", settings.iter().map(setting).joined(""), "</ul>");
    let [role, name] = [role, name].map(escape::text);
    format!("<li><p><span class=\"role\">{role}</span> <b>{name}</b></p>{settings}</li>")
}

fn file_system(system: &FileSystem) -> String {
    let name = format!("{} on {}", system.kind, system.mount_point.display());
    let settings = [
        ("source", system.source.clone()),
        ("options", system.options.clone()),
        ("size", format!("{}, {} free", system.total, system.free)),
        ("compresses", words_if(system.compresses, "yes")),
    ];
    boxed("file system", &name, &settings)
}

fn words_if(is_so: bool, words: &str) -> String {
    if is_so { words.to_owned() } else { String::new() }
}

fn device(device: &BlockDevice) -> String {
    let name = match &device.model {
        Some(model) => format!("{} ({model})", device.name),
        None => device.name.clone(),
    };
    let discard = match device.discard_max.0 {
        0 => "none".to_owned(),
        _ => format!("up to {}", device.discard_max),
    };
    let mut settings = vec![
        ("driver", device.driver.clone()),
        ("size", device.size.to_string()),
        ("blocks", format!("{} logical, {} physical", device.logical_block, device.physical_block)),
    ];
    // A partition shares the queue of its disk, which is the next box.
    if !device.is_partition() {
        settings.push(("medium", if device.rotational { "rotational" } else { "not rotational" }.to_owned()));
        settings.push(("write cache", device.write_cache.clone()));
        settings.push(("discard", discard));
        settings.push(("compresses", words_if(device.compresses, "yes")));
        settings.extend(queue(&device.queue));
    }
    boxed(&device.role, &name, &settings)
}

fn queue(queue: &Queue) -> Vec<(&'static str, String)> {
    let scheduler = match queue.scheduler.as_str() {
        "" => "none to choose".to_owned(),
        used => format!("{used} of {}", queue.schedulers.join(", ")),
    };
    let affinity = ["any CPU", "the group that asked", "the CPU that asked"][queue.affinity.min(2) as usize];
    let throttle = queue
        .throttle_latency
        .map_or_else(String::new, |target| format!("on, target {}", Quantity::Nanos.show(target.0 as f64)));
    vec![
        ("scheduler", scheduler),
        ("hardware queues", queue.hardware_queues.to_string()),
        ("requests", queue.requests.to_string()),
        ("tags", queue.tags.map_or(String::new(), |tags| tags.to_string())),
        ("poll queues", queue.poll_queues.to_string()),
        ("largest request", queue.request_max.to_string()),
        ("completion on", affinity.to_owned()),
        ("merging", words_if(queue.merges_off > 0, "restricted")),
        ("write throttling", throttle),
        ("entropy", words_if(queue.adds_randomness, "gathered from its timing")),
        ("accounting", words_if(!queue.counts_io, "off: /sys counts nothing")),
    ]
}
