//! The crate's only unsafe code: system calls and instructions, each behind a safe function.
#![expect(unsafe_code, reason = "system calls and time-stamp counter; one operation per block")]

pub(crate) mod allocator;
pub(crate) mod private;

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use iostack_model::Nanos;

use crate::counters::Usage;

/// `path` for the kernel; fails on an inner NUL.
pub(crate) fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}

fn check(status: libc::c_int) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The time-stamp counter, not ordered against other instructions.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn time_stamp() -> u64 {
    // SAFETY: every x86_64 processor has RDTSC, and Linux lets user mode use it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Elsewhere the counters that a program may read are no clocks of the processor: `Clock` and stepping do without.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn time_stamp() -> u64 {
    monotonic_raw_ns()
}

/// EAX, EBX, ECX, EDX of a CPUID leaf; zeroes on other architectures.
#[cfg(target_arch = "x86_64")]
pub(crate) fn cpuid(leaf: u32) -> [u32; 4] {
    let answer = core::arch::x86_64::__cpuid_count(leaf, 0);
    [answer.eax, answer.ebx, answer.ecx, answer.edx]
}

/// EAX, EBX, ECX, EDX of a CPUID leaf; zeroes on other architectures.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn cpuid(_leaf: u32) -> [u32; 4] {
    [0; 4]
}

/// Gives `from` the name `to`, unless that is taken: renameat2(2) with `RENAME_NOREPLACE`.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (c_path(from)?, c_path(to)?);
    let (here, keep) = (libc::AT_FDCWD, libc::RENAME_NOREPLACE);
    // SAFETY: both paths are strings that end in NUL and live for the call. Not every musl has a function for it.
    let status = unsafe { libc::syscall(libc::SYS_renameat2, here, from.as_ptr(), here, to.as_ptr(), keep) };
    check(status as libc::c_int)
}

/// Closes, and says what close(2) says: network file systems refuse what was written only then.
pub(crate) fn close(descriptor: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor was owned, so that nobody else closes or uses this number.
    check(unsafe { libc::close(descriptor.into_raw_fd()) })
}

/// Waits until there is something to read, or nobody is left who could write: poll(2). False when the time is over or a
/// signal came.
pub(crate) fn readable(file: &File, timeout_ms: libc::c_int) -> io::Result<bool> {
    let mut about = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid entry, and the descriptor is open.
    match unsafe { libc::poll(&raw mut about, 1, timeout_ms) } {
        -1 => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
        found => Ok(found > 0),
    }
}

/// Time of `CLOCK_MONOTONIC_RAW`, ns.
#[inline]
pub(crate) fn monotonic_raw_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC_RAW)
}

#[inline]
fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing one timespec. Every Linux has these clocks, so it cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// `CLOCK_MONOTONIC`, ns: perf and BPF stamp with it too.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Clock ticks per second of `/proc` (`_SC_CLK_TCK`).
pub(crate) fn ticks_per_second() -> u64 {
    // SAFETY: sysconf takes no pointer.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as u64 } else { 100 }
}

/// The user we act as.
pub fn effective_user() -> u32 {
    // SAFETY: geteuid takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Number of CPUs this thread may run on.
pub(crate) fn usable_cpus() -> Option<u32> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: `set` is valid for writing the size given; the kernel fills the whole mask or fails.
    let status = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr()) };
    if status != 0 {
        return None;
    }
    // SAFETY: zeroed and then filled by the kernel; any bit pattern is a valid mask.
    let set = unsafe { set.assume_init() };
    // SAFETY: CPU_COUNT only reads the mask.
    let count = unsafe { libc::CPU_COUNT(&set) };
    u32::try_from(count).ok()
}

/// True when this user may do `mode` (`libc::W_OK` ...) to `path`, by the effective user's rights.
pub(crate) fn may(path: &Path, mode: libc::c_int) -> bool {
    let Ok(path) = c_path(path) else { return false };
    // SAFETY: `path` is a NUL-terminated string that lives through the call.
    let status = unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), mode, libc::AT_EACCESS) };
    status == 0
}

