//! Which figures of a check describe a device as others want it: a few largest rates?

use iostack_model::answers::{Check, StepKind};
use iostack_model::{Access, Bytes, Direction, Outcome};

/// Size of the I/Os whose rate per second counts.
const SMALL: Bytes = Bytes::kib(4);
/// Size of I/Os from which on bandwidth counts.
const LARGE: Bytes = Bytes::kib(128);
/// Share of the largest bandwidth from which on a device is saturated.
const SATURATED: f64 = 0.95;

/// Outcomes of direct I/O in one direction alone, at full speed.
pub(super) fn plain(check: &Check, direction: Direction) -> impl Iterator<Item = &Outcome> {
    let steps = check.steps.iter().filter(|step| {
        matches!(step.id, StepKind::Depth | StepKind::Cells | StepKind::Size | StepKind::Threads)
    });
    let outcomes = steps.flat_map(|step| &step.points).map(|point| &point.outcome);
    outcomes.filter(move |outcome| {
        let job = &outcome.job;
        job.mix.of(direction) == 100 && job.direct && outcome.target == check.target && outcome.ios() > 0
    })
}

fn size(outcome: &Outcome, direction: Direction) -> Bytes {
    outcome.job.block_sizes.of(direction).first().map_or(Bytes(0), |&(size, _)| size)
}

fn is_sequential(outcome: &Outcome) -> bool {
    outcome.job.access == Access::Sequential
}

fn most(values: impl Iterator<Item = f64>) -> Option<u64> {
    let most = values.fold(0.0, f64::max).round() as u64;
    (most > 0).then_some(most)
}

/// Largest bandwidth, bytes per second.
pub(super) fn bandwidth(check: &Check, direction: Direction) -> Option<u64> {
    let large = plain(check, direction).filter(|outcome| size(outcome, direction) >= LARGE);
    most(large.map(Outcome::bandwidth))
}

/// Largest rate of 4 KiB I/Os, in sequence or at random.
pub(super) fn iops(check: &Check, direction: Direction, sequential: bool) -> Option<u64> {
    let small = plain(check, direction)
        .filter(|outcome| size(outcome, direction) == SMALL && is_sequential(outcome) == sequential);
    most(small.map(Outcome::rate))
}

/// Smallest size in sequence that has nearly the largest bandwidth.
pub(super) fn saturation(check: &Check, direction: Direction) -> Option<Bytes> {
    let largest = bandwidth(check, direction)? as f64;
    let sequential = plain(check, direction).filter(|outcome| is_sequential(outcome));
    let saturated = sequential.filter(|outcome| outcome.bandwidth() >= largest * SATURATED);
    saturated.map(|outcome| size(outcome, direction)).min()
}
