//! What does a file answer to plain calls?

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::sync::Arc;

use super::lane::{AtOnce, AtOnceLane};
use super::{Device, Finished, Lane, Op, Request, aio, uring};

/// Requests that a ring or context has room for: 8 KiB of the kernel's memory for each thread that sends batches by a ring. The
/// system's contexts share `fs.aio-max-nr`, by default 65,536.
pub(super) const ENTRIES: u32 = 128;

/// Carrier of a file's batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// Plain calls, one after another.
    Calls,
    Uring,
    Libaio,
}

/// File whose single calls are `pread` and `pwrite`.
#[derive(Debug)]
pub(crate) struct Pread {
    file: Arc<File>,
    carrier: Carrier,
}

impl Pread {
    pub(crate) fn new(file: Arc<File>) -> Pread {
        Pread { file, carrier: Carrier::Calls }
    }

    /// File with batches by `io_uring`. The error is the kernel's, when it makes no rings for this process.
    pub(super) fn with_uring(file: Arc<File>) -> io::Result<Pread> {
        uring::probe().map(|()| Pread { file, carrier: Carrier::Uring })
    }

    /// File with batches by libaio. The error is the kernel's, when it makes no context for this process.
    pub(super) fn with_libaio(file: Arc<File>) -> io::Result<Pread> {
        aio::probe().map(|()| Pread { file, carrier: Carrier::Libaio })
    }
}

impl Device for Pread {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        again(|| self.file.read_at(buffer, offset))
    }

    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        again(|| self.file.write_at(buffer, offset))
    }

    /// Gives a lane of plain calls where no more rings or contexts can be had (descriptors, memory).
    fn lane(&self, depth: usize) -> io::Result<Box<dyn Lane>> {
        let lane = match self.carrier {
            Carrier::Calls => None,
            Carrier::Uring => uring::lane(depth, &self.file),
            Carrier::Libaio => aio::lane(depth, &self.file),
        };
        Ok(lane.unwrap_or_else(|| Box::new(AtOnceLane::new(Pread::new(self.file.clone()), depth))))
    }

    fn batch_max(&self) -> usize {
        if self.carrier == Carrier::Calls { usize::MAX } else { ENTRIES as usize }
    }

    fn name(&self) -> &'static str {
        match self.carrier {
            Carrier::Calls => "pread",
            Carrier::Uring => "io_uring",
            Carrier::Libaio => "libaio",
        }
    }

    fn len(&self) -> io::Result<u64> {
        let metadata = self.file.metadata()?;
        if metadata.file_type().is_block_device() {
            block_device_bytes(&self.file)
        } else {
            Ok(metadata.len())
        }
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        if data_only { self.file.sync_data() } else { self.file.sync_all() }
    }
}

fn block_device_bytes(file: &File) -> io::Result<u64> {
    /// `_IOR(0x12, 114, size_t)` of `linux/fs.h`.
    const BLKGETSIZE64: libc::Ioctl = 0x8008_1272_u32 as libc::Ioctl;
    let mut bytes = 0_u64;
    // SAFETY: `file` keeps the descriptor open for the call, and BLKGETSIZE64 writes exactly one u64.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &raw mut bytes) };
    if status == 0 { Ok(bytes) } else { Err(io::Error::last_os_error()) }
}

/// A signal is no reason to stop.
fn again(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl AtOnce for Pread {
    fn carry(&mut self, queued: &mut Vec<Request>, finished: &mut Vec<Finished>) {
        finished.extend(queued.drain(..).map(|request| called(self, request)));
    }
}

/// One request by a plain call of this thread.
pub(crate) fn call(device: &dyn Device, request: &Request) -> io::Result<usize> {
    perform(
        request,
        |buffer, offset| device.read(buffer, offset),
        |buffer, offset| device.write(buffer, offset),
    )
}

/// The same, with the result.
pub(crate) fn called(device: &dyn Device, request: Request) -> Finished {
    let result = call(device, &request);
    Finished::new(request, result)
}

/// The same, and its owner has the result.
pub(crate) fn by_itself(device: &dyn Device, request: Request) {
    let result = call(device, &request);
    request.complete(result);
}

/// Does what a request asks for.
pub(crate) fn perform(
    request: &Request,
    read: impl FnOnce(&mut [u8], u64) -> io::Result<usize>,
    write: impl FnOnce(&[u8], u64) -> io::Result<usize>,
) -> io::Result<usize> {
    let (address, length) = (request.address(), request.length());
    match request.op() {
        Op::Read => {
            // SAFETY: the memory is the request's alone until it is completed.
            let buffer = unsafe { std::slice::from_raw_parts_mut(address, length) };
            read(buffer, request.offset())
        }
        Op::Write => {
            // SAFETY: the memory is lent to the request until it is completed, and nobody writes it meanwhile.
            let buffer = unsafe { std::slice::from_raw_parts(address, length) };
            write(buffer, request.offset())
        }
    }
}
