//! What came of running a job on a target.

use std::ops::Not;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::is_default;
use crate::possible::{self, Possible, guarded, not_a_share, not_an_amount};

use crate::{
    Bins, Bytes, Caveat, DepthFound, Direction, Heat, Inside, Job, Layers, Machine, Nanos, Stages, Steady,
    Storage, TargetName,
};

/// File of a run: its outcomes and the conditions they share.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct OutcomeFile {
    /// Version of the file's form, [`crate::SCHEMA`].
    #[serde(deserialize_with = "possible::schema")]
    pub schema: u32,
    /// Version of iostack that wrote it.
    pub iostack: String,
    /// Start, milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// Machine that ran the jobs.
    pub machine: Machine,
    /// One per report group, in the order of the job file.
    pub outcomes: Vec<Outcome>,
    /// Figures that were predicted beside those measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<crate::answers::Prediction>,
}

/// Outcome of one job on one target.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Outcome {
    /// Job that was asked, after defaults.
    pub job: Job,
    /// Name of the target that answered.
    pub target: TargetName,
    /// The storage behind it.
    pub storage: Storage,
    /// Start of measuring (after the ramp), milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// Measured time, from the first submission after the ramp to the last completion.
    pub elapsed: Nanos,
    /// Time until every thread had its first I/O submitted, from the call of the engine.
    pub startup: Nanos,
    /// Flow of the reads.
    pub read: Flow,
    /// Flow of the writes.
    pub write: Flow,
    /// Flow of the trims.
    pub trim: Flow,
    /// Latency of fsync and fdatasync.
    pub sync: Bins,
    /// Throughput of all directions with its uncertainty.
    pub iops: Interval,
    /// Element i covers `i * job.slice .. (i + 1) * job.slice` of the measured time. A run of thousands of slices gets
    /// longer ones, and then `job.slice` is their length, not what was asked for.
    pub series: Vec<IntervalFlow>,
    /// The same time by latency: how many I/Os took how long.
    #[serde(default, skip_serializing_if = "Heat::is_empty")]
    pub heat: Heat,
    /// Cost in the processor.
    pub cpu: CpuUse,
    /// I/Os in flight, averaged over the measured time: by Little's law, from exact sums.
    pub depth_achieved: f64,
    /// Work that the device counted in the same time, top of the chain; `None` without counters.
    pub device: Option<DeviceCount>,
    /// I/Os that failed, by error.
    pub failures: Vec<Failure>,
    /// Blocks verified, when the job verifies.
    pub verified: u64,
    /// Blocks that were read back between the writes; they are among the reads, and those read back at the end are not.
    #[serde(default, skip_serializing_if = "is_default")]
    pub read_between: u64,
    /// The reading back at the end, and the time that it took; none of it is in `read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBack>,
    /// Result of the steadiness that the job asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
    /// The depth that keeps the latency that the job asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth_found: Option<DepthFound>,
    /// Ctrl-C or a signal ended it early.
    pub interrupted: bool,
    /// Single I/Os, only when the job's logs ask for each.
    pub log: Vec<LogEntry>,
    /// Sums of spans, only when the job's logs ask for averages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log_spans: Vec<LogSpan>,
    /// Latency by stage, when it was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<Stages>,
    /// Clocks by layer, when they were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<Layers>,
    /// Insight of a simulation into its own run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<Inside>,
    /// Range of each figure over what the sheet of a simulated target does not know exactly, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<Band>,
    /// Reasons to doubt the figures.
    pub caveats: Vec<Caveat>,
}

guarded!(Outcome, Flow, Interval, IntervalFlow, CpuUse);

impl Possible for Outcome {
    fn impossible(&self) -> Option<String> {
        let all = self.heat.columns.iter().flatten().map(|&(_, count)| u128::from(count));
        let (told, counted) = (all.sum::<u128>(), Direction::ALL.map(|each| self.flow(each).latency.count));
        let ios: u128 = counted.into_iter().map(u128::from).sum();
        if !self.heat.is_empty() && told != ios {
            return Some(format!("heat counts {told} I/Os, the latencies {ios}"));
        }
        not_an_amount(&[("depth_achieved", self.depth_achieved)])
    }
}

