//! Device and host in a line each.

use iostack_model::{BlockDevice, Machine, Storage};

/// The chain in words, then what matters of the device that carries the figures.
pub(crate) fn devices(storage: &Storage) -> String {
    let (Some(top), Some(bottom)) = (storage.top(), storage.bottom()) else {
        return "/sys names none behind this path: memory or network answers".to_owned();
    };
    let names: Vec<&str> = storage.devices.iter().map(|device| device.name.as_str()).collect();
    let model = bottom.model.as_ref().map_or_else(String::new, |model| format!(", {}", model.trim()));
    let kind = if bottom.rotational { ", says it rotates" } else { "" };
    let device = format!(
        "{}{model}, {}, {}{kind}; {}",
        names.join(" on "),
        bottom.driver,
        top.size,
        scheduler(top, bottom)
    );
    if bottom.queue.hardware_queues == 0 && bottom.write_cache.is_empty() {
        return device;
    }
    format!(
        "{device}; {}; cache {}",
        queues(bottom),
        if bottom.write_cache.is_empty() { "unknown" } else { &bottom.write_cache },
    )
}

fn scheduler(top: &BlockDevice, bottom: &BlockDevice) -> String {
    let named = [top, bottom].into_iter().map(|device| &device.queue.scheduler).find(|name| !name.is_empty());
    named.map_or_else(|| "no scheduler".to_owned(), |name| format!("scheduler {name}"))
}

fn queues(device: &BlockDevice) -> String {
    let queues = device.queue.hardware_queues;
    let plural = if queues == 1 { "queue" } else { "queues" };
    let tags = device.queue.tags.unwrap_or(device.queue.requests);
    format!("{queues} {plural} of {tags}")
}

/// Processor, memory, hypervisor, kernel and clock.
pub(crate) fn host(machine: &Machine) -> String {
    let (cpu, kernel) = (&machine.cpu, &machine.kernel);
    let around = [&machine.virtualisation.hypervisor, &machine.virtualisation.container];
    let around: Vec<&str> = around.into_iter().flatten().map(String::as_str).collect();
    let around = if around.is_empty() { "bare metal".to_owned() } else { around.join(" and ") };
    let rate = if cpu.tsc_hz == 0 { String::new() } else { format!(" {:.2} GHz", cpu.tsc_hz as f64 / 1e9) };
    let steady = if cpu.tsc_invariant { "" } else { " (may vary)" };
    let plural = if cpu.cores_usable == 1 { "CPU" } else { "CPUs" };
    if kernel.release.is_empty() {
        // Nothing is known of a simulated machine but what its sheet says.
        return format!("{}, {} {plural}, simulated", cpu.model, cpu.cores_usable);
    }
    format!(
        "{}, {} {plural}, {}, {around}, Linux {}, clock {}{rate}{steady}",
        processor(&cpu.model),
        cpu.cores_usable,
        machine.memory.total,
        kernel.release,
        kernel.clock_source
    )
}

/// The model's name without what every model's name has.
fn processor(model: &str) -> String {
    let named = model.split('@').next().unwrap_or(model).replace("(R)", "").replace("(TM)", "");
    let words = named.split_whitespace().filter(|word| !["CPU", "Processor"].contains(word));
    words.collect::<Vec<_>>().join(" ")
}
