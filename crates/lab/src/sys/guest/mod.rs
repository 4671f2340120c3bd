//! Calls of the far side: of the guest's first process.

#![expect(clippy::inline_always, reason = "what stands between two marks must be the same in every build")]

#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod processor;
#[cfg(not(target_arch = "x86_64"))]
#[path = "elsewhere.rs"]
mod processor;
mod queue;

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

pub(crate) use processor::{
    mark_begin, mark_count, mark_dump, mark_end, mark_order, mark_trace, stop_machine, ticks, transfer,
    write_port,
};
pub(crate) use queue::GuestQueue;

fn checked(status: i64) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn text(path: &Path) -> io::Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Memory of this process that lies where it lies.
pub(crate) struct Resident {
    at: *const u8,
    length: usize,
}

impl Resident {
    pub(crate) fn new(length: usize) -> io::Result<Resident> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE | libc::MAP_LOCKED;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), length, rights, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(Resident { at: at.cast(), length })
        }
    }

    pub(crate) fn address(&self) -> u64 {
        self.at as u64
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is as long, and is there as long as this; nobody writes while the machine runs.
        unsafe { std::slice::from_raw_parts(self.at, self.length) }
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        // SAFETY: unmaps what was mapped; no slice of it is left.
        unsafe { libc::munmap(self.at.cast_mut().cast(), self.length) };
    }
}

/// Mounts a file system, without programs on it: what a device brings past the emulated processor could be run as what the
/// emulator had translated before.
pub(crate) fn mount(source: &str, at: &Path, kind: &str, options: &str) -> io::Result<()> {
    let (source, at, kind, options) =
        (CString::new(source)?, text(at)?, CString::new(kind)?, CString::new(options)?);
    // SAFETY: four strings that end with a zero byte and outlive the call.
    let status = unsafe {
        libc::mount(source.as_ptr(), at.as_ptr(), kind.as_ptr(), libc::MS_NOEXEC, options.as_ptr().cast())
    };
    checked(i64::from(status))
}

/// Unmounts what is mounted there.
pub(crate) fn unmount(at: &Path) -> io::Result<()> {
    let at = text(at)?;
    // SAFETY: a string that ends with a zero byte and outlives the call.
    checked(i64::from(unsafe { libc::umount2(at.as_ptr(), 0) }))
}

/// Loads a module with its parameters, `NAME=VALUE NAME=VALUE`.
pub(crate) fn load_module(file: &File, parameters: &str) -> io::Result<()> {
    let parameters = CString::new(parameters)?;
    // SAFETY: the descriptor is open for the call and the string ends with a zero byte.
    let status = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), parameters.as_ptr(), 0) };
    checked(status)
}

/// Unloads a module that nobody uses.
pub(crate) fn unload_module(name: &str) -> io::Result<()> {
    let name = CString::new(name)?;
    // SAFETY: a string that ends with a zero byte and outlives the call.
    let status = unsafe { libc::syscall(libc::SYS_delete_module, name.as_ptr(), libc::O_NONBLOCK) };
    checked(status)
}

/// Discards a range of a device.
pub(crate) fn discard(file: &File, offset: u64, length: u64) -> io::Result<()> {
    /// `_IO(0x12, 119)` of linux/fs.h.
    const BLKDISCARD: libc::Ioctl = 0x1277;
    of_range(file, BLKDISCARD, [offset, length])
}

/// Empties the zones of a device in these sectors.
pub(crate) fn reset_zones(file: &File, sectors: Range<u64>) -> io::Result<()> {
    /// `_IOW(0x12, 131, struct blk_zone_range)` of linux/blkzoned.h.
    const BLKRESETZONE: libc::Ioctl = 0x4010_1283;
    of_range(file, BLKRESETZONE, [sectors.start, sectors.end - sectors.start])
}

/// Has the kernel forget what it remembers of a disk's content.
pub(crate) fn forget(disk: &File) -> io::Result<()> {
    /// `_IO(0x12, 97)` of linux/fs.h.
    const BLKFLSBUF: libc::Ioctl = 0x1261;
    // SAFETY: the descriptor is open, and the call takes no memory.
    checked(i64::from(unsafe { libc::ioctl(disk.as_raw_fd(), BLKFLSBUF, 0) }))
}

