//! How does a program read and write?

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::ManyError;
use crate::policy::{self, Carry};
use crate::sys::{Device, Pread, Simulated};

/// Who carries a single blocking call?
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

/// Which interface of the kernel carries batches?
#[derive(Clone, Debug, Default)]
pub enum Backend {
    /// The best that works here: `io_uring`, else libaio (direct I/O), else plain calls.
    #[default]
    Best,
    /// `io_uring`, kernel 5.6 or later; containers may forbid it.
    IoUring,
    /// The kernel's older interface; asynchronous with direct I/O only.
    Libaio,
    /// Plain calls one after another.
    Pread,
    /// The extended command of the `tmerge` driver, by its ioctl.
    Tmerge,
}

/// How a file is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who carries a single blocking call.
    pub policy: Policy,
    /// What carries batches.
    pub backend: Backend,
    /// Also for writing.
    pub write: bool,
    /// Around the page cache (`O_DIRECT`): offsets, lengths and addresses are then multiples of the device's block.
    pub direct: bool,
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
            batch_max: 64,
            unplug_count: 4,
            unplug: Duration::from_millis(3),
        }
    }
}

impl Options {
    /// Opens a file or block device that exists.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let mut open = std::fs::OpenOptions::new();
        open.read(true).write(self.write);
        if self.direct {
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut open, libc::O_DIRECT);
        }
        self.over(open.open(path)?)
    }

    /// Takes a file that is open; its own flags count.
    pub fn over(&self, file: std::fs::File) -> io::Result<File> {
        Ok(self.device(Arc::new(Pread::new(Arc::new(file)))))
    }

    /// Takes a simulated device.
    pub fn simulated(&self, device: &Simulated) -> File {
        self.device(Arc::new(device.clone()))
    }

    fn device(&self, device: Arc<dyn Device>) -> File {
        static FILES: AtomicU64 = AtomicU64::new(0);
        let carry = policy::of(self, &device, FILES.fetch_add(1, Ordering::Relaxed));
        File { shared: Arc::new(Shared { device, carry }) }
    }
}

/// A file, block device or simulated device that is read and written at offsets, from any number of threads.
///
/// Cloning gives another handle to the same.
#[derive(Clone)]
pub struct File {
    shared: Arc<Shared>,
}

struct Shared {
    device: Arc<dyn Device>,
    carry: Box<dyn Carry>,
}

impl File {
    /// Opens for reading, with [`Policy::Auto`].
    pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
        Options::default().open(path)
    }

    /// Reads at an offset: bytes that came, fewer than asked at the end of the file.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let Shared { device, carry } = &*self.shared;
        policy::read(&**carry, &**device, buffer, offset)
    }

    /// Writes at an offset: bytes that were taken.
    pub fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        let Shared { device, carry } = &*self.shared;
        policy::write(&**carry, &**device, buffer, offset)
    }

    /// Fills the buffer, or fails: [`io::ErrorKind::UnexpectedEof`] at the end of the file.
    pub fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read_at(buffer, offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                bytes => (buffer, offset) = (&mut buffer[bytes..], offset + bytes as u64),
            }
        }
        Ok(())
    }

    /// Writes all of the buffer, or fails.
    pub fn write_all_at(&self, mut buffer: &[u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.write_at(buffer, offset)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                bytes => (buffer, offset) = (&buffer[bytes..], offset + bytes as u64),
            }
        }
        Ok(())
    }

    /// Fills every buffer from its offset, as one batch; when some fail, all others are filled.
    pub fn read_many(&self, list: &mut [(u64, &mut [u8])]) -> Result<(), ManyError> {
        let count = list.len();
        let each = list.iter_mut().map(|(offset, buffer)| self.read_exact_at(buffer, *offset));
        collect(count, each)
    }

    /// Writes every buffer at its offset, as one batch, in any order; when some fail, all others are written.
    pub fn write_many(&self, list: &[(u64, &[u8])]) -> Result<(), ManyError> {
        collect(list.len(), list.iter().map(|(offset, buffer)| self.write_all_at(buffer, *offset)))
    }
}

fn collect(count: usize, results: impl Iterator<Item = io::Result<()>>) -> Result<(), ManyError> {
    let failures: Vec<_> =
        results.enumerate().filter_map(|(index, result)| result.err().map(|error| (index, error))).collect();
    if failures.is_empty() { Ok(()) } else { Err(ManyError { count, failures }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::BatchCost;

    #[test]
    fn a_group_reads_what_was_written_and_says_which_failed() {
        let device = Simulated::broken(64 * 1024, BatchCost { fixed_ns: 100.0, each_ns: 100.0 }, 8192..8193);
        let file = Options::default().simulated(&device);
        file.write_many(&[(0, &[1; 4096]), (4096, &[2; 4096])]).expect("both lie on sound blocks");
        let (mut first, mut second, mut third) = ([0; 4096], [0; 4096], [0; 4096]);
        let mut list: [(u64, &mut [u8]); 3] = [(4096, &mut first), (8192, &mut second), (0, &mut third)];
        let error = file.read_many(&mut list).expect_err("the second lies on a broken block");
        assert_eq!(error.failures.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1]);
        assert_eq!((first[0], third[4095]), (2, 1));
    }
}
