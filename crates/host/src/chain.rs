//! Which devices lie below, from the one at hand down to hardware?
//!
//!   dm-0 ──► nvme0n1p2 ──► nvme0n1            slaves, then the disk of a partition
//!   loop0 ──► (file on) vda1 ──► vda          the backing file's file system, then as above
//!   md0 ──► sda1 ──► sda ──► sdb1 ──► sdb     every member, each with what is below it
//!
//! Names only; [`crate::device`] looks closer. Start reading at [`below`].

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::mounts::{Mount, holding, mounts};
use crate::roots::{Root, link_name, names, text};
use crate::sys;

/// The kernel's name of the device with this number.
pub(crate) fn name_of_number(root: &Root, (major, minor): (u32, u32)) -> Option<String> {
    link_name(&root.at(format!("sys/dev/block/{major}:{minor}")))
}

/// The kernel's name of a device node.
pub(crate) fn name_of_path(root: &Root, node: &Path) -> Option<String> {
    if root.is_live() {
        return name_of_number(root, device_number(node).ok()?);
    }
    // A stored tree has no device nodes; there the file's own name must do.
    let name = fs::canonicalize(root.at(node)).ok()?.file_name()?.to_string_lossy().into_owned();
    root.block(&name).exists().then_some(name)
}

/// The kernel's name of a device node; `None` of any other file.
fn name_of_node(root: &Root, path: &Path) -> Option<String> {
    if root.is_live() && !fs::metadata(path).ok()?.file_type().is_block_device() {
        return None;
    }
    name_of_path(root, path)
}

/// Major and minor of a device, as sysfs writes them: `259:2`.
pub(crate) fn number_text(root: &Root, name: &str) -> Option<String> {
    text(&root.block(name).join("dev"))
}

/// The number of a device as stat(2) has it.
pub(crate) fn device_of_name(root: &Root, name: &str) -> Option<u64> {
    let text = number_text(root, name)?;
    let (major, minor) = text.split_once(':')?;
    Some(libc::makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// True when `name` is a partition.
pub(crate) fn is_partition(root: &Root, name: &str) -> bool {
    root.block(name).join("partition").exists()
}

/// The disk of a partition; a whole device is its own.
pub(crate) fn disk_of(root: &Root, name: &str) -> String {
    let parent = || {
        // sysfs has a partition's directory in that of its disk.
        let directory = fs::canonicalize(root.block(name)).ok()?;
        Some(directory.parent()?.file_name()?.to_string_lossy().into_owned())
    };
    if is_partition(root, name) { parent().unwrap_or_else(|| name.to_owned()) } else { name.to_owned() }
}

/// The partitions of a disk.
pub(crate) fn partitions(root: &Root, disk: &str) -> Vec<String> {
    let directory = root.block(disk);
    names(&directory).into_iter().filter(|name| directory.join(name).join("partition").exists()).collect()
}

/// The file behind a loop device.
pub(crate) fn backing_file(root: &Root, name: &str) -> Option<PathBuf> {
    text(&root.block(name).join("loop/backing_file")).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// `first` and everything below it, top to bottom, each device once.
pub(crate) fn below(root: &Root, first: &str) -> Vec<String> {
    let mounts = mounts(root);
    let mut found = Vec::new();
    descend(root, &mounts, first, &mut found);
    found
}

/// Depth first. A device that was met already ends the descent, so a loop on itself cannot run away.
fn descend(root: &Root, mounts: &[Mount], name: &str, found: &mut Vec<String>) {
    if found.iter().any(|known| known == name) || !root.block(name).exists() {
        return;
    }
    found.push(name.to_owned());
    for lower in directly_below(root, mounts, name) {
        descend(root, mounts, &lower, found);
    }
}

fn directly_below(root: &Root, mounts: &[Mount], name: &str) -> Vec<String> {
    let disk = disk_of(root, name);
    if disk != name {
        return vec![disk];
    }
    if let Some(file) = backing_file(root, name) {
        // A loop device may lie on a device itself, of which the file system of /dev knows nothing.
        let device = name_of_node(root, &file);
        return device.map_or_else(|| devices_of_path(root, mounts, &file), |device| vec![device]);
    }
    names(&root.block(name).join("slaves"))
}

/// The devices right under the file system that holds `path`.
pub(crate) fn devices_of_path(root: &Root, mounts: &[Mount], path: &Path) -> Vec<String> {
    let id = if root.is_live() { sys::extended(path).ok().and_then(|known| known.mount_id) } else { None };
    holding(mounts, path, id).map(|mount| devices_of_mount(root, mount)).unwrap_or_default()
}

/// The devices right under a mounted file system: none for tmpfs, overlay and network, several for btrfs.
pub(crate) fn devices_of_mount(root: &Root, mount: &Mount) -> Vec<String> {
    if mount.number.0 != 0 {
        return name_of_number(root, mount.number).into_iter().collect();
    }
    let source = Path::new(&mount.source);
    if !source.starts_with("/dev") {
        return Vec::new();
    }
    let Some(name) = name_of_path(root, source) else { return Vec::new() };
    if mount.kind == "btrfs" { btrfs_members(root, name) } else { vec![name] }
}

/// All devices of the btrfs that `name` belongs to, `name` first.
fn btrfs_members(root: &Root, name: String) -> Vec<String> {
    let systems = root.at("sys/fs/btrfs");
    let mut families = names(&systems).into_iter().map(|id| names(&systems.join(id).join("devices")));
    let mut members = families.find(|family| family.contains(&name)).unwrap_or_default();
    members.retain(|other| *other != name);
    members.insert(0, name);
    members
}

/// Major and minor number of the device that holds `path`, or of the device it is.
fn device_number(path: &Path) -> std::io::Result<(u32, u32)> {
    let data = fs::metadata(path)?;
    let number = if data.file_type().is_block_device() { data.rdev() } else { data.dev() };
    Ok((libc::major(number), libc::minor(number)))
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
