//! Which files does a thread use, and which bytes of them?

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::PathBuf;

use iostack_model::{Amount, Bytes, Engine, Job, VerifyMode};
use iostack_workload::{Op, Region};

use crate::EngineError;
use crate::sys;

/// The open files of one thread.
#[derive(Debug)]
pub(crate) struct Files {
    /// Keeps the descriptors open.
    _open: Vec<File>,
    paths: Vec<PathBuf>,
    descriptors: Vec<RawFd>,
    blocks: Vec<bool>,
    /// Length of the shortest.
    length: u64,
}

impl Files {
    /// Opens the files as the job needs them.
    pub(crate) fn open(job: &Job, paths: &[PathBuf]) -> Result<Files, EngineError> {
        if paths.is_empty() {
            return Err(EngineError::Impossible {
                what: format!("job `{}` has no file to work on", job.name),
                remedy: "name a target (--on) or a directory",
            });
        }
        let mut files = Vec::with_capacity(paths.len());
        let mut blocks = Vec::with_capacity(paths.len());
        let mut length = u64::MAX;
        for path in paths {
            let (intent, options) = open_options(job);
            let refused = |source| EngineError::refused(path, intent, job.direct, source);
            let mut file = options.open(path).map_err(refused)?;
            let block = file.metadata().map_err(refused)?.file_type().is_block_device();
            length = length.min(file.seek(SeekFrom::End(0)).map_err(refused)?);
            if job.invalidate && !job.direct {
                sys::drop_cache(file.as_raw_fd()).map_err(refused)?;
            }
            files.push(file);
            blocks.push(block);
        }
        let descriptors = files.iter().map(AsRawFd::as_raw_fd).collect();
        Ok(Files { _open: files, paths: paths.to_vec(), descriptors, blocks, length })
    }

    /// Descriptors in the order of [`Op::file`].
    pub(crate) fn descriptors(&self) -> &[RawFd] {
        &self.descriptors
    }

    /// The first file's name, for errors.
    pub(crate) fn path(&self) -> PathBuf {
        self.paths.first().cloned().unwrap_or_default()
    }

    /// How many.
    pub(crate) fn count(&self) -> u16 {
        self.paths.len().min(usize::from(u16::MAX)) as u16
    }

    /// The region of thread `thread` in each file. A job that only writes may make a file longer than it is.
    pub(crate) fn region(&self, job: &Job, thread: u32) -> Result<Region, EngineError> {
        let grows = job.mix.read == 0 && job.mix.write > 0 && !self.blocks.contains(&true);
        let mut whole = self.length;
        if grows && let Some(Amount::Bytes(size)) = job.size {
            let increment =
                job.offset_increment.0.saturating_mul(u64::from(job.thread_first) + u64::from(thread));
            let first = job.offset.of(Bytes(whole)).0.saturating_add(increment);
            whole = whole.max(first.saturating_add(size.0 / u64::from(self.count().max(1))));
        }
        Ok(iostack_workload::region(job, Bytes(whole), self.count(), thread)?)
    }

    /// Lets the storage forget a range; bytes, or `-errno`.
    pub(crate) fn trim(&self, op: &Op) -> isize {
        let file = usize::from(op.file);
        let (descriptor, length) = (self.descriptors[file], u64::from(op.length));
        let result = if self.blocks[file] {
            sys::discard(descriptor, op.offset, length)
        } else {
            sys::punch_hole(descriptor, op.offset, length)
        };
        match result {
            Ok(()) => length.cast_signed() as isize,
            Err(error) => -(error.raw_os_error().unwrap_or(libc::EIO) as isize),
        }
    }

    /// fsync of every file; 0, or `-errno` of the first that failed.
    pub(crate) fn sync(&self, data_only: bool) -> isize {
        for &descriptor in &self.descriptors {
            if let Err(error) = sys::sync(descriptor, data_only) {
                return -(error.raw_os_error().unwrap_or(libc::EIO) as isize);
            }
        }
        0
    }
}

fn open_options(job: &Job) -> (&'static str, OpenOptions) {
    let writes = job.mix.destroys();
    let verifies = job.verify.is_some_and(|verify| verify.mode != VerifyMode::WriteOnly);
    // A writable shared mapping needs a file that can also be read.
    let reads = !writes || job.mix.read > 0 || verifies || job.engine == Engine::Mmap;
    let mut flags = 0;
    if job.direct && job.engine != Engine::Mmap {
        flags |= libc::O_DIRECT;
    }
    if job.sync.o_sync {
        flags |= libc::O_SYNC;
    }
    if job.sync.o_dsync {
        flags |= libc::O_DSYNC;
    }
    let mut options = OpenOptions::new();
    options.read(reads).write(writes).custom_flags(flags);
    let intent = match (reads, writes) {
        (true, true) => "reading and writing",
        (true, false) => "reading",
        _ => "writing",
    };
    (intent, options)
}
