//! Which thread answers the program's signals?

/// Not this one: a thread of the library's own leaves all signals to the program's threads.
pub(crate) fn block_signals() {
    // SAFETY: a set of signals is plain data, for which zero is a value.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours, and is written only.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: the set is read only; the old one is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut()) };
}
