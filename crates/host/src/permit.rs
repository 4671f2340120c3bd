//! May we write there? Nothing that exists is overwritten unless the user names it.
//!
//! | what is there | without `--destroy-data` | with it |
//! | --- | --- | --- |
//! | a mount, swap, a device built on it, an exclusive opener | refused | refused |
//! | a partition table, a file system, a member of something | refused | written |
//! | a file not made by iostack | refused | written |
//! | a file made by iostack, a new file | written | written |
//! | a device on which nothing is recognised | refused | written |
//!
//! Start reading at [`permit_write`].

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use iostack_model::{Target, TargetKind};

use crate::mounts::mounts;
use crate::resolve::target_size;
use crate::roots::{Root, names, number, text};
use crate::signature::{Found, recognise};
use crate::{HostError, chain, is_made, sys};

/// Refuses, naming what is there, when writing to `target` would harm someone. `destroy_data` says that the user has
/// named this very target with `--destroy-data`.
pub fn permit_write(target: &Target, destroy_data: bool) -> Result<(), HostError> {
    match target.kind {
        TargetKind::Directory => permit_directory(&target.path),
        TargetKind::File => permit_file(&target.path, destroy_data),
        TargetKind::Block => permit_device(target, destroy_data),
        // It exists for the run only.
        TargetKind::Sim | TargetKind::Lab => Ok(()),
    }
}

/// Opens a block device so that nobody else can mount it or build on it meanwhile, for reading and writing, with
/// further `O_` flags. Refuses when somebody already has.
pub fn open_exclusive(device: &Path, flags: i32) -> Result<File, HostError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags | libc::O_EXCL);
    options.open(device).map_err(|error| why_not(device, error))
}

fn why_not(device: &Path, error: io::Error) -> HostError {
    let path = device.to_owned();
    match error.raw_os_error() {
        Some(libc::EBUSY) => HostError::Busy { path },
        Some(libc::EACCES | libc::EPERM) => HostError::NotWritable { path },
        Some(libc::EROFS) => HostError::ReadOnly { path, why: "the device takes no writes".to_owned() },
        _ => HostError::refused(device, "open", error),
    }
}

fn permit_directory(path: &Path) -> Result<(), HostError> {
    let space = sys::space(path).map_err(|error| HostError::refused(path, "look at", error))?;
    if space.read_only {
        let why = "its file system is mounted read-only".to_owned();
        return Err(HostError::ReadOnly { path: path.to_owned(), why });
    }
    if sys::may(path, libc::W_OK | libc::X_OK) {
        Ok(())
    } else {
        Err(HostError::NotWritable { path: path.to_owned() })
    }
}

fn permit_file(path: &Path, destroy_data: bool) -> Result<(), HostError> {
    if let Err(error) = fs::symlink_metadata(path) {
        let parent = path.parent().filter(|_| error.kind() == io::ErrorKind::NotFound);
        return permit_directory(parent.ok_or_else(|| HostError::refused(path, "look at", error))?);
    }
    file_in_use(&Root::live(), path)?;
    let space = sys::space(path).map_err(|error| HostError::refused(path, "look at", error))?;
    if space.read_only {
        let why = "its file system is mounted read-only".to_owned();
        return Err(HostError::ReadOnly { path: path.to_owned(), why });
    }
    if !sys::may(path, libc::W_OK) {
        return Err(HostError::NotWritable { path: path.to_owned() });
    }
    if is_made(path) || destroy_data { Ok(()) } else { Err(HostError::NotOurs { path: path.to_owned() }) }
}

/// A file that is swap space, or that a loop device makes a disk of.
fn file_in_use(root: &Root, path: &Path) -> Result<(), HostError> {
    if swaps(root).iter().any(|swap| swap == path) {
        return Err(HostError::Swap { path: path.to_owned(), device: path.display().to_string() });
    }
    let holder = names(&root.at("sys/block"))
        .into_iter()
        .find(|name| chain::backing_file(root, name).is_some_and(|file| file == path));
    match holder {
        Some(holder) => {
            let device = "it".to_owned();
            Err(HostError::Held {
                path: path.to_owned(),
                device,
                holder: format!("the loop device {holder}"),
            })
        }
        None => Ok(()),
    }
}

