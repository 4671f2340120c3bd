//! Calls of the far side: of the guest's first process.

#![expect(clippy::inline_always, reason = "what stands between two marks must be the same in every build")]

use std::arch::asm;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

use io_uring::types::Fd;
use io_uring::{IoUring, opcode};

/// Where the emulator listens for the guest's messages: the port of its debug console.
const PORT: u16 = 0x402;

fn checked(status: i64) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn text(path: &Path) -> io::Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Mounts a file system.
pub(crate) fn mount(source: &str, at: &Path, kind: &str, options: &str) -> io::Result<()> {
    let (source, at, kind, options) =
        (CString::new(source)?, text(at)?, CString::new(kind)?, CString::new(options)?);
    // SAFETY: four strings that end with a zero byte and outlive the call.
    let status =
        unsafe { libc::mount(source.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast()) };
    checked(i64::from(status))
}

/// Unmounts what is mounted there.
pub(crate) fn unmount(at: &Path) -> io::Result<()> {
    let at = text(at)?;
    // SAFETY: a string that ends with a zero byte and outlives the call.
    checked(i64::from(unsafe { libc::umount2(at.as_ptr(), 0) }))
}

/// Loads a module with its parameters, `NAME=VALUE NAME=VALUE`.
pub(crate) fn load_module(file: &File, parameters: &str) -> io::Result<()> {
    let parameters = CString::new(parameters)?;
    // SAFETY: the descriptor is open for the call and the string ends with a zero byte.
    let status = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), parameters.as_ptr(), 0) };
    checked(status)
}

/// Unloads a module that nobody uses.
pub(crate) fn unload_module(name: &str) -> io::Result<()> {
    let name = CString::new(name)?;
    // SAFETY: a string that ends with a zero byte and outlives the call.
    let status = unsafe { libc::syscall(libc::SYS_delete_module, name.as_ptr(), libc::O_NONBLOCK) };
    checked(status)
}

/// Discards a range of a device.
pub(crate) fn discard(file: &File, offset: u64, length: u64) -> io::Result<()> {
    /// `_IO(0x12, 119)` of linux/fs.h.
    const BLKDISCARD: libc::Ioctl = 0x1277;
    let range = [offset, length];
    // SAFETY: the descriptor is open, and the call reads two numbers, which are there.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD, range.as_ptr()) };
    checked(i64::from(status))
}

/// Switches the machine off.
pub(crate) fn power_off() {
    // SAFETY: no memory is touched; only the guest's first process calls it.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
}

/// Writes to the debug console. The port is open only meanwhile: a thread that has one carries a bitmap of its ports, which the
/// kernel looks at each time it returns to user space (`tss_update_io_bitmap`), and every I/O would pay for it.
pub(crate) fn write_port(bytes: &[u8]) -> io::Result<()> {
    port_rights(true)?;
    // SAFETY: reads `bytes.len()` bytes at the pointer, which are there; the port was opened.
    unsafe {
        asm!("rep outsb", inlateout("rsi") bytes.as_ptr() => _, inlateout("rcx") bytes.len() => _, in("dx") PORT,
             options(nostack, preserves_flags, readonly));
    }
    // Without its last port a thread is without the bitmap (`ksys_ioperm` of arch/x86/kernel/ioport.c).
    port_rights(false)
}

fn port_rights(open: bool) -> io::Result<()> {
    // SAFETY: gives this thread one port, of a device that only takes bytes, or takes it back.
    checked(i64::from(unsafe { libc::ioperm(u64::from(PORT), 1, i32::from(open)) }))
}

macro_rules! mark {
    ($name:ident, $code:literal, $doc:literal) => {
        #[doc = $doc]
        #[inline(always)]
        pub(crate) fn $name() {
            // SAFETY: a NOP of eight bytes with a number in it, which the plugin knows; nothing is read or written.
            unsafe {
                asm!(concat!(".byte 0x0f, 0x1f, 0x80; .long ", $code), options(nostack, preserves_flags))
            };
        }
    };
}

mark!(mark_begin, "0x105AC001", "One I/O begins.");
mark!(mark_end, "0x105AC002", "One I/O ended.");
mark!(mark_count, "0x105AC010", "From here on instructions are counted.");
mark!(mark_trace, "0x105AC011", "From here on I/Os are traced, too.");
mark!(mark_dump, "0x105AC01F", "Write down what was counted, and forget it.");

/// The time-stamp counter: in the lab, instructions.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    // SAFETY: reads a counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// `pread` or `pwrite` without a library between: the same instructions in user space whatever the program was linked
/// with. The result is the kernel's: bytes, or a negative error number.
#[inline(always)]
pub(crate) fn transfer(write: bool, file: RawFd, buffer: &mut [u8], offset: u64) -> i64 {
    let number = if write { libc::SYS_pwrite64 } else { libc::SYS_pread64 };
    let told: i64;
    // SAFETY: the buffer is ours for the call; the call changes rax, rcx and r11, as named.
    unsafe {
        asm!("syscall", inlateout("rax") number => told, in("rdi") i64::from(file), in("rsi") buffer.as_mut_ptr(),
             in("rdx") buffer.len(), in("r10") offset, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    told
}

/// The same through a ring in which nothing else is: submitted, and waited for in the same call.
#[inline(always)]
pub(crate) fn transfer_by_ring(
    ring: &mut IoUring,
    write: bool,
    file: RawFd,
    buffer: &mut [u8],
    offset: u64,
) -> i64 {
    let length = buffer.len() as u32;
    let entry = if write {
        opcode::Write::new(Fd(file), buffer.as_ptr(), length).offset(offset).build()
    } else {
        opcode::Read::new(Fd(file), buffer.as_mut_ptr(), length).offset(offset).build()
    };
    // SAFETY: the buffer is ours until the completion is taken below.
    let pushed = unsafe { ring.submission().push(&entry) };
    pushed.expect("the ring is empty");
    match ring.submit_and_wait(1) {
        Ok(_) => i64::from(ring.completion().next().expect("one was waited for").result()),
        // Whether it is in flight nobody knows, and the buffer must not go.
        Err(error) => panic!("the ring does not submit: {error}"),
    }
}

/// Drops the file's clean pages, and has reads bring no neighbours.
pub(crate) fn advise_random(file: &File) -> io::Result<()> {
    for advice in [libc::POSIX_FADV_DONTNEED, libc::POSIX_FADV_RANDOM] {
        // SAFETY: the descriptor is open; no memory is touched.
        let status = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
        if status != 0 {
            return Err(io::Error::from_raw_os_error(status));
        }
    }
    Ok(())
}
