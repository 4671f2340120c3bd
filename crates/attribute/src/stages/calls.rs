//! Which system calls, and which operations of `io_uring`, are I/O? Pure: the rules that the programs go by (`bpf/calls.h`).

use iostack_model::CallKind;

/// Places of system calls; operations of `io_uring` follow.
pub(crate) const CALLS_MAX: u32 = 512;

/// Meaning of a call to the programs (`enum call`).
const SPAN: u64 = 1;
#[cfg(target_arch = "x86_64")]
const SUBMIT: u64 = 2;
#[cfg(target_arch = "x86_64")]
const GET_EVENTS: u64 = 3;
#[cfg(target_arch = "x86_64")]
const URING: u64 = 4;

/// It counts only when it made a bio, or when it made one or slept; 0 is a result, too; the result is a number of bytes, or a
/// descriptor; `msync`, which may do nothing.
const IF_BIO: u64 = 1 << 24;
const IF_SLEPT: u64 = 1 << 25;
const ZERO: u64 = 1 << 26;
const BYTES: u64 = 1 << 27;
#[cfg(target_arch = "x86_64")]
const OPENS: u64 = 1 << 28;
#[cfg(target_arch = "x86_64")]
const MSYNC: u64 = 1 << 29;

/// A call whose I/O lasts from its entry to its exit; `from` and `to` are 1 + the number of the argument that is the descriptor
/// it reads or writes, 0 for none.
const fn span(kind: CallKind, from: u64, to: u64, flags: u64) -> u64 {
    SPAN | (kind as u64) << 8 | from << 16 | to << 20 | flags
}

const READ: u64 = span(CallKind::Read, 1, 0, BYTES);
const WRITE: u64 = span(CallKind::Write, 1, 0, BYTES);
const SYNC: u64 = span(CallKind::Sync, 1, 0, ZERO);
/// Reads nothing for its caller, or later; bios tell whether it did.
#[cfg(target_arch = "x86_64")]
const READS_AHEAD: u64 = span(CallKind::Read, 0, 0, ZERO | IF_BIO);
const METADATA: u64 = span(CallKind::Metadata, 0, 0, ZERO | IF_SLEPT);
#[cfg(target_arch = "x86_64")]
const OPEN: u64 = METADATA | OPENS;
const RESIZE: u64 = span(CallKind::Metadata, 1, 0, ZERO);

