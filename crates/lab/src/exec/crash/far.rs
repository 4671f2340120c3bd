//! The far side: one guest looks at one disk after the other.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::super::far::{SAID, started};
use super::{CHECKED, CrashOrder, ENDLESS, ToCheck, WHOSE};
use crate::guest::{self, Ready};
use crate::sys::guest as sys;
use crate::targets::value;
use iostack_target::read_json;

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// Exit code of a disk that cannot be mounted, as `mount` has it.
const NOT_MOUNTED: i32 = 32;

/// Does one order after the other. A file system is mounted before and after, and the disk may be another each time.
pub(in crate::exec) fn look_at_all(check: &ToCheck, ready: &Ready) -> Result<(), String> {
    let place = ready.folder.as_deref().unwrap_or(&ready.path);
    let disks: Vec<PathBuf> =
        (0..check.disks).map(|number| PathBuf::from(format!("/dev/sim{number}"))).collect();
    let device =
        if ready.folder.is_some() { PathBuf::from("/dev").join(&ready.disk) } else { PathBuf::new() };
    let mount = |folder: &Path| sys::mount(&device.to_string_lossy(), folder, &check.kind, "");
    let unmount = || {
        ready
            .folder
            .as_deref()
            .map_or(Ok(()), sys::unmount)
            .map_err(|error| format!("cannot unmount: {error}"))
    };
    fs::write(SAID, "").map_err(|error| format!("cannot write `{SAID}`: {error}"))?;
    unmount()?;
    while let Some(order) = guest::next_order()? {
        let order: CrashOrder = read_json(&order).map_err(|error| error.to_string())?;
        say(&order)?;
        if !order.look && order.whose.is_empty() {
            continue;
        }
        // What the kernel remembers is of another disk.
        for disk in &disks {
            File::open(disk)
                .and_then(|disk| sys::forget(&disk))
                .map_err(|error| format!("cannot forget: {error}"))?;
        }
        if let Err(error) = ready.folder.as_deref().map_or(Ok(()), mount) {
            let why = format!("{} cannot be mounted: {error}", check.kind);
            value(CHECKED, json!({ "code": NOT_MOUNTED, "why": why }));
            continue;
        }
        if !order.look {
            value(WHOSE, json!(whose(place, &order.whose)));
        } else if let Some(ended) =
            started(&["sh", "-c", &check.command].map(str::to_owned), place, 0, false, Some(check.limit()))?
        {
            value(CHECKED, json!({ "code": ended.code, "why": ended.why }));
        } else {
            value(ENDLESS, json!(check.limit_s));
        }
        unmount()?;
    }
    ready.folder.as_deref().map_or(Ok(()), mount).map_err(|error| format!("cannot mount: {error}"))
}

impl ToCheck {
    fn limit(&self) -> Duration {
        Duration::from_secs(self.limit_s)
    }
}

/// Tells the check what the program had said by then.
fn say(order: &CrashOrder) -> Result<(), String> {
    let text: String = order.said.iter().flat_map(|line| [line, "\n"]).collect();
    let file = OpenOptions::new().write(true).truncate(order.anew).append(!order.anew).open(SAID);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("cannot write `{SAID}`: {error}"))
}

/// The file that each range of bytes of the disk belongs to, and the place in it; empty where none is known.
fn whose(folder: &Path, ranges: &[(u64, u64)]) -> Vec<String> {
    let mut found = vec![String::new(); ranges.len()];
    let mut folders = vec![folder.to_owned()];
    while let Some(inside) = folders.pop() {
        for entry in fs::read_dir(inside).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            let is_folder = kind.as_ref().is_ok_and(fs::FileType::is_dir);
            if !is_folder && !kind.is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            let extents = File::open(&path).and_then(|file| sys::extents(&file)).unwrap_or_default();
            let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            for (found, (offset, length)) in found.iter_mut().zip(ranges) {
                let holds =
                    |&&(_, disk, bytes): &&(u64, u64, u64)| disk < offset + length && *offset < disk + bytes;
                if let Some((file, disk, _)) = extents.iter().find(holds) {
                    let at = file + offset.saturating_sub(*disk);
                    *found = format!("{name}, sector {} of it", at / SECTOR);
                }
            }
            if is_folder {
                folders.push(path);
            }
        }
    }
    found
}
