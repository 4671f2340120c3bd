//! Buffers that the kernel reads and fills: page-aligned, made once per thread.
//!
//! A slot is one I/O in flight. Reads and writes have their own buffers, so that what a read brought never goes out
//! again as somebody else's data.

use std::io;

/// Equal buffers, one behind the other, each starting on a page.
pub(crate) struct Buffers {
    start: *mut u8,
    /// Number of buffers.
    pub(crate) count: usize,
    /// Length of each buffer, and so the distance of neighbours, bytes.
    pub(crate) stride: usize,
    /// Bytes of the mapping.
    mapped: usize,
}

const PAGE: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;

// SAFETY: the mapping belongs to this value alone; nothing in it depends on the thread that made it.
unsafe impl Send for Buffers {}

impl Buffers {
    /// `count` buffers of `length` bytes; none at all when `count` is 0.
    pub(crate) fn new(count: usize, length: usize) -> io::Result<Buffers> {
        Buffers::in_pages(count, length, false)
    }

    /// The same; `huge` in pages of 2 MiB, which somebody must have reserved.
    pub(crate) fn in_pages(count: usize, length: usize, huge: bool) -> io::Result<Buffers> {
        let stride = length.next_multiple_of(PAGE);
        if count == 0 || stride == 0 {
            let start = std::ptr::NonNull::dangling().as_ptr();
            return Ok(Buffers { start, count: 0, stride, mapped: 0 });
        }
        let whole = count.checked_mul(stride).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let mapped = if huge { whole.next_multiple_of(HUGE_PAGE) } else { whole };
        // Populated at once: a device that fills a page never touched before waits for a page fault first.
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        let flags = flags | if huge { libc::MAP_HUGETLB | libc::MAP_HUGE_2MB } else { 0 };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), mapped, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Buffers { start: start.cast(), count, stride, mapped })
    }

    /// Keeps all of them in memory.
    pub(crate) fn lock(&self) -> io::Result<()> {
        // SAFETY: the range is the whole mapping, which locking leaves as it is.
        let result = unsafe { libc::mlock(self.start.cast(), self.mapped) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Address of a buffer, for the kernel.
    #[inline]
    pub(crate) fn address(&self, index: usize) -> *mut u8 {
        assert!(index < self.count, "buffer {index} of {}", self.count);
        self.start.wrapping_add(index * self.stride)
    }

    /// All of them, to be registered with a ring in this order.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = libc::iovec> {
        (0..self.count)
            .map(|index| libc::iovec { iov_base: self.address(index).cast(), iov_len: self.stride })
    }

    /// The first `length` bytes of a buffer. Only for a slot with no I/O in flight.
    #[inline]
    pub(crate) fn slice(&mut self, index: usize, length: usize) -> &mut [u8] {
        assert!(length <= self.stride, "{length} bytes of a buffer of {}", self.stride);
        let start = self.address(index);
        // SAFETY: `address` checked the index and the assertion the length, so the range lies inside the mapping; it
        // is readable and writable, zeroed or written, and borrowed from `self`.
        unsafe { std::slice::from_raw_parts_mut(start, length) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if self.count > 0 {
            // SAFETY: the mapping was made by `new` with this length, and no borrow of it can outlive `self`. The
            // queues drain what is in flight before they drop their buffers.
            unsafe { libc::munmap(self.start.cast(), self.mapped) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_apart_and_aligned() {
        let mut buffers = Buffers::new(3, 5000).expect("20 KiB");
        assert_eq!(buffers.stride, 8192);
        for index in 0..3 {
            assert_eq!(buffers.address(index) as usize % PAGE, 0);
            buffers.slice(index, 8192).fill(index as u8 + 1);
        }
        for index in 0..3 {
            assert!(buffers.slice(index, 8192).iter().all(|&b| b == index as u8 + 1));
        }
    }

    #[test]
    #[should_panic(expected = "buffer 3 of 3")]
    fn a_buffer_behind_the_last_is_a_bug() {
        Buffers::new(3, 4096).expect("12 KiB").address(3);
    }
}
