//! What is asked of storage: one job, independent of what will answer it.

use std::ops::Not;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::asked::{
    Beforehand, Demand, Ends, HostAsked, LatencyGoal, PercentilesOf, Priority, RequestFlags, Share,
    Steadiness,
};
use crate::{
    Access, Amount, BlockSizes, Bytes, Data, Engine, FileTurns, Follow, LogRequest, Mix, Nanos, Order,
    Recorded, Sync, Verify, WritePointers, Zones,
};

/// Number of I/Os that travel in one system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Batch {
    /// Submit this many at once (fio's `iodepth_batch`).
    pub submit: u32,
    /// Wait for at least this many completions (fio's `iodepth_batch_complete_min`).
    pub complete_min: u32,
}

/// Distances between the I/Os of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// Equal distances between I/Os.
    Regular,
    /// Exponential distances (fio's `rate_process=poisson`).
    Poisson,
}

/// An open loop: I/Os become due by the clock, and latency counts from that moment.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Rate {
    /// I/Os per second of each thread, all directions together.
    pub iops: f64,
    /// Distances between them.
    pub arrival: Arrival,
}

/// A pause between I/Os of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Think {
    /// Length of the pause.
    pub time: Nanos,
    /// Number of I/Os between two pauses.
    pub every: u32,
    /// Burn CPU instead of sleeping for this part of it.
    pub spin: Nanos,
}

