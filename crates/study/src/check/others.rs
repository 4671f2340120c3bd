//! Are the figures this platform's own, or did the load lack a CPU that others had? Pure.
//!
//! How busy others kept the machine says little: with one CPU of two taken, a load that needs one loses nothing. What
//! counts is how long its threads were ready without a CPU, which the kernel tells of each thread. So much more, at
//! most, could the rate have been.

use iostack_model::answers::StepKind;
use iostack_model::{Caveat, Outcome, Storage};

use super::caps;
use super::facts::{BUSY, Facts, best_way, is_read, rate, thousands};

/// Threads that lack a CPU for this share of their time lose as much of their rate at most: less is no reason to be
/// silent.
const MISSED: f64 = 0.1;

/// Others that took less are not the reason that a thread waited.
const TAKEN: f64 = 0.05;

/// Waiting for a CPU is no work: whose own work is less than this share of the time is not limited by the processors.
const OWN_WORK: f64 = 0.5;

/// Devices whose I/O is done by kernel threads, which wait for a CPU as programs do.
const BY_THREADS: [&str; 3] = ["loop", "device-mapper", "md"];

/// Share of the machine's CPU time that others and the hypervisor took.
fn taken(outcome: &Outcome) -> f64 {
    outcome.cpu.foreign + outcome.cpu.steal
}

/// Share that the hypervisor took of the CPUs this load used: at most one per thread, of `cores`.
pub(super) fn stolen(outcome: &Outcome, cores: u32) -> f64 {
    let used = outcome.job.threads.clamp(1, cores.max(1));
    (outcome.cpu.steal * f64::from(cores.max(1)) / f64::from(used)).min(1.0)
}

/// The share of a point's time that was lost because others had the CPUs; 0 where nobody else took any.
pub(super) fn missed(storage: &Storage, outcome: &Outcome, cores: u32) -> f64 {
    let stolen = stolen(outcome, cores);
    if outcome.cpu.foreign + stolen < TAKEN {
        return 0.0;
    }
    let ours = outcome.cpu.waiting_share(outcome.job.threads, outcome.elapsed);
    let by_threads = storage.devices.iter().any(|device| BY_THREADS.contains(&device.driver.as_str()));
    let kernel =
        if by_threads { outcome.cpu.waiting_kernel.0 as f64 / outcome.elapsed.0.max(1) as f64 } else { 0.0 };
    let lacked = ours.max(kernel).max(stolen);
    // Where every CPU is busy, no more can be had than others let go.
    let used = outcome.cpu.machine_busy + outcome.cpu.steal;
    let most = if used >= BUSY { taken(outcome) / used } else { 0.99 };
    lacked.min(most)
}

/// True if the point lost so much time that its figure is not the platform's own.
pub(super) fn is_spoiled(storage: &Storage, outcome: &Outcome, cores: u32) -> bool {
    missed(storage, outcome, cores) > MISSED
}

/// Every CPU is busy, with this load's own work for the most part, and the load waited for twice as much as others
/// took: without them it would wait still.
pub(super) fn crowds_itself(facts: &Facts<'_>, outcome: &Outcome) -> bool {
    let whole = outcome.elapsed.0 as f64 * f64::from(facts.cores);
    let full = outcome.cpu.machine_busy + outcome.cpu.steal >= BUSY;
    let own = outcome.cpu.machine_busy - outcome.cpu.foreign;
    full && own >= OWN_WORK && outcome.cpu.waiting.0 as f64 >= 2.0 * taken(outcome) * whole
}

/// A thread alone that never sleeps waits for no device: its I/O is work of the processor, whoever else is there. One
/// that spends its time waiting for a CPU shows nothing of what its I/O would have waited for.
pub(super) fn by_processor_alone(facts: &Facts<'_>) -> Option<String> {
    let alone = facts.reads_of(StepKind::Latency).next()?;
    let cpu = &alone.outcome.cpu;
    if cpu.wanted < BUSY || cpu.busiest_thread < OWN_WORK {
        return None;
    }
    let (rate, busy) = (thousands(rate(alone)), cpu.busiest_thread * 100.0);
    let waiting = (cpu.wanted - cpu.busiest_thread).max(0.0) * 100.0;
    let what = if facts.cores > 1 { "The processors" } else { "The one core that may be used" };
    Some(format!(
        "{what}: a read is work of the CPU from start to end. At {rate} IOPS its thread worked {busy:.0} % of the time and \
         lacked a CPU {waiting:.0} %."
    ))
}

