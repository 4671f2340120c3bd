//! How does a program read and write?

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::count::{CountedDevice, Counts};
use crate::gather::Gather;
use crate::policy::{self, Carry};
use crate::sys::{Device, Loans, Pending, Request, end_or, generation, lend_read, lend_write};
use crate::{Advice, ManyError, Options, Policy, Stats, many, scope};

/// A file, block device or simulated device that is read and written at offsets, from any number of threads.
///
/// Cloning gives another handle to the same.
///
/// **Overlapping writes** that are in flight together, from one group or from several callers, may be done in any order, and
/// block by block: afterwards each block of the device (512 or 4096 bytes) may be of either. Nothing orders them by their index.
/// The same holds for a read beside a write of the same place. Wait for one before sending the next where that matters.
///
/// **Fork**: parent and child may both go on using a handle. The child's single calls are plain ones from then on, because the
/// threads that a policy counts on have stayed with the parent; its groups take lanes of its own. Open the file again in the child
/// to have the policy back. (As with any direct I/O before Linux 6.3, a buffer that is being read into while its process
/// forks must not be private memory that the child also writes: `open(2)`, notes on `O_DIRECT`.)
#[derive(Clone)]
pub struct File {
    shared: Arc<SharedFile>,
}

struct SharedFile {
    /// Differs between all files of a process.
    id: u64,
    /// The process whose threads the policy knows.
    born: u64,
    policy: Policy,
    device: Arc<dyn Device>,
    carry: Arc<dyn Carry>,
    counts: Option<Arc<Counts>>,
    /// Sender for futures.
    gather: OnceLock<Gather>,
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        if self.born != generation() {
            // The threads that its end would wait for have stayed with the parent.
            std::mem::forget((self.carry.clone(), self.gather.take()));
        }
    }
}

impl File {
    pub(crate) fn new(mut device: Arc<dyn Device>, options: &Options) -> File {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let mut counts = None;
        if options.count {
            let counted = CountedDevice::new(device);
            counts = Some(counted.counts());
            device = Arc::new(counted);
        }
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let carry = Arc::from(policy::carrier(options, &device));
        let shared = SharedFile {
            id,
            born: generation(),
            policy: options.policy,
            device,
            carry,
            counts,
            gather: OnceLock::new(),
        };
        File { shared: Arc::new(shared) }
    }

