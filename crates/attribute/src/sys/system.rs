//! Small questions to the system, and the smallest possible BPF program.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use iostack_model::Nanos;

/// The calling thread's number.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: gettid has no arguments and cannot fail.
    unsafe { libc::gettid() }.unsigned_abs()
}

/// A short and harmless system call: a sample that falls into it is one of the kernel.
pub(crate) fn call_the_kernel() {
    // SAFETY: getppid has no arguments and cannot fail. libc does not cache it.
    let _parent = unsafe { libc::syscall(libc::SYS_getppid) };
}

/// `CLOCK_MONOTONIC`, which perf and BPF stamp with too.
pub(crate) fn now() -> Nanos {
    read_clock(libc::CLOCK_MONOTONIC)
}

/// Time of the calling thread on CPUs.
pub(crate) fn thread_time() -> Nanos {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read_clock(clock: libc::clockid_t) -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` lives for the call, which writes one timespec.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

/// Effective user.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: geteuid has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// Lets the calling thread run on `cpu` alone.
pub(crate) fn run_on(cpu: u32) -> io::Result<()> {
    let mut set = std::mem::MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: a CPU set is an array of words; all-zero is the empty set.
    let set = unsafe { set.assume_init_mut() };
    if cpu as usize >= 8 * size_of::<libc::cpu_set_t>() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: within the set by the line above.
    unsafe { libc::CPU_SET(cpu as usize, set) };
    // SAFETY: the kernel only reads `set`, which lives for the call; 0 is the calling thread.
    let status = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Part of `union bpf_attr` for `BPF_PROG_LOAD`, up to `attach_btf_id`.
#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    program_kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_kind: u32,
    types: u32,
    function_info_size: u32,
    function_info: u64,
    function_info_count: u32,
    line_info_size: u32,
    line_info: u64,
    line_info_count: u32,
    attach_type: u32,
}

/// `union bpf_attr` for `BPF_RAW_TRACEPOINT_OPEN`.
#[repr(C)]
#[derive(Default)]
struct TracepointOpen {
    name: u64,
    program: u32,
    reserved: u32,
}

const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_RAW_TRACEPOINT_OPEN: libc::c_long = 17;
const PROGRAM_TRACING: u32 = 26;
const ATTACH_RAW_TRACEPOINT: u32 = 23;
/// `r1 = r10 - 8; r2 = 8; r3 = 0; call bpf_probe_read_kernel; call bpf_get_current_task_btf; r0 = 0; exit`: all of ours
/// read the kernel's memory, which lockdown may forbid, and ask whose turn it is, which Linux 5.10 cannot say.
/// Each is `struct bpf_insn`: code, registers, offset, value.
const READ_NOTHING: [u64; 8] = [
    0x0000_0000_0000_a1bf,
    0xffff_fff8_0000_0107,
    0x0000_0008_0000_02b7,
    0x0000_0000_0000_03b7,
    0x0000_0071_0000_0085,
    0x0000_009e_0000_0085,
    0x0000_0000_0000_00b7,
    0x0000_0000_0000_0095,
];

/// Loads a BPF program that changes nothing for the tracepoint whose type has this number, attaches it, and takes it out
/// again. The act that failed comes with the error.
pub(crate) fn try_tracing(tracepoint_type: u32) -> Result<(), (&'static str, io::Error)> {
    let license = c"Dual MIT/GPL";
    let load = ProgramLoad {
        program_kind: PROGRAM_TRACING,
        instruction_count: READ_NOTHING.len() as u32,
        instructions: READ_NOTHING.as_ptr() as u64,
        license: license.as_ptr() as u64,
        attach_kind: ATTACH_RAW_TRACEPOINT,
        attach_type: tracepoint_type,
        ..ProgramLoad::default()
    };
    // SAFETY: the kernel reads `load` and what it points to, all of which outlives the call.
    let loaded =
        unsafe { libc::syscall(libc::SYS_bpf, BPF_PROG_LOAD, &raw const load, size_of::<ProgramLoad>()) };
    let program = owned(loaded).map_err(|error| ("load a BPF program", error))?;
    let open = TracepointOpen { program: program.as_raw_fd().unsigned_abs(), ..TracepointOpen::default() };
    // SAFETY: the kernel reads `open`, which outlives the call.
    let attached = unsafe {
        libc::syscall(libc::SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &raw const open, size_of::<TracepointOpen>())
    };
    owned(attached).map(drop).map_err(|error| ("attach a BPF program", error))
}

fn owned(status: libc::c_long) -> io::Result<OwnedFd> {
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just returned this descriptor, which nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(status as i32) })
}