/// System calls of a foreign process that may be I/O, each with its rule.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const CALLS: &[(u64, &[libc::c_long])] = &[
    (READ, &[libc::SYS_read, libc::SYS_pread64, libc::SYS_readv, libc::SYS_preadv, libc::SYS_preadv2]),
    (WRITE, &[libc::SYS_write, libc::SYS_pwrite64, libc::SYS_writev, libc::SYS_pwritev, libc::SYS_pwritev2]),
    (span(CallKind::Copy, 2, 1, BYTES), &[libc::SYS_sendfile]),
    (span(CallKind::Copy, 1, 3, BYTES), &[libc::SYS_copy_file_range, libc::SYS_splice]),
    (SYNC, &[libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_sync_file_range]),
    (span(CallKind::Sync, 0, 0, ZERO), &[libc::SYS_sync, libc::SYS_syncfs]),
    (span(CallKind::Sync, 0, 0, ZERO | MSYNC), &[libc::SYS_msync]),
    (SUBMIT, &[libc::SYS_io_submit]),
    (GET_EVENTS, &[libc::SYS_io_getevents, 333]), // io_pgetevents, which libc does not name
    (URING, &[libc::SYS_io_uring_enter]),
    (RESIZE, &[libc::SYS_fallocate, libc::SYS_ftruncate]),
    (span(CallKind::Metadata, 0, 0, ZERO), &[libc::SYS_truncate]),
    (OPEN, &[libc::SYS_open, libc::SYS_openat, libc::SYS_openat2, libc::SYS_creat]),
    (span(CallKind::Metadata, 1, 0, ZERO | IF_SLEPT), &[libc::SYS_close, libc::SYS_getdents, libc::SYS_getdents64]),
    (METADATA, &[
        libc::SYS_stat, libc::SYS_lstat, libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_statfs,
        libc::SYS_fstatfs, libc::SYS_access, libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_readlink,
        libc::SYS_readlinkat, libc::SYS_chdir, libc::SYS_unlink, libc::SYS_unlinkat, libc::SYS_rename, libc::SYS_renameat,
        libc::SYS_renameat2, libc::SYS_mkdir, libc::SYS_mkdirat, libc::SYS_rmdir, libc::SYS_mknod, libc::SYS_mknodat,
        libc::SYS_link, libc::SYS_linkat, libc::SYS_symlink, libc::SYS_symlinkat, libc::SYS_chmod, libc::SYS_fchmod,
        libc::SYS_fchmodat, libc::SYS_chown, libc::SYS_lchown, libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_utime,
        libc::SYS_utimes, libc::SYS_futimesat, libc::SYS_utimensat, libc::SYS_getxattr, libc::SYS_lgetxattr,
        libc::SYS_fgetxattr, libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr, libc::SYS_listxattr,
        libc::SYS_llistxattr, libc::SYS_flistxattr, libc::SYS_removexattr, libc::SYS_lremovexattr, libc::SYS_fremovexattr,
    ]),
    (READS_AHEAD, &[
        libc::SYS_readahead, libc::SYS_fadvise64, libc::SYS_madvise, libc::SYS_mmap, libc::SYS_mlock, libc::SYS_execve,
        libc::SYS_execveat,
    ]),
];
/// Arguments of system calls lie in other registers elsewhere.
#[cfg(not(target_arch = "x86_64"))]
const CALLS: &[(u64, &[libc::c_long])] = &[];

/// Operations of `io_uring` by their numbers in `include/uapi/linux/io_uring.h`.
const OPERATIONS: &[(u64, &[u32])] = &[
    (READ, &[1, 4, 22]),
    (WRITE, &[2, 5, 23]),
    (SYNC, &[3, 8]),
    (RESIZE, &[17, 55]),
    (span(CallKind::Copy, 1, 0, BYTES), &[30]),
    // openat, close, statx, openat2, renameat, unlinkat, mkdirat, symlinkat, linkat, four of extended attributes
    (METADATA | IF_BIO, &[18, 19, 21, 28, 35, 36, 37, 38, 39, 41, 42, 43, 44]),
];

/// True where system calls are understood.
pub(crate) const fn are_known() -> bool {
    !CALLS.is_empty()
}

/// Place and rule of each.
pub(crate) fn rules() -> impl Iterator<Item = (u32, u64)> {
    let calls = CALLS.iter().flat_map(|(rule, numbers)| numbers.iter().map(|number| (*number as u32, *rule)));
    let operations = OPERATIONS
        .iter()
        .flat_map(|(rule, numbers)| numbers.iter().map(|number| (CALLS_MAX + number, *rule)));
    calls.chain(operations)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_call_has_one_rule_and_a_place_of_its_own() {
        let all: BTreeMap<u32, u64> = rules().collect();
        assert_eq!(all.len(), rules().count());
        assert!(all.keys().all(|place| *place < CALLS_MAX + 64));
        assert!(OPERATIONS.iter().flat_map(|(_, numbers)| *numbers).all(|number| *number < 64));
    }

    #[test]
    fn a_rule_says_what_the_programs_read_from_it() {
        let copy = span(CallKind::Copy, 2, 1, BYTES);
        assert_eq!((copy & 0xff, copy >> 8 & 0xff, copy >> 16 & 0xf, copy >> 20 & 0xf), (1, 2, 2, 1));
        assert_eq!(copy >> 24, 8, "bytes, and no condition");
        assert_eq!(CallKind::ALL.map(|kind| kind as u64), [0, 1, 2, 3, 4, 5], "as `enum call_kind`");
    }
}
