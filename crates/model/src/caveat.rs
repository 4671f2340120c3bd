//! Reasons to doubt a figure. How each is detected, what it says and what to do about it stands in the crate `doubt`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanos};

/// One reason to doubt an outcome. Shares are 0..=1.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Caveat {
    /// Part of the region has never been written; such reads do not reach the medium.
    UnwrittenExtents {
        /// Unwritten or absent bytes of the region.
        unwritten: Bytes,
        /// Bytes of the region.
        region: Bytes,
    },
    /// The page cache answered reads.
    CachedReads {
        /// Bytes the job read.
        asked: Bytes,
        /// Bytes the device read meanwhile.
        device: Bytes,
    },
    /// Writes ended in the page cache, not on the device.
    BufferedWrites {
        /// Bytes the job wrote.
        asked: Bytes,
        /// Bytes the device wrote meanwhile.
        device: Bytes,
    },
    /// The data compresses and the storage compresses.
    CompressibleData {
        /// Name of the file system or device that compresses.
        storage: String,
    },
    /// Bytes were counted that nobody moved.
    NoData {
        /// Name of the engine.
        engine: String,
    },
    /// Fewer I/Os were in flight than asked for.
    DepthBelowAsked {
        /// Asked depth, all threads.
        asked: f64,
        /// Achieved mean depth.
        achieved: f64,
        /// Reason, as far as it is known.
        reason: String,
    },
    /// The load was not full all the time, so that rate and latency are not those of the load asked for.
    LoadNotFull {
        /// I/Os in flight while it was full.
        in_flight: f64,
        /// Rate times latency.
        little: f64,
        /// Their distance as a share of the first.
        residual: f64,
        /// Share of the measured time in which it was full.
        full: f64,
    },
    /// The generator's own thread was the limit.
    GeneratorBound {
        /// Busy share of its busiest thread.
        busy: f64,
    },
    /// `io_uring` handed the I/O to kernel workers instead of submitting it.
    Punted {
        /// Number of the workers seen.
        workers: u32,
        /// Their share of the CPU time.
        cpu_share: f64,
    },
    /// The device counted other I/O than we did.
    DeviceCountDiffers {
        /// The device's name.
        device: String,
        /// I/Os or bytes, by our count.
        ours: u64,
        /// I/Os or bytes, by the device's count.
        theirs: u64,
        /// `bytes read`, `bytes written`.
        what: String,
    },
    /// Other programs used the device.
    ForeignIo {
        /// The device's name.
        device: String,
        /// Bytes that were not ours.
        bytes: Bytes,
        /// Their share of the device's traffic.
        share: f64,
    },
    /// The hypervisor took CPU time away.
    Steal {
        /// Share of all CPU time.
        share: f64,
    },
    /// Other programs kept the CPUs busy.
    ForeignCpu {
        /// Their share of all CPU time.
        share: f64,
    },
    /// The rate changed its level at once: a cap or a token bucket.
    RateStep {
        /// Time of the step, from the start.
        at: Nanos,
        /// IOPS before the step.
        before: f64,
        /// IOPS after the step.
        after: f64,
    },
    /// The rate fell and stayed low: a write cache or free blocks ran out.
    Cliff {
        /// Time of the fall, from the start.
        at: Nanos,
        /// IOPS before the fall.
        before: f64,
        /// IOPS after the fall.
        after: f64,
    },
    /// The rate drifted over the whole run: throttling, or a state that is not yet steady.
    Slope {
        /// Change per minute as a share of the mean.
        per_minute: f64,
    },
    /// The rate was too uneven for the interval to be narrow.
    Unstable {
        /// Half of the 95 % interval over the mean.
        relative: f64,
    },
    /// The same job, repeated over a check, gave different rates.
    Drift {
        /// Lowest IOPS of the runs.
        low: f64,
        /// Highest IOPS of the runs.
        high: f64,
        /// Number of runs of the job.
        runs: u32,
    },
    /// Too few I/Os for this percentile to mean anything.
    FewSamples {
        /// The percentile, in percent.
        percentile: f64,
        /// I/Os there were.
        samples: u64,
        /// I/Os it takes.
        needed: u64,
    },
    /// The clock may change its rate.
    ClockNotInvariant {
        /// The clock source.
        source: String,
    },
    /// The answers are faster than the medium the device claims to be: a cache below us answers.
    CacheBelow {
        /// Claim of the device, as the subject of a sentence.
        claim: String,
        /// Median latency seen.
        latency: Nanos,
    },
    /// The region is small enough to sit in a cache below (controller, hypervisor).
    SmallRegion {
        /// Bytes of the region.
        region: Bytes,
        /// The memory of this machine.
        memory: Bytes,
    },
    /// Some I/Os failed.
    Failed {
        /// Number of the I/Os that failed.
        count: u64,
        /// The commonest error.
        message: String,
    },
    /// The run was cut short.
    Interrupted {
        /// Time that was measured.
        after: Nanos,
        /// Time asked for, where the job names one.
        asked: Option<Nanos>,
    },
    /// A closed loop stood still: who waits asks nothing, so that its percentiles count the wait once.
    Stall {
        /// Start of the element of the series in which it ended.
        at: Nanos,
        /// The longest I/O.
        longest: Nanos,
        /// Time that threads of the load lacked a CPU in that element.
        waiting: Nanos,
    },
    /// The generator could not keep the rate it was asked for.
    RateMissed {
        /// Asked, per second.
        asked: f64,
        /// Reached, per second.
        achieved: f64,
    },
    /// A cgroup limits the I/O of this process.
    IoLimit {
        /// The line that does.
        line: String,
    },
    /// The target has no device whose counters could confirm the count.
    NoDeviceCount {
        /// Reason why there are none.
        reason: String,
    },
    /// Looking from inside took time of its own.
    Traced {
        /// CPU time that each I/O paid for it, ns.
        ns_per_io: f64,
        /// The same as a share of the mean latency.
        share: f64,
    },
    /// Trace events or samples were lost.
    EventsLost {
        /// Number of events or samples lost.
        lost: u64,
        /// Number of events or samples that arrived.
        seen: u64,
    },
    /// The way of some I/Os was not seen from end to end.
    Unmatched {
        /// Number of I/Os not seen to the end.
        unmatched: u64,
        /// Number of all I/Os.
        ios: u64,
    },
    /// The layer rules do not know some of the kernel's functions.
    Unclassified {
        /// Share of the samples, those with a guessed layer included.
        share: f64,
    },
    /// CPU time was counted by samples or by the kernel's tick, not bracketed.
    InexactClocks {
        /// Means by which the time was counted.
        how: String,
    },
    /// A simulation answered: as good as the numbers of the device.
    Simulated {
        /// Name of the simulated device.
        device: String,
        /// Its numbers that carry a source.
        sourced: u32,
        /// Its numbers that were fitted to published figures.
        fitted: u32,
        /// Its numbers that were assumed or changed by the user.
        assumed: u32,
    },
    /// The job asks for something that the simulation leaves out.
    NotSimulated {
        /// Part that is left out, such as `the page cache`.
        what: String,
    },
    /// A line of a trace comes so long after the one before it that its time stamp is doubtful.
    TraceLeap {
        /// Number of the line, from 1.
        line: u64,
        /// Time between the two.
        after: Nanos,
    },
    /// A machine of the lab answered: its times are not hardware's.
    Lab {
        /// Name of the device.
        device: String,
        /// Release of the guest's kernel.
        kernel: String,
        /// Quantity that its clock counts.
        clock: String,
    },
    /// The state at the start was made by formula, not by writing.
    StateByFormula {
        /// The state and how it was made.
        how: String,
    },
    /// The time of a command is no line over the requests in it.
    NotLinear {
        /// The largest distance from the line, as a share of the point.
        residual: f64,
        /// Ratio of what a request more costs in large commands to what it costs in small ones.
        bend: f64,
    },
    /// The device works on several commands at once, which hides what a command costs by itself.
    CostOverlapped {
        /// Callers that wait at the same time.
        callers: u32,
        /// Their rate over that of one.
        times: f64,
    },
}
