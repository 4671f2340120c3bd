//! Where did the latency of an I/O go?
//!
//! ```text
//!  entry ─submit─► bio queued ─queue─► request ─schedule─► issued ─doorbell─► CPU free ─device─► interrupt
//!    ▲ late                                                                                        │ complete
//!  meant to start               exit ◄─return─ on CPU ◄─switch─ waking ◄─wake── request ended ◄────┘
//! ```
//!
//! The stages of one I/O follow each other without gap or overlap, so that they add up to what the caller waited. An
//! event that was not seen makes its stage empty: its time belongs to a neighbour (without a scheduler to the queue,
//! without an interrupt to the device, elsewhere to the stage that ends with the next event seen).
//!
//! Three stages are cut out of the others, wherever they lie: *preempted*, the wait for the *journal*, and that for anything
//! else while no bio was out. Of an I/O of several bios the first to leave and the last to come are told; time between them
//! in which none was out is *submit*.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::WaitCause;
use crate::{Bins, Bytes, Ladder, Nanos};

/// One stretch of an I/O's way, named by what happens in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Time from the moment an open loop meant to start it to the start.
    Late,
    /// Time from the start to the first bio: system call, VFS, file system.
    Submit,
    /// Time from the bio to its request in the scheduler's or the plug's list: splitting, merging, tags.
    Queue,
    /// Time in the I/O scheduler.
    Schedule,
    /// Time from the issue until the submitting CPU did something else: the driver, and the write that tells the
    /// device.
    Doorbell,
    /// Time in the device (and on the way to it and back, as far as no CPU sees it), until its interrupt.
    Device,
    /// Time from the interrupt to the end of the request.
    Complete,
    /// Time from the end of the request to the wake-up of the thread that waits.
    Wake,
    /// Time from the wake-up until the thread runs.
    Switch,
    /// Time from there to the caller: the rest of the system call, or of the wait for its completion to be picked up.
    Return,
    /// Ready to run, on the way down or back, while another thread had the CPU that it was moved off.
    Preempted,
    /// Asleep without a bio of its own, until the journal of the file system woke it.
    Journal,
    /// Asleep without a bio of its own, until something else woke it: a lock, pages that others write, the log.
    Wait,
    /// Time in a simulated adapter: its firmware, its ports, the way to the drive and back.
    Adapter,
    /// Inside a simulated device: waiting for a place in its command queue.
    Admit,
    /// Inside: waiting for and on the link, command and data.
    Link,
    /// Inside: waiting for and in the controller's firmware.
    Controller,
    /// Inside: waiting for a place in the write buffer, or being answered by it.
    Buffer,
    /// Inside: waiting while garbage collection has the die or the free blocks.
    Collect,
    /// Inside: waiting while the die moves pages out of its fast blocks, those with one bit a cell.
    Fold,
    /// Inside: waiting for the die while it serves another request.
    DieWait,
    /// Inside: the die senses, programs or erases.
    Die,
    /// Inside: waiting for and on the channel between die and controller.
    Channel,
    /// Inside a disk: waiting for the arm, which serves another request.
    ArmWait,
    /// Inside a disk: the arm moves.
    Seek,
    /// Inside a disk: the sector comes round.
    Rotate,
    /// Inside: waiting for and on a medium without parts of its own (platter transfer, DRAM).
    Medium,
    /// Inside: held back by a limit of rate.
    Throttle,
}

impl Stage {
    /// All, in the order of a request's way through host and device.
    pub const WAY: [Stage; STAGES.len()] = {
        let mut way = [Stage::Late; STAGES.len()];
        let mut at = 0;
        while at < way.len() {
            way[at] = STAGES[at].0;
            at += 1;
        }
        way
    };

    /// Those a tracer of a real kernel sees, in the order in which they are declared.
    pub const ALL: [Stage; 13] = [
        Stage::Late,
        Stage::Submit,
        Stage::Queue,
        Stage::Schedule,
        Stage::Doorbell,
        Stage::Device,
        Stage::Complete,
        Stage::Wake,
        Stage::Switch,
        Stage::Return,
        Stage::Preempted,
        Stage::Journal,
        Stage::Wait,
    ];

    /// Name of the stage in tables.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Meaning of the stage, for a reader who does not know the block layer.
    pub fn meaning(self) -> &'static str {
        self.row().2
    }

    /// Part of the system that the stage belongs to.
    pub fn part(self) -> Part {
        self.row().3
    }

    fn row(self) -> &'static (Stage, &'static str, &'static str, Part) {
        STAGES.iter().find(|row| row.0 == self).expect("each stage has a row")
    }
}