    /// Opens for reading, with [`Policy::Auto`].
    pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
        Options::default().open(path)
    }

    /// Reads at an offset: bytes that came, fewer than asked at the end of the file, none of an empty buffer.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let SharedFile { device, carry, .. } = &*self.shared;
        if !scope::is_inside() {
            if self.is_plain() {
                return device.read(buffer, offset);
            }
            if let Some(result) = carry.read(&**device, buffer, offset) {
                return result;
            }
            return policy::read(&**carry, &**device, buffer, offset);
        }
        lend_read(buffer, offset, |request, pending| self.carry_inside(request, pending))
    }

    /// Writes at an offset: bytes that were taken.
    pub fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        let SharedFile { device, carry, .. } = &*self.shared;
        if !scope::is_inside() {
            if self.is_plain() {
                return device.write(buffer, offset);
            }
            if let Some(result) = carry.write(&**device, buffer, offset) {
                return result;
            }
            return policy::write(&**carry, &**device, buffer, offset);
        }
        lend_write(buffer, offset, |request, pending| self.carry_inside(request, pending))
    }

    /// Carries a request of a coroutine.
    fn carry_inside(&self, request: Request, pending: &Pending<'_>) {
        let SharedFile { id, device, carry, .. } = &*self.shared;
        if let Err(request) = scope::carry(&**device, *id, request, pending) {
            carry.carry(&**device, request, pending);
        }
    }

    pub(crate) fn device(&self) -> &Arc<dyn Device> {
        &self.shared.device
    }

    pub(crate) fn id(&self) -> u64 {
        self.shared.id
    }

    /// Sender for futures that no executor of ours polls.
    pub(crate) fn gather(&self) -> &Gather {
        self.shared.gather.get_or_init(Gather::new)
    }

    /// True when a call by itself is a plain one.
    fn is_plain(&self) -> bool {
        self.shared.policy == Policy::Pread || self.shared.born != generation()
    }

    /// Fills the buffer, or fails: [`io::ErrorKind::UnexpectedEof`] at the end of the file. An empty buffer is full.
    pub fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        let whole = buffer.len();
        while !buffer.is_empty() {
            match self.read_at(buffer, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => (buffer, offset) = (&mut buffer[bytes..], offset + bytes as u64),
                Err(error) => return Err(end_or(error, buffer.len() < whole)),
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
    ///
    /// A group goes through the calling thread's own lane whatever the policy; with [`Policy::Pread`] or
    /// alone, each is a [`File::read_exact_at`]. In a scope's coroutine it goes by the executor's lane.
    pub fn read_many(&self, list: &mut [(u64, &mut [u8])]) -> Result<(), ManyError> {
        if self.goes_one_by_one(list.len()) {
            let count = list.len();
            let each = list.iter_mut().map(|(offset, buffer)| self.read_exact_at(buffer, *offset));
            return many::collect(count, each);
        }
        many::carry(&*self.shared.device, self.shared.id, Loans::reads(list))
    }

    /// Writes every buffer at its offset, as one batch, in any order; when some fail, all others are written. Of two that overlap,
    /// either may be written last: see [`File`].
    pub fn write_many(&self, list: &[(u64, &[u8])]) -> Result<(), ManyError> {
        if self.goes_one_by_one(list.len()) {
            let each = list.iter().map(|(offset, buffer)| self.write_all_at(buffer, *offset));
            return many::collect(list.len(), each);
        }
        many::carry(&*self.shared.device, self.shared.id, Loans::writes(list))
    }

    fn goes_one_by_one(&self, count: usize) -> bool {
        count < 2 || (self.shared.policy == Policy::Pread && !scope::is_inside())
    }

    /// Bytes of the file or device; 0 of what has no length.
    pub fn len(&self) -> io::Result<u64> {
        self.shared.device.len()
    }

    /// True when there is nothing to read.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Has data and metadata written to the device: `fsync`. Writes that are still in flight are not covered.
    pub fn sync_all(&self) -> io::Result<()> {
        self.shared.device.sync(false)
    }

    /// Has data written to the device, and the metadata that reading them needs: `fdatasync`.
    pub fn sync_data(&self) -> io::Result<()> {
        self.shared.device.sync(true)
    }

    /// Carrier of a single blocking call.
    pub fn policy(&self) -> Policy {
        self.shared.policy
    }

    /// Way that single calls take at present, and why: [`Policy::Auto`] changes it.
    pub fn advice(&self) -> Advice {
        let chosen = || Advice { policy: self.policy(), why: "it was chosen".to_owned() };
        self.shared.carry.advice().unwrap_or_else(chosen)
    }

    /// Name of what carries batches, after [`crate::Backend::Best`] was decided: `io_uring`, `libaio`, `pread`, `tmerge`
    /// or `simulated`.
    pub fn backend(&self) -> &'static str {
        self.shared.device.name()
    }

    /// Counts of what was sent so far, with [`Options::count`].
    pub fn stats(&self) -> Option<Stats> {
        self.shared.counts.as_deref().map(Counts::stats)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SharedFile { id, policy, device, .. } = &*self.shared;
        let (policy, backend) = (policy.name(), device.name());
        f.debug_struct("File")
            .field("id", id)
            .field("policy", &policy)
            .field("backend", &backend)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulated;
    use iostack_batch::BatchCost;

    #[test]
    fn a_group_reads_what_was_written_and_says_which_failed() {
        let device = Simulated::broken(64 * 1024, BatchCost { fixed_ns: 100.0, each_ns: 100.0 }, 8192..8193);
        let file = Options { count: true, ..Options::default() }.simulated(&device);
        file.write_many(&[(0, &[1; 4096]), (4096, &[2; 4096])]).expect("both lie on sound blocks");
        let (mut first, mut second, mut third) = ([0; 4096], [0; 4096], [0; 4096]);
        let mut list: [(u64, &mut [u8]); 3] = [(4096, &mut first), (8192, &mut second), (0, &mut third)];
        let error = file.read_many(&mut list).expect_err("the second lies on a broken block");
        assert_eq!(error.failures.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1]);
        assert_eq!((first[0], third[4095]), (2, 1));
        assert_eq!(file.stats(), Some(Stats { requests: 5, batches: 2, batch_max: 3 }));
    }
}