with_defaults! {
    /// Job for a storage target. `Job::default()` is a 4 KiB random read at depth 1 with psync and direct I/O.
    #[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Job {
        /// Shown in reports.
        pub name: String = "job".to_owned(),
        /// The section of the job file, where the job's name is another: files are called by it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub section: Option<String>,
        /// Shares of reads, writes and trims.
        pub mix: Mix = Mix::READ,
        /// Rule by which offsets follow each other.
        pub access: Access = Access::UNIFORM,
        /// Random I/Os that go where the one before went.
        #[serde(skip_serializing_if = "is_default")]
        pub follow: Follow,
        /// Parts of the region that are worked on in turn.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub zones: Option<Zones>,
        /// Zones that are written from their start on.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub write_pointers: Option<WritePointers>,
        /// Random I/Os start at multiples of this; 0: of their smallest size (fio's `blockalign`).
        #[serde(skip_serializing_if = "is_default")]
        pub align: Bytes,
        /// Sizes of the I/Os, by direction.
        pub block_sizes: BlockSizes = BlockSizes::all(Bytes(4096)),
        /// Any number of bytes from the smallest to the largest of these, all alike likely (fio's `bs_unaligned`).
        #[serde(skip_serializing_if = "Not::not")]
        pub any_size: bool,
        /// Any multiple of the smallest, up to the largest of these, all alike likely (a wide `bsrange` of fio's).
        #[serde(skip_serializing_if = "Not::not")]
        pub any_multiple: bool,
        /// First byte of the region.
        pub offset: Amount = Amount::Bytes(Bytes(0)),
        /// Each further thread starts this much later.
        pub offset_increment: Bytes,
        /// Length of the region; `None` is up to the end of the target.
        pub size: Option<Amount>,
        /// Stop after this many bytes, which may be more or less than `size`.
        pub io_limit: Option<Bytes>,
        /// Stop after this many I/Os of each thread.
        pub io_count: Option<u64>,
        /// Kernel interface that carries the I/Os.
        pub engine: Engine = Engine::Psync,
        /// I/Os in flight per thread.
        pub queue_depth: u32 = 1,
        /// I/Os per system call.
        pub batch: Batch = Batch { submit: 1, complete_min: 1 },
        /// Threads that each run the job.
        pub threads: u32 = 1,
        /// Number of the first thread, when a job file's `numjobs` was split into jobs of their own.
        pub thread_first: u32,
        /// Open files with `O_DIRECT`, past the page cache.
        pub direct: bool = true,
        /// Stop after this time.
        pub runtime: Option<Nanos>,
        /// Start over when the region is done, until `runtime`.
        pub time_based: bool,
        /// Run this long before measuring.
        pub ramp: Nanos,
        /// Wait this long before starting.
        pub start_delay: Nanos,
        /// Repeat the region this many times.
        pub loops: u32 = 1,
        /// Open loop; `None` is a closed loop.
        pub rate: Option<Rate>,
        /// Pause between I/Os.
        pub think: Option<Think>,
        /// Its part of what several jobs do.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub share: Option<Share>,
        /// Searches the deepest queue that keeps a latency.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub latency_goal: Option<LatencyGoal>,
        /// Limits that the storage must keep to.
        #[serde(skip_serializing_if = "is_default")]
        pub demand: Demand,
        /// Ends it when its rate is steady.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub until_steady: Option<Steadiness>,
        /// Errors of reads, and of writes and trims, that count as no fault of the job (fio's `ignore_error`).
        #[serde(skip_serializing_if = "is_default")]
        pub ignored_errors: [Vec<i32>; 2],
        /// No I/O is handed over while one of the same bytes is in flight (fio's `serialize_overlap`).
        #[serde(skip_serializing_if = "Not::not")]
        pub one_at_a_place: bool,
        /// Other jobs that end with this one.
        #[serde(skip_serializing_if = "is_default")]
        pub ends: Ends,
        /// Settings of the machine that it runs on.
        #[serde(skip_serializing_if = "is_default")]
        pub host: HostAsked,
        /// Flushes between and after the writes.
        pub sync: Sync,
        /// Proof that data comes back.
        pub verify: Option<Verify>,
        /// Content of write buffers.
        pub data: Data = Data::Random,
        /// CPUs the threads may use.
        pub cpus: Option<Vec<u32>>,
        /// Give each thread one CPU of `cpus` instead of the whole set.
        pub cpus_split: bool,
        /// Drop the target's page cache before starting.
        pub invalidate: bool = true,
        /// Reproduces offsets, mix and content.
        pub seed: u64 = 1,
        /// Length of one element of the outcome's series.
        pub slice: Nanos = Nanos::secs(1),
        /// Start only after all earlier jobs have ended (fio's `stonewall`).
        pub stonewall: bool,
        /// Start only after the earlier jobs of this name have ended (fio's `wait_for`).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub wait_for: Option<String>,
        /// Jobs with the same number are reported as one outcome.
        pub report_group: u32,
        /// Begins a group of reports, like `stonewall`, but waits for nobody (fio's `new_group`).
        #[serde(skip_serializing_if = "Not::not")]
        pub new_group: bool,
        /// Percentiles to print, in percent.
        pub percentiles: Vec<f64> = PERCENTILES.to_vec(),
        /// Parts of the latency of which fio's reports give them.
        #[serde(skip_serializing_if = "is_default")]
        pub percentiles_of: PercentilesOf,
        /// Keep the time after the submission apart from it, as fio's clat.
        #[serde(skip_serializing_if = "is_default")]
        pub split_latency: bool,
        /// Log files to write.
        pub logs: LogRequest,
        /// Files the job itself names; `--on` overrides. Each thread uses all of them, in turn.
        pub files: Vec<PathBuf>,
        /// Directory for the files when the job names none.
        pub directory: Option<PathBuf>,
        /// Files each thread makes in `directory`.
        pub file_count: u32 = 1,
        /// Choice of the next file.
        #[serde(skip_serializing_if = "is_default")]
        pub file_turns: FileTurns,
        /// Remove the files this job made.
        pub unlink: bool,
        /// Preparation of the files before the first I/O.
        #[serde(skip_serializing_if = "is_default")]
        pub beforehand: Beforehand,
        /// A trace whose I/Os are done instead; pattern, sizes and rate say nothing then.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub recorded: Option<Recorded>,
        /// The same in words, once it was read: its name, format and speed.
        pub replay: Option<String>,
        /// The options as they were typed, in order: what fio's JSON shows as "job options".
        pub options: Vec<(String, String)>,
        /// Those of a fio file's global sections, which hold for several jobs.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub options_global: Vec<(String, String)>,
    }
}

/// True of what an outcome of before had no word for: it is left out of JSON.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Percentiles that fio prints.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

impl Job {
    /// The section of the job file that it comes from: its name, where that is not said apart.
    pub fn section(&self) -> &str {
        self.section.as_deref().unwrap_or(&self.name)
    }

    /// True when no byte of the region is written twice by the same thread.
    pub fn writes_each_place_once(&self) -> bool {
        let one_size = self.block_sizes.smallest() == self.block_sizes.largest();
        let in_turn = match self.access {
            Access::Sequential => true,
            Access::Random { order: Order::Permutation, .. } => one_size && is_default(&self.align),
            _ => false,
        };
        let one_pass = self.loops == 1 && !self.time_based && self.io_limit.is_none();
        let no_zones = self.zones.is_none() && self.write_pointers.is_none();
        in_turn && one_pass && no_zones && is_default(&self.follow) && self.recorded.is_none()
    }

    /// True when it changes what is there.
    pub const fn destroys(&self) -> bool {
        match self.engine {
            Engine::Null => false,
            Engine::Names(act) => !act.looks_only(),
            Engine::Fallocate | Engine::Truncate => true,
            _ => self.mix.destroys(),
        }
    }

