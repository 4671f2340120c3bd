//! Why might the outcome mislead? Pure: evidence in, caveats out.
//!
//! Each caveat is its own function, which looks at the outcome and at what was gathered beside it ([`Evidence`]).

use iostack_host::clock::Clock;
use iostack_model::{Access, Bytes, Caveat, Data, DeviceCount, Engine, Nanos, Outcome};

use crate::stage::Group;
use crate::worker::WorkerReport;

/// What was gathered beside the outcome itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    /// No other group of the run used the device.
    pub(crate) alone: bool,
    /// Part of the region never written before, and the region.
    pub(crate) unwritten: Option<(Bytes, Bytes)>,
    /// `io_uring` workers and pollers.
    pub(crate) workers: u32,
    /// The control group's limit.
    pub(crate) io_limit: Option<String>,
    /// The clock is the time-stamp counter, or else which.
    pub(crate) clock_other: Option<String>,
    /// The region may fit a cache below.
    pub(crate) small_region: Option<Caveat>,
    /// I/Os that may have been counted on one side of a border only.
    pub(crate) border_ios: u64,
}

impl Evidence {
    /// Gathers it, after the run.
    pub(crate) fn of(
        group: &Group<'_>,
        reports: &[WorkerReport],
        outcome: &Outcome,
        alone: bool,
    ) -> Evidence {
        let machine = iostack_host::machine();
        let asked: Vec<_> =
            reports.iter().filter_map(|report| Some((report.unwritten?, report.region))).collect();
        let sum = |sum: (Bytes, Bytes), part: &(Bytes, Bytes)| (sum.0 + part.0, sum.1 + part.1);
        let largest = reports.iter().map(|report| report.region).max().unwrap_or_default();
        let region =
            if outcome.job.offset_increment.0 > 0 { largest * reports.len() as u64 } else { largest };
        let ramped = outcome.job.ramp.0 > 0 || outcome.job.start_delay.0 > 0;
        Evidence {
            alone,
            unwritten: (!asked.is_empty()).then(|| asked.iter().fold((Bytes(0), Bytes(0)), sum)),
            workers: group.workers.count,
            io_limit: iostack_host::cgroup_io_limit(&outcome.storage),
            small_region: Caveat::small_region(region, &machine, &outcome.storage),
            clock_other: (!Clock::calibrated().is_tsc()).then_some(machine.kernel.clock_source),
            border_ios: if ramped { u64::from(outcome.job.depth() * outcome.job.threads) } else { 0 },
        }
    }
}

type Doubt = fn(&Outcome, &Evidence) -> Option<Caveat>;

/// A thread that works for this share of the time has none left.
const BUSY: f64 = 0.9;

/// In the order of weight: what makes a figure wrong comes before what makes it uncertain.
const DOUBTS: &[Doubt] = &[
    failed,
    interrupted,
    unwritten,
    cached_reads,
    buffered_writes,
    compressible,
    foreign_io,
    device_count,
    no_device_count,
    cache_below,
    small_region,
    depth_below_asked,
    queue_too_small,
    generator_bound,
    punted,
    stall,
    rate_missed,
    io_limit,
    steal,
    foreign_cpu,
    clock,
];

/// All reasons to doubt the outcome, those of its series included.
pub(crate) fn of(outcome: &Outcome, evidence: &Evidence) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = DOUBTS.iter().filter_map(|doubt| doubt(outcome, evidence)).collect();
    caveats.extend(iostack_stats::doubts_of_series(outcome));
    caveats
}

fn failed(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let commonest = outcome.failures.iter().max_by_key(|failure| failure.count)?;
    let count = outcome.failures.iter().map(|failure| failure.count).sum();
    Some(Caveat::Failed { count, message: commonest.message.clone() })
}

fn interrupted(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let asked = outcome.job.runtime;
    outcome.interrupted.then_some(Caveat::Interrupted { after: outcome.elapsed, asked })
}

fn unwritten(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let (unwritten, region) = evidence.unwritten?;
    let reads = outcome.read.latency.count > 0;
    (reads && unwritten.0 > 0).then_some(Caveat::UnwrittenExtents { unwritten, region })
}

/// The device's count, where it counts and where all it counts is ours to explain.
fn counted(outcome: &Outcome) -> Option<&DeviceCount> {
    outcome.device.as_ref().filter(|_| counts(outcome))
}

/// Accounting is on, or the driver counts anyway, as zram's does.
fn counts(outcome: &Outcome) -> bool {
    let moved = outcome.device.as_ref().is_some_and(|count| count.ios.iter().any(|&ios| ios > 0));
    moved || outcome.storage.top().is_some_and(|device| device.queue.counts_io)
}

