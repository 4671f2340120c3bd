//! Fewer I/Os were in flight than asked for.

use iostack_model::{BlockDevice, Caveat, Job, Outcome};

use crate::common::{BUSY, closed_loop};
use crate::{Doubt, Evidence, Limit, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "depth_below_asked",
    how: "mean I/Os in flight, by Little's law from exact sums, below {} of the asked depth, with what took it: the engine, the generator's thread, a CPU that others had, batches, flushes; or a queue of the device that holds less",
    limit: Some(Limit::Share(ENOUGH)),
    weight: Weight::Skewed,
    changes: "The rate belongs to the lower depth.",
    remedy: "Use an asynchronous engine, more threads, or believe the lower depth.",
    says: |caveat| {
        let Caveat::DepthBelowAsked { asked, achieved, reason } = caveat else { return None };
        Some(format!("Depth {achieved:.1} was reached of {asked:.0} asked: {reason}."))
    },
    of_run: Some(of_run),
    in_simulation: true,
    ..PLAIN
};

/// Share of the depth asked for that is enough.
const ENOUGH: f64 = 0.8;

fn of_run(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let job = &outcome.job;
    let asked = f64::from(job.queue_depth) * f64::from(job.threads);
    let achieved = outcome.depth_achieved;
    let enough_ios = outcome.ios() as f64 > asked * 10.0;
    if outcome.depth_found.is_some()
        || !closed_loop(outcome)
        || achieved >= asked * ENOUGH
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
pub(crate) fn of_queue(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
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