/// Name, meaning and part of each stage, in the order of a request's way.
const STAGES: [(Stage, &str, &str, Part); 28] = [
    (Stage::Late, "late", "meant to start, not started yet", Part::Platform),
    (Stage::Submit, "submit", "system call, VFS, file system", Part::Platform),
    (Stage::Queue, "queue", "bio to request: split, merge, tag", Part::Platform),
    (Stage::Schedule, "schedule", "I/O scheduler", Part::Platform),
    (Stage::Doorbell, "doorbell", "driver, telling the device", Part::Transport),
    (Stage::Adapter, "adapter", "the adapter's firmware and ports", Part::Transport),
    (Stage::Device, "device", "device, until its interrupt", Part::Device),
    (Stage::Admit, "admit", "waiting for a place in the command queue", Part::Device),
    (Stage::Link, "link", "command and data on the link", Part::Transport),
    (Stage::Controller, "controller", "the controller's firmware", Part::Device),
    (Stage::Buffer, "buffer", "waiting for room in the write buffer", Part::Device),
    (Stage::Throttle, "throttle", "held back by a limit of rate", Part::Device),
    (Stage::Collect, "collect", "waiting for garbage collection", Part::Device),
    (Stage::Fold, "fold", "waiting for the SLC cache to be emptied", Part::Device),
    (Stage::DieWait, "die wait", "waiting for a die that serves others", Part::Device),
    (Stage::Die, "die", "sensing, programming or erasing cells", Part::Device),
    (Stage::Channel, "channel", "between die and controller", Part::Device),
    (Stage::ArmWait, "arm wait", "waiting for the arm", Part::Device),
    (Stage::Seek, "seek", "moving the arm", Part::Device),
    (Stage::Rotate, "rotate", "waiting for the sector", Part::Device),
    (Stage::Medium, "medium", "on the medium", Part::Device),
    (Stage::Complete, "complete", "interrupt to end of request", Part::Platform),
    (Stage::Journal, "journal", "waiting for the journal", Part::Journal),
    (Stage::Wait, "wait", "waiting for locks, others' pages, memory", Part::Platform),
    (Stage::Wake, "wake", "end of request to wake-up", Part::Platform),
    (Stage::Switch, "switch", "wake-up to running", Part::Platform),
    (Stage::Return, "return", "back to the caller", Part::Platform),
    (Stage::Preempted, "preempted", "ready, while others had its CPU", Part::Platform),
];

words! {
    /// Part of the system that took the time.
    #[derive(PartialOrd, Ord, Hash)]
    #[serde(rename_all = "snake_case")]
    pub enum Part {
        /// Software and waiting for a CPU.
        Platform = "platform",
        /// Telling the device: driver, doorbell, the exit to a hypervisor.
        Transport = "transport",
        /// The device itself.
        Device = "device",
        /// The file system's journal: the I/Os of its own that a sync waits for, and its software.
        Journal = "journal",
    }
}

words! {
    /// Way that an I/O went.
    #[derive(PartialOrd, Ord, Hash)]
    #[serde(rename_all = "snake_case")]
    pub enum Way {
        /// It went to a device: it made bios of its own and waited for them.
        Device = "to the device",
        /// Answered from the page cache without sleeping.
        CacheHit = "cache hit",
        /// No bio of its own, but it slept: for another's read-ahead, for write-back or for a lock.
        CacheWait = "cache, waited",
        /// It should have made a bio and none was seen to the end: handed to a worker thread, or events were lost.
        Unmatched = "unmatched",
    }
}

/// The I/Os that went one way.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WayStages {
    /// Way of these I/Os.
    pub way: Way,
    /// Time from the start (or the intended start) to the return. Its sum is the sum of the stages' sums.
    pub whole: Bins,
    /// Each stage that took time in any I/O, in the order of the way. Each histogram counts every I/O of this way,
    /// with 0 where the I/O did not pass the stage, so that means add up.
    pub stages: Vec<(Stage, Bins)>,
}

impl WayStages {
    /// Mean time in a part, ns.
    pub fn part_mean_ns(&self, part: Part) -> f64 {
        let stages = self.stages.iter().filter(|(stage, _)| stage.part() == part);
        // An empty sum of floats is -0.
        stages.map(|(_, bins)| bins.mean_ns()).sum::<f64>() + 0.0
    }

    /// Share of a part in the whole, 0..=1.
    pub fn part_share(&self, part: Part) -> f64 {
        let whole = self.whole.mean_ns();
        if whole == 0.0 { 0.0 } else { self.part_mean_ns(part) / whole }
    }
}

/// View of one block device of the chain: its bios, whoever sent them.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DeviceStages {
    /// Kernel name, such as `loop0`.
    pub name: String,
    /// The device above it in the chain, whose [`Stage::Device`] contains this one's whole; `None` for the top.
    pub above: Option<String>,
    /// Time from the bio's queueing to its end.
    pub whole: Bins,
    /// `Queue`, `Schedule`, `Doorbell` where known, `Device`, `Complete`.
    pub stages: Vec<(Stage, Bins)>,
    /// Bios that ended in a request together with others.
    pub merged: u64,
    /// Bios that were split.
    pub split: u64,
}

