//! One I/O at a time: psync, pvsync2, mmap, falloc, ftruncate, and an asynchronous engine at depth 1.

use std::os::fd::RawFd;

use iostack_model::RequestFlags;
use iostack_workload::Op;

use crate::backend::{Call, Patience, Queue, is_passing};
use crate::files::Files;
use crate::sys::map::Map;
use crate::sys::{self, call};
use crate::{EngineError, Result};

/// pread and pwrite.
pub(crate) struct Psync(pub(crate) Vec<RawFd>);

impl Call for Psync {
    #[inline]
    fn carry(&mut self, write: bool, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        call::carry_at(write, self.0[file], buffer, offset)
    }
}

/// preadv2 and pwritev2.
pub(crate) struct Pvsync2 {
    files: Vec<RawFd>,
    /// Flags of reads, and of writes.
    flags: [usize; 2],
}

impl Pvsync2 {
    /// `hipri` polls for the completion.
    pub(crate) fn new(files: Vec<RawFd>, hipri: bool, asked: RequestFlags) -> Pvsync2 {
        let poll = if hipri { call::RWF_HIPRI } else { 0 };
        Pvsync2 { files, flags: [false, true].map(|write| asked.bits(write) as usize | poll) }
    }
}

impl Call for Pvsync2 {
    #[inline]
    fn carry(&mut self, write: bool, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        call::carry_with_flags(write, self.files[file], buffer, offset, self.flags[usize::from(write)])
    }
}

/// memcpy from and to a shared mapping.
pub(crate) struct Mmap(Vec<Map>);

impl Mmap {
    /// Maps the first `length` bytes of each file.
    pub(crate) fn new(files: &Files, length: u64, writable: bool) -> Result<Mmap> {
        let maps = files.descriptors.iter().map(|&file| Map::new(file, length, writable));
        let failed = |source| EngineError::Failed { act: "map", path: files.path.clone(), source };
        Ok(Mmap(maps.collect::<Result<_, _>>().map_err(failed)?))
    }
}

impl Call for Mmap {
    fn carry(&mut self, write: bool, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        self.0[file].carry(write, buffer, offset)
    }
}

/// fallocate: within the length for reads, also beyond it for writes.
pub(crate) struct Fallocate(pub(crate) Vec<RawFd>);

impl Call for Fallocate {
    fn carry(&mut self, write: bool, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        sys::moved(buffer.len(), sys::allocate(self.0[file], !write, offset, buffer.len() as u64))
    }
}

/// ftruncate to where a write begins; a job of it only writes.
pub(crate) struct Truncate(pub(crate) Vec<RawFd>);

impl Call for Truncate {
    fn carry(&mut self, _: bool, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        sys::moved(buffer.len(), sys::truncate(self.0[file], offset))
    }
}

/// A queue with one I/O in flight, which needs no slots: submitted and waited for in one go.
pub(crate) struct Alone<'q, Q> {
    pub(crate) queue: &'q mut Q,
}

impl<Q: Queue> Call for Alone<'_, Q> {
    #[inline]
    fn carry(&mut self, write: bool, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        let (length, direction) = (buffer.len() as u32, u8::from(write));
        let op = Op { offset, length, direction, file: file as u16 };
        self.queue.push_all(std::iter::once((0, op, buffer.as_mut_ptr())));
        loop {
            let entered = self.queue.submit_and_wait(1, Patience::Forever);
            if let Some((_, result)) = self.queue.take() {
                return result as isize;
            }
            if !is_passing(entered.errno) {
                return -(entered.errno as isize);
            }
        }
    }
}
