//! Will the medium be read at all, and will it answer at once?
//!
//! Reads of extents that were reserved but never written, and of holes, are answered by the file system with zeroes.
//! [`unwritten`] counts them. [`supports_nowait`] asks whether `io_uring` can submit to this file without handing
//! every I/O to a worker thread.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use iostack_model::Bytes;

use crate::HostError;
use crate::sys::{self, EXTENTS_PER_CALL, Extent};

/// `FIEMAP_EXTENT_LAST` of `linux/fiemap.h`.
const LAST: u32 = 0x1;
/// `FIEMAP_EXTENT_UNWRITTEN`: reserved, reads as zeroes.
const UNWRITTEN: u32 = 0x800;

/// Bytes of `offset..offset + length` that were never written: holes, unwritten extents, and what lies beyond the
/// end. `None` when the file system cannot tell (tmpfs, zfs, block devices).
pub fn unwritten(file: &Path, offset: u64, length: u64) -> Result<Option<Bytes>, HostError> {
    let refused = |source| HostError::refused(file, "list the extents of", source);
    let open = File::open(file).map_err(refused)?;
    let end = offset.saturating_add(length);
    let mut written = 0;
    let mut next = offset;
    while next < end {
        let extents = match sys::extents(&open, next, end - next) {
            Ok(extents) => extents,
            Err(error) if cannot_tell(&error) => return Ok(None),
            Err(error) => return Err(refused(error)),
        };
        written += written_bytes(&extents, next, end);
        let Some(last) = extents.last() else { break };
        if last.flags & LAST != 0 || extents.len() < EXTENTS_PER_CALL {
            break;
        }
        next = last.logical.saturating_add(last.length);
    }
    Ok(Some(Bytes((end - offset).saturating_sub(written))))
}

fn cannot_tell(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::ENOSYS | libc::EBADR))
}

/// Bytes of `first..end` that these extents hold data for.
fn written_bytes(extents: &[Extent], first: u64, end: u64) -> u64 {
    let inside = |extent: &Extent| {
        let from = extent.logical.max(first);
        extent.logical.saturating_add(extent.length).min(end).saturating_sub(from)
    };
    extents.iter().filter(|extent| extent.flags & UNWRITTEN == 0).map(inside).sum()
}

/// Direct I/O of this many bytes is aligned on every device there is.
const PROBE_BYTES: usize = 4096;

/// True when reads of `path` can be submitted without waiting (`RWF_NOWAIT`), so that `io_uring` needs no workers.
///
/// A file without data is answered before its device is asked; then the device itself is tried, and where this user
/// may not read it the answer is true: few drivers cannot, and workers seen later tell ([`crate::counters::workers`]).
pub fn supports_nowait(path: &Path) -> Result<bool, HostError> {
    let refused = |source| HostError::refused(path, "try a read without waiting on", source);
    let answer = probe(path).map_err(refused)?;
    let is_hole = unwritten(path, 0, PROBE_BYTES as u64)? == Some(Bytes(PROBE_BYTES as u64));
    if let (Some(answer), false) = (answer, is_hole) {
        return Ok(answer);
    }
    let storage = crate::storage(path)?;
    // `cciss!c0d0` is sysfs's spelling of /dev/cciss/c0d0.
    let node = |name: &str| Path::new("/dev").join(name.replace('!', "/"));
    let of_device = storage.top().and_then(|top| probe(&node(&top.name)).ok().flatten());
    Ok(of_device.unwrap_or(true))
}

