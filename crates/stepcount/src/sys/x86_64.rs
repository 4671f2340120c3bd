//! Registers and the time-stamp counter of x86-64.

use std::ffi::{c_long, c_void};
use std::io;
use std::mem::offset_of;
use std::ptr;

use super::{Arguments, answer};

/// Code segment selector of 64-bit user code (`__USER_CS`); 32-bit code has 0x23.
const CODE_SEGMENT_64: u64 = 0x33;

type Registers = libc::user_regs_struct;

/// The time-stamp counter, not ordered against other instructions.
pub(crate) fn time_stamp() -> u64 {
    // SAFETY: every x86_64 processor has RDTSC, and Linux lets user mode use it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Address of the next instruction of a stopped thread. Cheaper than all registers.
pub(crate) fn instruction_pointer(tid: i32) -> io::Result<u64> {
    let offset = offset_of!(Registers, rip);
    let mut word: c_long = 0;
    // SAFETY: the raw call stores one word at the fourth argument, which is ours.
    let answer =
        unsafe { libc::syscall(libc::SYS_ptrace, libc::PTRACE_PEEKUSER, tid, offset, &raw mut word) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(word as u64) }
}

/// All general registers of a stopped thread.
fn registers(tid: i32) -> io::Result<Registers> {
    // SAFETY: PTRACE_GETREGS writes exactly one `user_regs_struct`.
    unsafe { answer(libc::PTRACE_GETREGS, tid) }
}

/// Replaces the general registers of a stopped thread.
fn set_registers(tid: i32, registers: &Registers) -> io::Result<()> {
    let (address, registers) = (ptr::null_mut::<c_void>(), ptr::from_ref(registers));
    // SAFETY: PTRACE_SETREGS reads exactly one `user_regs_struct`.
    let answer = unsafe { libc::ptrace(libc::PTRACE_SETREGS, tid, address, registers) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// False when a stopped thread runs 32-bit code.
pub(crate) fn is_64_bit(tid: i32) -> io::Result<bool> {
    Ok(registers(tid)?.cs == CODE_SEGMENT_64)
}

/// Arguments of a thread that stands before `syscall`.
pub(crate) fn arguments(tid: i32) -> io::Result<Arguments> {
    let registers = registers(tid)?;
    Ok(Arguments { number: registers.rax, first: registers.rdi, fourth: registers.r10 })
}

/// Result of a system call for a thread that stands behind it.
pub(crate) fn result(tid: i32) -> io::Result<i64> {
    Ok(registers(tid)?.rax.cast_signed())
}

/// Replaces what `rdtsc` told a thread that stands behind it.
pub(crate) fn show_clock(tid: i32, ticks: u64) -> io::Result<()> {
    let mut registers = registers(tid)?;
    (registers.rax, registers.rdx) = (ticks & u64::from(u32::MAX), ticks >> 32);
    set_registers(tid, &registers)
}