impl Flow {
    /// fio's clat: the time after the submission; where that is not known apart, all of it.
    pub fn clat(&self) -> &Bins {
        if self.after_submit.count > 0 { &self.after_submit } else { &self.latency }
    }
}

impl Possible for Flow {
    fn impossible(&self) -> Option<String> {
        let (short, count) = (self.short, self.latency.count);
        (short > count).then(|| format!("short {short} is above the number of I/Os, {count}"))
    }
}

impl Possible for Interval {
    fn impossible(&self) -> Option<String> {
        let Interval { mean, low, high, .. } = self;
        let holds = low <= mean && mean <= high;
        (!holds).then(|| format!("mean {mean} is not between low {low} and high {high}"))
    }
}

impl Possible for IntervalFlow {
    fn impossible(&self) -> Option<String> {
        let IntervalFlow { p50, p99, max, .. } = self;
        let rise = p50 <= p99 && p99 <= max;
        (!rise).then(|| format!("p50 {p50}, p99 {p99} and max {max} do not rise"))
    }
}

impl Possible for CpuUse {
    fn impossible(&self) -> Option<String> {
        let shares = [
            ("busiest_thread", self.busiest_thread),
            ("steal", self.steal),
            ("machine_busy", self.machine_busy),
        ];
        not_a_share(&shares).or_else(|| not_an_amount(&[("clocks_per_io", self.clocks_per_io)]))
    }
}

impl Outcome {
    /// Outcome of a job that has done nothing yet.
    pub fn empty(job: Job, target: TargetName, storage: Storage) -> Outcome {
        Outcome { job, target, storage, ..Outcome::default() }
    }

    /// The flow of one direction.
    pub fn flow(&self, direction: Direction) -> &Flow {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }

    /// I/Os of all directions.
    pub fn ios(&self) -> u64 {
        Direction::ALL.iter().map(|&d| self.flow(d).latency.count).sum()
    }

    /// Bytes of all directions.
    pub fn bytes(&self) -> Bytes {
        Bytes(Direction::ALL.iter().map(|&d| self.flow(d).bytes.0).sum())
    }

    /// I/Os per second of all directions, over the measured time.
    pub fn rate(&self) -> f64 {
        per_second(self.ios() as f64, self.elapsed)
    }

    /// Bytes per second of all directions.
    pub fn bandwidth(&self) -> f64 {
        per_second(self.bytes().0 as f64, self.elapsed)
    }

    /// Latency of all directions together.
    pub fn latency(&self) -> Bins {
        let mut all = self.read.latency.clone();
        all.merge(&self.write.latency);
        all.merge(&self.trim.latency);
        all
    }

    /// CPU time (user, system and kernel workers) per I/O, in ns; `None` without I/O.
    pub fn cpu_ns_per_io(&self) -> Option<f64> {
        let ios = self.ios();
        (ios > 0).then(|| self.cpu.total().0 as f64 / ios as f64)
    }
}

fn per_second(amount: f64, elapsed: Nanos) -> f64 {
    if elapsed.0 == 0 { 0.0 } else { amount / elapsed.as_secs_f64() }
}

/// One direction of an outcome.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Flow {
    /// Number of bytes moved.
    pub bytes: Bytes,
    /// Latency from submission (open loop: from the intended start) to completion. Its count is the number of I/Os.
    pub latency: Bins,
    /// Submission alone (fio's slat): time in the submitting system call, batched calls shared evenly. Empty for
    /// synchronous engines.
    pub submit: Bins,
    /// The rest, from the submission to the completion (fio's clat), where the job keeps it apart
    /// ([`Job::split_latency`]) and the engine submits by a call of its own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub after_submit: Bins,
    /// I/Os that moved fewer bytes than asked.
    pub short: u64,
}

/// Reads at the end that verify what the job wrote.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ReadBack {
    /// All of it.
    pub flow: Flow,
    /// Time from the first of its reads to the last, over all threads.
    pub elapsed: Nanos,
}

/// A figure with its uncertainty.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Interval {
    /// Best estimate of the figure.
    pub mean: f64,
    /// Lower end of the 95 % interval; equal to `mean` when it could not be had.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Independent pieces the interval rests on; below 3 there is no interval.
    pub samples: u32,
}

impl Interval {
    /// A figure without uncertainty.
    pub const fn exact(value: f64) -> Self {
        Interval { mean: value, low: value, high: value, samples: 0 }
    }

