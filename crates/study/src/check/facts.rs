//! What do the rules of the verdict look at?

use iostack_answers::{Limit, Point, Saturation, Series, Step, StepKind, Summary};
use iostack_model::{Caveat, IoLimit, Storage, TargetName};

/// A CPU this busy is the limit.
pub(super) const BUSY: f64 = 0.9;

/// What the rules look at.
pub(crate) struct Facts<'a> {
    /// What was asked.
    pub(crate) target: &'a TargetName,
    /// Every step.
    pub(crate) steps: &'a [Step],
    /// The picked figures.
    pub(crate) summary: &'a Summary,
    /// The storage behind the target.
    pub(crate) storage: &'a Storage,
    /// What cgroups allow on it.
    pub(crate) io_limits: &'a [IoLimit],
    /// CPUs usable.
    pub(crate) cores: u32,
    /// Doubts of the whole check.
    pub(crate) caveats: &'a [Caveat],
}

impl<'a> Facts<'a> {
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

/// What is found, and the sentence that says so.
pub(super) type Finding = (Limit, String);

pub(super) fn is_read(point: &Point) -> bool {
    point.series == Series::RandomRead
}

/// The best random-read point of the whole check.
pub(super) fn best_read<'a>(facts: &Facts<'a>) -> Option<&'a Point> {
    let candidates = [
        facts.best(StepKind::Depth, is_read),
        facts.best(StepKind::Threads, |_| true),
        facts.best(StepKind::Engines, |_| true),
    ];
    candidates.into_iter().flatten().max_by(|a, b| a.outcome.iops.mean.total_cmp(&b.outcome.iops.mean))
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