/// Tries it; `None` when there is nothing to read.
fn probe(path: &Path) -> io::Result<Option<bool>> {
    // The page cache never refuses, so the device is asked only by a direct read; where there is no direct I/O the
    // cache is what will be asked.
    let direct = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path);
    let file = match direct {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => File::open(path),
        other => other,
    }?;
    let mut buffer = vec![0u8; 2 * PROBE_BYTES];
    let aligned = buffer.as_ptr().align_offset(PROBE_BYTES);
    match sys::read_nowait(&file, &mut buffer[aligned..aligned + PROBE_BYTES]) {
        Ok(length) => Ok((length > 0).then_some(true)),
        Err(error) => match error.raw_os_error() {
            Some(libc::EAGAIN) => Ok(Some(true)),
            Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL) => Ok(Some(false)),
            _ => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::testing::{Tree, skipped};

    fn extent(logical: u64, length: u64, flags: u32) -> Extent {
        Extent { logical, length, flags, ..Extent::default() }
    }

    #[test]
    fn only_written_extents_inside_the_range_count() {
        let extents =
            [extent(0, 100, 0), extent(100, 100, UNWRITTEN), extent(300, 100, 0), extent(500, 50, LAST)];
        assert_eq!(written_bytes(&extents, 0, 1000), 250);
        assert_eq!(written_bytes(&extents, 50, 350), 100);
        assert_eq!(written_bytes(&extents, 600, 700), 0);
    }

    #[test]
    fn reserved_and_absent_bytes_are_unwritten_until_they_are_written() {
        const TEST: &str = "reserved_and_absent_bytes_are_unwritten_until_they_are_written";
        const MIB: u64 = 1 << 20;
        let tree = Tree::new(&[("data", "")]);
        let path = tree.at("data");
        let file = OpenOptions::new().write(true).open(&path).expect("just made");
        if sys::reserve(&file, 8 * MIB).is_err() {
            return skipped(TEST, "the file system reserves nothing");
        }
        let Some(all) = unwritten(&path, 0, 8 * MIB).expect("it is readable") else {
            return skipped(TEST, "the file system lists no extents");
        };
        assert_eq!(all, Bytes(8 * MIB), "reserved");
        file.set_len(16 * MIB).expect("sparse");
        file.write_all_at(&vec![1; MIB as usize], 2 * MIB).expect("1 MiB is free");
        assert_eq!(unwritten(&path, 0, 16 * MIB).expect("readable"), Some(Bytes(15 * MIB)));
        assert_eq!(unwritten(&path, 2 * MIB, MIB).expect("readable"), Some(Bytes(0)));
        assert_eq!(unwritten(&path, MIB, 3 * MIB / 2).expect("readable"), Some(Bytes(MIB)));
        assert_eq!(unwritten(&path, 0, 0).expect("readable"), Some(Bytes(0)));
    }

    #[test]
    fn more_extents_than_fit_one_call_are_all_counted() {
        const TEST: &str = "more_extents_than_fit_one_call_are_all_counted";
        let tree = Tree::new(&[("data", "")]);
        let path = tree.at("data");
        let file = OpenOptions::new().write(true).open(&path).expect("just made");
        let (step, pieces) = (64 << 10, 2 * EXTENTS_PER_CALL as u64 + 7);
        for piece in 0..pieces {
            file.write_all_at(&[1; 4096], piece * step).expect("some KiB are free");
        }
        match unwritten(&path, 0, pieces * step).expect("it is readable") {
            Some(holes) => assert_eq!(holes.0, pieces * (step - 4096)),
            None => skipped(TEST, "the file system lists no extents"),
        }
    }

    #[test]
    fn a_memory_file_system_cannot_tell() {
        const TEST: &str = "a_memory_file_system_cannot_tell";
        let path = Path::new("/dev/shm").join(format!("iostack-host-test-{}", std::process::id()));
        if fs::write(&path, [1; 4096]).is_err() {
            return skipped(TEST, "/dev/shm is missing");
        }
        let answer = unwritten(&path, 0, 4096);
        fs::remove_file(&path).expect("just made");
        assert_eq!(answer.expect("it is readable"), None);
    }

    #[test]
    fn an_ordinary_file_answers_without_waiting() {
        let tree = Tree::new(&[]);
        let path = tree.at("data");
        fs::write(&path, vec![7; 1 << 16]).expect("64 KiB are free");
        File::open(&path).and_then(|file| file.sync_all()).expect("it can be synced");
        assert!(supports_nowait(&path).expect("it is readable"));
        supports_nowait(&tree.at("absent")).expect_err("it is absent");
    }
}
