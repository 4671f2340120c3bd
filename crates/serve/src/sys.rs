//! The crate's only unsafe code: system calls, each behind a safe function.
#![expect(unsafe_code, reason = "system calls; one operation per block")]

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

fn check(status: libc::c_int) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes a hole: fallocate(2).
pub(crate) fn punch(file: &File, offset: u64, length: u64) -> io::Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    let (offset, length) = (offset.cast_signed(), length.cast_signed());
    // SAFETY: the descriptor is open for the call; no memory is touched.
    check(unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, length) })
}

/// This thread's sleeps end when they are due, not up to 50 us later: prctl(2).
pub(crate) fn wake_promptly() {
    // SAFETY: it changes a number of this thread's.
    let _best_effort = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Sends what the socket takes at once; 0 when it takes nothing now.
pub(crate) fn send_some(socket: &impl AsRawFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the buffer lives for the call, and its length is its own.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(sent).or_else(|_| match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        error => Err(error),
    })
}

/// Ends a connection, or the waiting for one: shutdown(2).
pub(crate) fn hang_up(socket: &impl AsRawFd) {
    // SAFETY: the descriptor is open for the call; no memory is touched.
    let _it_may_be_over = unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR) };
}

/// The other side of a connection has ended it: poll(2).
pub(crate) fn has_hung_up(socket: &impl AsRawFd) -> bool {
    let mut about = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
    // SAFETY: one structure that lives for the call.
    let found = unsafe { libc::poll(&raw mut about, 1, 0) };
    found > 0
}

/// Memory that is free but kept for later is given back: `malloc_trim(3)`. Other C libraries keep little.
pub(crate) fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it may be called at any time from any thread.
    let _whether_there_was_any = unsafe { libc::malloc_trim(0) };
}

/// A process that shares one line with us and nothing else. It is waited for when this is dropped.
#[derive(Debug)]
pub(crate) struct Apart {
    pub(crate) line: UnixStream,
    process: libc::pid_t,
}

impl Drop for Apart {
    fn drop(&mut self) {
        hang_up(&self.line);
        // SAFETY: the process is our child, which nobody else waits for; no status is written.
        let _it_has_ended = unsafe { libc::waitpid(self.process, std::ptr::null_mut(), 0) };
    }
}

/// Does `work` in a process apart: fork(2). It goes on when we are killed, and signals from a terminal do not reach it.
pub(crate) fn apart(work: impl FnOnce(UnixStream)) -> io::Result<Apart> {
    let (line, theirs) = UnixStream::pair()?;
    // SAFETY: the child has one thread and its own memory, whose allocator the C library has made usable again; locks of other
    // threads it takes none of, and it ends before it returns to who called this.
    match unsafe { libc::fork() } {
        0 => {
            leave_all_but(theirs.as_raw_fd());
            let _it_may_panic = catch_unwind(AssertUnwindSafe(|| work(theirs)));
            // SAFETY: it takes no pointer and does not return.
            unsafe { libc::_exit(0) }
        }
        process if process > 0 => Ok(Apart { line, process }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Leaves terminal, descriptors and working directory of the parent. Of a process that was just made.
fn leave_all_but(kept: libc::c_int) {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
        // SAFETY: ignoring needs no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let kept = kept.cast_unsigned();
    for (first, last) in [(0, kept - 1), (kept + 1, libc::c_uint::MAX)] {
        // SAFETY: the child's code uses none of these descriptors.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
    // What were input, output and errors must be nothing that is opened later.
    for _ in 0..3 {
        // SAFETY: the path ends in NUL and lives for the call.
        unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
    }
    // SAFETY: it takes no pointer.
    unsafe { libc::setsid() };
    // SAFETY: the name ends in NUL and is shorter than 16 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"iostack-keeper".as_ptr(), 0, 0, 0) };
    // SAFETY: the path ends in NUL and lives for the call.
    let _it_is_there = unsafe { libc::chdir(c"/".as_ptr()) };
}

/// A loop device that is gone when nobody has it open.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) path: PathBuf,
    pub(crate) number: u64,
    device: File,
}

const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4c82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4c0a;
const LOOP_CLR_FD: libc::c_ulong = 0x4c01;
const BLKFLSBUF: libc::c_ulong = 0x1261;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// `struct loop_config` of linux/loop.h: descriptor, block size, `struct loop_info64`, eight reserved words.
#[repr(C)]
struct LoopConfig {
    descriptor: u32,
    block_size: u32,
    before_flags: [u8; 52],
    flags: u32,
    names: [u8; 64 + 64 + 32],
    init: [u64; 2],
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<LoopConfig>() == 4 + 4 + 232 + 64);

impl Loop {
    /// Makes a disk of `file`, past the page cache.
    pub(crate) fn over(file: &File, block_size: u32) -> io::Result<Loop> {
        let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
        let mut config = LoopConfig {
            descriptor: file.as_raw_fd().cast_unsigned(),
            block_size,
            before_flags: [0; 52],
            flags: LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
            names: [0; 160],
            init: [0; 2],
            reserved: [0; 8],
        };
        // Another program may be quicker with a free one.
        for _ in 0..16 {
            // SAFETY: the command takes no argument.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            let (number, path) = (number as u64, Path::new("/dev").join(format!("loop{number}")));
            let device = OpenOptions::new().read(true).write(true).open(&path)?;
            // SAFETY: the structure is of the kernel's layout and lives for the call.
            match check(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &raw mut config) }) {
                Ok(()) => return Ok(Loop { path, number, device }),
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from_raw_os_error(libc::EBUSY))
    }

    /// Somebody has it to himself: a file system is mounted on it.
    pub(crate) fn is_mounted(&self) -> bool {
        let alone = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&self.path);
        alone.is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
    }

    /// The kernel forgets what it has read of it: `BLKFLSBUF`.
    pub(crate) fn forget(&self) -> io::Result<()> {
        // SAFETY: the command takes no argument.
        check(unsafe { libc::ioctl(self.device.as_raw_fd(), BLKFLSBUF as _, 0) })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // SAFETY: the command takes no argument. While a file system is mounted on it, it goes with the last user.
        let _gone_with_its_last_user = unsafe { libc::ioctl(self.device.as_raw_fd(), LOOP_CLR_FD as _) };
    }
}

/// Takes a mount away, now or when nobody uses it any more, and fails what waits for its server: umount2(2). The mount itself is
/// not touched.
pub(crate) fn unmount(path: &CStr) -> io::Result<()> {
    // SAFETY: the path ends in NUL and lives for the call.
    check(unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH | libc::MNT_FORCE) })
}
