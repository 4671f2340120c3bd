//! The kernel's side: the programs of `bpf/watch.bpf.c` at work, and their maps.
//!
//! Sizes and places repeat `bpf/watch.h`.

use std::collections::BTreeMap;

use aya::Pod;
use aya::maps::{Array, HashMap, MapData, PerCpuArray, PerCpuHashMap, RingBuf, StackTraceMap};

use crate::bpf::{BpfError, KernelTypes, Object};
use crate::packed::{WATCH, unpacked};

/// Cells of a `struct heat`.
const CELLS: usize = 128;
/// Places of devices, and words of a `struct device`, the first of which is its number.
const DEVICES: u32 = 128;
const DEVICE_WORDS: usize = 8;
/// Words of `struct cpu`, the first of which counts runs.
const CPU_WORDS: usize = 9;
/// Words of `struct told_event`.
const EVENT_WORDS: usize = 44;
/// Frames of a stack, and the word at which they begin.
const FRAMES: std::ops::Range<usize> = 20..EVENT_WORDS;

/// `struct fold_key`: cgroup (two halves), process, how, device, kind.
pub(super) type FoldKey = [u32; 6];
/// `struct fold`: I/Os, bytes, ns before the issue, ns after it, ns of the slowest.
pub(super) type Fold = [u64; 5];
/// `struct wait_key`: cgroup (two halves), process, unused.
pub(super) type WaitKey = [u32; 4];
/// `struct wait`: sleeps, ns asleep, ns ready, ns that the kernel's threads spent on a CPU for it.
pub(super) type Wait = [u64; 4];

/// Sums since the programs were attached.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) folds: BTreeMap<FoldKey, Fold>,
    pub(super) waits: BTreeMap<WaitKey, Wait>,
    /// Counts of each cell, by device and direction.
    pub(super) heats: BTreeMap<[u32; 2], Vec<u64>>,
    pub(super) lost: u64,
    pub(super) missed: u64,
    pub(super) runs: u64,
}

/// `struct told_event`, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Event {
    pub(super) what: u64,
    pub(super) cgroup: u64,
    pub(super) process: u32,
    pub(super) how: u32,
    pub(super) device: u32,
    pub(super) kind: u32,
    pub(super) bytes: u64,
    pub(super) ended: u64,
    pub(super) held: u64,
    pub(super) queue: u64,
    pub(super) insert: u64,
    pub(super) issue: u64,
    pub(super) complete: u64,
    pub(super) in_flight: u64,
    pub(super) thread: u32,
    pub(super) cpu: u32,
    pub(super) wake_stack: u32,
    pub(super) name: String,
    pub(super) waker: String,
    pub(super) behind: String,
    pub(super) frames: Vec<u64>,
}

/// The programs at work.
pub(super) struct Kernel {
    object: Object,
    folds: PerCpuHashMap<MapData, FoldKey, Fold>,
    waits: PerCpuHashMap<MapData, WaitKey, Wait>,
    devices: Array<MapData, [u64; DEVICE_WORDS]>,
    heats: PerCpuArray<MapData, [u64; CELLS]>,
    names: HashMap<MapData, u32, [u8; 16]>,
    cpus: PerCpuArray<MapData, [u64; CPU_WORDS]>,
    counters: Array<MapData, u64>,
    events: RingBuf<MapData>,
    wake_stacks: StackTraceMap<MapData>,
    /// Tracepoints that this kernel lacks, whose knowledge is missing.
    pub(super) missing: Vec<&'static str>,
}

/// Program, tracepoint, numbers of arguments we know; false where the watch goes on without it. Ends are seen before beginnings are:
/// otherwise what ends while we attach would stay in flight for ever.
const PROGRAMS: [(&str, &str, &[usize], bool); 14] = [
    ("watch_complete", "block_rq_complete", &[3], true),
    ("watch_bio_complete", "block_bio_complete", &[1, 2, 3], true),
    ("watch_insert", "block_rq_insert", &[1, 2], true),
    ("watch_issue", "block_rq_issue", &[1, 2], true),
    ("watch_switch", "sched_switch", &[3, 4], true),
    ("watch_waking", "sched_waking", &[1], true),
    ("watch_exit", "sched_process_exit", &[1, 2], true),
    ("watch_dirty", "writeback_dirty_folio", &[2], false),
    ("watch_queue_work", "workqueue_queue_work", &[3], false),
    ("watch_work_begins", "workqueue_execute_start", &[1], false),
    ("watch_work_ends", "workqueue_execute_end", &[2], false),
    ("watch_handle", "jbd2_handle_start", &[5], false),
    ("watch_commit_begins", "jbd2_start_commit", &[2], false),
    ("watch_bio_queue", "block_bio_queue", &[1, 2], true),
];

