//! What limits this platform? Pure: from the steps to one sentence, its evidence and what to do.
//!
//! The question is always small random reads, the load an SSD is bought for. What is certain is asked first: a limit that
//! a file states and the figures keep to, then what one measurement against another shows, then what shares and shapes
//! make likely. Before the likely comes whether the figures are this platform's own at all ([`others`]).

use iostack_model::answers::{Limit, Point, Series, StepKind, Verdict};
use iostack_model::{Nanos, Outcome, Queue};

use super::facts::{
    BEYOND, BUSY, Facts, Finding, WORTH_PERCENT, best_way, busiest, clear_gain, in_words, is_read, thousands,
};
use super::{advice, caps, inside, others, scatter};

/// Little's law from means is good to about this.
const ALL_TAGS: f64 = 0.7;

/// Queue places in use, as a multiple of those there are, that such a measure may still show.
const MORE_THAN_ALL: f64 = 1.5;

/// A rate this many times another is no chance.
const CLEARLY: f64 = 1.1;

/// One way to be limited; `None` when it does not apply.
type VerdictRule = fn(&Facts<'_>) -> Option<Finding>;

/// Rules in the order of certainty.
const RULES: [VerdictRule; 16] = [
    caps::by_stated_cap,
    caps::by_common_rate,
    caps::by_plateau,
    caps::by_change,
    by_scheduler,
    others::by_processor_alone,
    others::by_others,
    others::by_traffic,
    others::by_jumps,
    by_all_cores,
    by_one_core,
    caps::by_near_rates,
    by_engine,
    by_queue,
    inside::by_waiting,
    by_unsaturated,
];

/// Rules that speak of a change, or of what a file says: that runs differ is no doubt of them.
const OF_CHANGE: [VerdictRule; 2] = [caps::by_stated_cap, caps::by_change];

/// The verdict with evidence and advice.
pub(crate) fn decide(facts: &Facts<'_>) -> Verdict {
    let judge =
        |facts: &Facts<'_>| RULES.iter().find_map(|rule| rule(facts)).unwrap_or_else(|| by_device(facts));
    let found = judge(facts);
    let of_change = OF_CHANGE.iter().any(|rule| rule(facts).as_ref() == Some(&found));
    let (limit, answer) = if of_change { found } else { scatter::firm(facts, found, |facts| judge(facts).0) };
    Verdict { limit, answer, evidence: evidence(facts), advice: advice::advise(facts) }
}

/// Another scheduler does clearly more, and the one in use did the same before and after it.
fn by_scheduler(facts: &Facts<'_>) -> Option<Finding> {
    let reads: Vec<&Point> =
        facts.points(StepKind::Schedulers).iter().filter(|point| is_read(point)).collect();
    let (first, again) = (reads.first()?, reads.last()?);
    let best = reads.iter().max_by(|a, b| a.outcome.iops.mean.total_cmp(&b.outcome.iops.mean))?;
    let current = &facts.storage.scheduled()?.queue.scheduler;
    let worse = |point: &Point| {
        point.outcome.iops.mean * CLEARLY < best.outcome.iops.mean
            && point.outcome.iops.high < best.outcome.iops.low
    };
    (reads.len() > 2 && first.label == *current && worse(first) && worse(again)).then(|| {
        let answer = format!(
            "The I/O scheduler: with {current} {} IOPS at depth 32, with {} {}.",
            thousands(first.outcome.iops.mean.max(again.outcome.iops.mean)),
            best.label,
            thousands(best.outcome.iops.mean)
        );
        (Limit::Scheduler, answer)
    })
}

fn by_all_cores(facts: &Facts<'_>) -> Option<Finding> {
    let best = best_way(facts)?;
    let outcome = &best.outcome;
    let busy = outcome.cpu.machine_busy + outcome.cpu.steal;
    // What others used is not this load's limit, unless it wants more than they have.
    let full = busy - outcome.cpu.foreign >= BUSY || others::crowds_itself(facts, outcome);
    (full && facts.cores > 1).then(|| {
        let answer = format!(
            "The processors: at {} IOPS all {} cores are {:.0} % busy; the device is not the limit.",
            thousands(outcome.iops.mean),
            facts.cores,
            busy * 100.0
        );
        (Limit::AllCores, answer)
    })
}

fn by_one_core(facts: &Facts<'_>) -> Option<Finding> {
    let single = facts.best(StepKind::Depth, is_read)?;
    if busiest(facts) < BUSY {
        return None;
    }
    let many = facts.best(StepKind::Threads, |p| p.outcome.job.threads > 1)?;
    let gain = many.outcome.iops.mean / single.outcome.iops.mean;
    if facts.cores == 1 {
        let rate = thousands(best_way(facts)?.outcome.iops.mean);
        return Some((
            Limit::OneCore,
            format!("The one core that may be used: at {rate} IOPS it is fully busy."),
        ));
    }
    (gain > CLEARLY).then(|| {
        let answer = format!(
            "One core: a single thread ends at {} IOPS, fully busy; {} threads reach {}.",
            thousands(single.outcome.iops.mean),
            many.outcome.job.threads,
            thousands(many.outcome.iops.mean)
        );
        (Limit::OneCore, answer)
    })
}

/// The reads over queue depth end where another way goes on that keeps no more in flight: then it is the way of asking
/// that ends.
fn by_engine(facts: &Facts<'_>) -> Option<Finding> {
    let (deep, better) = outdone(facts)?;
    let answer = format!(
        "The engine in use: {} ends at {} IOPS, where {} reaches {}.",
        deep.outcome.job.engine.name(),
        thousands(deep.outcome.iops.mean),
        in_words(better),
        thousands(better.outcome.iops.mean)
    );
    Some((Limit::Engine, answer))
}

/// The best of the reads over queue depth, and the way that clearly does more with no more in flight.
fn outdone<'a>(facts: &Facts<'a>) -> Option<(&'a Point, &'a Point)> {
    let deep = facts.best(StepKind::Depth, is_read)?;
    let better = best_way(facts)?;
    let leaner = better.outcome.job.in_flight() <= deep.outcome.job.in_flight();
    let beyond = BEYOND * facts.scatter.few * 100.0;
    let gain = clear_gain(deep, better).filter(|_| leaner)?;
    (gain >= beyond + WORTH_PERCENT).then_some((deep, better))
}

