//! What limits this platform? Pure: from the steps to one sentence, its evidence and what to do.
//!
//! The question is always small random reads, the load an SSD is bought for. The order of the rules matters: a cap
//! looks like a slow device, a slow engine looks like a slow core, so the outer limits are asked for first.

use iostack_model::{Caveat, Limit, Point, Saturation, Step, Storage, Summary, Verdict};

use super::{advice, inside};

/// A CPU this busy is the limit.
const BUSY: f64 = 0.9;
/// Read, write and mixed maxima this close together are a cap on I/Os, not a property of flash.
const CAP_SPREAD: f64 = 0.015;

/// With this share of the CPU time gone elsewhere, the limits seen are not the platform's.
const OTHERS: f64 = 0.3;

/// Little's law from means is good to about this.
const ALL_TAGS: f64 = 0.7;

/// What the rules look at.
pub(crate) struct Facts<'a> {
    /// Every step.
    pub(crate) steps: &'a [Step],
    /// The picked figures.
    pub(crate) summary: &'a Summary,
    /// The storage behind the target.
    pub(crate) storage: &'a Storage,
    /// CPUs usable.
    pub(crate) cores: u32,
    /// Doubts of the whole check.
    pub(crate) caveats: &'a [Caveat],
}

impl<'a> Facts<'a> {
    /// Points of one step; none when it was skipped.
    pub(crate) fn points(&self, id: &str) -> &'a [Point] {
        self.steps.iter().find(|step| step.id == id).map_or(&[], |step| &step.points)
    }

    /// The point with the highest throughput among those of `id` that `wanted` accepts.
    pub(crate) fn best(&self, id: &str, wanted: impl Fn(&Point) -> bool) -> Option<&'a Point> {
        self.points(id)
            .iter()
            .filter(|point| wanted(point))
            .max_by(|a, b| a.outcome.iops.mean.total_cmp(&b.outcome.iops.mean))
    }

    fn reads(&self) -> Option<&'a Saturation> {
        self.summary.saturation.iter().find(|curve| curve.series == "random read")
    }
}

/// One way to be limited, and the sentence that says so; `None` when it does not apply.
type Rule = fn(&Facts<'_>) -> Option<(Limit, String)>;

/// The verdict with evidence and advice.
pub(crate) fn decide(facts: &Facts<'_>) -> Verdict {
    let rules: [Rule; 8] = [
        by_others,
        by_cap,
        by_punting,
        by_all_cores,
        by_one_core,
        by_unsaturated,
        by_queue,
        inside::by_waiting,
    ];
    let (limit, answer) = rules.iter().find_map(|rule| rule(facts)).unwrap_or_else(|| by_device(facts));
    Verdict { limit, answer, evidence: evidence(facts), advice: advice::advise(facts) }
}

fn is_read(point: &Point) -> bool {
    point.series == "random read"
}

/// On a machine that others keep busy, nothing can be said of its limits.
fn by_others(facts: &Facts<'_>) -> Option<(Limit, String)> {
    let taken: f64 = facts
        .caveats
        .iter()
        .map(|caveat| match caveat {
            Caveat::ForeignCpu { share } | Caveat::Steal { share } => *share,
            _ => 0.0,
        })
        .sum();
    (taken > OTHERS).then(|| {
        (
            Limit::Unknown,
            format!(
                "Unknown: other programs took {:.0} % of the CPU time; repeat on a quiet machine.",
                taken * 100.0
            ),
        )
    })
}

fn by_cap(facts: &Facts<'_>) -> Option<(Limit, String)> {
    let limit = facts.caveats.iter().find_map(|caveat| match caveat {
        Caveat::IoLimit { line } => Some(line),
        _ => None,
    });
    if let Some(line) = limit {
        return Some((Limit::Cap, format!("A cgroup caps the I/O of this process ({line}).")));
    }
    let curves = &facts.summary.saturation;
    let (low, high) = curves
        .iter()
        .fold((f64::MAX, 0.0f64), |(low, high), curve| (low.min(curve.iops_max), high.max(curve.iops_max)));
    let saturated = curves.len() == 3 && curves.iter().all(|curve| curve.depth.is_some());
    (saturated && (high - low) / high < CAP_SPREAD).then(|| {
        (
            Limit::Cap,
            format!(
                "A cap of about {} I/Os per second: reads, writes and the mix all end there.",
                thousands(high)
            ),
        )
    })
}

fn by_punting(facts: &Facts<'_>) -> Option<(Limit, String)> {
    let punted = facts
        .points("engines")
        .iter()
        .find(|p| p.outcome.caveats.iter().any(|c| matches!(c, Caveat::Punted { .. })))?;
    let psync = facts.best("engines", |p| p.series.starts_with("psync"))?;
    (psync.outcome.iops.mean > punted.outcome.iops.mean * 1.1).then(|| {
        (
            Limit::Engine,
            format!(
                "The engine: io_uring hands each I/O to a worker here; psync reaches {} IOPS, io_uring {}.",
                thousands(psync.outcome.iops.mean),
                thousands(punted.outcome.iops.mean)
            ),
        )
    })
}

/// The best random-read point of the whole check.
fn best_read<'a>(facts: &Facts<'a>) -> Option<&'a Point> {
    let candidates =
        [facts.best("depth", is_read), facts.best("threads", |_| true), facts.best("engines", |_| true)];
    candidates.into_iter().flatten().max_by(|a, b| a.outcome.iops.mean.total_cmp(&b.outcome.iops.mean))
}

