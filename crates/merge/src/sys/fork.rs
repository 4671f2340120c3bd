//! Is this process still the one that made a ring?
//!
//! A child shares its parent's rings, and would disturb them: what was made under another generation than today's is left
//! alone. The kernel says when: a page that it empties in a child (`MADV_WIPEONFORK`, 4.14), so that no handler must run, also
//! not after a bare `clone`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that differs between a process and its children.
pub(crate) fn generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let Some(word) = word() else { return u64::from(std::process::id()) };
    match word.load(Ordering::Relaxed) {
        0 => {
            let fresh = NEXT.fetch_add(1, Ordering::Relaxed);
            word.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed)
                .map_or_else(|first| first, |_| fresh)
        }
        generation => generation,
    }
}

/// The word that is zero in a new process; none where the kernel has no such page.
fn word() -> Option<&'static AtomicU64> {
    static WORD: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
    *WORD.get_or_init(page)
}

#[cfg(miri)]
fn page() -> Option<&'static AtomicU64> {
    None
}

#[cfg(not(miri))]
fn page() -> Option<&'static AtomicU64> {
    let length = 4096;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping is ours, and nothing is in it yet.
    if unsafe { libc::madvise(start, length, libc::MADV_WIPEONFORK) } != 0 {
        return None;
    }
    // SAFETY: the page is zero, aligned, and never unmapped; a child has its own, which is zero as well.
    Some(unsafe { &*start.cast::<AtomicU64>() })
}

#[cfg(test)]
mod tests {
    use super::generation;

    #[test]
    fn a_process_stays_what_it_is() {
        assert_eq!(generation(), generation());
        assert_ne!(generation(), 0);
    }
}
