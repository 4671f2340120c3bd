//! On what was it measured?
//!
//! The machine as a list, and the way of an I/O from the program to the hardware as boxes from top to bottom.

use iostack_model::{BlockDevice, FileSystem, Machine, Queue, Storage, TargetName};

use super::escape;
use super::numbers::Quantity;

/// The machine: names and values, those that say nothing left out.
pub(crate) fn machine(machine: &Machine) -> Vec<(&'static str, String)> {
    let (cpu, kernel, around) = (&machine.cpu, &machine.kernel, &machine.virtualisation);
    let or_none = |text: &Option<String>, none: &str| text.clone().unwrap_or_else(|| none.to_owned());
    let rings = match kernel.io_uring_disabled {
        Some(0) | None => "open to all",
        Some(1) => "privileged only",
        Some(_) => "switched off",
    };
    let clock = match (cpu.tsc_hz, cpu.tsc_invariant) {
        (0, _) => "no counter".to_owned(),
        (hz, invariant) => {
            format!(
                "tsc {:.3} GHz, {}",
                hz as f64 / 1e9,
                if invariant { "invariant" } else { "may change its rate" }
            )
        }
    };
    let all = vec![
        ("Processor", cpu.model.clone()),
        (
            "CPUs",
            format!(
                "{} usable of {} online, {} NUMA node{}{}",
                cpu.cores_usable,
                cpu.cores_online,
                cpu.nodes,
                if cpu.nodes == 1 { "" } else { "s" },
                if cpu.smt { ", SMT" } else { "" }
            ),
        ),
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
    let settings: String = settings
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("<li><span>{name}</span> {}</li>", escape::text(value)))
        .collect();
    let settings = if settings.is_empty() { settings } else { format!("<ul>{settings}</ul>") };
    format!(
        "<li><p><span class=\"role\">{}</span> <b>{}</b></p>{settings}</li>",
        escape::text(role),
        escape::text(name)
    )
}

fn file_system(system: &FileSystem) -> String {
    boxed(
        "file system",
        &format!("{} on {}", system.kind, system.mount_point.display()),
        &[
            ("source", system.source.clone()),
            ("options", system.options.clone()),
            ("size", format!("{}, {} free", system.total, system.free)),
            ("compresses", if system.compresses { "yes".to_owned() } else { String::new() }),
        ],
    )
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
        settings.push(("compresses", if device.compresses { "yes".to_owned() } else { String::new() }));
        settings.extend(queue(&device.queue));
    }
    boxed(&device.role, &name, &settings)
}

fn queue(queue: &Queue) -> Vec<(&'static str, String)> {
    let off_or = |value: u32, words: &str| if value == 0 { String::new() } else { words.to_owned() };
    let scheduler = match queue.scheduler.as_str() {
        "" => "none to choose".to_owned(),
        used => format!("{used} of {}", queue.schedulers.join(", ")),
    };
    vec![
        ("scheduler", scheduler),
        ("hardware queues", queue.hardware_queues.to_string()),
        ("requests", queue.requests.to_string()),
        ("tags", queue.tags.map_or(String::new(), |tags| tags.to_string())),
        ("poll queues", queue.poll_queues.to_string()),
        ("largest request", queue.request_max.to_string()),
        (
            "completion on",
            ["any CPU", "the group that asked", "the CPU that asked"][queue.affinity.min(2) as usize]
                .to_owned(),
        ),
        ("merging", off_or(queue.merges_off, "restricted")),
        (
            "write throttling",
            queue.throttle_latency.map_or(String::new(), |target| {
                format!("on, target {}", Quantity::Nanos.show(target.0 as f64))
            }),
        ),
        (
            "entropy",
            if queue.adds_randomness { "gathered from its timing".to_owned() } else { String::new() },
        ),
        ("accounting", if queue.counts_io { String::new() } else { "off: /sys counts nothing".to_owned() }),
    ]
}