fn by_all_cores(facts: &Facts<'_>) -> Option<(Limit, String)> {
    let best = best_read(facts)?;
    let outcome = &best.outcome;
    let busy = outcome.cpu.machine_busy + outcome.cpu.steal;
    (busy >= BUSY && facts.cores > 1).then(|| {
        (
            Limit::AllCores,
            format!(
                "The processors: at {} IOPS all {} cores are {:.0} % busy; the device is not the limit.",
                thousands(outcome.iops.mean),
                facts.cores,
                busy * 100.0
            ),
        )
    })
}

fn by_one_core(facts: &Facts<'_>) -> Option<(Limit, String)> {
    let single = facts.best("depth", is_read)?;
    if single.outcome.cpu.busiest_thread < BUSY {
        return None;
    }
    let many = facts.best("threads", |p| p.outcome.job.threads > 1)?;
    let gain = many.outcome.iops.mean / single.outcome.iops.mean;
    (facts.cores == 1 || gain > 1.1).then(|| {
        (
            Limit::OneCore,
            format!(
                "One core: a single thread ends at {} IOPS, fully busy; {} threads reach {}.",
                thousands(single.outcome.iops.mean),
                many.outcome.job.threads,
                thousands(many.outcome.iops.mean)
            ),
        )
    })
}

fn by_unsaturated(facts: &Facts<'_>) -> Option<(Limit, String)> {
    let reads = facts.reads()?;
    reads.depth.is_none().then(|| {
        (
            Limit::Generator,
            format!(
                "Nothing yet: throughput still rises at the largest depth asked ({} IOPS).",
                thousands(reads.iops_max)
            ),
        )
    })
}

/// Throughput grew in proportion until the tags ran out: as many I/Os are worked on at once as there are tags.
fn by_queue(facts: &Facts<'_>) -> Option<(Limit, String)> {
    let queue = &facts.storage.bottom()?.queue;
    let tags = queue.tags?;
    let reads = facts.reads()?;
    let knee = reads.depth?;
    let all_used = reads.parallelism >= f64::from(tags) * ALL_TAGS && knee <= tags.saturating_mul(2);
    (queue.hardware_queues == 1 && all_used).then(|| {
        (
            Limit::OneQueue,
            format!(
                "One queue: {:.0} I/Os are worked on at once, and its {tags} tags allow no more.",
                reads.parallelism
            ),
        )
    })
}

fn by_device(facts: &Facts<'_>) -> (Limit, String) {
    let Some((reads, best)) = facts.reads().zip(facts.best("depth", is_read)) else {
        return (Limit::Unknown, "Unknown: the check ended before it could tell.".to_owned());
    };
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
        lines.push(format!(
            "Random reads: {} IOPS at most, {knee}; the path works on {:.1} I/Os at once.",
            thousands(reads.iops_max),
            reads.parallelism
        ));
    }
    if let Some(single) = facts.best("depth", is_read) {
        lines.push(format!(
            "At its best depth ({}), one thread is {:.0} % busy and the machine {:.0} %.",
            single.label,
            single.outcome.cpu.busiest_thread * 100.0,
            single.outcome.cpu.machine_busy * 100.0
        ));
    }
    if let Some(many) = facts.best("threads", |p| p.outcome.job.threads > 1) {
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
    lines.extend(inside::evidence(facts));
    lines
}

/// `88.9 k`, `1.25 M`, `640`.
pub(crate) fn thousands(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.2} M", v / 1e6),
        v if v >= 1e4 => format!("{:.1} k", v / 1e3),
        v if v >= 1e3 => format!("{:.2} k", v / 1e3),
        v => format!("{v:.0}"),
    }
}
