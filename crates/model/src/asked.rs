//! What a job asks beside its I/O: of the storage, of other jobs, of the machine, of its files.

use std::ops::Not;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanos};

/// Limits that the storage must keep to, or the job fails. 0 demands nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Demand {
    /// No I/O may take longer (fio's `max_latency`).
    pub latency: Nanos,
    /// Reads, writes and trims: bytes per second of a thread (fio's `rate_min`).
    pub bytes: [u64; 3],
    /// I/Os per second of a thread (fio's `rate_iops_min`).
    pub iops: [u64; 3],
    /// Rates are held against it this often (fio's `rate_cycle`).
    pub cycle: Nanos,
}

impl Default for Demand {
    fn default() -> Self {
        Demand::NONE
    }
}

impl Demand {
    /// Demand of nothing at all.
    pub const NONE: Demand = Demand { latency: Nanos(0), bytes: [0; 3], iops: [0; 3], cycle: Nanos::secs(1) };

    /// True when nothing is demanded.
    pub fn is_none(&self) -> bool {
        let Demand { latency, bytes, iops, cycle: _ } = self;
        latency.0 == 0 && bytes.iter().chain(iops).all(|&least| least == 0)
    }
}

/// Its part of the I/Os of all jobs that share them (fio's `flow`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Jobs with this number share (fio's `flow_id`).
    pub group: u32,
    /// I/Os of each thread, in proportion to the others' weights.
    pub weight: u32,
    /// Time that a thread ahead sleeps before it looks again; 0: it gives its CPU away.
    pub nap: Nanos,
}

/// A latency to keep, for which the deepest queue is searched (fio's `latency_target`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyGoal {
    /// No I/O takes longer,
    pub latency: Nanos,
    /// but for those beyond this percentile.
    pub percent: f64,
    /// A depth is judged by what it does in this time.
    pub window: Nanos,
    /// The search goes on until the job ends; otherwise the depth found is measured for one window, and that is all.
    pub goes_on: bool,
}

/// Result of the search for a depth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DepthFound {
    /// I/Os in flight per thread; of several threads the fewest.
    pub depth: u32,
    /// Percent of its I/Os that kept the latency when it was judged last.
    pub percent: f64,
}

/// The figure that is to become steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteadyFigure {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
}

/// Limit of the last rates, in percent of their mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteadyLimit {
    /// The largest distance from the mean (fio's `iops:`, `bw:`).
    Deviation(f64),
    /// The slope of the line of least squares from one element to the next (fio's `iops_slope:`, `bw_slope:`).
    Slope(f64),
    /// Both that SNIA's Performance Test Specification asks for.
    Snia {
        /// The largest rate less the smallest.
        excursion: f64,
        /// Rise or fall of the line of least squares, from the first element to the last.
        slope: f64,
    },
}

impl SteadyLimit {
    /// Quantities that are looked at, by name, with their limits.
    pub fn named(self) -> Vec<(&'static str, f64)> {
        match self {
            SteadyLimit::Deviation(percent) => vec![("deviation", percent)],
            SteadyLimit::Slope(percent) => vec![("slope", percent)],
            SteadyLimit::Snia { excursion, slope } => vec![("excursion", excursion), ("slope", slope)],
        }
    }
}

/// Rule by which a job has run long enough (fio's `steadystate`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steadiness {
    /// Figure of all threads and directions together.
    pub figure: SteadyFigure,
    /// Limit that the figure is held against.
    pub limit: SteadyLimit,
    /// Last stretch of time that is looked at.
    pub window: Nanos,
    /// Time at the start that does not count.
    pub after: Nanos,
}

with_defaults! {
    /// Parts of the latency of which fio's reports give percentiles.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub struct PercentilesOf {
        /// Percentiles of the submission (fio's `slat_percentiles`).
        pub submission: bool,
        /// Percentiles of the time behind it (fio's `clat_percentiles`).
        pub completion: bool = true,
        /// Percentiles of both together (fio's `lat_percentiles`).
        pub whole: bool,
    }
}

/// Result of a search for steadiness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steady {
    /// The job was ended by it.
    pub attained: bool,
    /// Distance from steady at last, in percent of the mean; `None` when it ended before there was a window.
    pub percent: Option<f64>,
    /// The slope over the window at last, where SNIA's second limit is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope_percent: Option<f64>,
    /// Start of the window that was looked at last.
    #[serde(default)]
    pub since: Nanos,
}

/// Whom the kernel prefers among its threads, and among those that wait for the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Priority {
    /// -20, preferred, to 19; see `nice(2)`.
    pub nice: i8,
    /// 1 real time, 2 best effort, 3 idle; 0: what `nice` makes of it. See `ioprio_set(2)`.
    pub io_class: u8,
    /// 0, preferred, to 7.
    pub io_level: u8,
}

impl Priority {
    /// Class and level of disk requests as the kernel writes them (`ioprio.h`); best effort, where only a level is
    /// said.
    pub const fn io(self) -> u16 {
        let class = if self.io_class == 0 && self.io_level > 0 { 2 } else { self.io_class };
        (class as u16) << 13 | self.io_level as u16
    }
}

/// I/Os that carry a priority of their own (fio's `cmdprio_percentage`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preferred {
    /// Percent of the reads, and of the writes.
    pub percent: [u8; 2],
    /// Class and level, as in [`Priority`].
    pub io_class: u8,
    /// Level of their priority, 0 (highest) to 7.
    pub io_level: u8,
    /// Percent by the size of the reads, and of the writes, where not empty (fio's `cmdprio_bssplit`).
    #[serde(default, skip_serializing_if = "crate::job::is_default")]
    pub by_size: [Vec<PreferredSize>; 2],
}

