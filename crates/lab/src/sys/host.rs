//! Calls of the near side.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// User and group that we act as.
pub(crate) fn effective_ids() -> (u32, u32) {
    // SAFETY: takes nothing and cannot fail.
    let user = unsafe { libc::geteuid() };
    // SAFETY: takes nothing and cannot fail.
    let group = unsafe { libc::getegid() };
    (user, group)
}

/// Bytes that an ordinary user may still write in this file system.
pub(crate) fn free_bytes(path: &Path) -> io::Result<u64> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `statvfs` is plain integers, for which zeroes are valid.
    let mut told: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the name ends with a zero byte, and the call writes one `statvfs`.
    let status = unsafe { libc::statvfs(name.as_ptr(), &raw mut told) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(told.f_bavail * told.f_frsize)
}

/// Has the kernel kill the program when the thread that starts it ends, however that ends. `apart` keeps the terminal's
/// Ctrl-C from it: the lab ends its machine itself.
pub(crate) fn dies_with_us(command: &mut Command, apart: bool) {
    if apart {
        command.process_group(0);
    }
    let die = || {
        // SAFETY: takes two numbers.
        match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec the closure makes one system call and touches no memory of others.
    unsafe { command.pre_exec(die) };
}

/// A file in memory, gone with its last descriptor.
pub(crate) fn memory_file(name: &CStr) -> io::Result<File> {
    // SAFETY: the name ends with a zero byte and outlives the call.
    let made = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, and nobody else has it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(made) }))
}

/// The program has these descriptors of ours, too.
pub(crate) fn keeps(command: &mut Command, descriptors: [RawFd; 2]) {
    let keep = move || {
        for descriptor in descriptors {
            // SAFETY: takes numbers; the descriptor is this process's own copy.
            if unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes two system calls and touches no memory of others.
    unsafe { command.pre_exec(keep) };
}

/// Keeps the program and all its threads on the processor that this thread runs on.
pub(crate) fn on_one_processor(command: &mut Command) {
    // SAFETY: asks the kernel for a number.
    let processor = unsafe { libc::sched_getcpu() };
    let Ok(processor) = usize::try_from(processor) else { return };
    // SAFETY: a set of bits, for which zeroes are valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: sets a bit of the set, or none when the number is beyond it.
    unsafe { libc::CPU_SET(processor, &mut set) };
    let stay = move || {
        // SAFETY: reads the closure's own set, whose size is given. Refused, the program still runs, only less alike.
        let _ = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes one system call on its own copy of the set.
    unsafe { command.pre_exec(stay) };
}
