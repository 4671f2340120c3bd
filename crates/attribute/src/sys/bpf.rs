//! What BPF needs beside its own calls: locked memory on old kernels.

/// Kernels before 5.11 charge BPF maps to the locked memory of the user, whose limit is far too low. Later ones do not,
/// so that a refusal here matters nothing.
pub(crate) fn lift_locked_memory() {
    let limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel only reads `limit`, which lives for the call.
    let _status = unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) };
}
