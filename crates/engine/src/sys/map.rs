//! A shared mapping of a file that survives the file's shrinking and its device's errors.
//!
//! Touching a page behind the end of the file raises SIGBUS, which would end the process. The handler lays a page of
//! zeroes over the place and raises a flag, the interrupted copy goes on, and the copy's caller sees the flag, reports
//! an error, and maps the file again so that the next touch fails as well.

use std::cell::Cell;
use std::io;
use std::os::fd::RawFd;
use std::sync::Once;
use std::sync::atomic::{Ordering, compiler_fence};

const PAGE: usize = 4096;

thread_local! {
    /// The mapping this thread copies from or to: first address and the one behind the last; 0 when it does not.
    /// `const` and without destructor: the handler may read it at any moment.
    static COPYING: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// The handler has laid a page over a place of `COPYING`.
    static FAULTED: Cell<bool> = const { Cell::new(false) };
}

static HANDLER: Once = Once::new();

/// A file's first `length` bytes in memory.
pub(crate) struct Map {
    start: usize,
    length: usize,
    file: RawFd,
    protection: i32,
}

impl Map {
    /// Maps the file; `writable` when the job writes.
    pub(crate) fn new(file: RawFd, length: u64, writable: bool) -> io::Result<Map> {
        HANDLER.call_once(install_handler);
        let length = usize::try_from(length).map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, file, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Map { start: start as usize, length, file, protection })
    }

    /// Copies from the file or to it; bytes, or `-errno`.
    pub(crate) fn carry(&self, write: bool, buffer: &mut [u8], offset: u64) -> isize {
        let length = buffer.len();
        let Some(place) = self.place(length, offset) else { return 0 };
        let (map, buffer) = (place as *mut u8, buffer.as_mut_ptr());
        let (from, to) = if write { (buffer, map) } else { (map, buffer) };
        COPYING.set((self.start, self.start + self.length));
        // The handler looks in the middle of the copy, which the compiler cannot know.
        compiler_fence(Ordering::SeqCst);
        // SAFETY: `place` checked that the range lies in the mapping, which no Rust object overlaps and which is writable when
        // the job writes; pages behind the end of the file are replaced by the handler.
        unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
        compiler_fence(Ordering::SeqCst);
        COPYING.set((0, 0));
        if !FAULTED.take() {
            return length.cast_signed();
        }
        let first = offset as usize / PAGE * PAGE;
        let span = (offset as usize + length - first).next_multiple_of(PAGE);
        let place = (self.start + first) as *mut libc::c_void;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: the range is part of our own mapping, which is mapped again as `new` did.
        unsafe { libc::mmap(place, span, self.protection, flags, self.file, first.cast_signed() as i64) };
        -(libc::EIO as isize)
    }

    fn place(&self, length: usize, offset: u64) -> Option<usize> {
        let offset = usize::try_from(offset).ok()?;
        (offset.checked_add(length)? <= self.length).then_some(self.start + offset)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length, and nothing borrows it.
        unsafe { libc::munmap(self.start as *mut libc::c_void, self.length) };
    }
}

fn install_handler() {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all-zero is a valid sigaction.
    let action = unsafe { action.assume_init_mut() };
    action.sa_sigaction = on_bus_error as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the handler has the signature that SA_SIGINFO demands and calls only mmap and signal, which are plain
    // system calls.
    unsafe { libc::sigaction(libc::SIGBUS, action, std::ptr::null_mut()) };
}

extern "C" fn on_bus_error(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo to an SA_SIGINFO handler, alive until it returns.
    let info = unsafe { &*info };
    // SAFETY: for SIGBUS the address is the member of the union that is set.
    let address = unsafe { info.si_addr() } as usize;
    let (first, end) = COPYING.get();
    if !(first..end).contains(&address) {
        // Not ours: the default action ends the process when the instruction is tried again.
        // SAFETY: plain numbers.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
        return;
    }
    let page = (address / PAGE * PAGE) as *mut libc::c_void;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page lies in a mapping of ours, from which the interrupted copy alone reads.
    unsafe { libc::mmap(page, PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    FAULTED.set(true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_file_that_shrinks_gives_an_error_each_time_and_no_signal() {
        let path = std::env::temp_dir().join(format!("iostack-map-{}", std::process::id()));
        std::fs::write(&path, vec![7u8; 64 << 10]).expect("64 KiB");
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).expect("just written");
        let map = Map::new(file.as_raw_fd(), 64 << 10, true).expect("a plain file maps");
        let mut buffer = [0; 4096];
        assert_eq!(map.carry(false, &mut buffer, 60 << 10), 4096);
        assert_eq!(buffer[0], 7);
        file.set_len(32 << 10).expect("shrinks");
        for _ in 0..2 {
            assert_eq!(map.carry(false, &mut buffer, 60 << 10), -(libc::EIO as isize));
            assert_eq!(map.carry(true, &mut buffer, 60 << 10), -(libc::EIO as isize));
        }
        assert_eq!(map.carry(false, &mut buffer, 0), 4096);
        file.set_len(64 << 10).expect("grows");
        assert_eq!(map.carry(false, &mut buffer, 60 << 10), 4096);
        assert_eq!(buffer[0], 0);
        assert_eq!(map.carry(false, &mut buffer, 64 << 10), 0, "behind the mapping is the end of the file");
        std::fs::remove_file(&path).expect("ours");
    }
}
