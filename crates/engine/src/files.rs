//! Which files does a thread use, and which bytes of them?

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use iostack_host::Held;
use iostack_model::{Access, Advice, Amount, Bytes, Engine, Job, RangeSync, TargetKind, VerifyMode};
use iostack_workload::{Op, Region};

use crate::EngineError;
use crate::sys;

/// The open files of one thread.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Keeps the descriptors open.
    _open: Vec<File>,
    /// The first file's name, for errors.
    pub(crate) path: PathBuf,
    /// Descriptors in the order of [`Op::file`].
    pub(crate) descriptors: Vec<RawFd>,
    /// Number of files, those that are not opened included.
    pub(crate) count: u16,
    blocks: Vec<bool>,
    /// Length of the shortest.
    length: u64,
}

impl Files {
    /// Opens the files as the job needs them: those that are held, whatever has their names by now.
    pub(crate) fn open(job: &Job, held: &[Arc<Held>]) -> Result<Files, EngineError> {
        if matches!(job.engine, Engine::Null | Engine::Names(_)) {
            let count = if held.is_empty() { job.files_each() } else { held.len() as u16 };
            return Ok(Files::none(count));
        }
        let Some(first) = held.first() else {
            return Err(EngineError::Impossible {
                what: format!("job `{}` has no file to work on", job.name),
                remedy: "name a target (--on) or a directory",
            });
        };
        let (intent, options) = open_options(job);
        let mut files = Vec::with_capacity(held.len());
        let mut length = u64::MAX;
        for one in held {
            let refused = |source| EngineError::refused(one.path(), intent, job.direct, source);
            let mut file = one.reopen(&options).map_err(refused)?;
            length = length.min(file.seek(SeekFrom::End(0)).map_err(refused)?);
            if job.invalidate && !job.direct {
                sys::drop_cache(file.as_raw_fd()).map_err(refused)?;
            }
            if let Some(advice) = job.beforehand.advice.filter(|_| !job.direct) {
                let random = match advice {
                    Advice::ByAccess => matches!(job.access, Access::Random { .. }),
                    Advice::Sequential => false,
                    Advice::Random => true,
                };
                // A file system that takes no advice reads as it did.
                sys::advise(file.as_raw_fd(), random);
            }
            if let Some(hint) = job.host.write_hint {
                sys::hint_life(file.as_raw_fd(), u64::from(hint)).map_err(refused)?;
            }
            if job.beforehand.reads {
                std::io::copy(
                    &mut one.reopen(OpenOptions::new().read(true)).map_err(refused)?,
                    &mut std::io::sink(),
                )
                .map_err(refused)?;
            }
            files.push(file);
        }
        let descriptors = files.iter().map(AsRawFd::as_raw_fd).collect();
        let blocks = held.iter().map(|one| one.kind() == TargetKind::Block).collect();
        let count = held.len().min(usize::from(u16::MAX)) as u16;
        Ok(Files { _open: files, path: first.path().to_owned(), descriptors, count, blocks, length })
    }

    /// So many, of any length, that nobody opens.
    fn none(count: u16) -> Files {
        Files { path: "none".into(), count, length: u64::MAX, ..Files::default() }
    }

    /// The region of thread `thread` in each file. A job that only writes may make a file longer than it is.
    pub(crate) fn region(&self, job: &Job, thread: u32) -> Result<Region, EngineError> {
        if let Engine::Names(_) = job.engine {
            return Ok(Region::new(0, job.block_sizes.largest().0));
        }
        let grows = job.mix.read == 0 && job.mix.write > 0 && !self.blocks.contains(&true);
        let mut whole = self.length;
        if grows && let Some(Amount::Bytes(size)) = job.size {
            let increment =
                job.offset_increment.0.saturating_mul(u64::from(job.thread_first) + u64::from(thread));
            let first = job.offset.of(Bytes(whole)).0.saturating_add(increment);
            whole = whole.max(first.saturating_add(size.0 / u64::from(self.count.max(1))));
        }
        Ok(iostack_workload::region(job, Bytes(whole), self.count, thread)?)
    }

    /// Lets the storage forget a range; bytes, or `-errno`.
    pub(crate) fn trim(&self, op: &Op) -> isize {
        let (file, length) = (usize::from(op.file), u64::from(op.length));
        let Some(&descriptor) = self.descriptors.get(file) else { return length.cast_signed() as isize };
        let result = if self.blocks[file] {
            sys::discard(descriptor, op.offset, length)
        } else {
            sys::punch_hole(descriptor, op.offset, length)
        };
        sys::moved(length as usize, result)
    }

    /// `sync_file_range` of one file; 0, or `-errno`.
    pub(crate) fn sync_range(&self, file: usize, (first, end): (u64, u64), how: RangeSync) -> isize {
        let Some(&descriptor) = self.descriptors.get(file) else { return 0 };
        sys::moved(0, sys::sync_range(descriptor, first, end - first, how))
    }

    /// fsync of every file; 0, or `-errno` of the first that failed.
    pub(crate) fn sync(&self, data_only: bool) -> isize {
        sys::moved(0, self.descriptors.iter().try_for_each(|&descriptor| sys::sync(descriptor, data_only)))
    }
}

fn open_options(job: &Job) -> (&'static str, OpenOptions) {
    let writes = job.destroys();
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