fn cached_reads(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let device = Bytes(counted(outcome).filter(|_| evidence.alone)?.bytes[0]);
    let asked = outcome.read.bytes;
    let buffered = !outcome.job.direct || outcome.job.engine == Engine::Mmap;
    let cached = buffered && (device.0 as f64) < asked.0 as f64 * 0.9;
    cached.then_some(Caveat::CachedReads { asked, device })
}

fn buffered_writes(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let device = Bytes(counted(outcome).filter(|_| evidence.alone)?.bytes[1]);
    let asked = outcome.write.bytes;
    let buffered = !outcome.job.direct || outcome.job.engine == Engine::Mmap;
    let cached = buffered && (device.0 as f64) < asked.0 as f64 * 0.9;
    cached.then_some(Caveat::BufferedWrites { asked, device })
}

fn compressible(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let file_system =
        outcome.storage.file_system.as_ref().filter(|fs| fs.compresses).map(|fs| fs.kind.clone());
    let device =
        || outcome.storage.devices.iter().find(|device| device.compresses).map(|device| device.name.clone());
    let storage = file_system.or_else(device)?;
    let writes = outcome.write.latency.count > 0;
    (writes && outcome.job.data != Data::Random).then_some(Caveat::CompressibleData { storage })
}

/// Bytes of ours the device should have counted, by direction, and how far the borders may blur them.
fn ours(outcome: &Outcome, evidence: &Evidence) -> ([u64; 2], u64) {
    let blur = evidence.border_ios * outcome.job.block_sizes.largest().0;
    ([outcome.read.bytes.0, outcome.write.bytes.0], blur)
}

fn foreign_bytes(outcome: &Outcome, evidence: &Evidence) -> Option<(u64, u64)> {
    let device = counted(outcome).filter(|_| evidence.alone && outcome.job.direct)?;
    let (ours, blur) = ours(outcome, evidence);
    // A flush or a growing file writes metadata, a small share of it.
    let over = |direction: usize| device.bytes[direction].saturating_sub(ours[direction] + blur);
    let all = device.bytes[0] + device.bytes[1];
    Some((over(0) + over(1), all))
}

fn foreign_io(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let (bytes, all) = foreign_bytes(outcome, evidence)?;
    let share = bytes as f64 / all.max(1) as f64;
    let device = outcome.device.as_ref()?.name.clone();
    (share > 0.05 && bytes >= 64 << 10).then_some(Caveat::ForeignIo { device, bytes: Bytes(bytes), share })
}

fn device_count(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let device = counted(outcome).filter(|_| evidence.alone && outcome.job.direct)?;
    if outcome.job.engine == Engine::Mmap || foreign_io(outcome, evidence).is_some() {
        return None;
    }
    let (ours, blur) = ours(outcome, evidence);
    // Blocks that were moved and then failed to verify, or were read back, are in the device's count only.
    let differs = |direction: usize| {
        let difference = ours[direction].abs_diff(device.bytes[direction]);
        let allowed = (ours[direction] as f64 * 0.02) as u64 + blur + (64 << 10);
        ours[direction] > 0 && difference > allowed
    };
    let direction = (0..2).find(|&direction| differs(direction))?;
    Some(Caveat::DeviceCountDiffers {
        device: device.name.clone(),
        ours: ours[direction],
        theirs: device.bytes[direction],
        what: ["bytes read", "bytes written"][direction].to_owned(),
    })
}

fn no_device_count(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let reason = match outcome.storage.top() {
        None => "no block device is behind the target".to_owned(),
        Some(device) if !counts(outcome) => {
            format!("I/O accounting of {0} is off (/sys/block/{0}/queue/iostats)", device.name)
        }
        Some(device) if outcome.device.is_none() => format!("{} has no counters", device.name),
        Some(_) => return None,
    };
    Some(Caveat::NoDeviceCount { reason })
}

fn cache_below(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let disk = outcome.storage.bottom().filter(|device| device.rotational)?;
    let random = matches!(outcome.job.access, Access::Random { .. });
    // A seek and half a turn take milliseconds; no disk with moving heads answers half of random reads in one.
    let latency = Nanos(outcome.read.latency.quantile_ns(0.5)?);
    let claim = format!("A rotating disk, as {} claims to be,", disk.name);
    let fast = latency < Nanos::millis(1);
    (random && outcome.job.direct && outcome.job.engine != Engine::Mmap && fast)
        .then_some(Caveat::CacheBelow { claim, latency })
}

fn small_region(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let reads = outcome.read.latency.count > 0;
    evidence.small_region.clone().filter(|_| reads)
}

/// Depth only means something where the job always has the next I/O at hand.
fn closed_loop(outcome: &Outcome) -> bool {
    outcome.job.rate.is_none() && outcome.job.think.is_none()
}