/// Size of an open block device in bytes.
pub(crate) fn block_device_size(device: &File) -> io::Result<u64> {
    // _IOR(0x12, 114, size_t), include/uapi/linux/fs.h.
    const BLKGETSIZE64: libc::c_ulong = 0x8008_1272;
    let mut bytes = 0u64;
    // SAFETY: `device` keeps the descriptor open for the call, and BLKGETSIZE64 writes exactly one u64.
    check(unsafe { libc::ioctl(device.as_raw_fd(), BLKGETSIZE64 as _, &raw mut bytes) })?;
    Ok(bytes)
}

/// Space of a file system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    pub(crate) total: u64,
    pub(crate) free: u64,
    pub(crate) read_only: bool,
}

/// Space of the file system that `path` is on; `free` is what this user may use.
pub(crate) fn space(path: &Path) -> io::Result<Space> {
    let path = c_path(path)?;
    let mut answer = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: `path` is NUL-terminated and `answer` is valid for writing one statvfs.
    check(unsafe { libc::statvfs(path.as_ptr(), answer.as_mut_ptr()) })?;
    // SAFETY: zeroed and filled by the call; the struct is plain numbers.
    let answer = unsafe { answer.assume_init() };
    Ok(Space {
        total: answer.f_blocks * answer.f_frsize,
        // Not `f_bfree`: root's reserve is not ours to measure in, even as root.
        free: answer.f_bavail * answer.f_frsize,
        read_only: answer.f_flag & libc::ST_RDONLY != 0,
    })
}

/// Facts that statx knows beyond stat.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extended {
    /// Mount id as in `/proc/self/mountinfo`.
    pub(crate) mount_id: Option<u64>,
    /// Alignment that direct I/O needs of file offsets and lengths; 0 when the file takes none.
    pub(crate) direct_offset: Option<u32>,
}

/// statx with `STATX_MNT_ID` (Linux 5.8) and `STATX_DIOALIGN` (6.1).
pub(crate) fn extended(path: &Path) -> io::Result<Extended> {
    const STATX_MNT_ID: u32 = 0x1000;
    const STATX_DIOALIGN: u32 = 0x2000;
    let path = c_path(path)?;
    let mut answer = MaybeUninit::<libc::statx>::zeroed();
    let wanted = STATX_MNT_ID | STATX_DIOALIGN;
    // SAFETY: `path` is NUL-terminated and `answer` is valid for writing one statx.
    check(unsafe { libc::statx(libc::AT_FDCWD, path.as_ptr(), 0, wanted, answer.as_mut_ptr()) })?;
    // SAFETY: zeroed and filled by the call; the struct is plain numbers.
    let answer = unsafe { answer.assume_init() };
    let has = |bit: u32| answer.stx_mask & bit != 0;
    Ok(Extended {
        mount_id: has(STATX_MNT_ID).then_some(answer.stx_mnt_id),
        direct_offset: has(STATX_DIOALIGN).then_some(answer.stx_dio_offset_align),
    })
}

/// Sets an extended attribute.
pub(crate) fn set_attribute(path: &Path, name: &CStr, value: &[u8]) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: both strings are NUL-terminated, and `value` is readable for its length.
    check(unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) })
}

/// An extended attribute's value, cut to 64 bytes; `None` when the file has none. An error where there are no
/// attributes.
pub(crate) fn attribute(path: &Path, name: &CStr) -> io::Result<Option<Vec<u8>>> {
    let path = c_path(path)?;
    let mut value = vec![0u8; 64];
    // SAFETY: both strings are NUL-terminated, and `value` is writable for its length.
    let length =
        unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    let Ok(length) = usize::try_from(length) else {
        let error = io::Error::last_os_error();
        return if error.raw_os_error() == Some(libc::ENODATA) { Ok(None) } else { Err(error) };
    };
    value.truncate(length);
    Ok(Some(value))
}

/// `struct loop_info64` of include/uapi/linux/loop.h.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rest: [u64; 27],
}
const _: () = assert!(size_of::<LoopInfo>() == 232);

