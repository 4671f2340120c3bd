//! Files that nobody else has, and programs that do not outlive us.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::check;

/// A file in memory, gone with its last descriptor: `memfd_create(2)`.
pub fn memory_file(name: &CStr) -> io::Result<File> {
    // SAFETY: the name ends with a zero byte and outlives the call.
    let made = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, and nobody else has it.
    Ok(unsafe { File::from_raw_fd(made) })
}

/// Has the kernel kill the program when the thread that starts it ends, however that ends.
pub fn dies_with_us(command: &mut Command) {
    // SAFETY: prctl takes two numbers here.
    let die = || check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) });
    // SAFETY: between fork and exec the closure makes one system call and touches no memory of others.
    unsafe { command.pre_exec(die) };
}

/// The group we act as.
pub fn effective_group() -> u32 {
    // SAFETY: getegid takes nothing and cannot fail.
    unsafe { libc::getegid() }
}

/// Bytes that an ordinary user may still write in this file system.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    super::space(path).map(|space| space.free)
}