impl Kernel {
    /// Loads and attaches. `throttle_work` is the address of the work that lets held bios go, `timer_work` that of the timer of
    /// works that wait, 0 unknown; `slow_from_ns` as
    /// [`super::WatchOptions`] has it.
    pub(super) fn attach(
        [throttle_work, timer_work]: [u64; 2],
        slow_from_ns: u64,
    ) -> Result<Kernel, BpfError> {
        let types = KernelTypes::running()?;
        let counts = |name: &str| types.tracepoint_arguments(name).unwrap_or_default();
        let second = |name: &str| u64::from(counts(name) == 2);
        let later = !types.tracepoint_argument_is_pointer("sched_switch", 1).unwrap_or(true);
        let constants = [
            ("queue_argument", second("block_bio_queue")),
            ("insert_argument", second("block_rq_insert")),
            ("issue_argument", second("block_rq_issue")),
            ("complete_argument", u64::from(counts("block_bio_complete") >= 2)),
            ("switch_argument", u64::from(later)),
            ("throttle_work", throttle_work),
            ("timer_work", timer_work),
            ("watcher", u64::from(std::process::id())),
            ("slow_from", slow_from_ns),
        ];
        let mut object = Object::load(&unpacked(WATCH), &constants, &[])?;
        let mut missing = Vec::new();
        for (program, tracepoint, arguments, needed) in PROGRAMS {
            match object.attach(program, tracepoint, arguments) {
                Err(BpfError::NoTracepoint { .. } | BpfError::OtherArguments { .. }) if !needed => {
                    missing.push(tracepoint);
                }
                attached => attached?,
            }
        }
        if !missing.contains(&"jbd2_start_commit") {
            object.attach("watch_commit_ends", "jbd2_end_commit", &[2])?;
        }
        let mut counters: Array<MapData, u64> = of_kind(Array::try_from(object.take_map("counters")))?;
        of_kind(counters.set(3, FIRST_SLEEP_LIMIT_NS, 0))?;
        Ok(Kernel {
            folds: of_kind(PerCpuHashMap::try_from(object.take_map("folds")))?,
            waits: of_kind(PerCpuHashMap::try_from(object.take_map("waits")))?,
            devices: of_kind(Array::try_from(object.take_map("devices")))?,
            heats: of_kind(PerCpuArray::try_from(object.take_map("heats")))?,
            names: of_kind(HashMap::try_from(object.take_map("names")))?,
            cpus: of_kind(PerCpuArray::try_from(object.take_map("cpus")))?,
            events: of_kind(RingBuf::try_from(object.take_map("events")))?,
            wake_stacks: of_kind(StackTraceMap::try_from(object.take_map("wake_stacks")))?,
            counters,
            object,
            missing,
        })
    }

    /// Sums so far. Rows that stand for nothing new since `before` are removed when the maps are nearly full.
    pub(super) fn sums(&mut self, before: &Sums) -> Sums {
        let mut sums = Sums {
            folds: added(&self.folds, |sum, each| {
                (0..4).for_each(|at| sum[at] += each[at]);
                sum[4] = sum[4].max(each[4]);
            }),
            waits: added(&self.waits, |sum, each| (0..4).for_each(|at| sum[at] += each[at])),
            ..Sums::default()
        };
        sums.heats = (0..DEVICES).filter_map(|place| self.heats_of(place)).flatten().collect();
        let counter = |index: u32| self.counters.get(&index, 0).unwrap_or(0);
        sums.lost = counter(0) + counter(1) + counter(2);
        sums.missed = self.object.missed();
        sums.runs = self.cpus.get(&0, 0).map_or(0, |cpus| cpus.iter().map(|cpu| cpu[0]).sum());
        if sums.folds.len() > NEARLY_FULL {
            for key in unchanged(&mut sums.folds, &before.folds) {
                let _gone_already = self.folds.remove(&key);
            }
        }
        if sums.waits.len() > NEARLY_FULL {
            for key in unchanged(&mut sums.waits, &before.waits) {
                let _gone_already = self.waits.remove(&key);
            }
        }
        sums
    }

    /// Counts of the device at a place, by device and direction; `None` where there is none.
    fn heats_of(&self, place: u32) -> Option<[([u32; 2], Vec<u64>); 2]> {
        let number = self.devices.get(&place, 0).ok()?[0] as u32;
        let of_direction = |direction| {
            let mut sum = vec![0; CELLS];
            for cells in self.heats.get(&(2 * place + direction), 0).iter().flat_map(|cpus| cpus.iter()) {
                sum.iter_mut().zip(cells).for_each(|(sum, each)| *sum += each);
            }
            ([number, direction], sum)
        };
        (number != 0).then(|| [0, 1].map(of_direction))
    }

