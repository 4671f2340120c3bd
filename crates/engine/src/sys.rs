//! What needs the compiler's trust: system calls, rings shared with the kernel, memory the device writes to.
//!
//! All unsafe code of the engine is in this module and its parts; each offers safe functions:
//!
//! - `call`: system calls without libc's bookkeeping, because psync's whole cost is one of them
//! - `memory`: aligned buffers that the kernel fills
//! - `names`: what is done to names of files
//! - `queue`: what sends many requests by one call
//! - `posix_aio`: requests that the C library's threads carry out
//! - `map`: a mapping that survives a file that shrinks
//! - `scope`: coroutines of the merge library
//! - this file: the calls made once per thread or file

#![expect(unsafe_code, reason = "system calls, shared rings and device buffers have no safe interface")]

use std::io;
use std::os::fd::RawFd;

use iostack_model::{MemoryPolicy, Priority, RangeSync};

pub(crate) mod call;
pub(crate) mod map;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod posix_aio;
pub(crate) mod queue;
pub(crate) mod scope;

/// Asks for the calling thread's timers to be precise: the kernel otherwise delays them by up to 50 us to gather several.
/// A refusal leaves them as they were.
pub(crate) fn wake_precisely() {
    // SAFETY: PR_SET_TIMERSLACK takes a number of nanoseconds and no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Sleeps so many ns; a signal may end it early.
pub(crate) fn sleep(ns: u64) {
    let time = libc::timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    };
    // SAFETY: nanosleep reads one timespec that lives for the call.
    unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
}

/// Says where memory of the calling thread comes from.
pub(crate) fn place_memory(policy: MemoryPolicy, nodes: &[u32]) -> io::Result<()> {
    let mut mask = [0_u64; 16];
    for &node in nodes {
        let word = mask.get_mut(node as usize / 64).ok_or(io::ErrorKind::InvalidInput)?;
        *word |= 1 << (node % 64);
    }
    let (list, bits) =
        if nodes.is_empty() { (std::ptr::null(), 0) } else { (mask.as_ptr(), mask.len() * 64 + 1) };
    // SAFETY: the call reads so many bits of `mask`, which lives for it, and nothing where there is no list.
    let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, policy as libc::c_int, list, bits) };
    check(result as i32)
}

/// Gives the calling thread its priorities.
pub(crate) fn prefer(priority: Priority) -> io::Result<()> {
    /// The calling thread (`IOPRIO_WHO_PROCESS` of `linux/ioprio.h`).
    const WHO_THREAD: libc::c_int = 1;
    if priority.nice != 0 {
        // SAFETY: the arguments are plain numbers; 0 is the calling thread, on Linux.
        check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, priority.nice.into()) })?;
    }
    if (priority.io_class, priority.io_level) != (0, 0) {
        let number = libc::c_int::from(priority.io());
        // SAFETY: as above.
        check(unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_THREAD, 0, number) } as i32)?;
    }
    Ok(())
}

/// Makes the calling thread, and no other, another user's: the C library's calls would change all of them.
pub(crate) fn become_user(user: Option<u32>, group: Option<u32>) -> io::Result<()> {
    for (call, number) in [(libc::SYS_setresgid, group), (libc::SYS_setresuid, user)] {
        if let Some(number) = number {
            // SAFETY: the arguments are plain numbers.
            check(unsafe { libc::syscall(call, number, number, number) } as i32)?;
        }
    }
    Ok(())
}

/// Says how long what is written to a file will live (`F_SET_RW_HINT` of `linux/fcntl.h`).
pub(crate) fn hint_life(file: RawFd, hint: u64) -> io::Result<()> {
    const F_SET_RW_HINT: libc::c_int = 1036;
    // SAFETY: the call reads one u64, which outlives it.
    check(unsafe { libc::fcntl(file, F_SET_RW_HINT, &raw const hint) })
}