/// I/Os of one process of several.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ProcessStages {
    /// The number of the process; 0 for all those together that found no row of their own.
    pub pid: u32,
    /// Name of the program that it ran last.
    pub name: String,
    /// I/Os that it completed.
    pub ios: u64,
    /// Their mean latency, ns.
    pub mean_ns: f64,
}

words! {
    /// Kind of call that an I/O is.
    #[derive(PartialOrd, Ord, Hash)]
    #[serde(rename_all = "snake_case")]
    pub enum CallKind {
        /// Data taken from a file or block device.
        Read = "read",
        /// Data put into a file or block device.
        Write = "write",
        /// Data moved from one file to another.
        Copy = "copy",
        /// Data made safe: of a file, a range, a file system or all.
        Sync = "sync",
        /// Names, attributes and sizes.
        Metadata = "metadata",
        /// A page of a mapped file that was not in memory.
        Fault = "page fault",
    }
}

/// The I/Os of one kind.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct KindStages {
    /// Kind of these I/Os.
    pub kind: CallKind,
    /// Bytes that the calls moved, by their results; of page faults those of their bios.
    pub bytes: Bytes,
    /// Bios that they made.
    pub bios: u64,
    /// Time from the start to the return.
    pub whole: Bins,
    /// Total time in each stage that took any, in the order of the way.
    pub stages: Vec<(Stage, Nanos)>,
}

/// Sleeps inside I/Os while no bio of them was out, by what they waited for.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StageWait {
    /// Cause, from the functions in which the thread slept.
    pub cause: WaitCause,
    /// Object of the wait in words: `for a commit of the journal`; empty where it is not known.
    pub what: String,
    /// Function of the kernel that says so; of a lock the one that takes it.
    pub function: String,
    /// Number of sleeps.
    pub sleeps: u64,
    /// Their total time.
    pub total: Nanos,
}

/// Cost of the measuring itself.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TracingCost {
    /// Number of events handled.
    pub events: u64,
    /// CPU time of one, ns; 0 when it could not be measured.
    pub ns_per_event: f64,
    /// CPU time per I/O of the application, ns.
    pub ns_per_io: f64,
    /// Means by which it was measured, in words.
    pub how: String,
}

/// Latency by stage.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Stages {
    /// Subject of the I/Os: `this load`, `process 1234 (mariadbd)`, `device vda`.
    pub subject: String,
    /// Time that was traced.
    pub elapsed: Nanos,
    /// I/Os the subject completed while traced; of a device, its bios.
    pub ios: u64,
    /// Those whose way was seen from end to end (hits included).
    pub matched: u64,
    /// Events or records that were lost; 0 or the figures are incomplete.
    pub lost: u64,
    /// Stages by way; ways without I/O are left out.
    pub ways: Vec<WayStages>,
    /// Stages by device, top first. Empty where no bio was seen.
    pub devices: Vec<DeviceStages>,
    /// I/Os by process, most first, where a process is followed with its children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessStages>,
    /// I/Os by kind, where a process is followed; kinds without I/O are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindStages>,
    /// Waits of a process that is followed, the longest total first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<StageWait>,
    /// Mean latency by the application's own clock, ns; `None` where we are not the application.
    pub application_mean_ns: Option<f64>,
    /// Cost of the measuring.
    pub tracing: TracingCost,
    /// Rungs that this user may measure, and why not more.
    pub ladder: Ladder,
    /// Notes for the reader, in whole sentences.
    pub notes: Vec<String>,
}

impl Stages {
    /// The I/Os of one way.
    pub fn way(&self, way: Way) -> Option<&WayStages> {
        self.ways.iter().find(|stages| stages.way == way)
    }

    /// Mean of all I/Os of all ways, ns.
    pub fn mean_ns(&self) -> f64 {
        let count: u64 = self.ways.iter().map(|way| way.whole.count).sum();
        if count == 0 { 0.0 } else { self.sum_ns() as f64 / count as f64 }
    }

    /// Time of all I/Os of all ways, ns.
    fn sum_ns(&self) -> u64 {
        self.ways.iter().map(|way| way.whole.sum_ns).sum()
    }

    /// Share of the time of which nobody knows what it waited for, 0..=1: sleeps without a known cause, and what is left of *wake*.
    pub fn unexplained_share(&self) -> f64 {
        let of_way = self.ways.iter().flat_map(|way| &way.stages);
        let wake: u64 = of_way.filter(|(stage, _)| *stage == Stage::Wake).map(|(_, bins)| bins.sum_ns).sum();
        let unknown = self.waits.iter().filter(|wait| wait.cause == WaitCause::Unknown);
        let unknown: u64 = unknown.map(|wait| wait.total.0).sum();
        match self.sum_ns() {
            0 => 0.0,
            sum => (wake + unknown) as f64 / sum as f64,
        }
    }
}