    /// Files that each thread uses.
    pub fn files_each(&self) -> u16 {
        u16::try_from(self.files.len().max(self.file_count as usize)).unwrap_or(u16::MAX)
    }

    /// I/Os that one thread can have in flight.
    pub fn depth(&self) -> u32 {
        if self.engine.is_synchronous() { 1 } else { self.queue_depth }
    }

    /// I/Os that all its threads together can have in flight.
    pub fn in_flight(&self) -> u32 {
        self.depth().saturating_mul(self.threads)
    }

    /// Names of the files that thread `thread` makes when the job names none: fio's `job.thread.file`.
    ///
    /// A slash in the job's name would be a directory; it becomes a dash.
    pub fn file_names(&self, thread: u32) -> Vec<String> {
        let number = u64::from(self.thread_first) + u64::from(thread);
        let name = self.section().replace('/', "-");
        (0..self.file_count).map(|file| format!("{name}.{number}.{file}")).collect()
    }

    /// True when a clock says when I/Os begin, and not only the end of others.
    pub fn is_timed(&self) -> bool {
        let by_trace = self.recorded.as_ref().is_some_and(|recorded| recorded.speed.is_some());
        self.rate.is_some() || self.think.is_some() || by_trace
    }

    /// Setting that only threads of a real machine can do, by fio's name.
    pub fn needs_threads(&self) -> Option<&'static str> {
        let asked = [
            (self.engine == Engine::PosixAio, "posixaio"),
            (!self.engine.moves_data(), self.engine.name()),
            (self.beforehand.reads, "pre_read"),
            (self.beforehand.is_all, "create_only"),
            (!self.host.numa.cpu_nodes.is_empty() || self.host.numa.memory.is_some(), "numa_cpu_nodes"),
            (!self.host.locked.is_zero(), "lockmem"),
            (self.host.scheduler.is_some(), "ioscheduler"),
            (self.host.submitter_cpu.is_some(), "sqthread_poll_cpu"),
            (self.share.is_some(), "flow"),
            (self.sync.range.is_some(), "sync_file_range"),
            (self.host.priority != Priority::default(), "nice or prio"),
            (self.host.preferred.is_some(), "cmdprio_percentage"),
            (self.one_at_a_place, "serialize_overlap"),
            (self.host.user.is_some() || self.host.group.is_some(), "uid or gid"),
            (self.host.huge_pages, "mem"),
            (
                self.host.write_hint.is_some() && !self.direct,
                "write_hint of what goes through the page cache",
            ),
            (self.host.flags != RequestFlags::default(), "atomic, uncached or nowait"),
        ];
        asked.into_iter().find_map(|(asked, name)| asked.then_some(name))
    }

    /// fio's word for direction and access: `randread`, `rw`, `write`, ...
    pub fn rw_name(&self) -> &'static str {
        let random = matches!(self.access, Access::Random { .. });
        match (self.mix.read > 0, self.mix.write > 0, self.mix.trim > 0, random) {
            (true, true, _, false) => "rw",
            (true, true, _, true) => "randrw",
            (true, false, false, false) => "read",
            (true, false, false, true) => "randread",
            (false, true, false, false) => "write",
            (false, true, false, true) => "randwrite",
            (false, false, true, false) => "trim",
            (false, false, true, true) => "randtrim",
            (_, _, _, false) => "trimwrite",
            (_, _, _, true) => "randtrimwrite",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_job_survives_json() {
        let job = Job::default();
        let text = serde_json::to_string(&job).expect("a job is plain data");
        assert_eq!(serde_json::from_str::<Job>(&text).expect("just written"), job);
    }

    #[test]
    fn fio_names_follow_from_mix_and_access() {
        let job = Job { mix: Mix::reads(70), ..Job::default() };
        assert_eq!(job.rw_name(), "randrw");
        let job = Job { mix: Mix::WRITE, access: Access::Sequential, ..Job::default() };
        assert_eq!(job.rw_name(), "write");
    }

    #[test]
    fn a_synchronous_engine_has_depth_one_whatever_is_asked() {
        let job = Job { queue_depth: 32, ..Job::default() };
        assert_eq!(job.depth(), 1);
        assert_eq!(Job { engine: Engine::Libaio, ..job }.depth(), 32);
    }

    #[test]
    fn files_are_named_as_fio_names_them() {
        let job = Job { name: "a/b".to_owned(), thread_first: 2, file_count: 2, ..Job::default() };
        assert_eq!(job.file_names(1), ["a-b.3.0", "a-b.3.1"]);
    }
}
