//! The part of the device that the counted I/Os touch, written once before.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use iostack_model::Direction;

use super::near_side::failed;
use super::{Measure, Ready};
use crate::sys::guest as sys;

/// Alignment of a buffer's address for direct I/O, bytes.
pub(super) const ALIGNMENT: usize = 4096;
/// Bytes of the file on a file system, and of a device that has so many. It is written before it is read: what nobody wrote
/// is answered without the driver's copy.
const REGION_BYTES: u64 = 16 << 20;

/// Bytes that are written at once.
const PIECE: usize = 1 << 20;

/// Attribute of a disk, from the file of that name below `/sys/block/DISK`.
pub(super) fn attribute(disk: &str, name: &str) -> Result<String, String> {
    let path = format!("/sys/block/{disk}/{name}");
    Ok(fs::read_to_string(&path).map_err(failed("read", &path))?.trim().to_owned())
}

/// A number of them.
pub(super) fn number(disk: &str, name: &str) -> Result<u64, String> {
    let text = attribute(disk, name)?;
    text.parse().map_err(|_| format!("`{name}` of {disk} holds no number: {text}"))
}

/// True when every write but the next of its zone is refused. A kernel without zones has no such file.
pub(super) fn is_zoned(disk: &str) -> bool {
    attribute(disk, "queue/zoned").is_ok_and(|zoned| zoned == "host-managed")
}

/// The bytes to touch, a power of two, with something in each; or why the disk cannot take these I/Os.
pub(super) fn filled(measure: &Measure, ready: &Ready) -> Result<u64, String> {
    if ready.folder.is_some() {
        return fill(&ready.path, REGION_BYTES, 0).map(|()| REGION_BYTES);
    }
    let disk = &ready.disk;
    let (unit, size) = (number(disk, "queue/logical_block_size")?, number(disk, "size")? * 512);
    if measure.block_bytes < unit {
        return Err(format!(
            "{disk} has blocks of {unit} bytes; ask for I/Os of no less: --block-size {unit}"
        ));
    }
    if size < measure.block_bytes {
        return Err(format!("{disk} holds {size} bytes, less than one I/O; ask for less with --block-size"));
    }
    let region = REGION_BYTES.min(1 << size.ilog2());
    let (is_fixed, is_zoned) = (number(disk, "ro")? != 0, is_zoned(disk));
    if measure.direction == Direction::Write && (is_fixed || is_zoned) {
        let why = if is_fixed { "is read-only" } else { "is zoned, and takes writes only in order" };
        return Err(format!("{disk} {why}; count its reads: --op read"));
    }
    if is_zoned {
        let zones = File::options().read(true).write(true).open(&ready.path);
        let zones = zones.map_err(failed("open", &ready.path))?;
        sys::reset_zones(&zones, 0..size / 512).map_err(failed("reset the zones of", &ready.path))?;
        return fill(&ready.path, region, libc::O_DIRECT).map(|()| region);
    }
    if !is_fixed {
        fill(&ready.path, region, 0)?;
    }
    Ok(region)
}

/// Writes so many bytes and waits for them; with no `flags` through the page cache.
fn fill(path: &Path, bytes: u64, flags: i32) -> Result<(), String> {
    let file = File::options().write(true).create(true).truncate(false).custom_flags(flags).open(path);
    let mut file = file.map_err(failed("open", path))?;
    let memory: Vec<u8> = (0..(PIECE + ALIGNMENT) as u32).map(|n| (n % 251) as u8).collect();
    let first = memory.as_ptr().align_offset(ALIGNMENT);
    let mut left = bytes as usize;
    while left > 0 {
        let piece = left.min(PIECE);
        file.write_all(&memory[first..first + piece]).map_err(failed("write", path))?;
        left -= piece;
    }
    file.sync_all().map_err(failed("write", path))
}
