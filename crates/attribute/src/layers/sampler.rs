//! What do the CPUs do, looked at many times a second?
//!
//! ```text
//!   one event per CPU (rung 2), or per thread (rung 1) ──► rings ──► a thread that empties them ──► Store
//! ```
//!
//! Nobody is woken by a sample: the reader comes by itself, often enough that the rings do not fill. Equal stacks
//! are counted together, so that memory depends on what was seen and not for how long.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iostack_host::TaskStat;
use iostack_model::Nanos;

use super::record::{Fork, Record, Sample, parse};
use super::window::Windows;
use super::{LayerError, Subject};
use crate::sys::perf::{Event, Ring, Source, Watched};
use crate::sys::system;

/// Sleep of the reader between two looks. At the highest rates a ring of [`PAGES`] holds ten times as long.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Longest time from the stamp of a record to its place in the ring, while a hypervisor has the CPU or not.
const LATE_MOST: Nanos = Nanos::millis(10);
/// Data pages of a CPU's ring: 512 KiB, a hundred milliseconds of 10,000 deep stacks a second.
const PAGES: usize = 128;
/// Data pages of a thread's ring, as much as an ordinary user may lock for some dozen threads.
const OWN_PAGES: usize = 8;
/// Different stacks kept; more are counted as lost.
const STACKS: usize = 200_000;

/// Owner of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    /// A thread of the subject.
    Subject,
    /// A worker of the subject's in the kernel; of the machine, any thread of the kernel.
    OwnWorker(u32),
    /// A thread of the kernel, which serves everybody.
    Worker(u32),
    /// An idle CPU or somebody else's thread, while an interrupt was served on it.
    Interrupt,
}

/// Samples that share all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) owner: Owner,
    pub(crate) user: bool,
    pub(crate) stack: Box<[u64]>,
}

/// Everything that the samples said so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    pub(crate) counts: HashMap<Key, u64>,
    /// Taken while time counted, idle CPUs and strangers included.
    pub(crate) taken: u64,
    pub(crate) lost: u64,
    pub(crate) throttled: u64,
}

/// Choice of the samples that are kept.
struct Filter {
    subject: Subject,
    reader: u32,
    lanes: HashSet<u32>,
    /// The processes that are followed.
    processes: HashSet<u32>,
    workers: HashMap<u32, Option<Owner>>,
    /// Tells the functions from which an interrupt's work is called.
    marks: Box<dyn Fn(u64) -> bool + Send>,
    marked: HashMap<u64, bool>,
}

impl Filter {
    /// One for the processes that there are now; the events that are open already tell of later ones.
    fn new(subject: Subject, marks: Box<dyn Fn(u64) -> bool + Send>) -> Filter {
        let processes = match subject {
            Subject::Load | Subject::Machine => vec![std::process::id()],
            followed => followed.processes(),
        };
        Filter {
            subject,
            reader: 0,
            lanes: HashSet::new(),
            processes: processes.into_iter().collect(),
            workers: HashMap::new(),
            marks,
            marked: HashMap::new(),
        }
    }

    /// A process began. What a member of a tree starts is one; a number given again to somebody else's is none any more.
    fn forked(&mut self, fork: Fork) {
        if !matches!(self.subject, Subject::Tree { .. }) || fork.process == fork.parent {
            return;
        }
        if self.processes.contains(&fork.parent) {
            self.processes.insert(fork.process);
        } else {
            self.processes.remove(&fork.process);
        }
    }

    fn owner(&mut self, sample: &Sample) -> Option<Owner> {
        if sample.thread == self.reader {
            return None;
        }
        if let Some(worker) = self.worker(sample) {
            return Some(worker);
        }
        let ours = sample.thread != 0
            && match self.subject {
                Subject::Load => self.lanes.contains(&sample.thread),
                Subject::Process { .. } | Subject::Tree { .. } => self.processes.contains(&sample.process),
                Subject::Machine => true,
            };
        if ours {
            return Some(Owner::Subject);
        }
        let (marks, marked) = (&self.marks, &mut self.marked);
        let served = sample.stack.iter().any(|&frame| *marked.entry(frame).or_insert_with(|| marks(frame)));
        served.then_some(Owner::Interrupt)
    }

    /// Kernel threads, and workers in the kernel of the subject's own process.
    fn worker(&mut self, sample: &Sample) -> Option<Owner> {
        // A user space sample is no kernel thread's, and asking for the flags costs a file read.
        if sample.user || sample.thread == 0 {
            return None;
        }
        let machine = self.subject == Subject::Machine;
        let own = machine || self.processes.contains(&sample.process);
        *self.workers.entry(sample.thread).or_insert_with(|| {
            let flags = task_flags(sample.thread).unwrap_or(0);
            let worker = flags & KERNEL_THREAD != 0 || own && flags & IO_WORKER != 0;
            let of = if machine || flags & KERNEL_THREAD == 0 { Owner::OwnWorker } else { Owner::Worker };
            worker.then(|| of(sample.thread))
        })
    }
}

