//! The device: found, set up, with a file system where one is wanted.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::near_side::failed;
use super::region::number;
use super::{FILE_SYSTEM, Find, MODULES, MountPlan, Plan, Ready, md};
use crate::sys::guest as sys;

/// Looks for a device that has not appeared yet; after the last it will not.
const LOOKS: u32 = 1000;

/// Turns of waiting awake between two looks, some 20 ms: asleep, the guest's clock would jump ahead of the emulated devices,
/// which take time of the host.
const TURNS: u32 = 200_000;

/// Looks that must show the same before a new disk is the only one: its driver may make more.
const STEADY: u32 = 25;

/// Levels of the kernel's messages that reach the console: all, and those of the boot.
const LEVELS: [&str; 2] = ["8", "4"];

/// Loads the modules, finds the device, applies the settings, mounts.
pub(super) fn driven(plan: &mut Plan) -> Result<Ready, String> {
    let is_anyones = matches!(plan.find, Find::New(_));
    let level = |level| {
        // The last words of a driver that nobody knows are shown if it fails. Without the file they are fewer.
        let _ = is_anyones.then(|| fs::write("/proc/sys/kernel/printk", level));
    };
    let (driver, needed) = plan.modules.split_last().ok_or("the plan has no module")?;
    for (name, parameters) in needed {
        load(name, parameters)?;
    }
    if let Find::New(before) = &mut plan.find {
        *before = names("/sys/block");
    }
    level(LEVELS[0]);
    let ready = load(&driver.0, &driver.1).and_then(|()| ready(plan));
    level(LEVELS[1]);
    ready
}

/// Finds the device, applies the settings, mounts.
fn ready(plan: &Plan) -> Result<Ready, String> {
    let disk = found(&plan.find, if matches!(plan.find, Find::New(_)) { STEADY } else { 1 })?;
    let disks = if plan.disks.is_empty() { std::slice::from_ref(&disk) } else { &plan.disks };
    for one in disks {
        set(one, &plan.settings)?;
    }
    let disk = match plan.raid {
        Some(raid) => md::build(raid, disks)?,
        None => disk,
    };
    let device = PathBuf::from(format!("/dev/{disk}"));
    let Some(place) = &plan.place else {
        return Ok(Ready { disk, path: device, folder: None });
    };
    let folder = PathBuf::from("/mnt");
    make(place, &device)?;
    sys::mount(&device.to_string_lossy(), &folder, &place.kind, "")
        .map_err(failed(&format!("mount {} on", place.kind), &folder))?;
    Ok(Ready { disk, path: folder.join("file"), folder: Some(folder) })
}

fn set(disk: &str, settings: &[(String, String)]) -> Result<(), String> {
    for (path, value) in settings {
        let path = path.replace("{disk}", disk);
        if path.ends_with("/queue/scheduler") && !Path::new(&format!("/sys/block/{disk}/mq")).exists() {
            if value == "none" {
                continue;
            }
            return Err(format!("{disk} has no request queue, and so no scheduler; leave out --scheduler"));
        }
        fs::write(&path, value).map_err(failed(&format!("write {value} to"), &path))?;
    }
    Ok(())
}

/// Loads a module of the image.
pub(super) fn load(name: &str, parameters: &str) -> Result<(), String> {
    let path = PathBuf::from(MODULES).join(format!("{name}.ko"));
    let file = File::open(&path).map_err(failed("open", &path))?;
    match sys::load_module(&file, parameters) {
        Err(error) if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        other => other.map_err(|source| {
            let with = if parameters.is_empty() { String::new() } else { format!(" with `{parameters}`") };
            format!("the module {name} does not load{with}: {source}")
        }),
    }
}

/// The name of the device, once it is there, and the only one in `steady` looks on end.
pub(super) fn found(find: &Find, steady: u32) -> Result<String, String> {
    let (mut last, mut times) = (Vec::new(), 0);
    // A driver in a folder makes its disk when it is loaded, or as often never.
    let looks = if matches!(find, Find::New(_)) { LOOKS / 4 } else { LOOKS };
    for _ in 0..looks {
        let mut ready = meant(find);
        // Of SCSI disks the size is known last.
        ready.retain(|disk| {
            number(disk, "size").is_ok_and(|size| size > 0) && Path::new("/dev").join(disk).exists()
        });
        times = if ready == last { times + 1 } else { 1 };
        last = ready;
        if times >= steady {
            match last.as_slice() {
                [] => {}
                [disk] => return Ok(disk.clone()),
                [first, ..] => {
                    let all = last.join(", ");
                    return Err(format!("the driver made several disks, {all}; name one: --disk {first}"));
                }
            }
        }
        std::thread::sleep(Duration::from_millis(20));
        for _ in 0..TURNS {
            std::hint::spin_loop();
        }
    }
    Err(missing(find))
}

/// Disks that it may be, also those that are not ready.
fn meant(find: &Find) -> Vec<String> {
    let there = names("/sys/block").into_iter();
    match find {
        Find::Name(name) => there.filter(|disk| disk == name).collect(),
        Find::Model(model) => there.filter(|disk| is_of_model(disk, model)).collect(),
        Find::New(before) => there.filter(|disk| !before.contains(disk)).collect(),
    }
}

