//! The kernel's side: the programs of `bpf/stages.bpf.c` at work, and the memory shared with them.
//!
//! Sizes and places repeat `bpf/stages.h`.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aya::maps::{Array, HashMap, MapData, PerCpuArray, RingBuf};

use super::{TraceError, calls};
use crate::bpf::members::{self, Family, Members};
use crate::bpf::{self, BpfError, KernelTypes, Object, ProgramUse, array_descriptor};
use crate::packed::{STAGES, unpacked};
use crate::sys::lanes::Shared;

/// Words of `struct slot` and `struct lane`.
pub(crate) const SLOT_WORDS: usize = 24;
pub(crate) const LANE_WORDS: usize = 20;

/// Places in `struct slot`.
pub(crate) mod slot {
    pub(crate) const ENTRY: usize = 0;
    pub(crate) const SEQUENCE: usize = 1;
    pub(crate) const BIOS: usize = 2;
    pub(crate) const ENDED: usize = 3;
    pub(crate) const QUEUE: usize = 4;
    pub(crate) const INSERT: usize = 5;
    pub(crate) const ISSUE: usize = 6;
    pub(crate) const DOORBELL: usize = 7;
    pub(crate) const IRQ: usize = 8;
    pub(crate) const COMPLETE: usize = 9;
    pub(crate) const DIRECT: usize = 10;
    pub(crate) const LANE: usize = 11;
    pub(crate) const GAP: usize = 12;
    pub(crate) const PREEMPTED_BEFORE: usize = 13;
    pub(crate) const PREEMPTED_LAST: usize = 14;
    pub(crate) const JOURNAL: usize = 15;
    pub(crate) const JOURNAL_BEFORE: usize = 16;
    pub(crate) const SLEPT: usize = 17;
    pub(crate) const SLEPT_BEFORE: usize = 18;
    pub(crate) const KIND: usize = 19;
    pub(crate) const BYTES: usize = 20;
    pub(crate) const SWITCHED: usize = 21;
    pub(crate) const SWITCHED_BEFORE: usize = 22;
    pub(crate) const BESIDE: usize = 23;
}

/// Places in `struct lane`.
pub(crate) mod lane {
    pub(crate) const WAKING: usize = 0;
    pub(crate) const ON: usize = 1;
    pub(crate) const OFF: usize = 2;
    pub(crate) const SLOT_FIRST: usize = 3;
    pub(crate) const SLOT_COUNT: usize = 4;
    pub(crate) const CARRIER: usize = 5;
    pub(crate) const BLOCKS: usize = 6;
    pub(crate) const CURRENT: usize = 7;
    pub(crate) const PREEMPTED: usize = 11;
    pub(crate) const OUT: usize = 12;
}

/// The first counters of `enum counter`, which count what was lost.
const LOST: usize = 5;
const COUNTERS: usize = 8;

/// Wishes for what the programs look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// The process, 0 for none, and whether its children belong to it.
    pub(crate) family: Family,
    /// It is not our own load.
    pub(crate) foreign: bool,
    /// Device numbers, as the kernel packs them, in the order of the chain.
    pub(crate) devices: Vec<u64>,
    /// Threads and I/Os in flight.
    pub(crate) lanes: u32,
    pub(crate) slots: u32,
}

/// Largest number of devices in a chain.
pub(crate) const DEVICES_MAX: usize = 8;

/// I/Os in flight of a foreign process.
const FLIGHTS_MAX: u32 = 16_384;

/// Places of functions in which threads of a foreign process slept (`struct wait_key`), and how many places there are.
const WAIT_FRAMES: usize = 20;
const WAITS_MAX: u32 = 4096;

/// Bytes of the ring buffer: some 30,000 records, of which the reader takes what there is every 10 ms.
const RING_BYTES: u32 = 8 << 20;

/// Per-CPU words of `struct cpu`, the first of which counts events.
const CPU_WORDS: usize = 10;

type WaitMap = HashMap<MapData, [u64; WAIT_FRAMES], [u64; 2]>;

/// The programs at work.
pub(crate) struct Kernel {
    object: Mutex<Object>,
    members: Members,
    slots: Shared,
    lanes: Shared,
    counters: Shared,
    threads: Mutex<HashMap<MapData, u32, u32>>,
    cpus: PerCpuArray<MapData, [u64; CPU_WORDS]>,
    waits: WaitMap,
    /// Page faults are seen.
    pub(crate) faults: bool,
    /// `io_uring`'s tracepoints are there.
    pub(crate) io_uring: bool,
}

/// The ring of records, for the reader.
pub(crate) type Ring = RingBuf<MapData>;

