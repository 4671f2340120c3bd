//! Reasons to doubt a figure. Each is detected, never assumed, and says what to do about it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanos};

/// One reason to doubt an outcome. Shares are 0..=1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Caveat {
    /// Part of the region has never been written; such reads do not reach the medium.
    UnwrittenExtents {
        /// Unwritten or absent bytes of the region.
        unwritten: Bytes,
        /// The region.
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
        /// What compresses: a file system's or device's name.
        storage: String,
    },
    /// Fewer I/Os were in flight than asked for.
    DepthBelowAsked {
        /// Asked depth, all threads.
        asked: f64,
        /// Achieved mean depth.
        achieved: f64,
        /// Why, as far as it is known.
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
        /// Workers seen.
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
        /// By the device's.
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
        /// When, from the start.
        at: Nanos,
        /// IOPS before.
        before: f64,
        /// IOPS after.
        after: f64,
    },
    /// The rate fell and stayed low: a write cache or free blocks ran out.
    Cliff {
        /// When, from the start.
        at: Nanos,
        /// IOPS before.
        before: f64,
        /// IOPS after.
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
        /// Lowest IOPS.
        low: f64,
        /// Highest IOPS.
        high: f64,
        /// How often it was run.
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
        /// What the device claims to be.
        claim: String,
        /// Median latency seen.
        latency: Nanos,
    },
    /// The region is small enough to sit in a cache below (controller, hypervisor).
    SmallRegion {
        /// The region.
        region: Bytes,
        /// The memory of this machine.
        memory: Bytes,
    },
    /// Some I/Os failed.
    Failed {
        /// How many.
        count: u64,
        /// The commonest error.
        message: String,
    },
    /// The run was cut short.
    Interrupted {
        /// Time measured.
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
        /// Why.
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
        /// How many.
        lost: u64,
        /// How many arrived.
        seen: u64,
    },
    /// The way of some I/Os was not seen from end to end.
    Unmatched {
        /// Those.
        unmatched: u64,
        /// All.
        ios: u64,
    },
    /// The layer rules do not know some of the kernel's functions.
    Unclassified {
        /// Share of the samples, those with a guessed layer included.
        share: f64,
    },
    /// CPU time was counted by samples or by the kernel's tick, not bracketed.
    InexactClocks {
        /// How it was had.
        how: String,
    },
    /// A simulation answered: as good as the numbers of the device.
    Simulated {
        /// The device.
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
        /// What, such as `the page cache`.
        what: String,
    },
    /// A line of a trace comes so long after the one before it that its time stamp is doubtful.
    TraceLeap {
        /// From 1.
        line: u64,
        /// Time between the two.
        after: Nanos,
    },
    /// A machine of the lab answered: its times are not hardware's.
    Lab {
        /// The device.
        device: String,
        /// Release of the guest's kernel.
        kernel: String,
        /// What its clock counts.
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
        /// What a request more costs in large commands over small ones.
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

/// `12 %`, `0.4 %`.
fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() >= 10.0 { format!("{value:.0} %") } else { format!("{value:.1} %") }
}

/// The doubt, then what to do, in whole sentences.
impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.doubt())?;
        f.write_str(" ")?;
        f.write_str(&self.remedy())
    }
}

impl Caveat {
    /// The doubt as one sentence with its evidence.
    pub fn doubt(&self) -> String {
        let doubts = [Caveat::doubt_of_data, Caveat::doubt_of_load, Caveat::doubt_of_looking];
        doubts.iter().find_map(|doubt| doubt(self)).unwrap_or_else(|| self.doubt_of_time())
    }

    fn doubt_of_data(&self) -> Option<String> {
        Some(match self {
            Caveat::UnwrittenExtents { unwritten, region } => {
                format!("{unwritten} of {region} were never written: the medium is not read there.")
            }
            Caveat::CachedReads { asked, device } => {
                format!("The page cache answered: {asked} were read, the device delivered {device}.")
            }
            Caveat::BufferedWrites { asked, device } => {
                format!("The page cache took the writes: {asked} were written, {device} reached the device.")
            }
            Caveat::CompressibleData { storage } => format!("The data compresses and so does {storage}."),
            Caveat::DeviceCountDiffers { device, ours, theirs, what } => {
                format!("We count {ours} {what}, {device} counts {theirs}.")
            }
            Caveat::ForeignIo { device, bytes, share } => {
                format!(
                    "Other programs moved {bytes} on {device} meanwhile, {} of its traffic.",
                    percent(*share)
                )
            }
            Caveat::CacheBelow { claim, latency } => {
                format!("{claim} cannot answer in {latency}: a cache below (hypervisor, controller) does.")
            }
            Caveat::SmallRegion { region, memory } => {
                format!("The region of {region} may fit a cache below; this machine has {memory} of memory.")
            }
            Caveat::Failed { count, message } => format!("{count} I/Os failed ({message})."),
            Caveat::NoDeviceCount { reason } => format!("No device counters confirm this count: {reason}."),
            _ => return None,
        })
    }

