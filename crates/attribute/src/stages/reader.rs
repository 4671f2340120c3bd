//! The thread that looks after a trace: it takes records from the ring, and now and then lets the kernel count what the
//! programs cost.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::account::{Account, DeviceAccount};
use super::fold::{Bios, Stamps, Thread};
use super::held::{Held, HeldIo};
use super::kernel::{Kernel, Ring, SLOT_WORDS, slot};
use crate::bpf;
use crate::sys::system;

/// Time between two looks into the ring. It holds some 30,000 records.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The kernel counts the programs' time for this long, this often, ns.
const SLICE_NS: u64 = 30_000_000;
const SLICE_EVERY_NS: u64 = 1_000_000_000;

/// Words of `struct record`.
const RECORD_WORDS: usize = 3 + SLOT_WORDS + 8;
const KIND_DEVICE: u64 = 1;
const KIND_IO: u64 = 2;
const KIND_RETURN: u64 = 3;

/// True for an I/O or a bio that ended at a moment, ns, which counts.
pub(crate) type Window = Box<dyn Fn(u64) -> bool + Send>;

/// Everything that the reader has read.
#[derive(Clone, Default)]
pub(crate) struct Findings {
    /// I/Os of a foreign process that have come back, and those that may be on their way.
    account: Account,
    held: Held,
    /// Accounts by device, in the order of the chain.
    pub(crate) devices: Vec<DeviceAccount>,
    /// Runs of the programs while they were timed, and their time, ns.
    pub(crate) runs_timed: u64,
    pub(crate) runs_ns: u64,
    /// CPU time of the reader itself, ns.
    pub(crate) reader_ns: u64,
}

impl Findings {
    /// I/Os of a foreign process.
    pub(crate) fn account(&self) -> Account {
        let mut account = self.account.clone();
        self.held.settle(&mut account);
        account
    }
}

pub(crate) struct Reader {
    findings: Arc<Mutex<Findings>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    pub(crate) fn start(
        kernel: Arc<Kernel>,
        ring: Ring,
        devices: Vec<DeviceAccount>,
        window: Window,
    ) -> Reader {
        let findings = Arc::new(Mutex::new(Findings { devices, ..Findings::default() }));
        let stop = Arc::new(AtomicBool::new(false));
        let mut work =
            ReaderWork { kernel, ring, window, findings: Arc::clone(&findings), slice: None, slice_last: 0 };
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("stages".to_owned()).spawn(move || {
            while !stopped.load(Acquire) {
                work.look();
                std::thread::park_timeout(LOOK_EVERY);
            }
            work.look();
            work.end_slice();
        });
        Reader { findings, stop, thread: thread.ok() }
    }

    /// Findings so far.
    pub(crate) fn findings(&self) -> Findings {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the rest and ends.
    pub(crate) fn stop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _panicked = thread.join();
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop();
    }
}

struct ReaderWork {
    kernel: Arc<Kernel>,
    ring: Ring,
    window: Window,
    findings: Arc<Mutex<Findings>>,
    /// Slice in which programs are timed: the descriptor that lets the kernel do so, since when, runs and time before.
    slice: Option<Slice>,
    slice_last: u64,
}

struct Slice {
    _counting: std::os::fd::OwnedFd,
    since: u64,
    runs: u64,
    time: u64,
}

impl ReaderWork {
    fn look(&mut self) {
        self.turn_slice(system::now().0);
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(item) = self.ring.next() {
            let words: Vec<u64> = item
                .chunks_exact(8)
                .map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
                .collect();
            if let Ok(words) = <&[u64; RECORD_WORDS]>::try_from(words.as_slice()) {
                take(&mut findings, words, &self.window);
            }
        }
        findings.reader_ns = system::thread_time().0;
    }

    /// Begins or ends the timing of programs, as it is time.
    fn turn_slice(&mut self, now: u64) {
        match &self.slice {
            Some(slice) if now < slice.since + SLICE_NS => {}
            Some(_) => self.end_slice(),
            None if self.slice_last == 0 || now >= self.slice_last + SLICE_EVERY_NS => {
                self.slice_last = now;
                if let Some(counting) = bpf::count_time() {
                    let (runs, time) = self.uses();
                    self.slice = Some(Slice { _counting: counting, since: now, runs, time });
                }
            }
            None => {}
        }
    }

    fn end_slice(&mut self) {
        if let Some(slice) = self.slice.take() {
            let (runs, time) = self.uses();
            let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
            findings.runs_timed += runs - slice.runs;
            findings.runs_ns += time - slice.time;
        }
    }

    fn uses(&self) -> (u64, u64) {
        let uses = self.kernel.uses();
        let time: u128 = uses.iter().map(|program| program.time.as_nanos()).sum();
        (uses.iter().map(|program| program.runs).sum(), time as u64)
    }
}

/// Counts one record.
fn take(findings: &mut Findings, words: &[u64; RECORD_WORDS], counts: &Window) {
    let [kind, which, flags, ..] = *words;
    let slot = &words[3..3 + SLOT_WORDS];
    let [waking, on, off, exit, preempted_ns, process, name_begin, name_end] = words[3 + SLOT_WORDS..] else {
        unreachable!("eight words are left behind the slot")
    };
    let stamps = Stamps::of_slot(|word| slot[word], &Thread { off, waking, on, exit, preempted_ns });
    match kind {
        KIND_DEVICE if counts(stamps.complete) => {
            if let Some(device) = findings.devices.get_mut(which as usize) {
                device.record(&stamps, flags & 1 != 0, flags & 2 != 0);
            }
        }
        KIND_IO if counts(exit) => {
            let direct = slot[slot::DIRECT] != 0;
            let bios = Bios { queued: slot[slot::BIOS], ended: slot[slot::ENDED], direct };
            let (kind, bytes) = (slot[slot::KIND] as usize, slot[slot::BYTES]);
            let io = HeldIo { stamps, bios, preempted_ns, process: process as u32, kind, bytes };
            findings.account.name(io.process, [name_begin, name_end]);
            findings.held.take(which, io, &mut findings.account);
        }
        KIND_RETURN => findings.held.returned(which, stamps.entry, exit, preempted_ns),
        _ => {}
    }
}
