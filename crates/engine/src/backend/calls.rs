//! The synchronous engines: psync, pvsync2 and mmap.

use std::os::fd::RawFd;

use crate::EngineError;
use crate::backend::Call;
use crate::files::Files;
use crate::sys::call;
use crate::sys::map::Map;

/// pread and pwrite.
pub(crate) struct Psync {
    files: Vec<RawFd>,
}

impl Psync {
    pub(crate) fn new(files: &Files) -> Psync {
        Psync { files: files.descriptors().to_vec() }
    }
}

impl Call for Psync {
    #[inline]
    fn read(&self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        call::read_at(self.files[file], buffer, offset)
    }

    #[inline]
    fn write(&self, file: usize, buffer: &[u8], offset: u64) -> isize {
        call::write_at(self.files[file], buffer, offset)
    }
}

/// preadv2 and pwritev2.
pub(crate) struct Pvsync2 {
    files: Vec<RawFd>,
    flags: usize,
}

impl Pvsync2 {
    /// `hipri` polls for the completion.
    pub(crate) fn new(files: &Files, hipri: bool) -> Pvsync2 {
        Pvsync2 { files: files.descriptors().to_vec(), flags: if hipri { call::RWF_HIPRI } else { 0 } }
    }
}

impl Call for Pvsync2 {
    #[inline]
    fn read(&self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        call::read_at_flags(self.files[file], buffer, offset, self.flags)
    }

    #[inline]
    fn write(&self, file: usize, buffer: &[u8], offset: u64) -> isize {
        call::write_at_flags(self.files[file], buffer, offset, self.flags)
    }
}

/// memcpy from and to a shared mapping.
pub(crate) struct Mmap {
    maps: Vec<Map>,
}

impl Mmap {
    /// Maps the first `length` bytes of each file.
    pub(crate) fn new(files: &Files, length: u64, writable: bool) -> Result<Mmap, EngineError> {
        let maps = files.descriptors().iter().map(|&file| Map::new(file, length, writable));
        let failed = |source| EngineError::Failed { act: "map", path: files.path(), source };
        Ok(Mmap { maps: maps.collect::<Result<_, _>>().map_err(failed)? })
    }
}

impl Call for Mmap {
    fn read(&self, file: usize, buffer: &mut [u8], offset: u64) -> isize {
        self.maps[file].read(buffer, offset)
    }

    fn write(&self, file: usize, buffer: &[u8], offset: u64) -> isize {
        self.maps[file].write(buffer, offset)
    }
}
