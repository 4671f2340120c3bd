//! How is a file opened, and who carries its requests?

use std::fmt;
use std::io;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::sys::{self, Simulated};
use crate::{File, UnknownName};

/// Carrier of a single blocking call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Plain calls, until what is measured on the way says that another way is better on this device.
    #[default]
    Auto,
    /// `pread` and `pwrite`.
    Pread,
    /// The calling thread's own ring.
    Ring,
    /// Synchronous temporal merge: callers that find the device busy wait, and one winner takes all of them as one batch.
    Stm,
    /// Asynchronous temporal merge: requests are plugged until enough are there, or a time has passed; a thread of the
    /// library's takes all.
    Atm,
    /// A leader sends for all and reaps for all, others follow; several batches may be in flight.
    LeaderFollower,
    /// Stm whose winner sends at once when nobody else is expected, and else holds the batch back for as long as that pays.
    Hybrid,
}

impl Policy {
    /// All of them, in the order of the documentation.
    pub const ALL: [Policy; 7] = [
        Policy::Auto,
        Policy::Pread,
        Policy::Ring,
        Policy::Stm,
        Policy::Atm,
        Policy::LeaderFollower,
        Policy::Hybrid,
    ];

    /// Name as in flags, job files and reports: `auto`, `pread`, `ring`, `stm`, `atm`, `leader-follower`, `hybrid`.
    pub const fn name(self) -> &'static str {
        ["auto", "pread", "ring", "stm", "atm", "leader-follower", "hybrid"][self as usize]
    }
}

/// Interface of the kernel that carries batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Backend {
    /// The best that works here: `io_uring` where the file can be read without a worker thread of the kernel's, else libaio
    /// (direct I/O), else plain calls.
    #[default]
    Best,
    /// `io_uring`, kernel 5.6 or later; containers may forbid it.
    IoUring,
    /// The kernel's older interface. Asynchronous with direct I/O only: a buffered batch works, but is one plain read after
    /// another inside of one system call.
    Libaio,
    /// Plain calls one after another.
    Pread,
    /// The extended command of the `tmerge` driver, by its ioctl. It passes by the page cache.
    Tmerge,
}

impl Backend {
    /// All of them, in the order of the documentation.
    pub const ALL: [Backend; 5] =
        [Backend::Best, Backend::IoUring, Backend::Libaio, Backend::Pread, Backend::Tmerge];

    /// Name as in flags and reports: `best`, `io_uring`, `libaio`, `pread`, `tmerge`.
    pub const fn name(self) -> &'static str {
        ["best", "io_uring", "libaio", "pread", "tmerge"][self as usize]
    }
}

/// The value with this name, else what there is.
fn parse<T: Copy>(
    what: &'static str,
    all: &[T],
    name: fn(T) -> &'static str,
    given: &str,
) -> Result<T, UnknownName> {
    let found = all.iter().copied().find(|&value| name(value) == given);
    found.ok_or_else(|| UnknownName {
        what,
        given: given.to_owned(),
        known: all.iter().map(|&value| name(value)).collect(),
    })
}

impl FromStr for Policy {
    type Err = UnknownName;

    fn from_str(given: &str) -> Result<Policy, UnknownName> {
        parse("policy", &Policy::ALL, Policy::name, given)
    }
}

impl FromStr for Backend {
    type Err = UnknownName;

    fn from_str(given: &str) -> Result<Backend, UnknownName> {
        parse("backend", &Backend::ALL, Backend::name, given)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Options of a file to open.
#[derive(Clone, Debug)]
pub struct Options {
    /// Carrier of a single blocking call.
    pub policy: Policy,
    /// Carrier of batches.
    pub backend: Backend,
    /// Also for writing.
    pub write: bool,
    /// Around the page cache (`O_DIRECT`): offsets, lengths and addresses are then multiples of the device's block.
    pub direct: bool,
    /// Count requests and batches for [`File::stats`]: three additions to shared words for each batch, which cost threads that
    /// call at the same time some 10 to 100 ns. Nothing is counted without.
    pub count: bool,
    /// Requests of different callers in one batch, at most; the device may take fewer. 64 unless said, at least 1.
    pub batch_max: usize,
    /// [`Policy::Atm`]: so many plugged requests go at once. 4 unless said, as published.
    pub unplug_count: usize,
    /// [`Policy::Atm`]: the longest time a write is plugged. 3 ms unless said, as published.
    pub unplug: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            policy: Policy::default(),
            backend: Backend::default(),
            write: false,
            direct: false,
            count: false,
            batch_max: 64,
            unplug_count: 4,
            unplug: Duration::from_millis(3),
        }
    }
}

impl Options {
    /// Opens a file or block device that exists. A backend that does not work here is a [`crate::BackendError`] inside of the
    /// [`io::Error`].
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let mut open = std::fs::OpenOptions::new();
        open.read(true).write(self.write);
        if self.direct {
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut open, libc::O_DIRECT);
        }
        self.over(open.open(path)?)
    }

    /// Takes a file that is open; its own flags count, `write` and `direct` do not.
    pub fn over(&self, file: std::fs::File) -> io::Result<File> {
        Ok(File::new(sys::device(self.backend, Arc::new(file))?, self))
    }

    /// Takes a simulated device; `backend`, `write` and `direct` do not count.
    pub fn simulated(&self, device: &Simulated) -> File {
        File::new(Arc::new(device.clone()), self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for policy in Policy::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        for backend in Backend::ALL {
            assert_eq!(backend.to_string().parse(), Ok(backend));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_that_are_known() {
        let error = "rings".parse::<Policy>().expect_err("there is no such policy");
        let text = "`rings` is no policy; choose one of auto, pread, ring, stm, atm, leader-follower, hybrid";
        assert_eq!(error.to_string(), text);
    }
}