/// Error text when no disk was found.
fn missing(find: &Find) -> String {
    let what = match (meant(find).first(), find) {
        (Some(disk), _) => format!("the disk {disk} has size 0: its driver did not set a capacity"),
        (None, Find::Name(name)) => format!("there is no disk {name}"),
        (None, Find::Model(model)) => format!("no SCSI disk appeared whose model is {model}"),
        (None, Find::New(_)) => "the driver was loaded, and no disk appeared".to_owned(),
    };
    let there = names("/sys/block").join(", ");
    let there =
        if there.is_empty() { "there is no disk at all".to_owned() } else { format!("there are: {there}") };
    format!("{what}; {there}")
}

fn is_of_model(disk: &str, model: &str) -> bool {
    fs::read_to_string(format!("/sys/block/{disk}/device/model")).is_ok_and(|text| text.contains(model))
}

fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Writes the file system's first content.
fn make(place: &MountPlan, device: &Path) -> Result<(), String> {
    if !place.image {
        return Ok(());
    }
    let mut image = File::open(FILE_SYSTEM).map_err(failed("open", FILE_SYSTEM))?;
    let target = File::options().write(true).open(device).map_err(failed("open", device))?;
    let mut word = [0; 8];
    while image.read_exact(&mut word).is_ok() {
        let offset = u64::from_le_bytes(word);
        image.read_exact(&mut word).map_err(failed("read", FILE_SYSTEM))?;
        let mut bytes = vec![0; u64::from_le_bytes(word) as usize];
        image.read_exact(&mut bytes).map_err(failed("read", FILE_SYSTEM))?;
        target.write_all_at(&bytes, offset).map_err(|source| {
            let small = source.raw_os_error() == Some(libc::ENOSPC);
            let why = if small { "; the file system needs a larger disk" } else { "" };
            failed("write", device)(source) + why
        })?;
    }
    target.sync_all().map_err(failed("write", device))
}

/// Warnings that say nothing of a driver: that a module is not the kernel's own, what an emulated machine lacks or does not
/// have alike, that it is slow, a cache or keyboard that a disk or machine does not have, and libata's farewell to a disk that is
/// unloaded.
const NORMAL: [&str; 20] = [
    "taints kernel",
    "tainting kernel",
    "MP-BIOS bug: 8254 timer",
    "tsc: ",
    "TSC ",
    "APIC calibration",
    "mtrr: ",
    "Unstable clock detected",
    "clocksource: ",
    "hrtimer: interrupt took",
    "perf: interrupt took",
    ": disable device",
    "amd_pstate: ",
    "Power-on or device reset occurred",
    "disabling VPD access",
    "PCI: Fatal: No config space access function found",
    "PCI: System does not support PCI",
    "No Caching mode page found",
    "Assuming drive cache: ",
    "Spurious ACK on ",
];

/// The message of a record of the log, if it is of level warning or worse and not [`NORMAL`].
pub(super) fn complaint(record: &str) -> Option<String> {
    let (head, message) = record.split_once(';')?;
    let mut words = head.split(',');
    let level = words.next().and_then(|word| word.parse::<u32>().ok()).unwrap_or(6) & 7;
    // The end of a message that another processor's cut in two: it has the level of those that name none.
    let continues = words.nth(2) == Some("c");
    let line = message.lines().next().unwrap_or_default();
    // The kernel frames in stars that it shows addresses, as it was told to.
    let normal = line.starts_with("**") || NORMAL.iter().any(|normal| line.contains(normal));
    (level <= 4 && !normal && !continues).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn warnings_are_complaints_and_chatter_and_taint_are_not() {
        let bad = complaint("4,511,2790000,-;WARNING: CPU: 0 PID: 1 at lib/x.c:7\n SUBSYSTEM=x\n");
        assert_eq!(bad.as_deref(), Some("WARNING: CPU: 0 PID: 1 at lib/x.c:7"));
        assert_eq!(complaint("6,512,2790001,-;scsi host0: scsi_ram"), None);
        assert_eq!(complaint("4,513,2790002,-;scsi_ram: loading out-of-tree module taints kernel."), None);
        assert_eq!(complaint("4,90,1200,-;mtrr: your CPUs had inconsistent MTRRdefType settings"), None);
        for chatter in [
            "4,5,0,-;** This system shows unhashed kernel memory addresses   **",
            "3,498,1902277,-;sd 0:0:0:0: [sda] No Caching mode page found",
            "3,499,1902278,-;sd 0:0:0:0: [sda] Assuming drive cache: write through",
            "4,301,1102000,-;atkbd serio0: Spurious ACK on isa0060/serio0. Some program might be trying to access hardware \
             directly.",
        ] {
            assert_eq!(complaint(chatter), None);
        }
        let near = "3,500,1902279,-;sd 0:0:0:0: [sda] No Caching mode page";
        assert!(complaint(near).is_some(), "only the whole words are chatter");
        assert_eq!(complaint("continuation without a head"), None);
        assert_eq!(complaint("4,82,301000,c; #3"), None, "of the count of processors");
    }
}