    fn doubt_of_load(&self) -> Option<String> {
        Some(match self {
            Caveat::DepthBelowAsked { asked, achieved, reason } => {
                format!("Depth {achieved:.1} was reached of {asked:.0} asked: {reason}.")
            }
            Caveat::LoadNotFull { in_flight, little, residual, full } => format!(
                "The load was full for {} of the time only: {in_flight:.1} I/Os were in flight then, rate times latency is \
                 {little:.1} ({} off).",
                percent(*full),
                percent(*residual)
            ),
            Caveat::GeneratorBound { busy } => {
                format!(
                    "The generator's thread was {} busy: it may be the limit, not the device.",
                    percent(*busy)
                )
            }
            Caveat::Punted { workers, cpu_share } => format!(
                "io_uring handed I/O to {workers} kernel worker{} ({} of the CPU time).",
                if *workers == 1 { "" } else { "s" },
                percent(*cpu_share)
            ),
            Caveat::RateMissed { asked, achieved } => {
                format!("{asked:.0} I/Os per second were asked for, {achieved:.0} reached.")
            }
            Caveat::IoLimit { line } => format!("A cgroup limits this process: {line}."),
            Caveat::Interrupted { after, asked: Some(asked) } => {
                format!("Interrupted after {after} of {asked}.")
            }
            Caveat::Interrupted { after, asked: None } => format!("Interrupted after {after}."),
            Caveat::Stall { at, longest, waiting } => {
                let cpu = if waiting.0 * 2 >= longest.0 {
                    format!("; its thread lacked a CPU for {waiting}")
                } else {
                    String::new()
                };
                format!(
                    "An I/O took {longest} in the element at {at}, and a closed loop asked nothing meanwhile{cpu}."
                )
            }
            Caveat::ForeignCpu { share } => {
                format!("Other programs took {} of the machine's CPU time.", percent(*share))
            }
            Caveat::Steal { share } => format!("The hypervisor took {} of the CPU time.", percent(*share)),
            _ => return None,
        })
    }

    fn doubt_of_looking(&self) -> Option<String> {
        Some(match self {
            Caveat::Traced { ns_per_io, share } => format!(
                "Looking from inside cost {:.2} us of CPU per I/O, {} of the latency.",
                ns_per_io / 1e3,
                percent(*share)
            ),
            Caveat::EventsLost { lost, seen } => {
                format!("{lost} trace events or samples were lost, {seen} arrived.")
            }
            Caveat::Unmatched { unmatched, ios } => {
                format!("{unmatched} of {ios} I/Os were not seen from end to end.")
            }
            Caveat::Unclassified { share } => {
                format!("The layer rules do not know {} of the kernel's samples for sure.", percent(*share))
            }
            Caveat::InexactClocks { how } => format!("CPU time was not bracketed: {how}."),
            Caveat::Simulated { device, sourced, fitted, assumed } => format!(
                "Simulated: {device} rests on {sourced} numbers with a source, {fitted} fitted, {assumed} assumed."
            ),
            Caveat::NotSimulated { what } => format!("Not simulated: {what}."),
            Caveat::TraceLeap { line, after } => {
                format!(
                    "Line {line} of the trace comes {:.1} days after the one before it.",
                    after.as_secs_f64() / 86_400.0
                )
            }
            Caveat::Lab { device, kernel, clock } => {
                format!("Lab: {device} under Linux {kernel} in an emulated machine: {clock}.")
            }
            Caveat::StateByFormula { how } => format!("The state at the start was not written: {how}."),
            Caveat::NotLinear { residual, bend } => format!(
                "c + b x does not hold: a point lies {} off the line, and a request more costs {bend:.1} times as much in \
                 large commands as in small ones.",
                percent(*residual)
            ),
            Caveat::CostOverlapped { callers, times } => format!(
                "The device works on several commands at once: {callers} callers have {times:.1} times the rate of one \
                 without any merging."
            ),
            _ => return None,
        })
    }

    fn doubt_of_time(&self) -> String {
        match self {
            Caveat::RateStep { at, before, after } => {
                format!("The rate stepped from {before:.0} to {after:.0} IOPS at {at}.")
            }
            Caveat::Cliff { at, before, after } => {
                format!("The rate fell from {before:.0} to {after:.0} IOPS at {at} and stayed there.")
            }
            Caveat::Slope { per_minute } => format!("The rate drifted by {} a minute.", percent(*per_minute)),
            Caveat::Unstable { relative } => {
                format!("The rate was uneven: the 95 % interval is +-{}.", percent(*relative))
            }
            Caveat::Drift { low, high, runs } => {
                format!("The same job gave {low:.0} to {high:.0} IOPS in {runs} runs of this check.")
            }
            Caveat::FewSamples { percentile, samples, needed } => {
                format!("p{percentile} rests on {samples} I/Os; it takes {needed}.")
            }
            Caveat::ClockNotInvariant { source } => format!("The clock ({source}) may change its rate."),
            other => unreachable!("{other:?} is a doubt of data or load"),
        }
    }

    /// What to do about it, as one sentence.
    pub fn remedy(&self) -> String {
        self.remedy_of_looking().unwrap_or_else(|| self.remedy_of_measuring()).to_owned()
    }

