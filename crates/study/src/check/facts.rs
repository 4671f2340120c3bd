//! What do the rules of the verdict look at?

#[cfg(test)]
use iostack_model::answers::Check;
use iostack_model::answers::{Limit, Point, Saturation, Series, Step, StepKind, Summary};
use iostack_model::{Caveat, IoLimit, Outcome, Storage};
use iostack_target::Place;

use super::others;
use super::scatter::Scatter;

/// A CPU this busy is the limit.
pub(super) const BUSY: f64 = 0.9;

/// Evidence that the rules look at.
pub(crate) struct Facts<'a> {
    pub(crate) place: &'a Place,
    pub(crate) steps: &'a [Step],
    /// The picked figures.
    pub(crate) summary: &'a Summary,
    /// The storage behind the target.
    pub(crate) storage: &'a Storage,
    /// Limits of cgroups on it.
    pub(crate) io_limits: &'a [IoLimit],
    pub(crate) cores: u32,
    /// Doubts of the whole check.
    pub(crate) caveats: &'a [Caveat],
    /// Scatter of rates of the same job.
    pub(crate) scatter: Scatter,
}

impl<'a> Facts<'a> {
    #[cfg(test)]
    pub(crate) fn of_check(check: &'a Check, place: &'a Place, summary: &'a Summary) -> Facts<'a> {
        Facts {
            place,
            steps: &check.steps,
            summary,
            io_limits: &check.machine.virtualisation.io_limits,
            storage: &check.storage,
            cores: check.machine.cpu.cores_usable,
            caveats: &check.caveats,
            scatter: Scatter::of_steps(&check.steps),
        }
    }

    /// Points of one step; none when it was skipped.
    pub(crate) fn points(&self, id: StepKind) -> &'a [Point] {
        self.steps.iter().find(|step| step.id == id).map_or(&[], |step| &step.points)
    }

    /// The point with the highest throughput among those of `id` that `wanted` accepts.
    pub(crate) fn best(&self, id: StepKind, wanted: impl Fn(&Point) -> bool) -> Option<&'a Point> {
        self.points(id)
            .iter()
            .filter(|point| wanted(point))
            .max_by(|a, b| a.outcome.iops.mean.total_cmp(&b.outcome.iops.mean))
    }

    pub(super) fn reads(&self) -> Option<&'a Saturation> {
        self.summary.saturation.iter().find(|curve| curve.series == Series::RandomRead)
    }
}

/// Limit that a rule finds, and the sentence that says so.
pub(super) type Finding = (Limit, String);

pub(super) fn is_read(point: &Point) -> bool {
    point.series == Series::RandomRead
}

/// Every way in which the check asked for the same small random reads.
pub(super) fn ways<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Point> {
    let asked = |id, wanted: fn(&&Point) -> bool| facts.points(id).iter().filter(wanted);
    let all: fn(&&Point) -> bool = |_| true;
    let reads: fn(&&Point) -> bool = |point| is_read(point);
    let curves = asked(StepKind::Latency, reads).chain(asked(StepKind::Depth, reads));
    curves.chain(asked(StepKind::Threads, all)).chain(asked(StepKind::Engines, all))
}

/// The way of the highest rate.
pub(super) fn best_way<'a>(facts: &Facts<'a>) -> Option<&'a Point> {
    ways(facts).max_by(|a, b| a.outcome.iops.mean.total_cmp(&b.outcome.iops.mean))
}

/// Difference that two rates may have, as a multiple of their scatter.
pub(super) const BEYOND: f64 = 3.0;

/// Rates over queue depth that differ by no more are one plateau.
const LEVEL: f64 = 0.97;

/// Share of time that the busiest thread was busy at the end of the reads over queue depth: at their most, where they did nearly
/// as much, or with more in flight.
pub(super) fn busiest(facts: &Facts<'_>) -> f64 {
    at_the_end(facts).map(|outcome| outcome.cpu.busiest_thread).fold(0.0, f64::max)
}

/// The same with the time in which it was ready and others had the CPU.
pub(super) fn most_wanted(facts: &Facts<'_>) -> f64 {
    let wanted = |outcome: &Outcome| {
        (outcome.cpu.busiest_thread + others::stolen(outcome, facts.cores)).max(outcome.cpu.wanted)
    };
    at_the_end(facts).map(wanted).fold(0.0, f64::max)
}

fn at_the_end<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Outcome> {
    let best = facts.best(StepKind::Depth, is_read).map(|point| &point.outcome);
    let (most, depth) = best.map_or((0.0, 0), |best| (best.iops.mean, best.job.in_flight()));
    let least = most * (LEVEL - BEYOND * facts.scatter.many);
    let reads =
        facts.points(StepKind::Depth).iter().filter(|point| is_read(point)).map(|point| &point.outcome);
    reads.filter(move |outcome| outcome.iops.mean >= least || outcome.job.in_flight() > depth)
}

/// Gain from one way to another in percent.
pub(super) fn gain_percent(before: &Point, after: &Point) -> f64 {
    (after.outcome.iops.mean / before.outcome.iops.mean.max(1e-9) - 1.0) * 100.0
}

/// Smaller gains than this are noise on a shared machine.
pub(super) const WORTH_PERCENT: f64 = 8.0;

/// The gain from one way to another, where it is clear: large enough, and the intervals support it.
pub(super) fn clear_gain(before: &Point, after: &Point) -> Option<f64> {
    let gain = gain_percent(before, after);
    (gain >= WORTH_PERCENT && after.outcome.iops.low > before.outcome.iops.high).then_some(gain)
}

/// The way in words: `psync`, `libaio, batches of 16, depth 32`, `io_uring, depth 64 in each of 2 threads`.
pub(super) fn in_words(point: &Point) -> String {
    let job = &point.outcome.job;
    let (engine, submit) = (job.engine.name(), job.batch.submit);
    let batches = if submit > 1 { format!(", batches of {submit}") } else { String::new() };
    match (job.depth(), job.threads) {
        (1, 1) => format!("{engine}{batches}"),
        (depth, 1) => format!("{engine}{batches}, depth {depth}"),
        (1, threads) => format!("{engine}{batches} in {threads} threads"),
        (depth, threads) => format!("{engine}{batches}, depth {depth} in each of {threads} threads"),
    }
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
