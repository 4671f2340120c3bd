//! Who uses the storage of a host, what was slow there, and why?
//!
//! ```text
//!   every interval ──► WatchSlice ──┬─► Watch    sums of a time, with the slowest
//!   (one JSON line)                 └─► Why      what held each slow one
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Direction, Heat, Machine, Nanos};

/// Kind of an I/O as the block layer tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IoKind {
    /// Data that somebody waits for, or asked for.
    Read,
    /// Data that the kernel expects to be asked for.
    ReadAhead,
    /// Data written, at once or back from the cache.
    Write,
    /// Blocks that the file system marks as its own.
    Metadata,
    /// The device's cache is emptied.
    Flush,
    /// Blocks are given back, or zeroed by the device.
    Discard,
    /// Memory to and from a swap area.
    Swap,
    /// Commands that move no data of files.
    Other,
}

impl IoKind {
    /// All kinds, in the order of `enum io_kind` of the BPF programs.
    pub const ALL: [IoKind; 8] = [
        IoKind::Read,
        IoKind::ReadAhead,
        IoKind::Write,
        IoKind::Metadata,
        IoKind::Flush,
        IoKind::Discard,
        IoKind::Swap,
        IoKind::Other,
    ];

    /// Name of the kind in tables.
    pub fn name(self) -> &'static str {
        match self {
            IoKind::Read => "read",
            IoKind::ReadAhead => "read-ahead",
            IoKind::Write => "write",
            IoKind::Metadata => "metadata",
            IoKind::Flush => "flush",
            IoKind::Discard => "discard",
            IoKind::Swap => "swap",
            IoKind::Other => "other",
        }
    }
}

/// Way in which the owner of an I/O was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnedHow {
    /// A thread of the process queued it.
    Itself,
    /// A worker of `io_uring` queued it for the process.
    IoWorker,
    /// Written back by the kernel; the process dirtied the file last.
    WriteBack,
    /// Written by the journal; the process had most handles in the transaction.
    Journal,
    /// Queued by a kernel's worker; the process queued the work.
    Work,
    /// Held back by the limit of a cgroup; a thread of the process waits for it.
    Throttled,
    /// Unowned: blocks of a file system, written back later, of which the kernel does not tell whose they are.
    SharedMetadata,
    /// Unowned: a kernel thread that frees memory.
    Reclaim,
    /// Unowned: a kernel thread that works for nobody we know.
    Kernel,
    /// Unowned: under way when the watch began, or its place was taken by another.
    Unseen,
}

impl OwnedHow {
    /// All ways, in the order of `enum how` of the BPF programs.
    pub const ALL: [OwnedHow; 10] = [
        OwnedHow::Itself,
        OwnedHow::IoWorker,
        OwnedHow::WriteBack,
        OwnedHow::Journal,
        OwnedHow::Work,
        OwnedHow::Throttled,
        OwnedHow::SharedMetadata,
        OwnedHow::Reclaim,
        OwnedHow::Kernel,
        OwnedHow::Unseen,
    ];

    /// Words for a table: how the I/O came about, or why it has no owner.
    pub fn words(self) -> &'static str {
        match self {
            OwnedHow::Itself => "itself",
            OwnedHow::IoWorker => "io_uring worker",
            OwnedHow::WriteBack => "write-back",
            OwnedHow::Journal => "journal",
            OwnedHow::Work => "kernel work",
            OwnedHow::Throttled => "held back by a limit",
            OwnedHow::SharedMetadata => "metadata written back",
            OwnedHow::Reclaim => "memory reclaim",
            OwnedHow::Kernel => "kernel thread",
            OwnedHow::Unseen => "begun unseen",
        }
    }
}

/// Owner of I/Os: a process in its control group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
pub struct Owner {
    /// Number of the thread group; 0 where no process owns it, and with a name for processes that have ended.
    pub process: u32,
    /// Name of the process, or of the kernel's thread that nobody stands behind; empty where no process owns it.
    pub name: String,
    /// Path of the control group, from the root of its hierarchy.
    pub cgroup: String,
}

/// I/Os of one owner, device and kind.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct OwnedIo {
    /// Process that the I/Os are charged to.
    #[serde(flatten)]
    pub owner: Owner,
    /// Way in which the owner was found.
    pub how: OwnedHow,
    /// Kernel name of the device.
    pub device: String,
    /// Kind of the I/Os.
    pub kind: IoKind,
    /// I/Os as /proc/diskstats counts them: requests, or bios of a device without requests.
    pub ios: u64,
    /// Bytes of all bios of the owner, also of those merged into another's request.
    pub bytes: u64,
    /// Sum of the times from the first bio to the issue, ns.
    pub queue_ns: u64,
    /// Sum of the times from the issue to the end, ns.
    pub device_ns: u64,
    /// Latency of the slowest since the watch began, ns.
    pub slowest_ns: u64,
}

