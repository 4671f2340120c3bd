//! System calls without libc's bookkeeping.
//!
//! libc's `pread` checks for thread cancellation and moves the error to `errno`: some 20 instructions beside the 8 of
//! the call. Here the kernel's own convention is kept: a negative result is `-errno`.

use std::io;

/// One system call with up to six arguments, by the kernel's convention.
///
/// # Safety
/// As the call's manual page demands of its arguments.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(clippy::inline_always, reason = "the call is eight instructions; a frame around it doubles them")]
pub unsafe fn call(number: i64, arguments: [usize; 6]) -> isize {
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
pub unsafe fn call(number: i64, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the caller vouches for the arguments.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if result >= 0 {
        return result as isize;
    }
    -(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as isize)
}

/// So many ns for a call that waits.
#[inline]
pub(crate) fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000).cast_signed(), tv_nsec: (ns % 1_000_000_000).cast_signed() }
}

/// Result of a call by the kernel's convention, in Rust's.
#[inline]
pub fn told(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_result_is_an_error() {
        assert_eq!(told(0).expect("no error"), 0);
        assert_eq!(told(17).expect("no error"), 17);
        assert_eq!(told(-5).expect_err("EIO").raw_os_error(), Some(libc::EIO));
    }

    #[test]
    fn a_call_answers_as_libc_does_or_with_the_negative_error() {
        // SAFETY: getpid has no arguments.
        let process = unsafe { call(libc::SYS_getpid, [0; 6]) };
        assert_eq!(process.cast_unsigned(), std::process::id() as usize);
        // SAFETY: no descriptor has this number, and close takes no memory.
        let refused = unsafe { call(libc::SYS_close, [usize::MAX, 0, 0, 0, 0, 0]) };
        assert_eq!(refused, -(libc::EBADF as isize));
    }
}