/// Share of the I/Os of one size that carry a priority of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreferredSize {
    /// Bytes of the I/O.
    pub size: Bytes,
    /// Percent of them.
    pub percent: u8,
    /// Class and level; `None`: those of all the others.
    pub priority: Option<(u8, u8)>,
}

impl Preferred {
    /// The priority of an I/O, as the kernel writes it, 0 for none; `draw` is from 0 to 99.
    pub fn io(&self, direction: usize, length: u32, draw: u8) -> u16 {
        let number = |(class, level): (u8, u8)| u16::from(class) << 13 | u16::from(level);
        let own = (self.io_class, self.io_level);
        if self.by_size == <[Vec<_>; 2]>::default() {
            let chosen = self.percent.get(direction).is_some_and(|&percent| draw < percent);
            return if chosen { number(own) } else { 0 };
        }
        let mut below = 0;
        let sizes = self.by_size.get(direction).into_iter().flatten();
        for one in sizes.filter(|one| one.size.0 == u64::from(length)) {
            below += one.percent;
            if draw < below {
                return number(one.priority.unwrap_or(own));
            }
        }
        0
    }
}

/// Flags that single requests carry (`RWF_*` of `linux/fs.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestFlags {
    /// A write is done whole or not at all (fio's `atomic`).
    pub atomic: bool,
    /// Data that goes through the page cache does not stay there (fio's `uncached`).
    pub uncached: bool,
    /// An I/O that would have to wait fails instead (fio's `nowait`).
    pub nowait: bool,
}

impl RequestFlags {
    /// Flags as the kernel has them, of a read or of a write: only writes are atomic.
    pub const fn bits(self, write: bool) -> u32 {
        const NOWAIT: u32 = 0x8;
        const ATOMIC: u32 = 0x40;
        const UNCACHED: u32 = 0x80;
        let atomic = if self.atomic && write { ATOMIC } else { 0 };
        let uncached = if self.uncached { UNCACHED } else { 0 };
        atomic | uncached | if self.nowait { NOWAIT } else { 0 }
    }

    /// True when there is none.
    pub const fn are_none(self) -> bool {
        !(self.atomic || self.uncached || self.nowait)
    }
}

/// Memory that threads get; see `set_mempolicy(2)`, whose numbers these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryPolicy {
    /// The policy of the process.
    Default = 0,
    /// Memory of the first node, where there is some left.
    Prefer = 1,
    /// Memory of these nodes and no other.
    Bind = 2,
    /// Memory of these nodes in turn.
    Interleave = 3,
    /// Memory of the node that a thread runs on.
    Local = 4,
}

/// Settings of the machine that a job runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostAsked {
    /// Priority among threads and disk requests.
    pub priority: Priority,
    /// Some I/Os go before others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred: Option<Preferred>,
    /// Nodes of CPUs and memory.
    pub numa: Numa,
    /// Memory that each thread locks and does not use, so that less is left (fio's `lockmem`).
    pub locked: Bytes,
    /// CPU of the kernel's thread that submits for `io_uring` (fio's `sqthread_poll_cpu`); `None`: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitter_cpu: Option<u32>,
    /// The I/O scheduler of the disk below while the job runs (fio's `ioscheduler`).
    pub scheduler: Option<String>,
    /// User as whom the threads open the files and do their I/O (fio's `uid`); `None`: who started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// The same of the group (fio's `gid`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Buffers are in huge pages of 2 MiB (fio's `mem=mmaphuge`).
    #[serde(skip_serializing_if = "Not::not")]
    pub huge_pages: bool,
    /// Lifetime of what is written, as the kernel numbers it (`F_SET_RW_HINT`; fio's `write_hint`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_hint: Option<u8>,
    /// Flags of each request.
    #[serde(skip_serializing_if = "crate::job::is_default")]
    pub flags: RequestFlags,
}

/// Nodes of a machine whose memory is not equally near (fio's `numa_cpu_nodes`, `numa_mem_policy`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Numa {
    /// Threads run on their CPUs; empty: wherever.
    pub cpu_nodes: Vec<u32>,
    /// Policy of their memory, and its nodes.
    pub memory: Option<(MemoryPolicy, Vec<u32>)>,
}

/// Other jobs that end when this one does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    /// No other job ends.
    #[default]
    Itself,
    /// All that run beside it (fio's `exitall`).
    Beside,
    /// Those and all behind them (fio's `exit_what=all`).
    All,
}

/// The order in which a job says that it will go over its files; see `posix_fadvise(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// Whatever its access is.
    ByAccess,
    /// Read ahead more.
    Sequential,
    /// Do not read ahead.
    Random,
}

/// Preparation of a job's files before its first I/O; usually those that are missing are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Beforehand {
    /// Nothing is made: who misses a file is refused (fio's `allow_file_create=0`).
    pub makes_none: bool,
    /// Nothing is written before the first I/O: who misses a byte is refused (fio's `--readonly`).
    pub writes_none: bool,
    /// The kernel is told which order to expect, of buffered I/O (fio's `fadvise_hint`); `None` tells it nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
    /// They are read into the page cache (fio's `pre_read`).
    pub reads: bool,
    /// Nothing else happens: the job is over then (fio's `create_only`).
    pub is_all: bool,
}