/// Device and inode number of the file behind an open loop device.
pub(crate) fn loop_backing(device: &File) -> io::Result<(u64, u64)> {
    const LOOP_GET_STATUS64: libc::c_ulong = 0x4c05;
    let mut info = LoopInfo { device: 0, inode: 0, rest: [0; 27] };
    // SAFETY: `device` keeps the descriptor open for the call, and `info` is laid out as the kernel's struct.
    check(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64 as _, &raw mut info) })?;
    Ok((info.device, info.inode))
}

/// Reserves blocks for `length` bytes without changing the file's size.
pub(crate) fn reserve(file: &File, length: u64) -> io::Result<()> {
    let length = libc::off_t::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: `file` keeps the descriptor open for the call; no pointer is passed.
    check(unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, length) })
}

/// Reads `buffer.len()` bytes at 0 with `RWF_NOWAIT`; `buffer` must be aligned when `file` is direct.
pub(crate) fn read_nowait(file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: one iovec that points to `buffer`, writable for its length through the call.
    let length = unsafe { libc::preadv2(file.as_raw_fd(), &raw const part, 1, 0, libc::RWF_NOWAIT) };
    usize::try_from(length).map_err(|_| io::Error::last_os_error())
}

/// `struct fiemap_extent` of include/uapi/linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    pub(crate) logical: u64,
    pub(crate) physical: u64,
    pub(crate) length: u64,
    pub(crate) reserved: [u64; 2],
    pub(crate) flags: u32,
    pub(crate) reserved_too: [u32; 3],
}
const _: () = assert!(size_of::<Extent>() == 56);

/// Extents asked for in one call.
pub(crate) const EXTENTS_PER_CALL: usize = 128;

/// `struct fiemap` with room for extents.
#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
    extents: [Extent; EXTENTS_PER_CALL],
}
const _: () = assert!(size_of::<Fiemap>() == 32 + 56 * EXTENTS_PER_CALL);

/// The first extents that touch `start..start + length`, dirty pages written out before.
pub(crate) fn extents(file: &File, start: u64, length: u64) -> io::Result<Vec<Extent>> {
    // _IOWR('f', 11, struct fiemap), include/uapi/linux/fs.h; FIEMAP_FLAG_SYNC is 1.
    const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
    const FIEMAP_FLAG_SYNC: u32 = 1;
    let mut map = Fiemap {
        start,
        length,
        flags: FIEMAP_FLAG_SYNC,
        mapped: 0,
        room: EXTENTS_PER_CALL as u32,
        reserved: 0,
        extents: [Extent::default(); EXTENTS_PER_CALL],
    };
    // SAFETY: `map` is laid out as the kernel's struct, with room for as many extents as `room` says.
    check(unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut map) })?;
    Ok(map.extents[..(map.mapped as usize).min(EXTENTS_PER_CALL)].to_vec())
}

/// Calls `handler` for `signal` from now on, unless the signal is ignored (nohup): then it stays so.
/// Calls it interrupts return `EINTR` rather than go on, so that a waiting loop sees the stop flag.
pub(crate) fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) -> io::Result<()> {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only asks; `old` is valid for writing one sigaction.
    check(unsafe { libc::sigaction(signal, std::ptr::null(), old.as_mut_ptr()) })?;
    // SAFETY: zeroed and filled by the call.
    let old = unsafe { old.assume_init() };
    if old.sa_sigaction == libc::SIG_IGN {
        return Ok(());
    }
    let mut action = old;
    action.sa_sigaction = handler as *const () as libc::sighandler_t;
    action.sa_flags = 0;
    // SAFETY: `sa_mask` is a valid signal set to write to.
    check(unsafe { libc::sigemptyset(&raw mut action.sa_mask) })?;
    // SAFETY: `action` is complete, and the handler does only what signal-safety(7) allows.
    check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })
}

