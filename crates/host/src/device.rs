//! What is this block device, and how is its queue set?

use std::path::Path;

use iostack_model::{BlockDevice, Bytes, Nanos, Queue};

use crate::chain;
use crate::roots::{Root, link_name, names, number, text};

/// Devices without hardware below: how their kernel name begins, and their driver.
const VIRTUAL_DRIVERS: [(&str, &str); 9] = [
    ("loop", "loop"),
    ("zram", "zram"),
    ("dm-", "device-mapper"),
    ("md", "md"),
    ("nbd", "nbd"),
    ("nullb", "null_blk"),
    ("ublkb", "ublk"),
    ("ram", "brd"),
    ("rbd", "rbd"),
];

/// Everything sysfs tells of a device or partition. A partition shares the queue of its disk.
pub(crate) fn describe(root: &Root, name: &str) -> BlockDevice {
    let disk = chain::disk_of(root, name);
    let queue = root.block(&disk).join("queue");
    let bytes = |file: &str| Bytes(number(&queue.join(file)).unwrap_or(0));
    let driver = driver(root, &disk);
    BlockDevice {
        name: name.to_owned(),
        model: model(root, &disk),
        role: role(root, name, &driver),
        size: device_size(root, name).unwrap_or_default(),
        logical_block: bytes("logical_block_size"),
        physical_block: bytes("physical_block_size"),
        rotational: number(&queue.join("rotational")) == Some(1),
        write_cache: text(&queue.join("write_cache")).unwrap_or_default(),
        discard_max: bytes("discard_max_bytes"),
        compresses: driver == "zram" || is_deduplicating(root, &disk),
        queue: describe_queue(&root.block(&disk), &driver, root),
        driver,
    }
}

/// Capacity in sysfs, which counts in 512 bytes always (`SECTOR_SIZE` of `blk_types.h`).
pub(crate) fn device_size(root: &Root, name: &str) -> Option<Bytes> {
    number(&root.block(name).join("size")).map(|sectors| Bytes(sectors * 512))
}

fn role(root: &Root, name: &str, driver: &str) -> String {
    let role = match driver {
        _ if chain::is_partition(root, name) => "partition",
        "loop" => "loop",
        "zram" => "zram",
        "md" => "md",
        "device-mapper" => "dm",
        _ => "disk",
    };
    role.to_owned()
}

fn driver(root: &Root, disk: &str) -> String {
    let directory = root.block(disk);
    // A namespace's device is its controller, whose device is the PCI function.
    let bound = ["device/driver", "device/device/driver"];
    if let Some(driver) = bound.iter().find_map(|path| link_name(&directory.join(path))) {
        return driver;
    }
    let by_name = VIRTUAL_DRIVERS.iter().find(|(start, _)| {
        disk.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    by_name.map_or_else(|| "unknown".to_owned(), |(_, driver)| (*driver).to_owned())
}

/// Vendor and model of hardware; what a virtual device is made of.
fn model(root: &Root, disk: &str) -> Option<String> {
    let directory = root.block(disk);
    let say = |path: &str| text(&directory.join(path)).filter(|text| !text.is_empty());
    if let Some(file) = chain::backing_file(root, disk) {
        return Some(file.display().to_string());
    }
    if let Some(name) = say("dm/name") {
        // `LVM-...`, `CRYPT-LUKS2-...`: who made it stands before the first dash.
        let maker = say("dm/uuid").and_then(|uuid| uuid.split('-').next().map(str::to_owned));
        return Some(maker.map_or_else(|| name.clone(), |maker| format!("{maker} {name}")));
    }
    if let Some(level) = say("md/level") {
        return Some(level);
    }
    // virtio states a PCI vendor number there, which tells nobody anything.
    let vendor = say("device/vendor").filter(|vendor| !vendor.starts_with("0x"));
    match (vendor, say("device/model").or_else(|| say("device/name"))) {
        (Some(vendor), Some(model)) => Some(format!("{vendor} {model}")),
        (vendor, model) => model.or(vendor),
    }
}

/// VDO keeps one copy of equal blocks and compresses the rest.
fn is_deduplicating(root: &Root, disk: &str) -> bool {
    text(&root.block(disk).join("dm/uuid")).is_some_and(|uuid| uuid.starts_with("VDO-"))
}

fn describe_queue(disk: &Path, driver: &str, root: &Root) -> Queue {
    let queue = disk.join("queue");
    let value = |file: &str| number(&queue.join(file)).unwrap_or(0);
    let (scheduler, schedulers) = schedulers(&text(&queue.join("scheduler")).unwrap_or_default());
    let hardware_queues = names(&disk.join("mq"));
    let tags = hardware_queues.first().and_then(|first| number(&disk.join("mq").join(first).join("nr_tags")));
    Queue {
        scheduler,
        schedulers,
        requests: value("nr_requests") as u32,
        hardware_queues: hardware_queues.len() as u32,
        tags: tags.map(|tags| tags as u32),
        poll_queues: poll_queues(&queue, driver, root),
        request_max: Bytes::kib(value("max_sectors_kb")),
        affinity: value("rq_affinity") as u32,
        merges_off: value("nomerges") as u32,
        // 0 is off; older kernels show -1 for "not set".
        throttle_latency: Some(Nanos::micros(value("wbt_lat_usec"))).filter(|latency| latency.0 > 0),
        adds_randomness: value("add_random") == 1,
        counts_io: value("iostats") == 1,
    }
}

/// The scheduler in use and all there are, from `none [mq-deadline] kyber`.
pub(crate) fn schedulers(line: &str) -> (String, Vec<String>) {
    let plain = |word: &str| word.trim_matches(['[', ']']).to_owned();
    let all: Vec<String> = line.split_whitespace().map(plain).collect();
    let current = line.split_whitespace().find(|word| word.starts_with('[')).map(plain);
    // A device that offers no choice shows one bare word.
    let current = current.or_else(|| (all.len() == 1).then(|| all[0].clone())).unwrap_or_default();
    (current, all)
}

/// Number of queues that can be polled. `io_poll` says whether there are any; their number is a parameter of the
/// driver.
fn poll_queues(queue: &Path, driver: &str, root: &Root) -> u32 {
    if number(&queue.join("io_poll")) != Some(1) {
        return 0;
    }
    let parameter = root.at("sys/module").join(driver).join("parameters/poll_queues");
    number(&parameter).map_or(1, |queues| queues as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_in_use_is_the_one_in_brackets() {
        let (current, all) = schedulers("none [mq-deadline] kyber bfq ");
        assert_eq!((current.as_str(), all.len()), ("mq-deadline", 4));
        assert_eq!(schedulers("none"), ("none".to_owned(), vec!["none".to_owned()]));
        assert_eq!(schedulers(""), (String::new(), Vec::new()));
    }
}