    /// Events that have come since the last call.
    pub(super) fn events(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(item) = self.events.next() {
            let words: Vec<u64> = item
                .chunks_exact(8)
                .map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
                .collect();
            events.extend(<&[u64; EVENT_WORDS]>::try_from(words.as_slice()).ok().map(Event::read));
        }
        events
    }

    /// Frames of a stack that woke a thread, by its number and 1; another may have taken its place.
    pub(super) fn wake_frames(&self, stack: u32) -> Vec<u64> {
        let found = stack.checked_sub(1).and_then(|number| self.wake_stacks.get(&number, 0).ok());
        found.map(|stack| stack.frames().iter().map(|frame| frame.ip).collect()).unwrap_or_default()
    }

    /// Name of a process that has ended.
    pub(super) fn ended_name(&self, process: u32) -> Option<String> {
        self.names.get(&process, 0).ok().map(|name| text(&name))
    }

    /// Runs of the programs and their time, ns, while the kernel timed them.
    pub(super) fn uses(&self) -> (u64, u64) {
        let uses = self.object.uses();
        let time: u128 = uses.iter().map(|program| program.time.as_nanos()).sum();
        (uses.iter().map(|program| program.runs).sum(), time as u64)
    }
}

/// Sleeps are long from here on at first, ns.
const FIRST_SLEEP_LIMIT_NS: u64 = 5_000_000;
/// Rows of a map of 4,096 from which on those without news are removed.
const NEARLY_FULL: usize = 3000;

/// The sum over all CPUs, by key.
fn added<K: Pod + Ord, V: Pod>(
    map: &PerCpuHashMap<MapData, K, V>,
    add: impl Fn(&mut V, &V),
) -> BTreeMap<K, V> {
    let rows = map.iter().filter_map(Result::ok);
    let sum = |values: aya::maps::PerCpuValues<V>| {
        let mut values = values.iter();
        let mut sum = *values.next()?;
        values.for_each(|each| add(&mut sum, each));
        Some(sum)
    };
    rows.filter_map(|(key, values)| Some((key, sum(values)?))).collect()
}

/// Keys whose values are those of before, taken out of `now`.
fn unchanged<K: Copy + Ord, V: PartialEq>(now: &mut BTreeMap<K, V>, before: &BTreeMap<K, V>) -> Vec<K> {
    let same: Vec<K> =
        now.iter().filter(|(key, value)| before.get(key) == Some(value)).map(|(key, _)| *key).collect();
    now.retain(|key, value| before.get(key) != Some(value));
    same
}

fn of_kind<T, E: std::error::Error + Send + Sync + 'static>(result: Result<T, E>) -> Result<T, BpfError> {
    result.map_err(|error| BpfError::Failed { act: "use a BPF map".to_owned(), source: Box::new(error) })
}

/// Letters up to the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl Event {
    fn read(words: &[u64; EVENT_WORDS]) -> Event {
        let halves = |word: u64| (word as u32, (word >> 32) as u32);
        let name = |at: usize| text(&[words[at].to_ne_bytes(), words[at + 1].to_ne_bytes()].concat());
        let (process, how) = halves(words[2]);
        let (device, kind) = halves(words[3]);
        Event {
            what: words[0],
            cgroup: words[1],
            process,
            how,
            device,
            kind,
            bytes: words[4],
            ended: words[5],
            held: words[6],
            queue: words[7],
            insert: words[8],
            issue: words[9],
            complete: words[10],
            in_flight: words[11],
            thread: halves(words[12]).0,
            cpu: halves(words[12]).1,
            wake_stack: halves(words[13]).0,
            name: name(14),
            waker: name(16),
            behind: name(18),
            frames: words[FRAMES].iter().copied().take_while(|frame| *frame != 0).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_word_by_word_as_the_header_has_it() {
        let mut words = [0_u64; EVENT_WORDS];
        words.iter_mut().zip(1..).for_each(|(word, number)| *word = number);
        words[2] = 7 | 5 << 32;
        words[14] = u64::from_ne_bytes(*b"mariadbd");
        words[15] = 0;
        words[22] = 0;
        let event = Event::read(&words);
        assert_eq!((event.process, event.how, event.complete, event.in_flight), (7, 5, 11, 12));
        assert_eq!((event.name.as_str(), event.frames), ("mariadbd", vec![21, 22]));
    }

    #[test]
    fn rows_without_news_are_found() {
        let before = BTreeMap::from([(1, 10), (2, 20)]);
        let mut now = BTreeMap::from([(1, 10), (2, 21), (3, 0)]);
        assert_eq!(unchanged(&mut now, &before), [1]);
        assert_eq!(now.len(), 2);
    }
}
