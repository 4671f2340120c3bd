//! Calls of the near side.

use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The program has these descriptors of ours, too.
pub(crate) fn keeps(command: &mut Command, descriptors: Vec<RawFd>) {
    let keep = move || {
        for &descriptor in &descriptors {
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