const IO_WORKER: u32 = 0x10;
const KERNEL_THREAD: u32 = 0x0020_0000;

/// The kernel's flags of a thread.
fn task_flags(thread: u32) -> Option<u32> {
    Some(TaskStat::of_task(Path::new(&format!("/proc/{thread}")))?.field(9)? as u32)
}

/// State that the reader shares with whoever asks.
struct Shared {
    windows: Windows,
    rings: Vec<Ring>,
    /// Read, and not counted yet.
    pending: Vec<Record>,
    filter: Filter,
    store: Store,
    reader_time: Nanos,
}

impl Shared {
    /// Takes what lies in the rings. Each CPU has its own, so that a process's samples may be read before its begin: of a
    /// tree, records are taken in the order of time, and those later than `until` the next time.
    fn drain(&mut self, until: Nanos) {
        let mut records = std::mem::take(&mut self.pending);
        for ring in &mut self.rings {
            ring.drain(|kind, flags, body| records.push(parse(kind, flags, body)));
        }
        if matches!(self.filter.subject, Subject::Tree { .. }) {
            records.sort_by_key(Record::time);
            let later = records.partition_point(|record| record.time() <= until);
            self.pending = records.split_off(later);
        }
        let Shared { windows, filter, store, .. } = self;
        for record in records {
            match record {
                Record::Sample(sample) if windows.holds(sample.time) => {
                    store.taken += 1;
                    if let Some(owner) = filter.owner(&sample) {
                        store.add(owner, sample);
                    }
                }
                Record::Forked(fork) => filter.forked(fork),
                Record::Lost(count) => store.lost += count,
                Record::Throttled => store.throttled += 1,
                Record::Sample(_) | Record::Other => {}
            }
        }
    }
}

impl Store {
    fn add(&mut self, owner: Owner, sample: Sample) {
        let key = Key { owner, user: sample.user, stack: sample.stack.into_boxed_slice() };
        if let Some(count) = self.counts.get_mut(&key) {
            *count += 1;
        } else if self.counts.len() < STACKS {
            self.counts.insert(key, 1);
        } else {
            self.lost += 1;
        }
    }
}

/// Samples while it lives.
pub(crate) struct Sampler {
    shared: Arc<Mutex<Shared>>,
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    reader_thread: u32,
    /// Events live as long as their descriptors.
    events: Mutex<Vec<Event>>,
    rate_hz: u32,
    source: Source,
    scope: Scope,
}

/// Reach of the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All that runs on each CPU.
    Machine,
    /// Threads that are opened one by one.
    Threads,
}

impl Sampler {
    /// Begins to sample: on every CPU, or, with [`Scope::Threads`], the threads of a process that exist and those they
    /// make; a load's threads come with [`Sampler::add_lane`].
    pub(crate) fn start(
        subject: Subject,
        scope: Scope,
        source: Source,
        rate_hz: u32,
        cpus: &[u32],
        marks: Box<dyn Fn(u64) -> bool + Send>,
    ) -> Result<Sampler, LayerError> {
        let (events, rings) = match scope {
            Scope::Machine => on_cpus(source, rate_hz, cpus)?,
            Scope::Threads => match subject {
                Subject::Load | Subject::Machine => (Vec::new(), Vec::new()),
                followed => on_threads(&followed.processes(), source, rate_hz, cpus)?,
            },
        };
        let filter = Filter::new(subject, marks);
        let shared = Shared {
            windows: Windows::default(),
            rings,
            pending: Vec::new(),
            filter,
            store: Store::default(),
            reader_time: Nanos(0),
        };
        let shared = Arc::new(Mutex::new(shared));
        let stop = Arc::new(AtomicBool::new(false));
        let (told, asked) = std::sync::mpsc::channel();
        let reader = {
            let (shared, stop) = (Arc::clone(&shared), Arc::clone(&stop));
            std::thread::Builder::new()
                .name("samples".to_owned())
                .spawn(move || {
                    system::do_not_hurry();
                    lock(&shared).filter.reader = iostack_host::thread_number().cast_unsigned();
                    // Whoever started us waits for this.
                    let _heard = told.send(iostack_host::thread_number().cast_unsigned());
                    while !stop.load(Ordering::Acquire) {
                        {
                            let mut shared = lock(&shared);
                            shared.drain(system::now() - LATE_MOST);
                            shared.reader_time = system::thread_time();
                        }
                        std::thread::park_timeout(LOOK_EVERY);
                    }
                })
                .map_err(|source| LayerError::Failed { act: "start a thread that reads samples", source })?
        };
        let reader_thread = asked.recv().expect("the thread tells its number before all else");
        let events = Mutex::new(events);
        Ok(Sampler { shared, stop, reader: Some(reader), reader_thread, events, rate_hz, source, scope })
    }

