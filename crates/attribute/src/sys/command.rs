//! Start of a program that waits, and the ends of what it started.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// Makes us the parent of what our children's children leave behind.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: the call takes numbers only.
    let status = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1_u64, 0_u64, 0_u64, 0_u64) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets the child of `command` tell its number on `tells`, and wait on `waits` until a byte comes; when `gate`, the other
/// end, is closed instead, it ends.
pub(crate) fn hold(command: &mut Command, mut tells: PipeWriter, mut waits: PipeReader, gate: &PipeWriter) {
    let gate = gate.as_raw_fd();
    let wait = move || {
        // SAFETY: a number of the parent's, of which the child has a copy that nothing else in it uses.
        let _closed = unsafe { libc::close(gate) };
        tells.write_all(&std::process::id().to_ne_bytes())?;
        waits.read_exact(&mut [0])
    };
    // SAFETY: between fork and exec it only writes to and reads from two pipes: nothing is allocated, no lock taken.
    unsafe { command.pre_exec(wait) };
}

/// A child that has ended and is not reaped; `None` when all still run, an error when there is none.
pub(crate) fn ended() -> io::Result<Option<u32>> {
    // SAFETY: all bits zero are a valid value of this plain structure.
    let mut told: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel writes one structure, which lives for the call.
    let status = unsafe { libc::waitid(libc::P_ALL, 0, &raw mut told, how) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: of a child's end, or still zero.
    let pid = unsafe { told.si_pid() };
    Ok(u32::try_from(pid).ok().filter(|&pid| pid != 0))
}

/// A child whose end was taken note of.
pub(crate) struct Reaped {
    pub(crate) pid: u32,
    pub(crate) status: ExitStatus,
}

/// Takes the end of a child.
pub(crate) fn reap(pid: u32) -> Option<Reaped> {
    let mut status = 0;
    // SAFETY: the kernel writes one number, which lives for the call.
    let reaped = unsafe { libc::waitpid(pid.cast_signed(), &raw mut status, libc::WNOHANG) };
    (reaped == pid.cast_signed()).then(|| Reaped { pid, status: ExitStatus::from_raw(status) })
}

/// Sends a signal; to whom it cannot be sent has ended, or is not ours.
pub(crate) fn send(pid: u32, signal: i32) {
    // SAFETY: the call takes numbers only.
    let _sent = unsafe { libc::kill(pid.cast_signed(), signal) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_is_held_ends_when_its_gate_is_closed() {
        let ((mut number, tells), (waits, gate)) = (io::pipe().expect("two"), io::pipe().expect("two"));
        let mut command = Command::new("true");
        hold(&mut command, tells, waits, &gate);
        let starter = std::thread::spawn(move || command.spawn());
        let mut pid = [0; 4];
        number.read_exact(&mut pid).expect("it tells");
        let comm =
            std::fs::read_to_string(format!("/proc/{}/comm", u32::from_ne_bytes(pid))).expect("it is there");
        assert_ne!(comm.trim(), "true", "it has not begun");
        drop(gate);
        assert!(starter.join().expect("no panic").is_err());
    }
}
