//! System calls without libc's bookkeeping.
//!
//! libc's `pread` checks for thread cancellation and moves the error to `errno`: some 20 instructions beside the 8 of
//! the call. Here the kernel's own convention is kept: a negative result is `-errno`.

use std::os::fd::RawFd;

/// `RWF_HIPRI` of `linux/fs.h`: poll for the completion.
pub(crate) const RWF_HIPRI: usize = 1;

/// One system call with up to six arguments, by the kernel's convention.
///
/// # Safety
/// As the call's manual page demands of its arguments.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(clippy::inline_always, reason = "the call is eight instructions; a frame around it doubles them")]
pub(super) unsafe fn raw(number: i64, arguments: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the x86-64 convention (syscall(2)): number in rax, arguments in these six registers, result in rax;
    // rcx and r11 are overwritten. The caller vouches for the arguments.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r9") arguments[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// One system call with up to six arguments, by way of libc.
///
/// # Safety
/// As the call's manual page demands of its arguments.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn raw(number: i64, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the caller vouches for the arguments.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if result >= 0 {
        return result as isize;
    }
    -(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as isize)
}

/// Reads at `offset`; bytes read, or `-errno`.
#[inline]
pub(crate) fn read_at(file: RawFd, buffer: &mut [u8], offset: u64) -> isize {
    let arguments = [file as usize, buffer.as_mut_ptr() as usize, buffer.len(), offset as usize, 0, 0];
    // SAFETY: the kernel writes at most `buffer.len()` bytes to `buffer`, which is borrowed for the call.
    unsafe { raw(libc::SYS_pread64, arguments) }
}

/// Writes at `offset`; bytes written, or `-errno`.
#[inline]
pub(crate) fn write_at(file: RawFd, buffer: &[u8], offset: u64) -> isize {
    let arguments = [file as usize, buffer.as_ptr() as usize, buffer.len(), offset as usize, 0, 0];
    // SAFETY: the kernel reads at most `buffer.len()` bytes of `buffer`, which is borrowed for the call.
    unsafe { raw(libc::SYS_pwrite64, arguments) }
}

/// `preadv2` of one buffer.
#[inline]
pub(crate) fn read_at_flags(file: RawFd, buffer: &mut [u8], offset: u64, flags: usize) -> isize {
    let vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let arguments = [file as usize, (&raw const vector) as usize, 1, offset as usize, 0, flags];
    // SAFETY: the vector names one buffer, borrowed for the call, of which the kernel writes at most its length.
    unsafe { raw(libc::SYS_preadv2, arguments) }
}

/// `pwritev2` of one buffer.
#[inline]
pub(crate) fn write_at_flags(file: RawFd, buffer: &[u8], offset: u64, flags: usize) -> isize {
    let vector = libc::iovec { iov_base: buffer.as_ptr().cast_mut().cast(), iov_len: buffer.len() };
    let arguments = [file as usize, (&raw const vector) as usize, 1, offset as usize, 0, flags];
    // SAFETY: the vector names one buffer, borrowed for the call, of which the kernel reads at most its length.
    unsafe { raw(libc::SYS_pwritev2, arguments) }
}
