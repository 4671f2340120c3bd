//! Perf events: samples of what CPUs do, and counts. `perf_event_open(2)` is the reference.
//!
//! ```text
//!   Event::open ──► Event::ring ──► Ring::drain: whole records, copied out of memory shared with the kernel
//!               └─► Event::count
//! ```

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// `struct perf_event_attr` of Linux 4.1 and later (`PERF_ATTR_SIZE_VER5`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    /// Breakpoints, branches and registers: nothing of ours.
    others: [u32; 10],
    clock: i32,
    more: [u32; 4],
}

const _: () = assert!(size_of::<Attributes>() == 112);

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const SAMPLE_IP: u64 = 1 << 0;
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const SAMPLE_CPU: u64 = 1 << 7;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const FREQUENCY: u64 = 1 << 10;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const PRECISE_SHIFT: u32 = 15;
const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
const USE_CLOCK: u64 = 1 << 25;
/// `PERF_EVENT_IOC_SET_OUTPUT`: `_IO('$', 5)`.
const SET_OUTPUT: libc::Ioctl = 0x2405;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// Source that an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Time of a CPU, by its high-resolution timer.
    CpuClock,
    /// Time of a thread on CPUs.
    TaskClock,
    /// Core cycles, by the performance-monitoring unit.
    Cycles,
    /// Instructions retired, likewise.
    Instructions,
}

impl Source {
    const fn numbers(self) -> (u32, u64) {
        match self {
            Source::CpuClock => (SOFTWARE, 0),
            Source::TaskClock => (SOFTWARE, 1),
            Source::Cycles => (HARDWARE, 0),
            Source::Instructions => (HARDWARE, 1),
        }
    }
}

/// Whom an event watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    /// All that runs on a CPU.
    Cpu(u32),
    /// One thread on any CPU; 0 is the calling one.
    Thread(u32),
    /// One thread on any CPU, and all that it will make; only for counts.
    Family(u32),
    /// One thread on one CPU, and all that it will make.
    FamilyOn {
        /// The thread that is watched.
        thread: u32,
        /// The CPU that is watched.
        cpu: u32,
    },
}

/// One event, counting until it is dropped.
#[derive(Debug)]
pub(crate) struct Event {
    descriptor: OwnedFd,
}

impl Event {
    /// Counts `source` of `watched`.
    pub(crate) fn counting(source: Source, watched: Watched) -> io::Result<Event> {
        Event::open(source, watched, Attributes::default())
    }

    /// Samples kernel call chains of `watched`: each `period` nanoseconds of a clock, or `rate` times a second by
    /// adjusting the period where the unit counts cycles. `precise` is the skid asked for, 0 to 3.
    pub(crate) fn sampling(source: Source, watched: Watched, rate_hz: u32, precise: u8) -> io::Result<Event> {
        let clock = matches!(source, Source::CpuClock | Source::TaskClock);
        let rate = u64::from(rate_hz.max(1));
        let period = if clock { (1_000_000_000 / rate).max(1) } else { rate };
        let frequency = if clock { 0 } else { FREQUENCY };
        Event::open(
            source,
            watched,
            Attributes {
                sample_period: period,
                sample_type: SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_CALLCHAIN | SAMPLE_CPU,
                // Processes that begin are told in the same ring.
                flags: frequency
                    | TASK
                    | WATERMARK
                    | USE_CLOCK
                    | EXCLUDE_CALLCHAIN_USER
                    | (u64::from(precise) << PRECISE_SHIFT),
                clock: libc::CLOCK_MONOTONIC,
                // Nobody sleeps on the ring: whoever drains it comes by itself.
                wakeup: u32::MAX,
                ..Attributes::default()
            },
        )
    }

