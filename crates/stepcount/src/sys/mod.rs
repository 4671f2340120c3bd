//! The system calls behind stepping: ptrace, waiting with a timeout, reading another process's memory.
#![expect(unsafe_code, reason = "ptrace and process_vm_readv have no safe wrapper in std")]

#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod processor;
#[cfg(not(target_arch = "x86_64"))]
#[path = "elsewhere.rs"]
mod processor;

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

pub(crate) use processor::{arguments, instruction_pointer, is_64_bit, result, show_clock, time_stamp};

/// The type in which the C library takes ptrace's requests.
#[cfg(target_env = "musl")]
type PtraceRequest = libc::c_int;
#[cfg(not(target_env = "musl"))]
type PtraceRequest = libc::c_uint;

/// Arguments of a system call, of which these matter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments {
    pub(crate) number: u64,
    /// Its first argument.
    pub(crate) first: u64,
    pub(crate) fourth: u64,
}

/// `si_code` of the trap that announces the entry of a signal handler (`ptrace_notify(SIGTRAP)` in the kernel's
/// `signal_setup_done`); a trap after an instruction has `TRAP_TRACE` or `TRAP_BRKPT`.
pub(crate) const TRAP_HANDLER_ENTRY: i32 = libc::SIGTRAP;

/// Reason why a traced thread stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A trap: one instruction or one system call is done, or a signal handler is entered.
    Trap,
    /// This signal is about to be delivered.
    Signal(i32),
    /// Our own request to stop.
    Interrupted,
    /// The whole process was stopped (Ctrl-Z, SIGSTOP).
    Group,
    /// The thread ended.
    Ended,
    /// The wait was given up.
    GivenUp,
}

/// A ptrace request whose answer is only success or failure.
fn request(kind: PtraceRequest, tid: i32, data: u64) -> io::Result<()> {
    let address = ptr::null_mut::<c_void>();
    // SAFETY: none of the requests made through here reads or writes our memory; `data` is a number to them.
    let answer = unsafe { libc::ptrace(kind, tid, address, data as *mut c_void) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Attaches to a thread without stopping it. With `kill`, the kernel kills it should we die.
pub(crate) fn seize(tid: i32, kill: bool) -> io::Result<()> {
    let options = if kill { libc::PTRACE_O_EXITKILL } else { 0 };
    request(libc::PTRACE_SEIZE, tid, options as u64)
}

/// Asks a running thread to stop.
pub(crate) fn interrupt(tid: i32) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, tid, 0)
}

/// Lets a stopped thread execute one instruction, delivering `signal` first unless it is 0.
pub(crate) fn single_step(tid: i32, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_SINGLESTEP, tid, signal as u64)
}

/// Lets a group-stopped thread stay stopped, and tells us when that ends.
pub(crate) fn listen(tid: i32) -> io::Result<()> {
    request(libc::PTRACE_LISTEN, tid, 0)
}

/// Lets a stopped thread run on, untraced, delivering `signal` unless it is 0.
pub(crate) fn detach(tid: i32, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_DETACH, tid, signal as u64)
}

/// Answer of a ptrace request.
///
/// # Safety
/// The request writes exactly one `T`, a struct of numbers.
unsafe fn answer<T>(kind: PtraceRequest, tid: i32) -> io::Result<T> {
    let mut answer = MaybeUninit::<T>::zeroed();
    let address = ptr::null_mut::<c_void>();
    // SAFETY: the kernel writes one `T`, as the caller promises.
    let status = unsafe { libc::ptrace(kind, tid, address, answer.as_mut_ptr()) };
    // SAFETY: zeroed, which is valid for numbers, and then filled by the kernel.
    if status == -1 { Err(io::Error::last_os_error()) } else { Ok(unsafe { answer.assume_init() }) }
}

/// `si_code` of the signal that stopped a thread.
pub(crate) fn trap_code(tid: i32) -> io::Result<i32> {
    // SAFETY: PTRACE_GETSIGINFO writes exactly one `siginfo_t`.
    unsafe { answer::<libc::siginfo_t>(libc::PTRACE_GETSIGINFO, tid) }.map(|info| info.si_code)
}