    /// Half of the width over the mean; 0 when the mean is.
    pub fn relative(self) -> f64 {
        if self.mean == 0.0 { 0.0 } else { (self.high - self.low) / 2.0 / self.mean }
    }

    /// True when the two 95 % intervals share a value.
    pub fn overlaps(self, other: Interval) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

/// Figures of a simulated outcome, each with the range that draws of its sheet's numbers span; `samples` are draws.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Band {
    /// Draws that ran to their end.
    pub draws: u32,
    /// Draws of which no target could be made, or whose run failed.
    pub failed: u32,
    /// Seed of the draws.
    pub seed: u64,
    /// Numbers that are drawn, each by itself.
    pub drawn: u32,
    /// I/Os per second.
    pub iops: Interval,
    /// Bytes per second.
    pub bandwidth: Interval,
    /// Mean latency, ns.
    pub latency_mean: Interval,
    /// Median latency, ns; `None` where there are too few I/Os.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_p50: Option<Interval>,
    /// 99th percentile of the latency, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_p99: Option<Interval>,
}

/// One element of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct IntervalFlow {
    /// Start, from the start of measuring.
    pub start: Nanos,
    /// Length; the last element may be shorter than the job's slice.
    pub length: Nanos,
    /// Completions by direction (read, write, trim).
    pub ios: [u64; 3],
    /// Bytes by direction.
    pub bytes: [u64; 3],
    /// Sum of latencies by direction, ns.
    pub latency_sum_ns: [u64; 3],
    /// Median of all directions; 0 without I/O.
    pub p50: Nanos,
    /// 99th percentile of all directions; 0 without I/O.
    pub p99: Nanos,
    /// Largest latency; 0 without I/O.
    pub max: Nanos,
    /// Time that threads which left this element were ready to run and had no CPU, of all together. Slices too short
    /// to ask in have none: see [`CpuUse::waiting`].
    #[serde(default)]
    pub waiting: Nanos,
}

/// Cost in the processor, of all threads of the job together.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct CpuUse {
    /// User time of the generator's threads.
    pub user: Nanos,
    /// System time of the generator's threads.
    pub system: Nanos,
    /// CPU time of kernel workers that served this process (`io_uring` workers and submission pollers).
    pub workers: Nanos,
    /// System calls that carried I/O.
    pub syscalls: u64,
    /// Context switches because the thread waited.
    pub switches_voluntary: u64,
    /// Context switches because its time was up.
    pub switches_involuntary: u64,
    /// Page faults that needed I/O, and that did not.
    pub faults_major: u64,
    /// Page faults of the threads without I/O.
    pub faults_minor: u64,
    /// Busy share of the generator's busiest thread, 0..=1.
    pub busiest_thread: f64,
    /// Time that the generator's threads were ready to run and had no CPU, of all together: others ran, or they
    /// themselves were more than there are CPUs.
    #[serde(default)]
    pub waiting: Nanos,
    /// Share of the time in which the generator's busiest thread ran or was ready to, 0..=1: the rest it slept, because
    /// I/O was not done.
    #[serde(default)]
    pub wanted: f64,
    /// Time that kernel threads were ready to run and had no CPU, of all together. Some do the I/O: those of a loop
    /// device.
    #[serde(default)]
    pub waiting_kernel: Nanos,
    /// Share of the whole machine's CPU time that other programs took, 0..=1, kernel threads and interrupts aside.
    #[serde(default)]
    pub foreign: f64,
    /// Time-stamp-counter clocks per I/O: `total() * tsc_hz / ios`; 0 without counter.
    pub clocks_per_io: f64,
    /// Share of the whole machine's CPU time that a hypervisor took away, 0..=1.
    pub steal: f64,
    /// Busy share of the whole machine, 0..=1, all programs and interrupts included.
    pub machine_busy: f64,
}

impl CpuUse {
    /// User, system and kernel workers.
    pub fn total(&self) -> Nanos {
        self.user + self.system + self.workers
    }

    /// Share of their time in which `threads` threads were ready and had no CPU, the mean of all, 0..=1.
    pub fn waiting_share(&self, threads: u32, elapsed: Nanos) -> f64 {
        let whole = elapsed.0 as f64 * f64::from(threads.max(1));
        if whole > 0.0 { (self.waiting.0 as f64 / whole).min(1.0) } else { 0.0 }
    }
}