/// The same where there are several.
pub(super) fn by_processors_alone(facts: &Facts<'_>) -> Option<String> {
    by_processor_alone(facts).filter(|_| facts.cores > 1)
}

/// Finding that the reads lacked a CPU which others had, with how much that matters.
pub(super) fn by_others(facts: &Facts<'_>) -> Option<String> {
    let alone = facts.best(StepKind::Depth, is_read);
    let points = [alone, best_way(facts)].into_iter().flatten();
    let (lost, point) = points
        .filter(|point| !crowds_itself(facts, &point.outcome))
        .map(|point| (missed(facts.storage, &point.outcome, facts.cores), point))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    (lost > MISSED).then(|| {
        let rate = rate(point);
        let cap = caps::stated(facts).filter(|(_, cap)| rate <= *cap);
        let cap = cap.map_or(String::new(), |(limit, _)| format!(" On a quiet one there is a cap: {limit}."));
        format!(
            "Unknown: others took {:.0} % of the CPU time, and this load lacked a CPU for {:.0} % of its time; {} IOPS \
             were reached, without that at most {}. Repeat on a quiet machine.{cap}",
            taken(&point.outcome) * 100.0,
            lost * 100.0,
            thousands(rate),
            thousands(caps::allowed(facts, rate, rate / (1.0 - lost)))
        )
    })
}

/// Above this share of a device's traffic, others are the reason for its rate.
const TRAFFIC: f64 = 0.2;

/// Others moved data on the device while the reads were measured that the verdict rests on.
pub(super) fn by_traffic(facts: &Facts<'_>) -> Option<String> {
    let alone = facts.reads_of(StepKind::Depth).next();
    let points = [alone, facts.best(StepKind::Depth, is_read)].into_iter().flatten();
    let (device, share) = traffic(points.map(|point| &point.outcome))?;
    let percent = share * 100.0;
    is_theirs(share).then(|| {
        format!("Unknown: others had {percent:.0} % of the traffic of {device}; repeat when it is quiet.")
    })
}

/// The device of which others had most, and their share of what it moved.
pub(super) fn traffic<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Option<(&'a str, f64)> {
    let shares = outcomes.flat_map(|outcome| &outcome.caveats).filter_map(|caveat| match caveat {
        Caveat::ForeignIo { device, share, .. } => Some((device.as_str(), *share)),
        _ => None,
    });
    shares.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// True if others with this share of the traffic may be the reason for the device's rate.
pub(super) fn is_theirs(share: f64) -> bool {
    share > TRAFFIC
}

/// More reads in flight never make a device this much slower, as a share of what fewer reached.
const JUMP: f64 = 0.5;

/// The rate jumps from point to point, so that no shape of the curve means anything.
pub(super) fn by_jumps(facts: &Facts<'_>) -> Option<String> {
    let mut most = 0.0;
    for point in facts.reads_of(StepKind::Depth) {
        if rate(point) < most * JUMP {
            let (label, fallen, most) = (&point.label, thousands(rate(point)), thousands(most));
            return Some(format!(
                "Unknown: {fallen} IOPS at depth {label}, where fewer in flight had reached {most}: something else held them up."
            ));
        }
        most = rate(point).max(most);
    }
    None
}

/// Sentence that a busy machine did not matter, if it did not.
pub(super) fn evidence(facts: &Facts<'_>) -> Option<String> {
    let point = facts.best(StepKind::Depth, is_read)?;
    let (taken, lost) = (taken(&point.outcome), missed(facts.storage, &point.outcome, facts.cores));
    (taken >= TAKEN && lost <= MISSED).then(|| {
        format!(
            "Others took {:.0} % of the CPU time; this load lacked a CPU for {:.1} % of its own, too little to matter.",
            taken * 100.0,
            lost * 100.0
        )
    })
}
