//! What tests need `unsafe` for.

#![expect(unsafe_code, reason = "fork has no safe interface")]

/// Runs `work` in a child, which has the calling thread alone; its exit status, or the signal that ended it. One that hangs is ended
/// after half a minute.
pub(crate) fn in_child(work: impl FnOnce() -> bool) -> Result<i32, i32> {
    // SAFETY: glibc keeps its own locks whole across fork; what the child takes of ours is under test.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        // SAFETY: the alarm is the child's own.
        unsafe { libc::alarm(30) };
        let code = i32::from(!work());
        // SAFETY: nothing of the test program's is to run in the child.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: the kernel writes one word, of a child that is ours.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(waited, child, "{}", std::io::Error::last_os_error());
    if libc::WIFEXITED(status) { Ok(libc::WEXITSTATUS(status)) } else { Err(libc::WTERMSIG(status)) }
}
