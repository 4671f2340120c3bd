//! Why is there no disk?

use std::io;
use std::path::PathBuf;

use iostack_host::HostError;
use iostack_model::Bytes;

/// Why a drive is not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Memory for the data.
    #[error("there is no memory for the data; keep them in a file with --store FILE")]
    Memory(#[source] io::Error),
    /// The file for the data.
    #[error("cannot keep the data in `{path}`")]
    Store {
        /// As typed.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Not a file.
    #[error("`{path}` is no file; name a file to make, or one that an earlier `iostack serve` made")]
    NoFile {
        /// As typed.
        path: PathBuf,
    },
    /// Of another drive.
    #[error("`{path}` has {length} and the drive has {capacity}; it is of another drive: name another file")]
    Size {
        /// As typed.
        path: PathBuf,
        /// Bytes it has.
        length: Bytes,
        /// Bytes it must have.
        capacity: Bytes,
    },
    /// Somebody ended it while the drive was filled.
    #[error("stopped while the drive was given the {bytes} that the store holds; nothing was served")]
    Stopped {
        /// Bytes that the store holds.
        bytes: Bytes,
    },
    /// The socket.
    #[error("cannot listen on `{place}`; end who listens there, or choose another with --listen")]
    Listen {
        /// As typed.
        place: String,
        /// What the system said.
        source: io::Error,
    },
    /// The mount.
    #[error("cannot mount on `{place}`")]
    Mount {
        /// The directory.
        place: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The loop device.
    #[error("cannot make a loop device of it; `--as fuse` without root gives the file alone")]
    Loop(#[source] io::Error),
    /// The machine lacks it.
    #[error("this machine has no {route} ({why}); `--as nbd` needs none")]
    Missing {
        /// The route.
        route: &'static str,
        /// What the system said.
        why: String,
    },
    /// A thread.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// Something is already there, or may not be used.
    #[error(transparent)]
    Host(#[from] HostError),
}
