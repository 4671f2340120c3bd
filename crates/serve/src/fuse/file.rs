//! A directory with one file: the disk. Nothing of it is cached, so that each I/O is the drive's.

use std::ffi::OsStr;
use std::time::{Duration, SystemTime};

use fuser::{
    AccessFlags, BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use iostack_host::{effective_group, effective_user};

use super::NAME;
use crate::Disk;

const ROOT: INodeNo = INodeNo(1);
const DISK: INodeNo = INodeNo(2);

/// Time for which the kernel may keep attributes: they never change.
const FOR_LONG: Duration = Duration::from_hours(1);

/// Requests that the kernel sends before it has answers; its own 12 would bound the queue depth.
const IN_FLIGHT: u16 = 1024;

/// Bytes of the longest request.
const MOST: u32 = 1 << 20;

pub(super) struct TheFile {
    disk: Disk,
    started: SystemTime,
}

impl TheFile {
    pub(super) fn new(disk: Disk) -> TheFile {
        TheFile { disk, started: SystemTime::now() }
    }

    fn about(&self, node: INodeNo) -> Option<FileAttr> {
        let (kind, perm, nlink, size) = match node {
            ROOT => (FileType::Directory, 0o700, 2, 0),
            DISK => (FileType::RegularFile, 0o600, 1, self.disk.capacity()),
            _ => return None,
        };
        let time = self.started;
        Some(FileAttr {
            ino: node,
            size,
            blocks: size.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm,
            nlink,
            uid: effective_user(),
            gid: effective_group(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    /// Bytes of a range that lie within the disk.
    fn inside(&self, offset: u64, length: u64) -> u64 {
        length.min(self.disk.capacity().saturating_sub(offset))
    }
}

fn told(errno: crate::Errno) -> Errno {
    Errno::from_i32(errno.0)
}

/// Reply to a request that is answered with nothing.
fn empty(reply: ReplyEmpty) -> crate::Reply {
    Box::new(move |answer| match answer {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(told(errno)),
    })
}

impl Filesystem for TheFile {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // What the kernel does not take, it does with less. Without the first, a queue depth is one.
        let _less = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _less = config.set_max_background(IN_FLIGHT);
        let _less = config.set_congestion_threshold(IN_FLIGHT);
        let _less = config.set_max_write(MOST);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.about(DISK) {
            Some(about) if parent == ROOT && name == NAME => reply.entry(&FOR_LONG, &about, Generation(0)),
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, node: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.about(node) {
            Some(about) => reply.attr(&FOR_LONG, &about),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _request: &Request,
        node: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        // A disk keeps its size: `> disk` and truncate(1) are refused, touch(1) does nothing.
        match self.about(node) {
            Some(about) if size.is_none_or(|size| size == about.size) => reply.attr(&FOR_LONG, &about),
            Some(_) => reply.error(Errno::EPERM),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _request: &Request, node: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if node == DISK {
            let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
            reply.opened(FileHandle(0), flags);
        } else {
            reply.error(Errno::EISDIR);
        }
    }

    fn read(
        &self,
        _request: &Request,
        _node: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let length = self.inside(offset, size.into());
        if length == 0 {
            return reply.data(&[]);
        }
        self.disk.read(offset, vec![0; length as usize], move |answer| match answer {
            Ok(data) => reply.data(&data),
            Err(errno) => reply.error(told(errno)),
        });
    }

    fn write(
        &self,
        _request: &Request,
        _node: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let length = self.inside(offset, data.len() as u64);
        if length == 0 && !data.is_empty() {
            return reply.error(Errno::ENOSPC);
        }
        let through = flags.0 & libc::O_DSYNC != 0;
        let data = &data[..length as usize];
        let answer = move |answer| match answer {
            Ok(()) => reply.written(length as u32),
            Err(errno) => reply.error(told(errno)),
        };
        self.disk.write(offset, data, through, Box::new(answer));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // close(2) makes nothing safe.
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        self.disk.flush(empty(reply));
    }

    fn readdir(&self, _: &Request, node: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        if node != ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let all = [
            (ROOT, FileType::Directory, "."),
            (ROOT, FileType::Directory, ".."),
            (DISK, FileType::RegularFile, NAME),
        ];
        for (index, (node, kind, name)) in all.into_iter().enumerate().skip(offset as usize) {
            if reply.add(node, index as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn access(&self, _request: &Request, _node: INodeNo, _mask: AccessFlags, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fallocate(
        &self,
        _request: &Request,
        _node: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let length = self.inside(offset, length);
        if length == 0 || mode == 0 {
            // All of a disk is there.
            return reply.ok();
        }
        if mode & libc::FALLOC_FL_PUNCH_HOLE != 0 {
            self.disk.trim(offset, length, false, empty(reply));
        } else if mode & libc::FALLOC_FL_ZERO_RANGE != 0 {
            self.disk.write_zeros(offset, length, false, empty(reply));
        } else {
            reply.error(Errno::EOPNOTSUPP);
        }
    }
}
