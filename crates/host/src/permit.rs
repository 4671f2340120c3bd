//! May we write there? Nothing that exists is overwritten unless the user names it.
//!
//! | what is there | without `--destroy-data` | with it |
//! | --- | --- | --- |
//! | a mount, swap, a device built on it, an exclusive opener | refused | refused |
//! | a partition table, a file system, a member of something | refused | written |
//! | a file that `serve --store` has at this moment | refused | refused |
//! | a file in which `serve --store` keeps data | refused | written |
//! | a file not made by iostack, or one that holds a file system by now | refused | written |
//! | a file made by iostack, a new file | written | written |
//! | a device on which nothing is recognised | refused | written |
//!
//! What is there is told by what is held, never by its name: a link, a hard link or another node is no way around.
//! Start reading at [`permit_write`].

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iostack_model::TargetKind;

use crate::held::{Held, Identity};
use crate::mounts::mounts;
use crate::resolve::target_size;
use crate::roots::{Root, names, number, text};
use crate::signature::{FoundSignature, recognise};
use crate::{HostError, chain, marks, sys};

/// Refuses, naming what is there, when writing to `target` would harm someone. `destroy_data` says that the user has
/// named this very target with `--destroy-data`. A device that is permitted is claimed: nobody else can mount it or
/// build on it while it is held. Nor can anybody serve a file.
pub fn permit_write(target: &Held, destroy_data: bool) -> Result<(), HostError> {
    match target.kind() {
        TargetKind::Directory => permit_directory(target),
        TargetKind::File => not_served(target).and_then(|()| permit_file(target, destroy_data)),
        TargetKind::Block => permit_device(target, destroy_data),
        // It exists for the run only.
        TargetKind::Sim | TargetKind::Lab => Ok(()),
    }
}

/// Permits a server to keep data in a file: a new one, one of its own, or any with `destroy_data`. It is the server's alone
/// while what this gives is open.
pub fn permit_store(target: &Held, destroy_data: bool) -> Result<File, HostError> {
    match permit_file(target, destroy_data) {
        Err(HostError::Kept(_)) => {}
        // A store of before there was a mark for it; it holds what a program of the served disk put there.
        Err(HostError::Signature { .. }) if target.is_made() => {}
        other => other?,
    }
    let path = target.path();
    let opened = target.reopen(OpenOptions::new().read(true).write(true));
    let file = opened.map_err(|error| HostError::refused(path, "open", error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        // Somebody shares it: that is no server.
        Err(TryLockError::WouldBlock) => match file.try_lock_shared() {
            Ok(()) => Err(HostError::Written(path.to_owned())),
            Err(_) => Err(served(target)),
        },
        Err(TryLockError::Error(error)) => Err(HostError::refused(path, "lock", error)),
    }
}

/// Refuses a file that a server has; none takes it while it is held. Where there are no locks, nobody can tell.
fn not_served(file: &Held) -> Result<(), HostError> {
    match file.share() {
        Err(TryLockError::WouldBlock) => Err(served(file)),
        _ => Ok(()),
    }
}

fn served(file: &Held) -> HostError {
    let known = locker(&Root::live(), file.identity());
    let server = known.map_or("a running `iostack serve`".to_owned(), |process| {
        format!("`iostack serve`, process {process},")
    });
    let why = format!("{server} has the data of its drive there; end that first");
    HostError::InUse { path: file.path().to_owned(), why }
}

/// The process that has the lock of a server on a file, where the kernel tells: `proc_locks(5)`.
fn locker(root: &Root, file: Identity) -> Option<u32> {
    let Identity::Inode { device, number } = file else { return None };
    let place = format!("{:02x}:{:02x}:{number}", libc::major(device), libc::minor(device));
    let locks = text(&root.at("proc/locks"))?;
    let mut found = locks.lines().filter_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [_, "FLOCK", _, "WRITE", process, lock, ..] if lock == place => process.parse().ok(),
        _ => None,
    });
    found.next()
}

const EXCLUSIVE: &str = "the kernel or another program has it open exclusively; stop what uses it (lsblk, lsof and \
                         fuser -v tell)";

fn why_not(device: &Path, error: io::Error) -> HostError {
    let path = device.to_owned();
    match error.raw_os_error() {
        Some(libc::EBUSY) => HostError::InUse { path, why: EXCLUSIVE.to_owned() },
        Some(libc::EACCES | libc::EPERM) => HostError::NotWritable(path),
        Some(libc::EROFS) => HostError::ReadOnly { path, why: "the device takes no writes".to_owned() },
        _ => HostError::refused(device, "open", error),
    }
}

fn permit_directory(directory: &Held) -> Result<(), HostError> {
    not_read_only(directory)?;
    if sys::may(&directory.handle(), libc::W_OK | libc::X_OK) {
        Ok(())
    } else {
        Err(HostError::NotWritable(directory.path().to_owned()))
    }
}

fn not_read_only(target: &Held) -> Result<(), HostError> {
    let path = target.path();
    let space = sys::space(&target.handle()).map_err(|error| HostError::refused(path, "look at", error))?;
    if space.read_only {
        let why = "its file system is mounted read-only".to_owned();
        return Err(HostError::ReadOnly { path: path.to_owned(), why });
    }
    Ok(())
}

