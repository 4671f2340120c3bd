//! Memory shared with BPF programs.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// An array map of the kernel, mapped into our memory as words. Both sides write it while the other reads: hence atomic.
pub(crate) struct Shared {
    base: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the memory is only reached as `&[AtomicU64]`, which any thread may share, and is unmapped by the one owner.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Maps the first `words` words of an array map that was made with `BPF_F_MMAPABLE`.
    pub(crate) fn map(descriptor: BorrowedFd<'_>, words: usize) -> io::Result<Shared> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place the kernel chooses touches no memory of ours; length and result are checked.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                words * size_of::<u64>(),
                protection,
                libc::MAP_SHARED,
                descriptor.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).expect("the kernel maps nothing at address 0 unless asked to");
        Ok(Shared { base, words })
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page-aligned, holds `words` words, lives as long as `self`, and is only ever used as
        // atomic words, by the kernel's programs too (64-bit loads and stores).
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.words) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and no reference into it outlives `self`.
        let _status = unsafe { libc::munmap(self.base.as_ptr().cast(), self.words * size_of::<u64>()) };
    }
}
