//! Small questions to the system, and the smallest possible BPF program.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use iostack_model::Nanos;

/// `CLOCK_MONOTONIC`, which perf and BPF stamp with too.
pub(crate) fn now() -> Nanos {
    Nanos(iostack_host::monotonic_ns())
}

/// Time of the calling thread on CPUs.
pub(crate) fn thread_time() -> Nanos {
    Nanos(iostack_host::thread_cpu_ns())
}

/// A short and harmless system call: a sample that falls into it is one of the kernel.
pub(crate) fn call_the_kernel() {
    // SAFETY: getppid has no arguments and cannot fail. libc does not cache it.
    let _parent = unsafe { libc::syscall(libc::SYS_getppid) };
}

/// Kernels before 5.11 charge BPF maps to the locked memory of the user, whose limit is far too low. Later ones do not,
/// so that a refusal here matters nothing.
pub(crate) fn lift_locked_memory() {
    let limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel only reads `limit`, which lives for the call.
    let _status = unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) };
}

/// The calling thread's nice value before it began to hurry; `NOT_HURRIED` where none does.
static ORDINARY: AtomicI32 = AtomicI32::new(NOT_HURRIED);
const NOT_HURRIED: i32 = i32::MAX;

/// Hurry of the calling thread: while it lives, the thread goes before others, where this user may: attaching takes a tenth of a second of a CPU,
/// which beside twenty busy threads would take seconds.
#[derive(Debug)]
pub struct Hurry(());

impl Hurry {
    /// Begins to hurry.
    pub fn begin() -> Hurry {
        // SAFETY: it takes no pointers. A nice value of -1 looks like a failure, after which that is set again.
        let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        ORDINARY.store(before, Ordering::Relaxed);
        set_nice(-20);
        Hurry(())
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        do_not_hurry();
        ORDINARY.store(NOT_HURRIED, Ordering::Relaxed);
    }
}

/// Ends the hurry of a thread that was made in one and outlives it.
pub(crate) fn do_not_hurry() {
    let before = ORDINARY.load(Ordering::Relaxed);
    if before != NOT_HURRIED {
        set_nice(before);
    }
}

fn set_nice(nice: i32) {
    // SAFETY: it takes no pointers; 0 is the calling thread alone (setpriority(2), "C library/kernel differences").
    let _refused = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
}

/// Part of `union bpf_attr` for `BPF_PROG_LOAD`, up to `attach_btf_id`.
#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    program_kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_and_name: [u32; 11],
    attach_kind: u32,
    debug_information: [u32; 9],
    attach_type: u32,
}

const _: () = assert!(size_of::<ProgramLoad>() == 112);

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

/// Loads a BPF program that changes nothing for the tracepoint whose type has this number, and attaches it until the
/// descriptor is dropped. The act that failed comes with the error.
pub(crate) fn try_tracing(tracepoint_type: u32) -> Result<OwnedFd, (&'static str, io::Error)> {
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
    owned(attached).map_err(|error| ("attach a BPF program", error))
}

fn owned(status: libc::c_long) -> io::Result<OwnedFd> {
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just returned this descriptor, which nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(status as i32) })
}
