//! Instructions of the machine that the lab emulates.

use std::arch::asm;
use std::io;
use std::os::fd::RawFd;

use super::checked;

/// Port at which the emulator listens for the guest's messages: that of its debug console.
const PORT: u16 = 0x402;

/// Port of its panic device.
const STOP_PORT: u16 = 0x505;

/// Writes to the debug console. The port is open only meanwhile: a thread that has one carries a bitmap of its ports, which the
/// kernel looks at each time it returns to user space (`tss_update_io_bitmap`), and every I/O would pay for it.
pub(crate) fn write_port(bytes: &[u8]) -> io::Result<()> {
    port_rights(PORT, true)?;
    // SAFETY: reads `bytes.len()` bytes at the pointer, which are there; the port was opened.
    unsafe {
        asm!("rep outsb", inlateout("rsi") bytes.as_ptr() => _, inlateout("rcx") bytes.len() => _, in("dx") PORT,
             options(nostack, preserves_flags, readonly));
    }
    // Without its last port a thread is without the bitmap (`ksys_ioperm` of arch/x86/kernel/ioport.c).
    port_rights(PORT, false)
}

/// Stops the machine as a panic would, before the next instruction. It returns when the machine goes on.
pub(crate) fn stop_machine() -> io::Result<()> {
    port_rights(STOP_PORT, true)?;
    // SAFETY: writes a byte to a port, which was opened. Memory may have changed behind it.
    unsafe { asm!("out dx, al", in("dx") STOP_PORT, in("al") 1_u8, options(nostack, preserves_flags)) };
    port_rights(STOP_PORT, false)
}

fn port_rights(port: u16, open: bool) -> io::Result<()> {
    // SAFETY: gives this thread one port, of a device that only takes bytes, or takes it back.
    checked(i64::from(unsafe { libc::ioperm(u64::from(port), 1, i32::from(open)) }))
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
mark!(mark_order, "0x105AC021", "What is to be done next?");
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