fn permit_file(file: &Held, destroy_data: bool) -> Result<(), HostError> {
    let path = || file.path().to_owned();
    file_in_use(&Root::live(), file)?;
    not_read_only(file)?;
    if !sys::may(&file.handle(), libc::W_OK) {
        return Err(HostError::NotWritable(path()));
    }
    if destroy_data {
        return Ok(());
    }
    if marks::is_kept(file) {
        return Err(HostError::Kept(path()));
    }
    if !file.is_made() {
        return Err(HostError::NotOurs(path()));
    }
    match content(file)? {
        None => Ok(()),
        Some(FoundSignature::Table(what) | FoundSignature::Content(what)) => {
            Err(HostError::Signature { path: path(), what })
        }
    }
}

/// Content that the held file or device says it holds.
fn content(target: &Held) -> Result<Option<FoundSignature>, HostError> {
    let refused = |error| HostError::refused(target.path(), "look for a file system on", error);
    let file = target.reopen(OpenOptions::new().read(true)).map_err(refused)?;
    recognise(&file, target_size(target)?.0).map_err(refused)
}

/// A file that is swap space, or that a loop device makes a disk of.
fn file_in_use(root: &Root, file: &Held) -> Result<(), HostError> {
    let is_it = |swap: &PathBuf| Identity::of_path(&root.at(swap)) == Some(file.identity());
    if let Some(swap) = swaps(root).into_iter().find(is_it) {
        return Err(HostError::swap(file.path(), &swap));
    }
    let over = loop_over(root, file.identity());
    let refused = |name| Err(HostError::built_on(file.path(), "it", &format!("the loop device {name}")));
    over.map_or(Ok(()), refused)
}

/// The loop device that makes a disk of this file or device.
fn loop_over(root: &Root, lower: Identity) -> Option<String> {
    let all = names(&root.at("sys/block"));
    all.into_iter().filter(|name| name.starts_with("loop")).find(|name| {
        let Some(path) = chain::backing_file(root, name) else { return false };
        // Only the device knows the file itself; its name is what is left to those who may not ask.
        backing_inode(root, name) == Some(lower) || Identity::of_path(&root.at(path)) == Some(lower)
    })
}

fn backing_inode(root: &Root, name: &str) -> Option<Identity> {
    let node = root.at("dev").join(name);
    let device = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(node).ok()?;
    let number = device.metadata().ok()?.rdev();
    let number = format!("{}:{}", libc::major(number), libc::minor(number));
    if chain::number_text(root, name)? != number {
        return None;
    }
    let (device, number) = sys::loop_backing(&device).ok()?;
    Some(Identity::Inode { device, number })
}

fn permit_device(target: &Held, destroy_data: bool) -> Result<(), HostError> {
    let path = &target.path().to_owned();
    let root = Root::live();
    let name = chain::name_of_path(&root, &target.handle())
        .ok_or_else(|| HostError::NoDevice(path.display().to_string()))?;
    device_in_use(&root, &name, path)?;
    if number(&root.block(&name).join("ro")) == Some(1) {
        return Err(HostError::ReadOnly { path: path.clone(), why: "the device takes no writes".to_owned() });
    }
    if !sys::may(&target.handle(), libc::R_OK | libc::W_OK) {
        return Err(HostError::NotWritable(path.clone()));
    }
    // The claim also shows what this mount namespace hides.
    target.claim().map_err(|error| why_not(path, error))?;
    if destroy_data {
        return Ok(());
    }
    if let Some(what) = partition_list(&root, &name) {
        return Err(HostError::Partitioned { path: path.clone(), what });
    }
    match content(target)? {
        None => Err(HostError::Device(path.clone())),
        Some(FoundSignature::Table(what)) => {
            Err(HostError::Partitioned { path: path.clone(), what: what.to_owned() })
        }
        Some(FoundSignature::Content(what)) => Err(HostError::Signature { path: path.clone(), what }),
    }
}

fn partition_list(root: &Root, name: &str) -> Option<String> {
    let partitions = chain::partitions(root, name);
    (!partitions.is_empty()).then(|| partitions.join(", "))
}

/// Refuses a device that is in use: itself, a partition of it, or anything built on either.
fn device_in_use(root: &Root, name: &str, path: &Path) -> Result<(), HostError> {
    let family = family(root, name);
    let said = |device: &str| if device == name { "it".to_owned() } else { device.to_owned() };
    for mount in mounts(root) {
        let devices = chain::devices_of_mount(root, &mount);
        if let Some(device) = devices.iter().find(|device| family.contains(device)) {
            return Err(HostError::mounted(path, &said(device), &mount.point));
        }
    }
    for swap in swaps(root) {
        if chain::name_of_path(root, &swap).is_some_and(|device| family.contains(&device)) {
            return Err(HostError::swap(path, &swap));
        }
    }
    let built_on = |device: &str| {
        let over = || loop_over(root, Identity::Device { number: chain::device_of_name(root, device)? });
        holders(root, device).into_iter().next().or_else(over)
    };
    match family.iter().find_map(|device| Some((device, built_on(device)?))) {
        Some((device, holder)) => Err(HostError::built_on(path, &said(device), &holder)),
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