fn permit_device(target: &Target, destroy_data: bool) -> Result<(), HostError> {
    let path = &target.path;
    let root = Root::live();
    let name = chain::name_of_path(&root, path)
        .ok_or_else(|| HostError::NoDevice { device: path.display().to_string() })?;
    device_in_use(&root, &name, path)?;
    if number(&root.block(&name).join("ro")) == Some(1) {
        return Err(HostError::ReadOnly { path: path.clone(), why: "the device takes no writes".to_owned() });
    }
    if !sys::may(path, libc::R_OK | libc::W_OK) {
        return Err(HostError::NotWritable { path: path.clone() });
    }
    // Exclusively, which also shows what this mount namespace hides; for reading only, because closing a device that
    // was open for writing makes udev probe it anew.
    let device = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(path);
    let device = device.map_err(|error| why_not(path, error))?;
    if destroy_data {
        return Ok(());
    }
    if let Some(what) = partition_list(&root, &name) {
        return Err(HostError::Partitioned { path: path.clone(), what });
    }
    let found = recognise(&device, target_size(target)?.0)
        .map_err(|error| HostError::refused(path, "look for a file system on", error))?;
    match found {
        None => Err(HostError::Device { path: path.clone() }),
        Some(Found::Table(what)) => Err(HostError::Partitioned { path: path.clone(), what: what.to_owned() }),
        Some(Found::Content(what)) => Err(HostError::Signature { path: path.clone(), what }),
    }
}

fn partition_list(root: &Root, name: &str) -> Option<String> {
    let partitions = chain::partitions(root, name);
    (!partitions.is_empty()).then(|| partitions.join(", "))
}

/// Refuses a device that is in use: itself, a partition of it, or anything built on either.
fn device_in_use(root: &Root, name: &str, path: &Path) -> Result<(), HostError> {
    let family = family(root, name);
    let path = path.to_owned();
    let said = |device: &str| if device == name { "it".to_owned() } else { device.to_owned() };
    for mount in mounts(root) {
        let devices = chain::devices_of_mount(root, &mount);
        if let Some(device) = devices.iter().find(|device| family.contains(device)) {
            let mount = mount.point.display().to_string();
            return Err(HostError::Mounted { path, device: said(device), mount });
        }
    }
    for swap in swaps(root) {
        if chain::name_of_path(root, &swap).is_some_and(|device| family.contains(&device)) {
            return Err(HostError::Swap { path, device: swap.display().to_string() });
        }
    }
    let held = family.iter().find_map(|device| Some((device, holders(root, device).into_iter().next()?)));
    match held {
        Some((device, holder)) => Err(HostError::Held { path, device: said(device), holder }),
        None => Ok(()),
    }
}

/// The device, its partitions, and all that is built on any of them.
fn family(root: &Root, name: &str) -> Vec<String> {
    let mut family = vec![name.to_owned()];
    let mut next = 0;
    while next < family.len() {
        let member = family[next].clone();
        for other in chain::partitions(root, &member).into_iter().chain(holders(root, &member)) {
            if !family.contains(&other) {
                family.push(other);
            }
        }
        next += 1;
    }
    family
}

fn holders(root: &Root, name: &str) -> Vec<String> {
    names(&root.block(name).join("holders"))
}

/// Files and devices that are swap space now.
fn swaps(root: &Root) -> Vec<PathBuf> {
    let table = text(&root.at("proc/swaps")).unwrap_or_default();
    let first_word = |line: &str| line.split_whitespace().next().map(crate::mounts::unescape);
    table.lines().skip(1).filter_map(first_word).map(PathBuf::from).collect()
}

#[cfg(test)]
#[path = "permit_tests.rs"]
mod tests;
