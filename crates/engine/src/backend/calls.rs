//! One I/O at a time: psync, pvsync2, mmap, falloc, ftruncate, and an asynchronous engine at depth 1.

use std::os::fd::RawFd;

use iostack_model::RequestFlags;
use iostack_workload::Op;

use crate::EngineError;
use crate::backend::{Call, Patience, Queue, is_passing};
use crate::files::Files;
use crate::sys::map::Map;
use crate::sys::{self, call};

/// pread and pwrite.
pub(crate) struct Psync(pub(crate) Vec<RawFd>);

impl Call for Psync {
    #[inline]
    fn read(&mut self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        call::read_at(self.0[file], buffer, offset)
    }

    #[inline]
    fn write(&mut self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        call::write_at(self.0[file], buffer, offset)
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
    pub(crate) fn new(files: &Files, hipri: bool, asked: RequestFlags) -> Pvsync2 {
        let poll = if hipri { call::RWF_HIPRI } else { 0 };
        let flags = [false, true].map(|write| asked.bits(write) as usize | poll);
        Pvsync2 { files: files.descriptors().to_vec(), flags }
    }
}

impl Call for Pvsync2 {
    #[inline]
    fn read(&mut self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        call::carry_with_flags(false, self.files[file], buffer, offset, self.flags[0])
    }

    #[inline]
    fn write(&mut self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        call::carry_with_flags(true, self.files[file], buffer, offset, self.flags[1])
    }
}

/// memcpy from and to a shared mapping.
pub(crate) struct Mmap(Vec<Map>);

impl Mmap {
    /// Maps the first `length` bytes of each file.
    pub(crate) fn new(files: &Files, length: u64, writable: bool) -> Result<Mmap, EngineError> {
        let maps = files.descriptors().iter().map(|&file| Map::new(file, length, writable));
        let failed = |source| EngineError::Failed { act: "map", path: files.path(), source };
        Ok(Mmap(maps.collect::<Result<_, _>>().map_err(failed)?))
    }
}

impl Call for Mmap {
    fn read(&mut self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        self.0[file].read(buffer, offset)
    }

    fn write(&mut self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        self.0[file].write(buffer, offset)
    }
}

/// fallocate: within the length for reads, also beyond it for writes.
pub(crate) struct Fallocate(pub(crate) Vec<RawFd>);

/// ftruncate to where a write begins.
pub(crate) struct Truncate(pub(crate) Vec<RawFd>);

impl Call for Fallocate {
    fn read(&mut self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        sys::moved(buffer.len(), sys::allocate(self.0[file], true, offset, buffer.len() as u64))
    }

    fn write(&mut self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        sys::moved(buffer.len(), sys::allocate(self.0[file], false, offset, buffer.len() as u64))
    }
}

impl Call for Truncate {
    fn read(&mut self, _: usize, _: &mut [u8], _: u64) -> isize {
        unreachable!("a job of ftruncate only writes")
    }

    fn write(&mut self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        sys::moved(buffer.len(), sys::truncate(self.0[file], offset))
    }
}

/// A queue with one I/O in flight, which needs no slots: submitted and waited for in one go.
pub(crate) struct Alone<'q, Q> {
    pub(crate) queue: &'q mut Q,
}

impl<Q: Queue> Alone<'_, Q> {
    #[inline]
    fn carry(&mut self, direction: u8, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        let op = Op { offset, length: buffer.len() as u32, direction, file: file as u16 };
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

impl<Q: Queue> Call for Alone<'_, Q> {
    #[inline]
    fn read(&mut self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        self.carry(0, file, buffer, offset)
    }

    #[inline]
    fn write(&mut self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        self.carry(1, file, buffer, offset)
    }
}
