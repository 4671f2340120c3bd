//! The crate's only unsafe code: system calls, each behind a safe function.
#![expect(unsafe_code, reason = "system calls; one operation per block")]

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

fn check(status: libc::c_int) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A file without a name that lies in memory: `memfd_create(2)`.
pub(crate) fn memory_file(name: &CStr) -> io::Result<File> {
    // SAFETY: the name ends in NUL and lives for the call.
    let made = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, and nobody else has it.
    let owned = unsafe { OwnedFd::from_raw_fd(made) };
    Ok(File::from(owned))
}

/// Makes a hole: fallocate(2).
pub(crate) fn punch(file: &File, offset: u64, length: u64) -> io::Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    let (offset, length) = (offset.cast_signed(), length.cast_signed());
    // SAFETY: the descriptor is open for the call; no memory is touched.
    check(unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, length) })
}

/// This thread's sleeps end when they are due, not up to 50 us later: prctl(2).
pub(crate) fn wake_promptly() {
    // SAFETY: it changes a number of this thread's.
    let _best_effort = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Sends what the socket takes at once; 0 when it takes nothing now.
pub(crate) fn send_some(socket: &impl AsRawFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the buffer lives for the call, and its length is its own.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(sent).or_else(|_| match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        error => Err(error),
    })
}

/// A loop device that is gone when nobody has it open.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) path: PathBuf,
    device: File,
}

const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4c82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4c0a;
const LOOP_CLR_FD: libc::c_ulong = 0x4c01;
const BLKFLSBUF: libc::c_ulong = 0x1261;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// `struct loop_config` of linux/loop.h: descriptor, block size, `struct loop_info64`, eight reserved words.
#[repr(C)]
struct LoopConfig {
    descriptor: u32,
    block_size: u32,
    before_flags: [u8; 52],
    flags: u32,
    names: [u8; 64 + 64 + 32],
    init: [u64; 2],
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<LoopConfig>() == 4 + 4 + 232 + 64);

impl Loop {
    /// Makes a disk of `file`, past the page cache.
    pub(crate) fn over(file: &File, block_size: u32) -> io::Result<Loop> {
        let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
        let mut config = LoopConfig {
            descriptor: file.as_raw_fd().cast_unsigned(),
            block_size,
            before_flags: [0; 52],
            flags: LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
            names: [0; 160],
            init: [0; 2],
            reserved: [0; 8],
        };
        // Another program may be quicker with a free one.
        for _ in 0..16 {
            // SAFETY: the command takes no argument.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            let path = Path::new("/dev").join(format!("loop{number}"));
            let device = OpenOptions::new().read(true).write(true).open(&path)?;
            // SAFETY: the structure is of the kernel's layout and lives for the call.
            match check(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &raw mut config) }) {
                Ok(()) => return Ok(Loop { path, device }),
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from_raw_os_error(libc::EBUSY))
    }
}

impl Loop {
    /// Somebody has it to himself: a file system is mounted on it.
    pub(crate) fn is_mounted(&self) -> bool {
        let alone = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&self.path);
        alone.is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
    }
}

impl Loop {
    /// The kernel forgets what it has read of it: `BLKFLSBUF`.
    pub(crate) fn forget(&self) -> io::Result<()> {
        // SAFETY: the command takes no argument.
        check(unsafe { libc::ioctl(self.device.as_raw_fd(), BLKFLSBUF as _, 0) })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // SAFETY: the command takes no argument. While a file system is mounted on it, it goes with the last user.
        let _gone_with_its_last_user = unsafe { libc::ioctl(self.device.as_raw_fd(), LOOP_CLR_FD as _) };
    }
}

/// Takes a mount away, now or when nobody uses it any more: umount2(2).
pub(crate) fn unmount(path: &CStr) -> io::Result<()> {
    // SAFETY: the path ends in NUL and lives for the call.
    check(unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) })
}

/// Who we are: user and group.
pub(crate) fn user() -> (u32, u32) {
    // SAFETY: it cannot fail and touches no memory.
    let user = unsafe { libc::geteuid() };
    // SAFETY: as before.
    let group = unsafe { libc::getegid() };
    (user, group)
}