/// Extents of a file: offset in it, offset on the disk, and length of each.
pub(crate) fn extents(file: &File) -> io::Result<Vec<(u64, u64, u64)>> {
    /// `FS_IOC_FIEMAP` of linux/fs.h; words of `struct fiemap` before its extents, and of `struct fiemap_extent`.
    const CALL: libc::Ioctl = 0xC020_660B_u32.cast_signed() as libc::Ioctl;
    const HEAD: usize = 4;
    const EXTENT: usize = 7;
    const COUNT: usize = 256;
    let (mut found, mut start) = (Vec::new(), 0);
    loop {
        let mut words = [0_u64; HEAD + COUNT * EXTENT];
        // From where, how far, no flags, and for how many extents there is room.
        (words[0], words[1], words[3]) = (start, u64::MAX - start, COUNT as u64);
        // SAFETY: the descriptor is open, and the memory has room for the extents that the call is told of.
        checked(i64::from(unsafe { libc::ioctl(file.as_raw_fd(), CALL, words.as_mut_ptr()) }))?;
        let mapped = (words[2] >> 32) as usize;
        found.extend(words[HEAD..].chunks_exact(EXTENT).take(mapped).map(|one| (one[0], one[1], one[2])));
        match found.last() {
            Some((at, _, length)) if mapped == COUNT => start = at + length,
            _ => return Ok(found),
        }
    }
}

/// A call for the first of these numbers, and as many as the second says.
fn of_range(file: &File, call: libc::Ioctl, range: [u64; 2]) -> io::Result<()> {
    // SAFETY: the descriptor is open, and both calls that come here read two numbers, which are there.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), call, range.as_ptr()) };
    checked(i64::from(status))
}

/// Says what an array of md is: its level, how many disks, how they are laid out, and bytes of a chunk. It has no superblock,
/// and its disks are in step.
pub(crate) fn array_shape(array: &File, level: u32, disks: u32, layout: u32, chunk: u32) -> io::Result<()> {
    /// `SET_ARRAY_INFO` of `linux/raid/md_u.h`.
    const CALL: libc::Ioctl = 0x4048_0923;
    const IN_STEP: u32 = 1;
    // struct mdu_array_info_s: version 0.90, level, .., disks in all, .., no superblock, .., state, disks active and
    // working, .., layout, chunk.
    let shape: [u32; 18] =
        [0, 90, 0, 0, level, 0, disks, disks, 0, 1, 0, IN_STEP, disks, disks, 0, 0, layout, chunk];
    of_array(array, CALL, &shape)
}

/// Adds a block device to an array: its place in it, and its number.
pub(crate) fn array_disk(array: &File, place: u32, device: u64) -> io::Result<()> {
    /// `ADD_NEW_DISK` of `linux/raid/md_u.h`.
    const CALL: libc::Ioctl = 0x4014_0921;
    const ACTIVE_AND_IN_STEP: u32 = 1 << 1 | 1 << 2;
    let (major, minor) = (libc::major(device), libc::minor(device));
    of_array(array, CALL, &[place, major, minor, place, ACTIVE_AND_IN_STEP])
}

/// Starts an array.
pub(crate) fn array_run(array: &File) -> io::Result<()> {
    /// `RUN_ARRAY` of `linux/raid/md_u.h`.
    const CALL: libc::Ioctl = 0x400C_0930;
    of_array(array, CALL, &[0; 3])
}

fn of_array(array: &File, call: libc::Ioctl, words: &[u32]) -> io::Result<()> {
    // SAFETY: the descriptor is open, and each call reads as many numbers as its caller gives.
    let status = unsafe { libc::ioctl(array.as_raw_fd(), call, words.as_ptr()) };
    checked(i64::from(status))
}

/// Kills every process but the guest's first, which alone calls it, and waits until they are gone: all are its children by then.
pub(crate) fn kill_others() {
    // SAFETY: takes two numbers; -1 is all but the caller, and without any there is nothing to do.
    unsafe { libc::kill(-1, libc::SIGKILL) };
    // SAFETY: no status is asked for, so that no memory is touched; it fails when no child is left.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 {}
}

/// Switches the machine off.
pub(crate) fn power_off() {
    // SAFETY: no memory is touched; only the guest's first process calls it.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
}

/// Writes back what the page cache has of these bytes, and waits for it: data alone, no journal.
pub(crate) fn write_back(file: RawFd, offset: u64, length: u64) -> i64 {
    let flags =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: no memory is touched.
    let status = unsafe { libc::sync_file_range(file, offset.cast_signed(), length.cast_signed(), flags) };
    if status == 0 { length.cast_signed() } else { -i64::from(libc::EIO) }
}

/// Drops the file's clean pages, and has reads bring no neighbours.
pub(crate) fn advise_random(file: &File) -> io::Result<()> {
    for advice in [libc::POSIX_FADV_DONTNEED, libc::POSIX_FADV_RANDOM] {
        // SAFETY: the descriptor is open; no memory is touched.
        let status = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
        if status != 0 {
            return Err(io::Error::from_raw_os_error(status));
        }
    }
    Ok(())
}
