//! One system call an I/O, by the kernel's convention: a negative result is `-errno`.

use std::os::fd::RawFd;

use iostack_ring::call;

/// `RWF_HIPRI` of `linux/fs.h`: poll for the completion.
pub(crate) const RWF_HIPRI: usize = 1;

/// Reads or writes at `offset`; bytes moved, or `-errno`.
#[inline]
pub(crate) fn carry_at(write: bool, file: RawFd, buffer: &mut [u8], offset: u64) -> isize {
    let arguments = [file as usize, buffer.as_mut_ptr() as usize, buffer.len(), offset as usize, 0, 0];
    let number = if write { libc::SYS_pwrite64 } else { libc::SYS_pread64 };
    // SAFETY: the kernel touches at most `buffer.len()` bytes of `buffer`, which is borrowed for the call.
    unsafe { call(number, arguments) }
}

/// `preadv2` or `pwritev2` of one buffer.
#[inline]
pub(crate) fn carry_with_flags(
    write: bool,
    file: RawFd,
    buffer: &mut [u8],
    offset: u64,
    flags: usize,
) -> isize {
    let vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let arguments = [file as usize, (&raw const vector) as usize, 1, offset as usize, 0, flags];
    let number = if write { libc::SYS_pwritev2 } else { libc::SYS_preadv2 };
    // SAFETY: the vector names one buffer, borrowed for the call, of which the kernel touches at most its length.
    unsafe { call(number, arguments) }
}
