//! How much processor time did this process take?

use std::mem::MaybeUninit;

/// Processor time of all threads of this process, user and kernel, ns.
pub(crate) fn process_cpu_ns() -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the call writes one timespec to the place it is given.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, time.as_mut_ptr()) };
    assert_eq!(status, 0, "the clock is one of POSIX's");
    // SAFETY: the call has written it, and zeros would be a time as well.
    let time = unsafe { time.assume_init() };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}