fn by_unsaturated(facts: &Facts<'_>) -> Option<Finding> {
    let reads = facts.reads().filter(|reads| reads.depth.is_none())?;
    let rises =
        format!("throughput still rises at the largest depth asked ({} IOPS)", thousands(reads.iops_max));
    let unknown = |why: String| Some((Limit::Unknown, format!("Unknown: {rises}, but {why}.")));
    let mut curve = facts.points(StepKind::Depth).iter().filter(|point| is_read(point)).rev();
    if let (Some(last), Some(before)) = (curve.next(), curve.next())
        && last.outcome.iops.low <= before.outcome.iops.high
    {
        return unknown(format!("from depth {} on by no more than the intervals", before.label));
    }
    let alone = facts.points(StepKind::Latency).iter().find(|point| is_read(point));
    let alone = alone.map(|point| point.outcome.latency());
    let time = |share| alone.as_ref().and_then(|latency| latency.quantile_ns(share)).map(Nanos);
    if let (Some(quick), Some(slow)) = (time(0.1), time(0.9))
        && slow.0 > quick.0 * EVEN
    {
        return unknown(format!(
            "one read alone takes {quick} to {slow}: it may wait for others, whose share falls as this load's rises"
        ));
    }
    Some((Limit::Generator, format!("Nothing yet: {rises}.")))
}

/// Ratio of slow to quick single reads; above it some reads wait.
const EVEN: u64 = 2;

/// Throughput grew in proportion until the tags ran out: as many I/Os are worked on at once as there are tags.
fn by_queue(facts: &Facts<'_>) -> Option<Finding> {
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
        let answer = format!(
            "One queue: {:.0} I/Os are worked on at once, and the {places} places in the queue of {} allow no more.",
            reads.parallelism, device.name
        );
        (Limit::OneQueue, answer)
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
    if let Some(reads) = facts.reads() {
        let knee = reads.depth.map_or_else(
            || "still rises at the largest depth".to_owned(),
            |d| format!("saturates at depth {d}"),
        );
        let engine = facts.points(StepKind::Depth).iter().find(|point| is_read(point));
        lines.push(format!(
            "Random reads over queue depth ({}): {} IOPS at most, {knee}; the path works on {:.1} I/Os at once.",
            engine.map_or("", |point| point.outcome.job.engine.name()),
            thousands(reads.iops_max),
            reads.parallelism
        ));
        let deep = facts.best(StepKind::Depth, is_read).zip(best_way(facts));
        if let Some((_, best)) = deep.filter(|(deep, best)| clear_gain(deep, best).is_some()) {
            lines.push(format!(
                "Most of all ways: {} IOPS, {}.",
                thousands(best.outcome.iops.mean),
                in_words(best)
            ));
        }
    }
    if let Some(single) = facts.best(StepKind::Depth, is_read) {
        lines.push(format!(
            "At its best depth ({}), one thread is {:.0} % busy and the machine {:.0} %.",
            single.label,
            single.outcome.cpu.busiest_thread * 100.0,
            single.outcome.cpu.machine_busy * 100.0
        ));
    }
    if let Some(many) = facts.best(StepKind::Threads, |p| p.outcome.job.threads > 1) {
        lines.push(format!(
            "{} threads ({}): {} IOPS, machine {:.0} % busy.",
            many.outcome.job.threads,
            many.series,
            thousands(many.outcome.iops.mean),
            many.outcome.cpu.machine_busy * 100.0
        ));
    }
    if let Some(cost) = facts.summary.costs.iter().min_by(|a, b| a.cpu_ns_per_io.total_cmp(&b.cpu_ns_per_io))
    {
        lines.push(format!(
            "Cheapest engine: {} at {:.1} us of CPU per I/O, {} IOPS per core.",
            cost.label,
            cost.cpu_ns_per_io / 1e3,
            thousands(cost.iops_per_core)
        ));
    }
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
