//! How do many threads sleep on one word?

use std::sync::atomic::{AtomicU32, Ordering};

/// A word that counts events, and those who sleep until the next. Each sleeper says by bits which events it is to be woken for;
/// one system call wakes any set of them.
#[derive(Debug, Default)]
pub(crate) struct Futex {
    word: AtomicU32,
}

impl Futex {
    /// Events so far: read it, look whether what you wait for has come, then [`Futex::wait`] with it.
    pub(crate) fn events(&self) -> u32 {
        self.word.load(Ordering::Acquire)
    }

    /// Sleeps until woken by one of `bits` (some must be set), unless there was an event since. May return for no reason.
    pub(crate) fn wait(&self, events: u32, bits: u32) {
        let operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
        let (word, never) = (self.word.as_ptr(), std::ptr::null::<libc::timespec>());
        // SAFETY: the word lives as long as `self`; without a timeout the kernel reads nothing else.
        unsafe { libc::syscall(libc::SYS_futex, word, operation, events, never, never, bits) };
    }

    /// An event: wakes all who sleep with one of `bits`.
    pub(crate) fn wake(&self, bits: u32) {
        self.word.fetch_add(1, Ordering::Release);
        let operation = libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG;
        let (word, unused) = (self.word.as_ptr(), std::ptr::null::<libc::timespec>());
        // SAFETY: the kernel takes the address as a name here, and reads nothing.
        unsafe { libc::syscall(libc::SYS_futex, word, operation, i32::MAX, unused, unused, bits) };
    }
}