/// Change of a device's own counters (`/sys/block/*/stat`).
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DeviceCount {
    /// Name that the kernel gives the device.
    pub name: String,
    /// Requests completed: read, write, discard.
    pub ios: [u64; 3],
    /// Requests merged before that: read, write, discard.
    pub merges: [u64; 3],
    /// Bytes: read, write, discard.
    pub bytes: [u64; 3],
    /// Number of flushes completed.
    pub flushes: u64,
    /// Time with at least one request in flight.
    pub busy: Nanos,
    /// Time that requests were in the device, added up: read, write, discard; of an older report nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_device: Option<[Nanos; 3]>,
    /// Requests in flight times the time that they were so, flushes among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<Nanos>,
}

/// I/Os that failed alike.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Failure {
    /// Direction of the failed I/Os.
    pub direction: Direction,
    /// `errno`; 0 stands for data that did not verify.
    pub errno: i32,
    /// Number of such failures.
    pub count: u64,
    /// Offset of the first.
    pub offset_first: u64,
    /// Error message, in words.
    pub message: String,
    /// The job asked not to count it as a fault of its own (fio's `ignore_error`).
    #[serde(default, skip_serializing_if = "Not::not")]
    pub ignored: bool,
}

/// One I/O in a log.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LogEntry {
    /// Completion, from the start of measuring.
    pub time: Nanos,
    /// Thread of the outcome, from 0: its jobs one behind the other.
    pub thread: u32,
    /// Direction of the I/O.
    pub direction: Direction,
    /// First byte of the I/O.
    pub offset: u64,
    /// Bytes of the I/O.
    pub length: u32,
    /// Submission to completion.
    pub latency: Nanos,
    /// Time in the submitting system call.
    pub submit: Nanos,
    /// Index of the thread's file, from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub file: u16,
    /// Class and level that it alone had, as the kernel writes them; 0: those of its thread.
    #[serde(default, skip_serializing_if = "is_default")]
    pub io_priority: u16,
}

impl LogEntry {
    /// No I/O but a flush of all files: only those who write a trace ask for it.
    pub fn flush(time: Nanos, thread: u32, latency: Nanos) -> LogEntry {
        let (direction, submit) = (Direction::Write, Nanos(0));
        LogEntry { time, thread, direction, offset: 0, length: 0, latency, submit, file: 0, io_priority: 0 }
    }

    /// True of a flush.
    pub fn is_flush(&self) -> bool {
        self.length == 0
    }
}

/// I/Os of one thread that ended in the same span of its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LogSpan {
    /// Start, from the start of measuring.
    pub start: Nanos,
    /// Length of the element.
    pub length: Nanos,
    /// Number of the thread, as in [`LogEntry`].
    pub thread: u32,
    /// I/Os by direction (read, write, trim).
    pub ios: [u64; 3],
    /// Bytes by direction.
    pub bytes: [u64; 3],
    /// Sum of latencies by direction, ns.
    pub latency_sum_ns: [u64; 3],
    /// Sum of submissions by direction, ns.
    pub submit_sum_ns: [u64; 3],
}

impl LogSpan {
    /// Adds an I/O to the spans of `length` of its thread; I/Os come in the order in which they ended.
    pub fn add(spans: &mut Vec<LogSpan>, entry: &LogEntry, length: Nanos) {
        let start = Nanos(entry.time.0 / length.0 * length.0);
        let newest = spans.iter().rposition(|span| span.start < start).map_or(0, |index| index + 1);
        let known = spans[newest..].iter().position(|span| span.thread == entry.thread);
        let index = known.map_or(spans.len(), |index| newest + index);
        if known.is_none() {
            let thread = entry.thread;
            let [ios, bytes, latency_sum_ns, submit_sum_ns] = [[0; 3]; 4];
            spans.push(LogSpan { start, length, thread, ios, bytes, latency_sum_ns, submit_sum_ns });
        }
        let (span, each) = (&mut spans[index], entry.direction as usize);
        span.ios[each] += 1;
        span.bytes[each] += u64::from(entry.length);
        span.latency_sum_ns[each] += entry.latency.0;
        span.submit_sum_ns[each] += entry.submit.0;
    }
}