    /// The thread that reads the samples.
    pub(crate) fn reader_thread(&self) -> u32 {
        self.reader_thread
    }

    pub(crate) fn scope(&self) -> Scope {
        self.scope
    }

    pub(crate) fn source(&self) -> Source {
        self.source
    }

    /// Lets samples count from now on.
    pub(crate) fn open(&self) {
        let mut shared = lock(&self.shared);
        shared.windows.open(system::now());
    }

    /// Up to now samples counted.
    pub(crate) fn close(&self) {
        let mut shared = lock(&self.shared);
        shared.windows.close(system::now());
    }

    /// The calling thread belongs to the load. `false` when it cannot be sampled.
    pub(crate) fn add_lane(&self, thread: u32) -> bool {
        let mut ring = None;
        let mut sampled = true;
        if self.scope == Scope::Threads {
            let event = Event::sampling(self.source, Watched::Thread(0), self.rate_hz, 0);
            match event.and_then(|event| Ok((event.ring(OWN_PAGES)?, event))) {
                Ok((new, event)) => {
                    self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
                    ring = Some(new);
                }
                Err(_) => sampled = false,
            }
        }
        let mut shared = lock(&self.shared);
        shared.rings.extend(ring);
        shared.filter.lanes.insert(thread);
        sampled
    }

    /// The store up to now, and the time that the reader itself took.
    pub(crate) fn so_far(&self) -> (Store, Nanos, Nanos) {
        let mut shared = lock(&self.shared);
        shared.drain(Nanos(u64::MAX));
        let elapsed = shared.windows.elapsed(system::now());
        (shared.store.clone(), shared.reader_time, elapsed)
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(reader) = self.reader.take() {
            reader.thread().unpark();
            // A reader that panicked has been reported by the panic.
            let _ended = reader.join();
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn on_cpus(source: Source, rate_hz: u32, cpus: &[u32]) -> Result<(Vec<Event>, Vec<Ring>), LayerError> {
    let mut events = Vec::new();
    let mut rings = Vec::new();
    for &cpu in cpus {
        let event = open(source, Watched::Cpu(cpu), rate_hz)?;
        rings.push(map(&event, PAGES)?);
        events.push(event);
    }
    Ok((events, rings))
}

/// An inherited event needs a CPU of its own for its ring; the threads of one CPU share one.
fn on_threads(
    processes: &[u32],
    source: Source,
    rate_hz: u32,
    cpus: &[u32],
) -> Result<(Vec<Event>, Vec<Ring>), LayerError> {
    let mut events: Vec<Event> = Vec::new();
    let mut rings = Vec::new();
    let threads: Vec<u32> = processes.iter().copied().flat_map(threads_of).collect();
    for &cpu in cpus {
        let mut first: Option<usize> = None;
        for &thread in &threads {
            let event = open(source, Watched::FamilyOn { thread, cpu }, rate_hz)?;
            if let Some(first) = first {
                event
                    .redirect(&events[first])
                    .map_err(|source| LayerError::Failed { act: "share a ring of samples", source })?;
            } else {
                rings.push(map(&event, OWN_PAGES)?);
                first = Some(events.len());
            }
            events.push(event);
        }
    }
    Ok((events, rings))
}

/// The threads that a process has now.
pub(crate) fn threads_of(process: u32) -> Vec<u32> {
    let listed = std::fs::read_dir(format!("/proc/{process}/task"));
    listed.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Opens an event with the least skid that the unit can do.
fn open(source: Source, watched: Watched, rate_hz: u32) -> Result<Event, LayerError> {
    let precise: &[u8] = if source == Source::Cycles { &[2, 1, 0] } else { &[0] };
    let mut refusal = None;
    for &precise in precise {
        match Event::sampling(source, watched, rate_hz, precise) {
            Ok(event) => return Ok(event),
            Err(error) => refusal = Some(error),
        }
    }
    let source = refusal.expect("at least one try was refused");
    Err(LayerError::Failed { act: "open a sampling event", source })
}

fn map(event: &Event, pages: usize) -> Result<Ring, LayerError> {
    event.ring(pages).map_err(|source| LayerError::Failed { act: "map a ring of samples", source })
}