    fn open(source: Source, watched: Watched, mut attributes: Attributes) -> io::Result<Event> {
        (attributes.kind, attributes.config) = source.numbers();
        attributes.size = size_of::<Attributes>() as u32;
        attributes.flags |= EXCLUDE_HYPERVISOR;
        let (thread, cpu): (i32, i32) = match watched {
            Watched::Cpu(cpu) => (-1, cpu.cast_signed()),
            Watched::Thread(thread) | Watched::Family(thread) => (thread.cast_signed(), -1),
            Watched::FamilyOn { thread, cpu } => (thread.cast_signed(), cpu.cast_signed()),
        };
        if matches!(watched, Watched::Family(_) | Watched::FamilyOn { .. }) {
            attributes.flags |= INHERIT;
        }
        let group: libc::c_int = -1;
        // SAFETY: the kernel reads `size` bytes of `attributes`, which lives for the call; the rest are numbers.
        let status = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw const attributes, thread, cpu, group, CLOSE_ON_EXEC)
        };
        if status < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has just returned this descriptor, which nobody else owns.
        let descriptor = unsafe { OwnedFd::from_raw_fd(status as i32) };
        Ok(Event { descriptor })
    }

    /// Count so far, its inheritors included.
    pub(crate) fn count(&self) -> io::Result<u64> {
        let mut count = 0_u64;
        // SAFETY: without a read format the kernel writes exactly one u64.
        let length =
            unsafe { libc::read(self.descriptor.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
        if length == size_of::<u64>().cast_signed() { Ok(count) } else { Err(io::Error::last_os_error()) }
    }

    /// Lets this event's records go to the ring of `other`, which watches the same CPU.
    pub(crate) fn redirect(&self, other: &Event) -> io::Result<()> {
        // SAFETY: both descriptors are open, and the request takes the second one's number.
        let status =
            unsafe { libc::ioctl(self.descriptor.as_raw_fd(), SET_OUTPUT, other.descriptor.as_raw_fd()) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Memory that the kernel writes this event's records to: `pages` (a power of two) of data.
    pub(crate) fn ring(&self, pages: usize) -> io::Result<Ring> {
        let page = page_size();
        let length = (pages + 1) * page;
        // SAFETY: a new mapping of the event's own buffer; the kernel chooses the address.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                self.descriptor.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast::<u8>()).expect("a mapping is never at address 0");
        Ok(Ring { base, page, size: pages * page, record: Vec::new() })
    }
}

fn page_size() -> usize {
    // SAFETY: a plain question without arguments in memory.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("pages have a size")
}

/// A ring of records, written by the kernel and read by us. May outlive its event's descriptor.
#[derive(Debug)]
pub(crate) struct Ring {
    base: NonNull<u8>,
    page: usize,
    size: usize,
    record: Vec<u8>,
}

// SAFETY: the mapping belongs to the process, not to a thread, and only `&mut self` moves its tail.
unsafe impl Send for Ring {}

/// Offsets of `data_head` and `data_tail` in `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;
/// `struct perf_event_header`: kind, flags, length.
const RECORD_HEAD: usize = 8;

impl Ring {
    /// Hands each record that has come since the last time to `take`: kind, flags, and what follows the head.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(u32, u16, &[u8])) {
        // The kernel writes the records before the head (acquire), and reuses what lies before the tail (release).
        let head = self.word(HEAD).load(Ordering::Acquire);
        let mut tail = self.word(TAIL).load(Ordering::Relaxed);
        let mut record = std::mem::take(&mut self.record);
        while tail < head {
            self.copy(tail, RECORD_HEAD, &mut record);
            let kind = u32::from_ne_bytes(record[0..4].try_into().expect("four bytes"));
            let flags = u16::from_ne_bytes(record[4..6].try_into().expect("two bytes"));
            let length = usize::from(u16::from_ne_bytes(record[6..8].try_into().expect("two bytes")));
            assert!(length >= RECORD_HEAD && length as u64 <= head - tail, "the kernel writes whole records");
            self.copy(tail + RECORD_HEAD as u64, length - RECORD_HEAD, &mut record);
            take(kind, flags, &record);
            tail += length as u64;
        }
        self.record = record;
        self.word(TAIL).store(tail, Ordering::Release);
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: both offsets used lie in the first page of the mapping.
        let place = unsafe { self.base.add(offset) };
        // SAFETY: aligned to 8, mapped as long as `self` lives, and both sides access it atomically.
        unsafe { AtomicU64::from_ptr(place.as_ptr().cast()) }
    }

    /// Copies `length` bytes from position `at` of the endless stream.
    fn copy(&self, at: u64, length: usize, into: &mut Vec<u8>) {
        into.clear();
        into.resize(length, 0);
        let first = (at % self.size as u64) as usize;
        let straight = length.min(self.size - first);
        self.copy_straight(first, &mut into[..straight]);
        self.copy_straight(0, &mut into[straight..]);
    }

    fn copy_straight(&self, first: usize, into: &mut [u8]) {
        assert!(first + into.len() <= self.size, "within the ring");
        // SAFETY: the data follow the first page, and `first` lies within them.
        let source = unsafe { self.base.add(self.page + first) };
        // SAFETY: within the data by the assertion; the kernel does not write there before we move the tail.
        unsafe { source.as_ptr().copy_to_nonoverlapping(into.as_mut_ptr(), into.len()) };
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `Event::ring`, which nobody can refer to any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.page + self.size) };
    }
}