impl OwnedIo {
    /// True when a process owns the I/Os.
    pub fn is_owned(&self) -> bool {
        self.how <= OwnedHow::Throttled && (self.owner.process != 0 || !self.owner.name.is_empty())
    }
}

/// Sleeps of one process that only the awaited event ends, or that are for an I/O.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ProcessWait {
    /// Process that waited.
    #[serde(flatten)]
    pub owner: Owner,
    /// Number of sleeps.
    pub sleeps: u64,
    /// Sum of the times from falling asleep to being woken, ns.
    pub slept_ns: u64,
    /// Sum of the times from being woken to having a CPU, ns.
    pub runnable_ns: u64,
    /// CPU time of the whole process, ns; 0 where it had ended.
    pub cpu_ns: u64,
    /// CPU time of the kernel's own threads for it: works that it queued, commits of which it had most handles.
    #[serde(default)]
    pub kernel_ns: u64,
}

/// I/Os of one device.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WatchedDevice {
    /// Kernel name.
    pub name: String,
    /// I/Os that were seen to end, by the cell of their latency ([`crate::cell_range`]).
    pub cells: Vec<(u32, u64)>,
    /// The reads among them.
    #[serde(default)]
    pub reads: Vec<(u32, u64)>,
    /// I/Os that the kernel's own statistics count in the same time.
    pub kernel_ios: u64,
    /// Devices on which it lies: that of a loop device's file, members of an array.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
    /// I/O scheduler that is at work; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scheduler: String,
}

impl WatchedDevice {
    /// Its reads, or all the others, by the cell of their latency.
    pub fn cells_of(&self, direction: Direction) -> Vec<(u32, u64)> {
        if direction == Direction::Read {
            return self.reads.clone();
        }
        let reads = |cell| self.reads.iter().find(|(each, _)| *each == cell).map_or(0, |(_, ios)| *ios);
        let others = self.cells.iter().map(|&(cell, ios)| (cell, ios.saturating_sub(reads(cell))));
        others.filter(|(_, ios)| *ios > 0).collect()
    }
}

/// Latency of one device over time.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WatchedHeat {
    /// Kernel name of the device.
    pub device: String,
    /// Reads, or as writes whatever is no read.
    pub direction: Direction,
    /// I/Os by latency, an interval a column.
    pub heat: Heat,
}

/// An I/O that took longer than all but one of a thousand of its device before it, or than asked for.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SlowIo {
    /// Process that the I/O is charged to.
    #[serde(flatten)]
    pub owner: Owner,
    /// Way in which the owner was found.
    pub how: OwnedHow,
    /// Kernel name of the device.
    pub device: String,
    /// Kind of the I/O.
    pub kind: IoKind,
    /// Bytes of its request.
    pub bytes: u64,
    /// End of the I/O, ns since 1970 UTC.
    pub ended_unix_ns: u64,
    /// Time that the limit of a cgroup held it back, ns.
    pub held_ns: u64,
    /// Time from its bio to the scheduler, or to the issue without one, ns.
    pub queue_ns: u64,
    /// Time in the I/O scheduler, ns.
    pub schedule_ns: u64,
    /// Time from the issue to the end, ns.
    pub device_ns: u64,
    /// Others in flight on the device when it was queued.
    pub in_flight: u64,
    /// Others of the device that ended from then to its end; `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_beside: Option<u64>,
    /// Bytes of those.
    #[serde(default)]
    pub bytes_beside: u64,
    /// CPU that was told of its end; `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
}

impl SlowIo {
    /// Time from falling asleep or the bio to the end, ns.
    pub fn whole_ns(&self) -> u64 {
        self.held_ns + self.queue_ns + self.schedule_ns + self.device_ns
    }
}

/// A sleep, or a wait for a CPU, that was longer than nearly all others.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LongSleep {
    /// Process whose thread slept.
    #[serde(flatten)]
    pub owner: Owner,
    /// Number of the thread.
    pub thread: u32,
    /// Moment at which it ran again, ns since 1970 UTC.
    pub ended_unix_ns: u64,
    /// True of a thread of the kernel, of which only waits for a CPU are told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kernel: bool,
    /// Time from falling asleep to being woken, ns; 0 of one that lost its CPU to another.
    pub slept_ns: u64,
    /// Time from being woken to having a CPU, ns.
    pub runnable_ns: u64,
    /// Thread, or interrupted thread, that woke it.
    pub waker: String,
    /// Thread that had its CPU before it.
    pub behind: String,
    /// Kernel functions in which it slept, the innermost first; empty without the right to read symbols. The kernel leaves out
    /// those of locks.
    pub stack: Vec<String>,
    /// Kernel functions in which it was woken, the innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waker_stack: Vec<String>,
}