fn depth_below_asked(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let job = &outcome.job;
    let asked = f64::from(job.queue_depth) * f64::from(job.threads);
    let achieved = outcome.depth_achieved;
    let enough_ios = outcome.ios() as f64 > asked * 10.0;
    if !closed_loop(outcome) || achieved >= asked * 0.8 || asked <= 1.0 || !enough_ios {
        return None;
    }
    let cpu = &outcome.cpu;
    let missing = 1.0 - achieved / asked;
    let waiting = cpu.waiting_share(job.threads, outcome.elapsed);
    let reason = if job.engine.is_synchronous() && job.queue_depth > 1 {
        format!("{} has one I/O in flight per thread", job.engine.name())
    } else if cpu.busiest_thread >= BUSY {
        "the generator has no CPU time left".to_owned()
    } else if waiting >= missing / 2.0 {
        format!(
            "the generator's threads were ready for {:.0} % of the time without having a CPU",
            waiting * 100.0
        )
    } else if cpu.wanted >= missing {
        format!(
            "places stay empty while the generator's thread works, {:.0} % of the time",
            cpu.busiest_thread * 100.0
        )
    } else if job.batch.submit > 1 || job.batch.complete_min > 1 {
        "the queue runs low while a batch is waited for".to_owned()
    } else if job.sync.fsync_every > 0 || job.sync.fdatasync_every > 0 {
        "each flush waits for an empty queue".to_owned()
    } else {
        "the threads waited for something other than I/O".to_owned()
    };
    Some(Caveat::DepthBelowAsked { asked, achieved, reason })
}

/// The kernel's queue or the device's tags hold less than was asked for: the rest waited outside the device.
fn queue_too_small(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let asked = u64::from(outcome.job.depth()) * u64::from(outcome.job.threads);
    let capacity = |device: &iostack_model::BlockDevice| {
        let each = u64::from(device.queue.tags.unwrap_or(device.queue.requests).min(device.queue.requests));
        let all = each * u64::from(device.queue.hardware_queues.max(1));
        (all > 0).then(|| (all, device.name.clone()))
    };
    let (capacity, name) = outcome.storage.devices.iter().filter_map(capacity).min()?;
    (closed_loop(outcome) && asked > capacity && outcome.job.direct).then(|| Caveat::DepthBelowAsked {
        asked: asked as f64,
        achieved: capacity as f64,
        reason: format!("the queue of {name} holds no more (nr_requests and tags)"),
    })
}

fn generator_bound(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let busy = outcome.cpu.busiest_thread;
    (busy >= BUSY && closed_loop(outcome)).then_some(Caveat::GeneratorBound { busy })
}

fn punted(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let Engine::IoUring { submit_poll: false, .. } = outcome.job.engine else { return None };
    let cpu_share = outcome.cpu.workers.0 as f64 / outcome.cpu.total().0.max(1) as f64;
    let punted = evidence.workers > 0 && cpu_share > 0.05;
    punted.then_some(Caveat::Punted { workers: evidence.workers, cpu_share })
}

/// A stall is an I/O that takes this long at least,
const STALL_LEAST: Nanos = Nanos::millis(100);
/// and this share of the run,
const STALL_SHARE: f64 = 0.01;
/// and so many times what 99 of 100 take: a device that is always slow does not stall.
const STALL_TIMES: u64 = 10;

/// The longest I/O of a closed loop, where it is much longer than the others.
fn stall(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let latency = outcome.latency();
    let longest = Nanos(latency.max_ns);
    let usual = latency.quantile_ns(0.99)?;
    let long = longest >= STALL_LEAST && longest.0 as f64 >= outcome.elapsed.0 as f64 * STALL_SHARE;
    let stands_out = longest.0 >= usual.saturating_mul(STALL_TIMES);
    let element = outcome.series.iter().max_by_key(|element| element.max);
    let (at, waiting) = element.map_or((Nanos(0), Nanos(0)), |element| (element.start, element.waiting));
    (closed_loop(outcome) && long && stands_out).then_some(Caveat::Stall { at, longest, waiting })
}

fn rate_missed(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let asked = outcome.job.rate?.iops * f64::from(outcome.job.threads);
    let achieved = outcome.rate();
    // Random arrivals of n I/Os stray by sqrt(n); three times that is no chance any more.
    let chance = 3.0 / (outcome.ios().max(1) as f64).sqrt();
    (achieved < asked * (0.98 - chance)).then_some(Caveat::RateMissed { asked, achieved })
}

fn io_limit(_: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    Some(Caveat::IoLimit { line: evidence.io_limit.clone()? })
}

fn steal(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    (outcome.cpu.steal > 0.01).then_some(Caveat::Steal { share: outcome.cpu.steal })
}

fn foreign_cpu(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    (outcome.cpu.foreign > 0.10).then_some(Caveat::ForeignCpu { share: outcome.cpu.foreign })
}

fn clock(_: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    Some(Caveat::ClockNotInvariant { source: evidence.clock_other.clone()? })
}

#[cfg(test)]
#[path = "doubts_tests.rs"]
mod tests;