/// Waits until a traced thread stops or ends; `give_up` is asked whenever a [`Ticker`] ticks.
pub(crate) fn wait(tid: i32, give_up: &dyn Fn() -> bool) -> io::Result<Stop> {
    loop {
        let mut status = 0;
        // SAFETY: the kernel writes one int, which is ours.
        let answer = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL) };
        if answer == tid {
            return Ok(meaning(status));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) if give_up() => return Ok(Stop::GivenUp),
            Some(libc::EINTR) => {}
            Some(libc::ECHILD) => return Ok(Stop::Ended),
            _ => return Err(error),
        }
    }
}

/// Meaning of a wait status, for a thread attached with `PTRACE_SEIZE`.
fn meaning(status: i32) -> Stop {
    if !libc::WIFSTOPPED(status) {
        return Stop::Ended;
    }
    let signal = libc::WSTOPSIG(status);
    match (signal, status >> 16) {
        (libc::SIGTRAP, libc::PTRACE_EVENT_STOP) => Stop::Interrupted,
        (_, libc::PTRACE_EVENT_STOP) => Stop::Group,
        (libc::SIGTRAP, _) => Stop::Trap,
        (signal, _) => Stop::Signal(signal),
    }
}

/// Reads `buffer.len()` bytes at `address` of another process; `false` when they are not readable.
pub(crate) fn read_memory(pid: i32, address: u64, buffer: &mut [u8]) -> bool {
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: buffer.len() };
    // SAFETY: `local` describes `buffer`, which outlives the call; `remote` is only checked by the kernel.
    let count = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    count == buffer.len().cast_signed()
}

/// Interrupts this thread's blocking calls (`EINTR`) ten times a second while it lives, so that a wait can be
/// given up. Uses SIGURG, which nobody else wants and which does nothing by default.
pub(crate) struct Ticker {
    timer: libc::timer_t,
    before: libc::sigaction,
}

extern "C" fn nothing(_signal: libc::c_int) {}

impl Ticker {
    /// Starts ticking for the calling thread.
    pub(crate) fn start() -> io::Result<Self> {
        let before = set_handler()?;
        let mut event = MaybeUninit::<libc::sigevent>::zeroed();
        // SAFETY: zeroed is valid for a sigevent; the fields that matter follow.
        let event = unsafe { event.assume_init_mut() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGURG;
        // SAFETY: no preconditions.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: both pointers are to live locals of the right type.
        if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut *event, &raw mut timer) } == -1 {
            return Err(io::Error::last_os_error());
        }
        let tenth = libc::timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        let every = libc::itimerspec { it_interval: tenth, it_value: tenth };
        // SAFETY: `timer` was just made, `every` is a live local.
        unsafe { libc::timer_settime(timer, 0, &raw const every, ptr::null_mut()) };
        Ok(Ticker { timer, before })
    }
}

/// Sets the empty SIGURG handler, without `SA_RESTART`, and returns what was there.
fn set_handler() -> io::Result<libc::sigaction> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zeroed is a valid sigaction: default handler, empty mask, no flags.
    let action = unsafe { action.assume_init_mut() };
    action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: `action` is a valid sigaction and `before` has room for one.
    if unsafe { libc::sigaction(libc::SIGURG, &raw const *action, before.as_mut_ptr()) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed, and then filled by the kernel.
    Ok(unsafe { before.assume_init() })
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // SAFETY: `timer` came from timer_create and is deleted once.
        unsafe { libc::timer_delete(self.timer) };
        // SAFETY: `before` came from sigaction.
        unsafe { libc::sigaction(libc::SIGURG, &raw const self.before, ptr::null_mut()) };
    }
}

/// Sends a signal to one process; a process that is gone already is no error.
pub(crate) fn kill(pid: i32, signal: i32) {
    // SAFETY: no memory is involved.
    unsafe { libc::kill(pid, signal) };
}
