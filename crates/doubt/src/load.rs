//! Was the load that was asked for kept up?

use iostack_model::{BlockDevice, Caveat, Engine, Job, Load, Nanos, Outcome};

use crate::Evidence;

/// A thread that works for this share of the time has none left.
pub(crate) const BUSY: f64 = 0.9;

/// Depth only means something where the job always has the next I/O at hand.
fn closed_loop(outcome: &Outcome) -> bool {
    !outcome.job.is_timed()
}

pub(crate) fn failed(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let counted = outcome.failures.iter().filter(|failure| !failure.ignored);
    let commonest = counted.clone().max_by_key(|failure| failure.count)?;
    let count = counted.map(|failure| failure.count).sum();
    Some(Caveat::Failed { count, message: commonest.message.clone() })
}

pub(crate) fn interrupted(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let asked = outcome.job.runtime;
    outcome.interrupted.then_some(Caveat::Interrupted { after: outcome.elapsed, asked })
}

pub(crate) fn not_full(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let Load { in_flight, little, residual, full } = outcome.inside.as_ref()?.load?;
    (residual > Load::RESIDUAL_MOST).then_some(Caveat::LoadNotFull { in_flight, little, residual, full })
}

pub(crate) fn generator_bound(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let busy = outcome.cpu.busiest_thread;
    (busy >= BUSY && closed_loop(outcome)).then_some(Caveat::GeneratorBound { busy })
}

/// Share of the depth asked for that is enough.
pub(crate) const DEPTH_ENOUGH: f64 = 0.8;

pub(crate) fn depth_below_asked(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let job = &outcome.job;
    let asked = f64::from(job.queue_depth) * f64::from(job.threads);
    let achieved = outcome.depth_achieved;
    let enough_ios = outcome.ios() as f64 > asked * 10.0;
    if outcome.depth_found.is_some()
        || !closed_loop(outcome)
        || achieved >= asked * DEPTH_ENOUGH
        || asked <= 1.0
        || !enough_ios
    {
        return None;
    }
    let reason = if job.engine.is_synchronous() && job.queue_depth > 1 {
        format!("{} has one I/O in flight per thread", job.engine.name())
    } else if evidence.simulated {
        // What else is left in virtual time is that threads began late or ended early, which `load_not_full` says.
        waits_for_flushes(job)?
    } else {
        generator(outcome, 1.0 - achieved / asked)
            .or_else(|| waits_for_batches(job))
            .or_else(|| waits_for_flushes(job))
            .unwrap_or_else(|| "the threads waited for something other than I/O".to_owned())
    };
    Some(Caveat::DepthBelowAsked { asked, achieved, reason })
}

/// Threads that work, or want to, cannot submit: where that is enough to explain the share that is missing.
fn generator(outcome: &Outcome, missing: f64) -> Option<String> {
    let cpu = &outcome.cpu;
    let waiting = cpu.waiting_share(outcome.job.threads, outcome.elapsed);
    if cpu.busiest_thread >= BUSY {
        return Some("the generator has no CPU time left".to_owned());
    }
    if waiting >= missing / 2.0 {
        let percent = waiting * 100.0;
        return Some(format!(
            "the generator's threads were ready for {percent:.0} % of the time without having a CPU"
        ));
    }
    let percent = cpu.busiest_thread * 100.0;
    (cpu.wanted >= missing)
        .then(|| format!("places stay empty while the generator's thread works, {percent:.0} % of the time"))
}

fn waits_for_batches(job: &Job) -> Option<String> {
    let batched = job.batch.submit > 1 || job.batch.complete_min > 1;
    batched.then(|| "the queue runs low while a batch is waited for".to_owned())
}

fn waits_for_flushes(job: &Job) -> Option<String> {
    let flushes = job.sync.fsync_every > 0 || job.sync.fdatasync_every > 0;
    flushes.then(|| "each flush waits for an empty queue".to_owned())
}

/// The kernel's queue or the device's tags hold less than was asked for: the rest waited outside the device.
pub(crate) fn queue_too_small(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let asked = u64::from(outcome.job.in_flight());
    let capacity = |device: &BlockDevice| {
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

/// Share of the CPU time below which the workers did something else.
pub(crate) const PUNTED_LEAST: f64 = 0.05;

pub(crate) fn punted_ios(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let Engine::IoUring { submit_poll: false, .. } = outcome.job.engine else { return None };
    punted(evidence.workers, outcome.cpu.workers, outcome.cpu.total())
}

/// Workers of `io_uring` took a part of all CPU time.
pub fn punted(workers: u32, took: Nanos, all: Nanos) -> Option<Caveat> {
    let cpu_share = took.0 as f64 / all.0.max(1) as f64;
    (workers > 0 && cpu_share > PUNTED_LEAST).then_some(Caveat::Punted { workers, cpu_share })
}

/// Time that an I/O takes at least to be a stall.
pub(crate) const STALL_LEAST: Nanos = Nanos::millis(100);
/// Share of the run that a stall takes at least.
const STALL_SHARE: f64 = 0.01;
/// Factor of a stall over what 99 of 100 take: a device that is always slow does not stall.
const STALL_TIMES: u64 = 10;

/// The longest I/O of a closed loop, where it is much longer than the others.
pub(crate) fn stall(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let latency = outcome.latency();
    let longest = Nanos(latency.max_ns);
    let usual = latency.quantile_ns(0.99)?;
    let long = longest >= STALL_LEAST && longest.0 as f64 >= outcome.elapsed.0 as f64 * STALL_SHARE;
    let stands_out = longest.0 >= usual.saturating_mul(STALL_TIMES);
    let element = outcome.series.iter().max_by_key(|element| element.max);
    let (at, waiting) = element.map_or((Nanos(0), Nanos(0)), |element| (element.start, element.waiting));
    (closed_loop(outcome) && long && stands_out).then_some(Caveat::Stall { at, longest, waiting })
}

/// Share of the rate that is enough.
pub(crate) const RATE_ENOUGH: f64 = 0.98;

pub(crate) fn rate_missed(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    missed_rate(outcome).map(|(asked, achieved)| Caveat::RateMissed { asked, achieved })
}

/// I/Os per second asked and reached, when fewer were reached than chance explains.
pub fn missed_rate(outcome: &Outcome) -> Option<(f64, f64)> {
    let asked = outcome.job.rate?.iops * f64::from(outcome.job.threads);
    let achieved = outcome.rate();
    // Random arrivals of n I/Os stray by sqrt(n); three times that is no chance any more.
    let chance = 3.0 / (outcome.ios().max(1) as f64).sqrt();
    (achieved < asked * (RATE_ENOUGH - chance)).then_some((asked, achieved))
}