/// A flush or a discard of a device.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DeviceEvent {
    /// Kernel name of the device.
    pub device: String,
    /// [`IoKind::Flush`] or [`IoKind::Discard`].
    pub kind: IoKind,
    /// End, ns since 1970 UTC.
    pub ended_unix_ns: u64,
    /// Time from the issue to the end, ns.
    pub took_ns: u64,
    /// Bytes given back by a discard.
    pub bytes: u64,
    /// Process that asked for it, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
}

/// Everything seen in one interval of a watch.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WatchSlice {
    /// End of the interval, ns since 1970 UTC.
    pub ended_unix_ns: u64,
    /// Length of the interval.
    pub elapsed: Nanos,
    /// I/Os by owner, device and kind.
    pub ios: Vec<OwnedIo>,
    /// Sleeps and CPU time by process.
    pub waits: Vec<ProcessWait>,
    /// Latencies by device.
    pub devices: Vec<WatchedDevice>,
    /// Slow I/Os.
    pub slow: Vec<SlowIo>,
    /// Long sleeps.
    pub sleeps: Vec<LongSleep>,
    /// Flushes and discards.
    pub events: Vec<DeviceEvent>,
    /// Time that each CPU spent on interrupts, for nobody, by its number; ns, in ticks of 10 ms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupts_ns: Vec<u64>,
    /// Events, bios and rows that found no place.
    pub lost: u64,
    /// Events that a BPF program did not see, since an interrupt brought them while it was at work on that CPU.
    #[serde(default)]
    pub missed: u64,
    /// Runs of the BPF programs in the interval.
    pub runs: u64,
    /// CPU time of the BPF programs, estimated from the runs that the kernel timed, ns.
    pub kernel_cost_ns: u64,
    /// CPU time of the watcher itself, ns.
    pub own_cost_ns: u64,
}

/// Everything that a watch saw, added up.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Watch {
    /// Version of the JSON layout, [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of iostack that made it.
    pub iostack: String,
    /// Start of the watch, milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// The watched machine.
    pub machine: Machine,
    /// Sums of all intervals; of slow I/Os, sleeps and events the longest.
    pub whole: WatchSlice,
    /// Latency over time by device, reads apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heat: Vec<WatchedHeat>,
    /// Number of CPUs, of whose time the cost is a share.
    pub cpus: u32,
}

/// Cause of a long wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitCause {
    /// The limit of a control group held it back.
    CgroupLimit,
    /// The I/O scheduler, or the queue of the device, did not let it go on.
    Scheduler,
    /// A flush of the device's cache.
    Flush,
    /// A discard.
    Discard,
    /// Another owner's I/Os on the device.
    Neighbour,
    /// More I/Os of its own owner in flight than the device works on at once.
    OwnQueue,
    /// The device, with nothing else to see.
    Device,
    /// A commit of the file system's journal.
    Journal,
    /// A lock of the kernel.
    Lock,
    /// Writers wait for write-back: too many pages are dirty, or the page is being written.
    WriteBack,
    /// Memory had to be freed first.
    Memory,
    /// Awake, while another thread had the CPU.
    RunQueue,
    /// All requests of the device are in use.
    Tag,
    /// The device did nothing for anybody, with I/Os waiting.
    Dip,
    /// The file system is frozen.
    Frozen,
    /// It worked, and another thread took its CPU.
    Preempted,
    /// The kernel's thread that works for the device had no CPU.
    Worker,
    /// The CPU that is told of the device's ends was busy with interrupts.
    Interrupts,
    /// Nothing that was seen explains it.
    Unknown,
}

/// A slow I/O or a long sleep, and what held it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WhyFinding {
    /// Process that waited.
    #[serde(flatten)]
    pub owner: Owner,
    /// Device of an I/O; empty for a sleep.
    pub device: String,
    /// End, ns since 1970 UTC.
    pub ended_unix_ns: u64,
    /// Time that it took.
    pub took: Nanos,
    /// Subject in words: `a read of 4 KiB`, `a sleep of thread 12`.
    pub what: String,
    /// Cause that the evidence speaks for.
    pub cause: WaitCause,
    /// True when the evidence leaves no other.
    pub sure: bool,
    /// Sentences of evidence, the strongest first.
    pub evidence: Vec<String>,
}

/// What held the slow I/Os and sleeps of a time.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Why {
    /// Version of the JSON layout, [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of iostack that made it.
    pub iostack: String,
    /// Start of the time looked at, milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// Length of the time looked at.
    pub elapsed: Nanos,
    /// I/Os in that time.
    pub ios: u64,
    /// Slow I/Os and long sleeps in that time.
    pub slow: u64,
    /// Number and total time of the slow ones by cause, the largest total first.
    pub causes: Vec<(WaitCause, u64, Nanos)>,
    /// The slowest, each with its cause.
    pub findings: Vec<WhyFinding>,
    /// Notes for the reader, in whole sentences.
    pub notes: Vec<String>,
}
