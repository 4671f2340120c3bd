//! How does a batch travel by the extended command of the `tmerge` driver?
//!
//! One ioctl runs up to `batch_max` reads and writes under one doorbell and returns when all are done, each with its result
//! (`kernel/tmerge/tmerge.h`). It passes by the page cache, so the file must be open for direct I/O as its plain calls are;
//! offsets and lengths are multiples of 512, else the request fails with `EINVAL`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::lane::{AtOnce, AtOnceLane};
use super::{Device, Finished, Lane, Op, Pread, Request};

/// `TMERGE_ENTRIES_MAX`; the module's `batch_max` may allow fewer.
const ENTRIES_MAX: usize = 256;

/// `TMERGE_LENGTH_MAX`: bytes of one entry.
const LENGTH_MAX: usize = 0x10_0000;

/// Request of a command, `struct tmerge_entry`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct TmergeEntry {
    offset: u64,
    buffer: u64,
    length: u32,
    op: u32,
    result: i32,
    reserved: u32,
}

const _: () = assert!(size_of::<TmergeEntry>() == 32);

/// Command of the driver, `struct tmerge_command`.
#[repr(C)]
#[derive(Debug, Default)]
struct TmergeCommand {
    entries: u64,
    count: u32,
    flags: u32,
    reserved: [u64; 2],
}

const _: () = assert!(size_of::<TmergeCommand>() == 32);

/// `TMERGE_IOC_RUN`: `_IOWR(0xE7, 0x40, struct tmerge_command)`.
const RUN: libc::Ioctl =
    (3 << 30 | (size_of::<TmergeCommand>() as u32) << 16 | 0xE7 << 8 | 0x40) as libc::Ioctl;

/// A block device of the `tmerge` driver.
#[derive(Debug)]
pub(crate) struct Tmerge {
    shared: Arc<TmergeDevice>,
}

#[derive(Debug)]
struct TmergeDevice {
    calls: Pread,
    file: Arc<File>,
    /// Entries that the module took last, or did not refuse yet.
    batch_max: AtomicUsize,
    capacity: u64,
}

impl Tmerge {
    /// The error is `ENOTTY` where no `tmerge` answers.
    pub(crate) fn new(file: Arc<File>) -> io::Result<Tmerge> {
        // An empty command is malformed: `EINVAL` says that somebody knows it.
        match run(&file, &mut []) {
            Err(error) if error.raw_os_error() != Some(libc::EINVAL) => return Err(error),
            _ => {}
        }
        let calls = Pread::new(file.clone());
        let capacity = calls.len()?;
        let batch_max = AtomicUsize::new(ENTRIES_MAX);
        Ok(Tmerge { shared: Arc::new(TmergeDevice { calls, file, batch_max, capacity }) })
    }
}

/// Runs one command; all of it was done unless it fails.
fn run(file: &File, entries: &mut [TmergeEntry]) -> io::Result<()> {
    let command = TmergeCommand {
        entries: entries.as_mut_ptr() as u64,
        count: entries.len() as u32,
        ..TmergeCommand::default()
    };
    // SAFETY: the kernel reads one command and reads and writes `count` entries, which `entries` has; each names memory of a
    // request that the caller holds until this returns.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), RUN, &raw const command) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl Device for Tmerge {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.shared.calls.read(buffer, offset)
    }

    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        self.shared.calls.write(buffer, offset)
    }

    fn lane(&self, depth: usize) -> io::Result<Box<dyn Lane>> {
        let commands = Commands { shared: self.shared.clone(), entries: Vec::new() };
        Ok(Box::new(AtOnceLane::new(commands, depth)))
    }

    fn batch_max(&self) -> usize {
        self.shared.batch_max.load(Ordering::Relaxed)
    }

    fn name(&self) -> &'static str {
        "tmerge"
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.shared.capacity)
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        self.shared.calls.sync(data_only)
    }
}

struct Commands {
    shared: Arc<TmergeDevice>,
    entries: Vec<TmergeEntry>,
}

impl Commands {
    /// Runs the first of what is queued as one command, which gets smaller until the module takes it.
    fn run(&mut self, queued: &[Request]) -> (usize, io::Result<()>) {
        loop {
            let limit = self.shared.batch_max.load(Ordering::Relaxed);
            let count = queued.len().min(limit);
            self.entries.clear();
            self.entries.extend(queued[..count].iter().map(|request| entry(request, self.shared.capacity)));
            match run(&self.shared.file, &mut self.entries) {
                Err(error) if error.raw_os_error() == Some(libc::E2BIG) && count > 1 => {
                    self.shared.batch_max.fetch_min(count / 2, Ordering::Relaxed);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return (count, result),
            }
        }
    }
}

fn entry(request: &Request, capacity: u64) -> TmergeEntry {
    // What reaches beyond the end is short, as with plain calls.
    let length = (request.length().min(LENGTH_MAX) as u64).min(capacity.saturating_sub(request.offset()));
    TmergeEntry {
        offset: request.offset(),
        buffer: request.address() as u64,
        length: length as u32,
        op: u32::from(request.op() == Op::Write),
        ..TmergeEntry::default()
    }
}

impl AtOnce for Commands {
    fn carry(&mut self, queued: &mut Vec<Request>, finished: &mut Vec<Finished>) {
        // Nothing moves for what lies behind the end; the module would call it malformed.
        let capacity = self.shared.capacity;
        let beyond = |request: &mut Request| request.offset() >= capacity || request.length() == 0;
        finished.extend(queued.extract_if(.., beyond).map(|request| {
            let full = request.op() == Op::Write && request.length() > 0;
            Finished::of_call(request, if full { -libc::ENOSPC } else { 0 })
        }));
        while !queued.is_empty() {
            let (count, result) = self.run(queued);
            for (request, entry) in queued.drain(..count).zip(&self.entries) {
                let returned = match &result {
                    Ok(()) => entry.result,
                    Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
                };
                finished.push(Finished::of_call(request, returned));
            }
        }
    }
}
