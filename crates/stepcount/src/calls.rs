//! What does a system call say about I/Os?
//!
//! Numbers and names are those of x86-64 (`arch/x86/entry/syscalls/syscall_64.tbl` in the Linux sources; names are
//! in `syscalls-x86-64.txt` here).

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

const NAMES: &str = include_str!("syscalls-x86-64.txt");

/// Way in which a system call carries I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    /// One I/O when it succeeds on a file or block device: the read and write family.
    One,
    /// It carries as many as it returns: `io_submit`.
    Submitted,
    /// It carries as many as it returns, unless a kernel thread submits: `io_uring_enter`.
    Entered,
    /// It returns completions: `io_getevents`.
    Reaped,
    /// It may change which code is mapped where.
    Maps,
    /// Nothing that matters here.
    Nothing,
}

/// `io_uring_enter` flag: the descriptor is an index of registered rings (`include/uapi/linux/io_uring.h`).
pub(crate) const ENTER_REGISTERED_RING: u64 = 1 << 4;

/// Way in which call `number` carries I/O.
pub(crate) fn carries(number: u64) -> Carries {
    match number {
        // read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2
        0 | 1 | 17..=20 | 295 | 296 | 327 | 328 => Carries::One,
        209 => Carries::Submitted,
        426 => Carries::Entered,
        // io_getevents io_pgetevents
        208 | 333 => Carries::Reaped,
        // mmap mprotect munmap mremap execve execveat
        9 | 10 | 11 | 25 | 59 | 322 => Carries::Maps,
        _ => Carries::Nothing,
    }
}

/// True for the write family.
pub(crate) fn writes(number: u64) -> bool {
    // write pwrite64 writev pwritev pwritev2
    matches!(number, 1 | 18 | 20 | 296 | 328)
}

/// The name of call `number`.
pub(crate) fn name(number: u64) -> String {
    let mut lines = NAMES.lines().filter_map(|line| line.split_once(' '));
    let found = lines.find(|(known, _)| known.parse() == Ok(number));
    found.map_or_else(|| format!("call {number}"), |(_, name)| name.to_owned())
}

/// A return value by which the kernel asks itself to make the same call again (`ERESTARTSYS` 512 to
/// `ERESTART_RESTARTBLOCK` 516 in include/linux/errno.h); the program never sees it, a tracer does.
pub(crate) fn is_restart(value: i64) -> bool {
    matches!(value, -514..=-512 | -516)
}

/// The file behind a descriptor when it is storage: a regular file outside /proc and /sys, or a block device.
pub(crate) fn storage_file(pid: i32, descriptor: u64) -> Option<PathBuf> {
    let link = format!("/proc/{pid}/fd/{descriptor}");
    let kind = fs::metadata(&link).ok()?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return None;
    }
    let path = fs::read_link(&link).ok()?;
    (!path.starts_with("/proc") && !path.starts_with("/sys")).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_agree_with_the_c_library() {
        let known = [
            (libc::SYS_read, "read", Carries::One),
            (libc::SYS_write, "write", Carries::One),
            (libc::SYS_pread64, "pread64", Carries::One),
            (libc::SYS_pwrite64, "pwrite64", Carries::One),
            (libc::SYS_readv, "readv", Carries::One),
            (libc::SYS_writev, "writev", Carries::One),
            (libc::SYS_preadv, "preadv", Carries::One),
            (libc::SYS_pwritev, "pwritev", Carries::One),
            (libc::SYS_preadv2, "preadv2", Carries::One),
            (libc::SYS_pwritev2, "pwritev2", Carries::One),
            (libc::SYS_io_submit, "io_submit", Carries::Submitted),
            (libc::SYS_io_uring_enter, "io_uring_enter", Carries::Entered),
            (libc::SYS_io_getevents, "io_getevents", Carries::Reaped),
            (333, "io_pgetevents", Carries::Reaped),
            (libc::SYS_mmap, "mmap", Carries::Maps),
            (libc::SYS_mprotect, "mprotect", Carries::Maps),
            (libc::SYS_munmap, "munmap", Carries::Maps),
            (libc::SYS_mremap, "mremap", Carries::Maps),
            (libc::SYS_execve, "execve", Carries::Maps),
            (libc::SYS_execveat, "execveat", Carries::Maps),
            (libc::SYS_fsync, "fsync", Carries::Nothing),
        ];
        for (number, text, effect) in known {
            let number = u64::try_from(number).unwrap();
            assert_eq!((name(number).as_str(), carries(number)), (text, effect));
            assert_eq!(writes(number), text.contains("write"), "{text}");
        }
        assert_eq!(name(9999), "call 9999");
    }

    #[test]
    fn only_files_and_block_devices_are_storage() {
        let own = i32::try_from(std::process::id()).unwrap();
        let descriptor = |file: &fs::File| {
            use std::os::fd::AsRawFd;
            u64::try_from(file.as_raw_fd()).unwrap()
        };
        let program = fs::File::open("/proc/self/exe").unwrap();
        assert!(storage_file(own, descriptor(&program)).is_some());
        let null = fs::File::open("/dev/null").unwrap();
        assert_eq!(storage_file(own, descriptor(&null)), None);
        let status = fs::File::open("/proc/self/status").unwrap();
        assert_eq!(storage_file(own, descriptor(&status)), None);
        assert_eq!(storage_file(own, 99_999), None);
    }
}