impl Kernel {
    /// Loads and attaches.
    pub(crate) fn attach(wanted: &Wanted) -> Result<(Kernel, Ring), TraceError> {
        let types = KernelTypes::running().map_err(BpfError::from)?;
        let constants = constants(wanted, types);
        let has_ring = wanted.foreign || !wanted.devices.is_empty();
        let entries = [
            ("slots", wanted.slots.max(1)),
            ("lanes", wanted.lanes.max(1)),
            ("threads", wanted.lanes.max(1)),
            ("lanes_free", wanted.lanes.max(1)),
            ("flights", if wanted.foreign { FLIGHTS_MAX } else { 1 }),
            ("places", if wanted.foreign { wanted.lanes } else { 1 }),
            ("waits", if wanted.foreign { WAITS_MAX } else { 1 }),
            ("records", if has_ring { RING_BYTES } else { 4096 }),
        ];
        let entries: Vec<_> = entries.into_iter().chain(wanted.family.entries()).collect();
        let mut object = Object::load(&unpacked(STAGES), &constants, &entries)?;
        // First, since a map that is taken out is no longer known to programs that are loaded later.
        let (io_uring, faults) = attach_programs(&mut object, wanted, types)?;
        bpf::end_trial();
        let shared = |object: &mut Object, name: &str, words: usize| {
            Shared::map(array_descriptor(&object.take_map(name)), words)
                .map_err(|source| TraceError::Memory { source })
        };
        let slots = shared(&mut object, "slots", wanted.slots.max(1) as usize * SLOT_WORDS)?;
        let lanes = shared(&mut object, "lanes", wanted.lanes.max(1) as usize * LANE_WORDS)?;
        let counters = shared(&mut object, "counters", COUNTERS)?;
        let threads = of_kind(HashMap::try_from(object.take_map("threads")))?;
        let cpus = of_kind(PerCpuArray::try_from(object.take_map("cpus")))?;
        let ring = of_kind(RingBuf::try_from(object.take_map("records")))?;
        let mut devices: Array<MapData, u64> = of_kind(Array::try_from(object.take_map("devices")))?;
        for (index, &number) in (0..).zip(&wanted.devices) {
            of_kind(devices.set(index, number, 0))?;
        }
        let mut calls: Array<MapData, u64> = of_kind(Array::try_from(object.take_map("calls")))?;
        for (place, rule) in calls::rules().filter(|_| wanted.foreign) {
            of_kind(calls.set(place, rule, 0))?;
        }
        let mut waits: WaitMap = of_kind(HashMap::try_from(object.take_map("waits")))?;
        // Whatever finds no place.
        of_kind(waits.insert([0; WAIT_FRAMES], [0; 2], 0))?;
        let threads = Mutex::new(threads);
        let members = Members::take(&mut object, wanted.family);
        let object = Mutex::new(object);
        Ok((Kernel { object, members, slots, lanes, counters, threads, cpus, waits, faults, io_uring }, ring))
    }

    /// Words of the slots from `first`.
    pub(crate) fn slots(&self, first: u32, count: u32) -> &[AtomicU64] {
        let first = first as usize * SLOT_WORDS;
        &self.slots.words()[first..first + count as usize * SLOT_WORDS]
    }

    /// Words of a lane.
    pub(crate) fn lane(&self, index: u32) -> &[AtomicU64] {
        let first = index as usize * LANE_WORDS;
        &self.lanes.words()[first..first + LANE_WORDS]
    }

    /// Lets events of a thread lead to a lane; false when the kernel refuses.
    pub(crate) fn add_thread(&self, thread: u32, lane: u32) -> bool {
        let thread = self.members.number_there(&mut self.object(), thread);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.insert(thread, lane, 0).is_ok()
    }

    pub(crate) fn remove_thread(&self, thread: u32) {
        let thread = self.members.number_there(&mut self.object(), thread);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let _gone_already = threads.remove(&thread);
    }

    /// Events and records lost so far.
    pub(crate) fn lost(&self) -> u64 {
        let counters = &self.counters.words()[..LOST];
        let lost: u64 =
            counters.iter().map(|counter| counter.load(std::sync::atomic::Ordering::Relaxed)).sum();
        lost + self.members.lost()
    }

    /// Functions in which threads of a foreign process slept inside I/Os while no bio was out, the innermost first; how often, and
    /// how long, ns.
    pub(crate) fn waits(&self) -> Vec<(Vec<u64>, [u64; 2])> {
        let rows = self.waits.iter().filter_map(Result::ok).filter(|(_, sums)| sums[0] > 0);
        rows.map(|(frames, sums)| (frames.into_iter().take_while(|frame| *frame != 0).collect(), sums))
            .collect()
    }