/// Gives `signal` its usual effect.
pub(crate) fn unignore(signal: libc::c_int) {
    // SAFETY: the default action is no handler, and takes no memory.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// unlink(2) without allocating, for signal handlers.
pub(crate) fn unlink_raw(path: &CStr) {
    // SAFETY: `path` is NUL-terminated; unlink is async-signal-safe.
    unsafe { libc::unlink(path.as_ptr()) };
}

/// Writes `value` to an existing file without allocating, for signal handlers; true when all was written.
pub(crate) fn write_raw(path: &CStr, value: &[u8]) -> bool {
    // SAFETY: `path` is NUL-terminated; open is async-signal-safe.
    let descriptor = unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    if descriptor < 0 {
        return false;
    }
    // SAFETY: `value` is readable for its length; write is async-signal-safe.
    let length = unsafe { libc::write(descriptor, value.as_ptr().cast(), value.len()) };
    // SAFETY: the descriptor is ours and closed once; close is async-signal-safe.
    unsafe { libc::close(descriptor) };
    usize::try_from(length) == Ok(value.len())
}

/// Says something on stderr without allocating or locking, for signal handlers.
pub(crate) fn say_raw(text: &[u8]) {
    // SAFETY: `text` is readable for its length; write is async-signal-safe.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

/// Leaves at once, without destructors, for signal handlers.
pub(crate) fn exit_raw(code: libc::c_int) -> ! {
    // SAFETY: _exit takes no pointer and is async-signal-safe.
    unsafe { libc::_exit(code) }
}

/// The parent's process id, asked of the kernel: nothing is cached, and the kernel does next to nothing.
pub(crate) fn parent_process() -> i64 {
    // SAFETY: getppid takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_getppid) }
}

/// CPU time of the calling thread, ns.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Use that the kernel accounts to the calling thread (`RUSAGE_THREAD`) or to this process, threads that have ended
/// included (`RUSAGE_SELF`).
pub(crate) fn usage(of: libc::c_int) -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for writing one rusage.
    unsafe { libc::getrusage(of, usage.as_mut_ptr()) };
    // SAFETY: zeroed and filled by the call; the struct is plain numbers.
    let usage = unsafe { usage.assume_init() };
    let nanos = |time: libc::timeval| Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000);
    Usage {
        user: nanos(usage.ru_utime),
        system: nanos(usage.ru_stime),
        switches_voluntary: usage.ru_nvcsw as u64,
        switches_involuntary: usage.ru_nivcsw as u64,
        faults_major: usage.ru_majflt as u64,
        faults_minor: usage.ru_minflt as u64,
        waiting: Nanos(0),
    }
}

/// The CPU that the calling thread is on.
pub(crate) fn current_cpu() -> io::Result<u32> {
    // SAFETY: sched_getcpu takes nothing.
    let cpu = unsafe { libc::sched_getcpu() };
    u32::try_from(cpu).map_err(|_| io::Error::last_os_error())
}

/// Lets the calling thread run on these CPUs only.
pub fn run_on(cpus: &[u32]) -> io::Result<()> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: zeroes are an empty mask.
    let set = unsafe { set.assume_init_mut() };
    for &cpu in cpus {
        if cpu as usize >= 8 * size_of::<libc::cpu_set_t>() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: the index was checked against the size of the mask.
        unsafe { libc::CPU_SET(cpu as usize, set) };
    }
    // SAFETY: `set` is readable for the size given; 0 is the calling thread.
    check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const *set) })
}

/// Number of the calling thread.
pub fn thread_number() -> i32 {
    // SAFETY: gettid has no arguments and cannot fail.
    unsafe { libc::gettid() }
}

/// Offset of the next data or hole of a file, by lseek(2); `None` behind the last.
pub(crate) fn seek(file: &File, from: u64, whence: libc::c_int) -> io::Result<Option<u64>> {
    // SAFETY: the descriptor is open for the call; no memory is touched.
    let found = unsafe { libc::lseek(file.as_raw_fd(), from.cast_signed(), whence) };
    match u64::try_from(found) {
        Ok(found) => Ok(Some(found)),
        Err(_) => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            error => Err(error),
        },
    }
}
