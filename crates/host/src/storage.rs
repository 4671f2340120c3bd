//! What storage is behind this path? The file system, then the devices from top to bottom.
//!
//! Start reading at [`storage`].

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use iostack_model::{Bytes, FileSystem, Storage};

use crate::mounts::{Mount, holding, mounts};
use crate::roots::{Root, text};
use crate::{HostError, chain, device, sys};

/// The storage behind a file, a directory, or a block device. A file that is not there yet has its directory's.
pub fn storage(path: &Path) -> Result<Storage, HostError> {
    let refused = |source| HostError::refused(path, "find the storage behind", source);
    let (path, data) = match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let parent = parent(path).ok_or(error).map_err(refused)?;
            let data = fs::metadata(&parent).map_err(refused)?;
            (parent, data)
        }
        data => (path.to_owned(), data.map_err(refused)?),
    };
    let root = Root::live();
    if data.file_type().is_block_device() {
        return Ok(Storage { file_system: None, devices: devices(&root, chain::name_of_path(&root, &path)) });
    }
    let id = sys::extended(&path).ok().and_then(|known| known.mount_id);
    let space = sys::space(&path).map_err(refused)?;
    // The name helps where the kernel does not number its mounts.
    let mut storage = storage_in(&root, &fs::canonicalize(&path).unwrap_or(path), id);
    if let Some(file_system) = &mut storage.file_system {
        file_system.total = Bytes(space.total);
        file_system.free = Bytes(space.free);
    }
    Ok(storage)
}

/// `host-managed` or `host-aware`, where a device has zones that are written from their start on.
pub fn zone_model(path: &Path) -> Result<Option<String>, HostError> {
    let (root, devices) = (Root::live(), storage(path)?.devices);
    let model = |name: &str| text(&root.block(&chain::disk_of(&root, name)).join("queue/zoned"));
    Ok(devices.iter().find_map(|device| model(&device.name).filter(|model| model != "none")))
}

fn parent(path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?;
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    fs::canonicalize(parent).ok()
}

/// Storage as by [`storage`], from the kernel's files alone: without the space, which only a system call tells.
pub(crate) fn storage_in(root: &Root, path: &Path, mount_id: Option<u64>) -> Storage {
    let mounts = mounts(root);
    let Some(mount) = holding(&mounts, path, mount_id) else { return Storage::default() };
    Storage {
        file_system: Some(file_system(mount)),
        devices: devices(root, chain::devices_of_mount(root, mount)),
    }
}

fn devices(root: &Root, first: impl IntoIterator<Item = String>) -> Vec<iostack_model::BlockDevice> {
    let mut names: Vec<String> = Vec::new();
    for name in first {
        let lower = chain::below(root, &name);
        names.extend(lower.into_iter().filter(|lower| !names.contains(lower)).collect::<Vec<_>>());
    }
    names.iter().map(|name| device::describe(root, name)).collect()
}

fn file_system(mount: &Mount) -> FileSystem {
    FileSystem {
        kind: mount.kind.clone(),
        mount_point: mount.point.clone(),
        source: mount.source.clone(),
        options: mount.options.clone(),
        total: Bytes(0),
        free: Bytes(0),
        compresses: compresses(&mount.kind, &mount.options),
    }
}

/// True when the file system may compress what we write. zfs does by default (since 2.2, `compression=on`) and its
/// mount options do not tell.
fn compresses(kind: &str, options: &str) -> bool {
    match kind {
        "zfs" => true,
        "btrfs" => options.split(',').any(|option| {
            let (name, how) = option.split_once('=').unwrap_or((option, ""));
            matches!(name, "compress" | "compress-force") && !matches!(how, "no" | "none")
        }),
        // f2fs compresses files that match an extension list or carry the attribute, once an algorithm is set.
        "f2fs" => options.contains("compress_extension="),
        "bcachefs" => options.contains("compression=") && !options.contains("compression=none"),
        _ => false,
    }
}

#[cfg(test)]
#[path = "storage_tests.rs"]
mod tests;