    /// Runs of the programs so far, and their time.
    pub(crate) fn uses(&self) -> Vec<ProgramUse> {
        self.object().uses()
    }

    fn object(&self) -> MutexGuard<'_, Object> {
        self.object.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Events handled so far, by all CPUs.
    pub(crate) fn events(&self) -> u64 {
        self.cpus.get(&0, 0).map_or(0, |cpus| cpus.iter().map(|cpu| cpu[0]).sum())
    }
}

fn of_kind<T, E: std::error::Error + Send + Sync + 'static>(result: Result<T, E>) -> Result<T, TraceError> {
    result.map_err(|error| {
        TraceError::Bpf(BpfError::Failed { act: "use a BPF map".to_owned(), source: Box::new(error) })
    })
}

/// Places of the arguments in this kernel; see each tracepoint's history in `include/trace/events`.
fn constants(wanted: &Wanted, types: &KernelTypes) -> Vec<(&'static str, u64)> {
    let counts = |tracepoint: &str| types.tracepoint_arguments(tracepoint).unwrap_or_default();
    // (queue, bio) and (queue, request) until 5.10, then without the queue.
    let second = |tracepoint: &str| u64::from(counts(tracepoint) == 2);
    let own = [
        ("subject", u64::from(wanted.family.process)),
        ("foreign", u64::from(wanted.foreign)),
        ("lane_count", u64::from(wanted.lanes)),
        ("device_count", wanted.devices.len() as u64),
        ("queue_argument", second("block_bio_queue")),
        ("insert_argument", second("block_rq_insert")),
        ("issue_argument", second("block_rq_issue")),
        // (queue, bio, error) in old kernels, (queue, bio) since 5.8.
        ("complete_argument", u64::from(counts("block_bio_complete") >= 2)),
        // 5.18 put the state of the task that goes before both tasks, 5.19 behind them.
        (
            "switch_argument",
            u64::from(!types.tracepoint_argument_is_pointer("sched_switch", 1).unwrap_or(true)),
        ),
        ("flag_direct", libc::O_DIRECT as u64),
    ];
    own.into_iter().chain(wanted.family.constants()).collect()
}

/// Program and tracepoint, with the numbers of arguments we know.
const ALWAYS: &[(&str, &[usize])] = &[
    ("block_bio_queue", &[1, 2]),
    ("block_rq_insert", &[1, 2]),
    ("block_rq_issue", &[1, 2]),
    ("block_rq_complete", &[3]),
    ("block_bio_complete", &[1, 2, 3]),
    ("irq_handler_entry", &[2]),
    ("irq_handler_exit", &[3]),
    ("softirq_entry", &[1]),
    ("softirq_exit", &[1]),
    ("sched_switch", &[3, 4]),
];

/// True when `io_uring` can be followed; true when page faults can.
fn attach_programs(
    object: &mut Object,
    wanted: &Wanted,
    types: &KernelTypes,
) -> Result<(bool, bool), TraceError> {
    members::follow(object, wanted.family)?;
    for (program, arguments) in ALWAYS {
        object.attach(program, program, arguments)?;
    }
    if wanted.family.process == 0 {
        return Ok((false, false));
    }
    object.attach("sched_waking", "sched_waking", &[1])?;
    let mut faults = false;
    if wanted.foreign {
        if !calls::are_known() {
            return Err(TraceError::Architecture);
        }
        // With whether the whole process ends, since 6.16.
        object.attach("sched_process_exit", "sched_process_exit", &[1, 2])?;
        // What ends before its beginning is seen would otherwise go on.
        object.attach("sys_exit", "sys_exit", &[2])?;
        object.attach("sys_enter", "sys_enter", &[2])?;
        faults = types.tracepoint_arguments("page_fault_user") == Some(3);
        if faults {
            object.attach("page_fault_user", "page_fault_user", &[3])?;
        }
        // The completion's third argument is the event itself since 6.12.
        if types.tracepoint_arguments("io_uring_complete") == Some(3) {
            object.attach("io_uring_complete", "io_uring_complete", &[3])?;
        } else {
            return Ok((false, faults));
        }
    }
    // Called io_uring_submit_sqe until 6.3, with other arguments before 5.19.
    let submit = ["io_uring_submit_req", "io_uring_submit_sqe"];
    let known = |name: &&str| matches!(types.tracepoint_arguments(name), Some(1 | 2));
    let Some(submit) = submit.into_iter().find(known) else { return Ok((false, faults)) };
    object.attach("io_uring_submit_req", submit, &[1, 2])?;
    Ok((true, faults))
}
