//! What limits this platform? Pure: from the steps to one sentence, its evidence and what to do.
//!
//! The question is always small random reads, the load an SSD is bought for. What is certain is asked first: a limit that
//! a file states and the figures keep to, then what one measurement against another shows, then what shares and shapes
//! make likely. Before the likely comes whether the figures are this platform's own at all ([`others`]).

use iostack_model::answers::{Limit, Point, Series, StepKind, Verdict};
use iostack_model::{Nanos, Outcome, Queue};

use super::facts::{
    BEYOND, BUSY, Facts, Finding, WORTH_PERCENT, best_way, busiest, clear_gain, in_words, is_read, most,
    rate, thousands,
};
use super::{advice, caps, inside, others, scatter};

/// Little's law from means is good to about this.
const ALL_TAGS: f64 = 0.7;

/// Queue places in use, as a multiple of those there are, that such a measure may still show.
const MORE_THAN_ALL: f64 = 1.5;

/// A rate this many times another is no chance.
const CLEARLY: f64 = 1.1;

/// One way to be limited, in words; `None` when it does not apply.
type VerdictRule = fn(&Facts<'_>) -> Option<String>;

/// Limits and their rules, in the order of certainty.
const RULES: [(Limit, VerdictRule); 19] = [
    (Limit::Cap, caps::by_stated_cap),
    (Limit::Cap, caps::by_common_rate),
    (Limit::Cap, caps::by_plateau),
    (Limit::Cap, caps::by_change),
    (Limit::Scheduler, by_scheduler),
    (Limit::AllCores, others::by_processors_alone),
    (Limit::OneCore, others::by_processor_alone),
    (Limit::Unknown, others::by_others),
    (Limit::Unknown, others::by_traffic),
    (Limit::Unknown, others::by_jumps),
    (Limit::AllCores, by_all_cores),
    (Limit::OneCore, by_one_core),
    (Limit::Unknown, caps::by_near_rates),
    (Limit::Engine, by_engine),
    (Limit::OneQueue, by_queue),
    (Limit::Scheduler, inside::by_scheduling),
    (Limit::OneQueue, inside::by_waiting),
    (Limit::Unknown, by_doubtful_rise),
    (Limit::Generator, by_rise),
];

/// Rules that speak of a change, or of what a file says: that runs differ is no doubt of them.
const OF_CHANGE: [VerdictRule; 2] = [caps::by_stated_cap, caps::by_change];

/// The verdict with evidence and advice.
pub(crate) fn decide(facts: &Facts<'_>) -> Verdict {
    let (limit, answer) = judge(facts);
    let of_change = OF_CHANGE.iter().any(|rule| rule(facts).as_ref() == Some(&answer));
    let found = (limit, answer);
    let (limit, answer) = if of_change { found } else { scatter::firm(facts, found, |facts| judge(facts).0) };
    Verdict { limit, answer, evidence: evidence(facts), advice: advice::advise(facts) }
}

fn judge(facts: &Facts<'_>) -> Finding {
    let found = RULES.iter().find_map(|(limit, rule)| Some((*limit, rule(facts)?)));
    found.unwrap_or_else(|| by_device(facts))
}

/// Another scheduler does clearly more, and the one in use did the same before and after it.
fn by_scheduler(facts: &Facts<'_>) -> Option<String> {
    let reads: Vec<&Point> = facts.reads_of(StepKind::Schedulers).collect();
    let (first, again) = (reads.first()?, reads.last()?);
    let best = most(reads.iter().copied())?;
    let current = &facts.storage.scheduled()?.queue.scheduler;
    let worse =
        |point: &Point| rate(point) * CLEARLY < rate(best) && point.outcome.iops.high < best.outcome.iops.low;
    (reads.len() > 2 && first.label == *current && worse(first) && worse(again)).then(|| {
        let (own, other) = (thousands(rate(first).max(rate(again))), thousands(rate(best)));
        let label = &best.label;
        format!("The I/O scheduler: with {current} {own} IOPS at depth 32, with {label} {other}.")
    })
}

fn by_all_cores(facts: &Facts<'_>) -> Option<String> {
    let best = best_way(facts)?;
    let outcome = &best.outcome;
    let busy = outcome.cpu.machine_busy + outcome.cpu.steal;
    // What others used is not this load's limit, unless it wants more than they have.
    let full = busy - outcome.cpu.foreign >= BUSY || others::crowds_itself(facts, outcome);
    (full && facts.cores > 1).then(|| {
        format!(
            "The processors: at {} IOPS all {} cores are {:.0} % busy; the device is not the limit.",
            thousands(rate(best)),
            facts.cores,
            busy * 100.0
        )
    })
}

fn by_one_core(facts: &Facts<'_>) -> Option<String> {
    let single = facts.best(StepKind::Depth, is_read)?;
    if busiest(facts) < BUSY {
        return None;
    }
    let many = facts.best(StepKind::Threads, |p| p.outcome.job.threads > 1)?;
    if facts.cores == 1 {
        let rate = thousands(rate(best_way(facts)?));
        return Some(format!("The one core that may be used: at {rate} IOPS it is fully busy."));
    }
    (rate(many) / rate(single) > CLEARLY).then(|| {
        format!(
            "One core: a single thread ends at {} IOPS, fully busy; {} threads reach {}.",
            thousands(rate(single)),
            many.outcome.job.threads,
            thousands(rate(many))
        )
    })
}

/// The reads over queue depth end where another way goes on that keeps no more in flight: then it is the way of asking
/// that ends.
fn by_engine(facts: &Facts<'_>) -> Option<String> {
    let deep = facts.best(StepKind::Depth, is_read)?;
    let better = best_way(facts)?;
    let leaner = better.outcome.job.in_flight() <= deep.outcome.job.in_flight();
    let beyond = BEYOND * facts.scatter.few * 100.0;
    let gain = clear_gain(deep, better).filter(|_| leaner)?;
    (gain >= beyond + WORTH_PERCENT).then(|| {
        format!(
            "The engine in use: {} ends at {} IOPS, where {} reaches {}.",
            deep.outcome.job.engine.name(),
            thousands(rate(deep)),
            in_words(better),
            thousands(rate(better))
        )
    })
}

fn rises(facts: &Facts<'_>) -> Option<String> {
    let reads = facts.reads().filter(|reads| reads.depth.is_none())?;
    Some(format!("throughput still rises at the largest depth asked ({} IOPS)", thousands(reads.iops_max)))
}

fn by_rise(facts: &Facts<'_>) -> Option<String> {
    Some(format!("Nothing yet: {}.", rises(facts)?))
}

fn by_doubtful_rise(facts: &Facts<'_>) -> Option<String> {
    let rises = rises(facts)?;
    let mut curve = facts.reads_of(StepKind::Depth).rev();
    if let (Some(last), Some(before)) = (curve.next(), curve.next())
        && last.outcome.iops.low <= before.outcome.iops.high
    {
        let label = &before.label;
        return Some(format!("Unknown: {rises}, but from depth {label} on by no more than the intervals."));
    }
    let alone = facts.reads_of(StepKind::Latency).next()?.outcome.latency();
    let (quick, slow) = (Nanos(alone.quantile_ns(0.1)?), Nanos(alone.quantile_ns(0.9)?));
    (slow.0 > quick.0 * EVEN).then(|| {
        format!(
            "Unknown: {rises}, but one read alone takes {quick} to {slow}: it may wait for others, whose share falls as this \
             load's rises."
        )
    })
}

/// Ratio of slow to quick single reads; above it some reads wait.
const EVEN: u64 = 2;

/// Throughput grew in proportion until the tags ran out: as many I/Os are worked on at once as there are tags.
fn by_queue(facts: &Facts<'_>) -> Option<String> {
    let reads = facts.reads()?;
    let knee = reads.depth?;
    let one_queue = facts.storage.devices.iter().filter(|device| device.queue.hardware_queues == 1);
    let places = |queue: &Queue| Some(queue.tags?.min(queue.requests)).filter(|&places| places > 0);
    let (places, device) =
        one_queue.filter_map(|device| Some((places(&device.queue)?, device))).min_by_key(|(p, _)| *p)?;
    // More than all places cannot be in use: such a product is of rates that do not belong together.
    let in_use = reads.parallelism / f64::from(places);
    let all_used = (ALL_TAGS..=MORE_THAN_ALL).contains(&in_use) && knee <= places.saturating_mul(2);
    all_used.then(|| {
        format!(
            "One queue: {:.0} I/Os are worked on at once, and the {places} places in the queue of {} allow no more.",
            reads.parallelism, device.name
        )
    })
}

fn by_device(facts: &Facts<'_>) -> Finding {
    let Some((reads, best)) = facts.reads().zip(facts.best(StepKind::Depth, is_read)) else {
        return (Limit::Unknown, "Unknown: the check ended before it could tell.".to_owned());
    };
    if facts.storage.devices.is_empty() {
        let answer = "Unknown: no block device is behind this path, so that memory or a network answers.";
        return (Limit::Unknown, answer.to_owned());
    }
    let depth = reads.depth.map_or_else(|| "any depth".to_owned(), |depth| format!("depth {depth}"));
    let answer = format!(
        "The device, or what lies below it: {} IOPS from {depth} on, while the cores are {:.0} % busy.",
        thousands(reads.iops_max),
        best.outcome.cpu.machine_busy * 100.0
    );
    (Limit::Device, answer)
}

fn evidence(facts: &Facts<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let single = facts.best(StepKind::Depth, is_read);
    if let Some(reads) = facts.reads() {
        let knee = reads.depth.map_or_else(
            || "still rises at the largest depth".to_owned(),
            |d| format!("saturates at depth {d}"),
        );
        let engine = facts.reads_of(StepKind::Depth).next();
        lines.push(format!(
            "Random reads over queue depth ({}): {} IOPS at most, {knee}; the path works on {:.1} I/Os at once.",
            engine.map_or("", |point| point.outcome.job.engine.name()),
            thousands(reads.iops_max),
            reads.parallelism
        ));
        let better = single.zip(best_way(facts)).filter(|(deep, best)| clear_gain(deep, best).is_some());
        lines.extend(better.map(|(_, best)| {
            format!("Most of all ways: {} IOPS, {}.", thousands(rate(best)), in_words(best))
        }));
    }
    lines.extend(single.map(|single| {
        format!(
            "At its best depth ({}), one thread is {:.0} % busy and the machine {:.0} %.",
            single.label,
            single.outcome.cpu.busiest_thread * 100.0,
            single.outcome.cpu.machine_busy * 100.0
        )
    }));
    lines.extend(facts.best(StepKind::Threads, |p| p.outcome.job.threads > 1).map(|many| {
        format!(
            "{} threads ({}): {} IOPS, machine {:.0} % busy.",
            many.outcome.job.threads,
            many.series,
            thousands(rate(many)),
            many.outcome.cpu.machine_busy * 100.0
        )
    }));
    let cheapest = facts.summary.costs.iter().min_by(|a, b| a.cpu_ns_per_io.total_cmp(&b.cpu_ns_per_io));
    lines.extend(cheapest.map(|cost| {
        format!(
            "Cheapest engine: {} at {:.1} us of CPU per I/O, {} IOPS per core.",
            cost.label,
            cost.cpu_ns_per_io / 1e3,
            thousands(cost.iops_per_core)
        )
    }));
    lines.extend(durable(facts));
    lines.extend(inside::evidence(facts));
    lines.extend(inside::told(facts));
    lines.extend(others::evidence(facts));
    lines
}

/// A write that is on the device when the call returns, beside one that need not be.
fn durable(facts: &Facts<'_>) -> Option<String> {
    let median = |id: StepKind, series: Series, of: fn(&Outcome) -> Option<u64>| {
        let point = facts.points(id).iter().find(|point| point.series == series)?;
        of(&point.outcome)
    };
    let flush = median(StepKind::Sync, Series::Fsync, |outcome| outcome.sync.quantile_ns(0.5))?;
    let write =
        median(StepKind::Latency, Series::RandomWrite, |outcome| outcome.write.latency.quantile_ns(0.5))?;
    let times = flush as f64 / write.max(1) as f64;
    Some(format!("An fsync after a 4 KiB write takes {}, {times:.1} times a direct write.", Nanos(flush)))
}