/// Tells the kernel to drop the page cache of a file, dirty pages written first.
pub(crate) fn drop_cache(file: RawFd) -> io::Result<()> {
    // SAFETY: the call takes no memory of ours.
    check(unsafe { libc::fdatasync(file) })?;
    // SAFETY: as above.
    let error = unsafe { libc::posix_fadvise(file, 0, 0, libc::POSIX_FADV_DONTNEED) };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Tells the kernel in which order a file will be gone over.
pub(crate) fn advise(file: RawFd, random: bool) {
    let advice = if random { libc::POSIX_FADV_RANDOM } else { libc::POSIX_FADV_SEQUENTIAL };
    // SAFETY: the call takes no memory of ours.
    unsafe { libc::posix_fadvise(file, 0, 0, advice) };
}

/// fsync, or fdatasync.
pub(crate) fn sync(file: RawFd, data_only: bool) -> io::Result<()> {
    let call = if data_only { libc::fdatasync } else { libc::fsync };
    // SAFETY: neither call takes memory of ours.
    check(unsafe { call(file) })
}

pub(crate) fn sync_range(file: RawFd, offset: u64, length: u64, how: RangeSync) -> io::Result<()> {
    let flags = [
        (how.wait_before, libc::SYNC_FILE_RANGE_WAIT_BEFORE),
        (how.write, libc::SYNC_FILE_RANGE_WRITE),
        (how.wait_after, libc::SYNC_FILE_RANGE_WAIT_AFTER),
    ];
    let flags = flags.into_iter().filter(|(on, _)| *on).fold(0, |sum, (_, flag)| sum | flag);
    // SAFETY: the call takes no memory of ours.
    check(unsafe { libc::sync_file_range(file, offset.cast_signed(), length.cast_signed(), flags) })
}

/// Reserves a range of a file, within its length or beyond.
pub(crate) fn allocate(file: RawFd, keep_length: bool, offset: u64, length: u64) -> io::Result<()> {
    fallocate(file, if keep_length { libc::FALLOC_FL_KEEP_SIZE } else { 0 }, offset, length)
}

fn fallocate(file: RawFd, mode: i32, offset: u64, length: u64) -> io::Result<()> {
    // SAFETY: the call takes no memory of ours.
    check(unsafe { libc::fallocate(file, mode, offset.cast_signed(), length.cast_signed()) })
}

/// Cuts a file, or makes it longer.
pub(crate) fn truncate(file: RawFd, length: u64) -> io::Result<()> {
    // SAFETY: the call takes no memory of ours.
    check(unsafe { libc::ftruncate(file, length.cast_signed()) })
}

/// Lets the file forget a range: a hole in it.
pub(crate) fn punch_hole(file: RawFd, offset: u64, length: u64) -> io::Result<()> {
    fallocate(file, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, offset, length)
}

/// Lets the block device forget a range.
pub(crate) fn discard(device: RawFd, offset: u64, length: u64) -> io::Result<()> {
    /// `BLKDISCARD` of `linux/fs.h`: `_IO(0x12, 119)`.
    const BLKDISCARD: libc::c_ulong = 0x1277;
    let range = [offset, length];
    // SAFETY: BLKDISCARD reads two u64 from the pointer, and `range` is two u64 that live for the call.
    check(unsafe { libc::ioctl(device, BLKDISCARD as _, range.as_ptr()) })
}

/// The signal that gets a worker out of a blocking wait. Real-time signals have no other meaning to anyone.
fn kick_signal() -> i32 {
    libc::SIGRTMIN() + 6
}

extern "C" fn do_nothing(_signal: i32) {}

/// Makes [`kick`] interrupt waits instead of ending the process.
pub(crate) fn prepare_kick() {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all-zero is a valid sigaction: default handler, empty mask, no flags (so that calls end with EINTR).
    let action = unsafe { action.assume_init_mut() };
    action.sa_sigaction = do_nothing as *const () as usize;
    // SAFETY: the handler is an extern "C" function that touches nothing, so it may run at any moment.
    unsafe { libc::sigaction(kick_signal(), action, std::ptr::null_mut()) };
}

/// Interrupts the blocking system call of one of our threads, if it is in one.
pub(crate) fn kick(thread: i32) {
    // SAFETY: getpid has no arguments and cannot fail.
    let process = unsafe { libc::getpid() };
    // SAFETY: the arguments are plain numbers; a thread that has ended gives ESRCH, which does no harm.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, kick_signal()) };
}

/// Raises the soft limit of open files to the hard one: many threads times many files pass 1024 soon.
pub fn allow_many_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is one rlimit, which the call writes.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0 {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: the call reads one rlimit. A refusal leaves the old limit, which is no worse than before.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    }
}

/// Result of a call that moves no bytes, as if it had moved so many: these, or `-errno`.
pub(crate) fn moved(length: usize, result: io::Result<()>) -> isize {
    result
        .map_or_else(|error| -(error.raw_os_error().unwrap_or(libc::EIO) as isize), |()| length.cast_signed())
}

fn check(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
