//! Calls about names of files: a negative result is `-errno`.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{FromRawFd, RawFd};

use iostack_model::StatCall;
use iostack_ring::call;

const HERE: usize = libc::AT_FDCWD as usize;

/// Makes an empty file of this name in a folder, and opens it; refuses when anything has the name.
pub(crate) fn make_file(folder: RawFd, name: &CStr) -> Result<File, isize> {
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: the name ends in NUL and lives for the call.
    opened(unsafe {
        call(libc::SYS_openat, [folder as usize, name.as_ptr() as usize, flags as usize, 0o600, 0, 0])
    })
}

/// Opens a file for reading, without waiting where it is none.
pub(crate) fn open(path: &CStr) -> Result<File, isize> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: the path ends in NUL and lives for the call.
    opened(unsafe { call(libc::SYS_openat, [HERE, path.as_ptr() as usize, flags as usize, 0, 0, 0]) })
}

fn opened(result: isize) -> Result<File, isize> {
    let descriptor = i32::try_from(result).ok().filter(|&descriptor| descriptor >= 0).ok_or(result)?;
    // SAFETY: the kernel has just given us this descriptor, and nobody else knows of it.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Makes a directory of this name in a folder.
pub(crate) fn make_directory(folder: RawFd, name: &CStr) -> isize {
    // SAFETY: the name ends in NUL and lives for the call.
    unsafe { call(libc::SYS_mkdirat, [folder as usize, name.as_ptr() as usize, 0o700, 0, 0, 0]) }
}

/// Asks for the attributes of what has this name.
pub(crate) fn look(path: &CStr, with: StatCall) -> isize {
    // At least a `struct stat`, a `struct statx` exactly.
    let mut answer = [0_u64; 32];
    let (path, answer) = (path.as_ptr() as usize, answer.as_mut_ptr() as usize);
    let (number, arguments) = match with {
        StatCall::Stat => (libc::SYS_newfstatat, [HERE, path, answer, 0, 0, 0]),
        StatCall::Lstat => {
            (libc::SYS_newfstatat, [HERE, path, answer, libc::AT_SYMLINK_NOFOLLOW as usize, 0, 0])
        }
        StatCall::Statx => (libc::SYS_statx, [HERE, path, 0, libc::STATX_ALL as usize, answer, 0]),
    };
    // SAFETY: the path ends in NUL, the kernel writes at most 256 bytes to `answer`, and both live for the call.
    unsafe { call(number, arguments) }
}

/// Removes a file's name, or an empty directory.
pub(crate) fn remove(path: &CStr, is_directory: bool) -> isize {
    let flags = if is_directory { libc::AT_REMOVEDIR as usize } else { 0 };
    // SAFETY: the path ends in NUL and lives for the call.
    unsafe { call(libc::SYS_unlinkat, [HERE, path.as_ptr() as usize, flags, 0, 0, 0]) }
}