    fn remedy_of_looking(&self) -> Option<&'static str> {
        Some(match self {
            Caveat::Traced { .. } => "Measure speed without --stages and --layers.",
            Caveat::EventsLost { .. } => {
                "Look at fewer devices, sample less often, or repeat at a lower load."
            }
            Caveat::Unmatched { .. } => "Believe the stages only as far as the rest is alike.",
            Caveat::Unclassified { .. } => "Look at the functions; add rules for this kernel.",
            Caveat::InexactClocks { .. } => "`iostack doctor` says what makes it exact.",
            Caveat::Simulated { .. } => {
                "`iostack sim show DEVICE` lists them; measure a real one where you can."
            }
            Caveat::NotSimulated { .. } => "Expect a real system to differ by what it does.",
            Caveat::TraceLeap { .. } => {
                "Mend its time stamp if it is wrong, or replay with --replay-speed max, which reads none."
            }
            Caveat::Lab { .. } => {
                "Compare it with other runs of the lab only; `iostack lab cost` counts instructions exactly."
            }
            Caveat::NotLinear { .. } => "Believe the points, not the line.",
            Caveat::CostOverlapped { .. } => {
                "There c is hidden already: expect less CPU time from merging, not more of the device."
            }
            Caveat::StateByFormula { .. } => "Use a smaller device, or write it with a job first, to check.",
            _ => return None,
        })
    }

    fn remedy_of_measuring(&self) -> &'static str {
        match self {
            Caveat::UnwrittenExtents { .. } => "Write the region once before reading it.",
            Caveat::CachedReads { .. } => "Use direct I/O, or a region larger than memory.",
            Caveat::BufferedWrites { .. } => "Use direct I/O, or count fsync into the time.",
            Caveat::CompressibleData { .. } => "Use random data (the default).",
            Caveat::DepthBelowAsked { .. } => {
                "Use an asynchronous engine, more threads, or believe the lower depth."
            }
            Caveat::LoadNotFull { .. } => {
                "For rates of a steady load use --ramp and --runtime instead of a count, and run longer."
            }
            Caveat::GeneratorBound { .. } => "Use more threads, or a cheaper engine (io_uring with batches).",
            Caveat::Punted { .. } => "Use psync or libaio on this device; they cost less here.",
            Caveat::DeviceCountDiffers { .. } => {
                "Look for merging, splitting, caching, or another user of the device."
            }
            Caveat::ForeignIo { .. } => "Stop them, or repeat when the device is quiet.",
            Caveat::Steal { .. } => "Repeat when the host is quieter; compare within one run only.",
            Caveat::ForeignCpu { .. } => "Stop them, or repeat when the machine is quiet.",
            Caveat::RateStep { .. } => {
                "Suspect a token bucket or a cap; run longer and trust the level after it."
            }
            Caveat::Cliff { .. } => {
                "Trust the level after the fall; size caches and over-provisioning for it."
            }
            Caveat::Slope { .. } => "Run longer, until the rate is level; watch temperature and clock rates.",
            Caveat::Unstable { .. } => "Run longer, or on a quieter machine.",
            Caveat::Drift { .. } => {
                "Compare neighbouring runs only; repeat when machine and storage are quiet."
            }
            Caveat::FewSamples { .. } => "Run longer.",
            Caveat::ClockNotInvariant { .. } => "Compare ratios only, or switch the clock source to tsc.",
            Caveat::CacheBelow { .. } => "Use a region larger than the host's memory to see the medium.",
            Caveat::SmallRegion { .. } => "Use a larger region (--size) to be sure of the medium.",
            Caveat::Failed { .. } => "Look at the kernel log; figures count only I/Os that succeeded.",
            Caveat::Interrupted { .. } => "The figures are of the time until then.",
            Caveat::Stall { .. } => {
                "Ask with a rate (--rate) to see how many a stall hits, or look for its cause."
            }
            Caveat::RateMissed { .. } => "Lower the rate, raise the depth, or take it as the limit.",
            Caveat::IoLimit { .. } => "The figures are the limit's, not the device's.",
            Caveat::NoDeviceCount { .. } => "Only the application's view is known.",
            other => unreachable!("{other:?} is a doubt of looking or of a model"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_caveat_says_its_evidence_and_a_remedy() {
        let all = [
            Caveat::UnwrittenExtents { unwritten: Bytes::mib(1), region: Bytes::mib(4) },
            Caveat::Steal { share: 0.123 },
            Caveat::RateStep { at: Nanos::secs(3), before: 9000.0, after: 3000.0 },
            Caveat::Interrupted { after: Nanos::secs(1), asked: None },
            Caveat::ForeignCpu { share: 0.5 },
            Caveat::Traced { ns_per_io: 700.0, share: 0.02 },
            Caveat::EventsLost { lost: 1, seen: 2 },
        ];
        for caveat in all {
            let text = caveat.to_string();
            assert!(text.ends_with('.') && text.len() > caveat.doubt().len() + 1, "{text}");
        }
        assert_eq!(Caveat::Steal { share: 0.123 }.doubt(), "The hypervisor took 12 % of the CPU time.");
    }
}
