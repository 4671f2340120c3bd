//! Which bytes of a file does a request mean?

use std::io;

/// Bytes of a file that the kernel can name. Every request has one, and it cannot be had otherwise than by [`FileRange::new`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileRange {
    offset: u64,
    length: usize,
}

impl FileRange {
    /// No bytes at all.
    pub(crate) const NONE: FileRange = FileRange { offset: 0, length: 0 };

    /// `EINVAL` where offset or end lies above `i64::MAX`, as `pread` has it (`rw_verify_area` of `fs/read_write.c`). `io_uring` would
    /// take the offset -1, `u64::MAX`, for the file's current position (`io_uring_enter(2)`).
    pub(crate) fn new(offset: u64, length: usize) -> io::Result<FileRange> {
        match offset.checked_add(length as u64) {
            Some(end) if i64::try_from(end).is_ok() => Ok(FileRange { offset, length }),
            _ => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        }
    }

    pub(crate) fn offset(self) -> u64 {
        self.offset
    }

    pub(crate) fn length(self) -> usize {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_ends_at_the_largest_offset_and_no_further() {
        const MAX: u64 = i64::MAX as u64;
        for (offset, length) in [(MAX, 0), (MAX - 1, 1), (0, MAX as usize)] {
            let place = FileRange::new(offset, length).expect("the kernel can name it");
            assert_eq!((place.offset(), place.length()), (offset, length));
        }
        let beyond = [(MAX + 1, 0), (MAX, 1), (MAX - 1, 2), (u64::MAX, 0), (u64::MAX, 1), (1, usize::MAX)];
        for (offset, length) in beyond {
            let error = FileRange::new(offset, length).expect_err("it has no name");
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        }
    }
}
