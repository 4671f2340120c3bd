//! What can go wrong before, or instead of, a measurement. What goes wrong with a single I/O is an outcome's failure.

use std::io;
use std::path::{Path, PathBuf};

use iostack_model::{Bytes, Priority};

/// What comes of a job that may not run.
pub(crate) type Result<T, E = EngineError> = std::result::Result<T, E>;

/// The job could not be run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The world's: a file or device could not be opened.
    #[error("cannot open `{path}` for {intent}{}", direct_hint(source, *.direct))]
    Refused {
        /// Path that was opened.
        path: PathBuf,
        /// Intention: reading or writing.
        intent: &'static str,
        /// It was opened with `O_DIRECT`.
        direct: bool,
        /// The error the operating system gave.
        source: io::Error,
    },
    /// The user's: there is not enough room for the file.
    #[error(
        "`{path}` does not fit: {size} asked for, {free} free; free some space or ask for a smaller size"
    )]
    NoSpace {
        /// The file concerned.
        path: PathBuf,
        /// The size of the file.
        size: Bytes,
        /// Free space there is.
        free: Bytes,
    },
    /// The user's: more in flight than the kernel allows.
    #[error("depth {depth} on {threads} threads is beyond the limit of {engine}: {limit}; {remedy}")]
    DepthBeyondLimit {
        /// Name of the engine.
        engine: &'static str,
        /// Asked depth of one thread.
        depth: u32,
        /// The number of threads wanted.
        threads: u32,
        /// The limit that was met.
        limit: String,
        /// Remedy, as the end of a sentence.
        remedy: String,
    },
    /// The user's: this kernel or container does not offer the engine.
    #[error("{engine} is not available here: {reason}; {remedy}")]
    EngineUnavailable {
        /// Name of the engine that was asked.
        engine: &'static str,
        /// The reason, in a sentence for people.
        reason: String,
        /// Remedy, as the end of a sentence.
        remedy: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The user's: registered buffers exceed what may be locked.
    #[error(
        "fixed buffers of {asked} exceed the limit of locked memory; raise it (`ulimit -l`), lower the depth, or \
         leave fixed buffers off"
    )]
    LockedMemory {
        /// Bytes to lock, of one thread.
        asked: Bytes,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The user's: the thread may not be another user.
    #[error(
        "cannot be user {user:?} of group {group:?} ({source}); start it as root, or leave uid and gid out"
    )]
    Identity {
        /// The user that was asked for.
        user: Option<u32>,
        /// The group that was asked for.
        group: Option<u32>,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The user's: there are not enough huge pages.
    #[error(
        "cannot have {asked} of buffers in huge pages for one thread ({source}); reserve them (`sysctl vm.nr_hugepages={pages}` \
         or more), or leave mem out"
    )]
    NoHugePages {
        /// Bytes of buffers.
        asked: Bytes,
        /// Pages of 2 MiB for them.
        pages: u64,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The user's: the buffers do not fit in memory.
    #[error("cannot have {asked} of buffers for one thread; lower the depth or the block size")]
    NoMemory {
        /// Bytes of one thread.
        asked: Bytes,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The user's: no such CPU, or not allowed.
    #[error(
        "cannot run on CPUs {cpus:?}; name CPUs that exist and that this process may use (`taskset -p $$`)"
    )]
    Pinning {
        /// CPUs that were asked for.
        cpus: Vec<u32>,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The user's: a priority that only root may have.
    #[error(
        "cannot run with nice={}, prioclass={}, prio={}; run it as root, or ask for a lower one",
        .asked.nice, .asked.io_class, .asked.io_level
    )]
    Priority {
        /// Priority that was asked for.
        asked: Priority,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The user's: the job asks for something that excludes itself or that nothing here can do.
    #[error("{what}; {remedy}")]
    Impossible {
        /// Request, and why it cannot be met.
        what: String,
        /// Remedy, as the end of a sentence.
        remedy: &'static str,
    },
    /// The world's: a step of the run failed.
    #[error("cannot {act} `{path}`")]
    Failed {
        /// Act that failed, in words.
        act: &'static str,
        /// File on which it failed.
        path: PathBuf,
        /// The error the operating system gave.
        source: io::Error,
    },
    /// The world's: a thread could not be started.
    #[error("cannot start thread {thread}; lower the number of threads or raise the limit (`ulimit -u`)")]
    Thread {
        /// Number of the thread, from 0.
        thread: u32,
        /// The error the operating system gave.
        source: io::Error,
    },
    /// The user's: the job makes no sense on this target.
    #[error(transparent)]
    Workload(#[from] iostack_workload::WorkloadError),
    /// The world's: the target could not be looked at.
    #[error(transparent)]
    Host(#[from] iostack_host::HostError),
}

fn direct_hint(source: &io::Error, direct: bool) -> &'static str {
    if direct && source.raw_os_error() == Some(libc::EINVAL) {
        " with direct I/O; this file system has none: ask for buffered I/O (--direct=0)"
    } else {
        ""
    }
}

impl EngineError {
    /// The error of opening `path`.
    pub(crate) fn refused(path: &Path, intent: &'static str, direct: bool, source: io::Error) -> Self {
        EngineError::Refused { path: path.to_owned(), intent, direct, source }
    }
}
