//! What do the rules of the verdict look at?

use iostack_model::answers::{Limit, Point, Saturation, Series, Step, StepKind, Summary};
use iostack_model::{Caveat, IoLimit, Machine, Outcome, Storage};
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
    /// Facts of steps of this place, of the figures that were picked from them, and of doubts of it all.
    pub(crate) fn new(
        place: &'a Place,
        (storage, machine): (&'a Storage, &'a Machine),
        (steps, summary): (&'a [Step], &'a Summary),
        caveats: &'a [Caveat],
    ) -> Facts<'a> {
        let (io_limits, cores) = (&machine.virtualisation.io_limits[..], machine.cpu.cores_usable);
        Facts { place, steps, summary, storage, io_limits, cores, caveats, scatter: Scatter::of_steps(steps) }
    }

    /// Points of one step; none when it was skipped.
    pub(crate) fn points(&self, id: StepKind) -> &'a [Point] {
        self.steps.iter().find(|step| step.id == id).map_or(&[], |step| &step.points)
    }

    /// The point with the highest throughput among those of `id` that `wanted` accepts.
    pub(crate) fn best(&self, id: StepKind, wanted: impl Fn(&Point) -> bool) -> Option<&'a Point> {
        most(self.points(id).iter().filter(|point| wanted(point)))
    }

    /// Random reads of one step.
    pub(super) fn reads_of(&self, id: StepKind) -> impl DoubleEndedIterator<Item = &'a Point> + use<'a> {
        self.points(id).iter().filter(|point| is_read(point))
    }

    pub(super) fn reads(&self) -> Option<&'a Saturation> {
        self.summary.saturation.iter().find(|curve| curve.series == Series::RandomRead)
    }
}

/// Limit that was found, and the sentence that says so.
pub(super) type Finding = (Limit, String);

/// I/Os per second of a point.
pub(super) fn rate(point: &Point) -> f64 {
    point.outcome.iops.mean
}

/// The point of the highest rate.
pub(super) fn most<'a>(points: impl Iterator<Item = &'a Point>) -> Option<&'a Point> {
    points.max_by(|a, b| rate(a).total_cmp(&rate(b)))
}

/// The lowest and the highest of some rates.
pub(super) fn range(rates: impl IntoIterator<Item = f64>) -> (f64, f64) {
    rates.into_iter().fold((f64::MAX, 0.0), |(low, high), rate| (low.min(rate), high.max(rate)))
}

pub(super) fn is_read(point: &Point) -> bool {
    point.series == Series::RandomRead
}

/// Every way in which the check asked for the same small random reads.
pub(super) fn ways<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Point> {
    let curves = facts.reads_of(StepKind::Latency).chain(facts.reads_of(StepKind::Depth));
    curves.chain(facts.points(StepKind::Threads)).chain(facts.points(StepKind::Engines))
}

/// The way of the highest rate.
pub(super) fn best_way<'a>(facts: &Facts<'a>) -> Option<&'a Point> {
    most(ways(facts))
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
    let reads = facts.reads_of(StepKind::Depth).map(|point| &point.outcome);
    reads.filter(move |outcome| outcome.iops.mean >= least || outcome.job.in_flight() > depth)
}

/// Gain from one way to another in percent.
pub(super) fn gain_percent(before: &Point, after: &Point) -> f64 {
    (rate(after) / rate(before).max(1e-9) - 1.0) * 100.0
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
