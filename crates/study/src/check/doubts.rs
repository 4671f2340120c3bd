//! Which doubts belong to a single figure, and which to the whole check? Pure.
//!
//! Hundreds of half-second runs on one machine share most of their doubts. What concerns all of them is said once;
//! what half a second cannot show (a cap, a cliff, p99.99) is not claimed of it.

use std::mem::discriminant;

use iostack_doubt::{Scope, cache_below, clock, drift, foreign_cpu, io_limit, small_region, steal, unstable};
use iostack_model::answers::{Point, Step, StepKind};
use iostack_model::{Access, Bytes, Caveat, CpuUse, Machine, Mix, Nanos, Outcome, Storage, TargetKind};

/// A change of rate within a shorter run says nothing about caps or caches.
const LONG_ENOUGH: Nanos = Nanos::secs(2);

/// Takes the shared doubts out of the steps and returns them, the heaviest first.
pub(crate) fn lift(steps: &mut [Step], storage: &Storage, machine: &Machine, region: Bytes) -> Vec<Caveat> {
    let mut caveats = of_the_target(steps);
    caveats.extend(of_the_place(steps, storage, machine, region));
    caveats.extend(of_the_time(steps));
    caveats.sort_by_key(|caveat| iostack_doubt::changes(caveat).0);
    for step in steps {
        let wants_percentiles = step.id == StepKind::Latency;
        for outcome in step.points.iter_mut().map(|point| &mut point.outcome) {
            let long = outcome.elapsed >= LONG_ENOUGH;
            outcome.caveats.retain(|caveat| match iostack_doubt::scope(caveat) {
                Scope::Machine | Scope::Target => false,
                Scope::Rate => long,
                Scope::Percentile => wants_percentiles,
                // Some that are of all figures are of single ones, too, such as a flush.
                Scope::Run | Scope::Omission => !caveats.contains(caveat),
            });
        }
    }
    caveats
}

fn points(steps: &[Step]) -> impl Iterator<Item = &Point> {
    steps.iter().flat_map(|step| &step.points)
}

/// The first point of a step.
fn first_of(steps: &[Step], id: StepKind) -> Option<&Point> {
    steps.iter().find(|step| step.id == id)?.points.first()
}

/// Doubts of the first figure about its simulation or lab; a scheduler that is tried adds numbers of its own.
fn of_the_target(steps: &[Step]) -> Vec<Caveat> {
    let doubts = points(steps).next().map_or(&[][..], |point| &point.outcome.caveats);
    let whole = |doubt: &&Caveat| matches!(iostack_doubt::scope(doubt), Scope::Target | Scope::Omission);
    doubts.iter().filter(whole).cloned().collect()
}

fn of_the_place(steps: &[Step], storage: &Storage, machine: &Machine, region: Bytes) -> Vec<Caveat> {
    // The memory of a guest of the lab is no cache of its device.
    let emulated = points(steps).next().is_some_and(|point| point.outcome.target.kind == TargetKind::Lab);
    let latency = first_of(steps, StepKind::Latency).map(|point| point.outcome.latency());
    let median = latency.and_then(|latency| latency.quantile_ns(0.5));
    // A cache below that is certain says more than one that may be.
    let certain = median.and_then(|median| cache_below::of_latency(storage, Nanos(median)));
    let cache = certain.or_else(|| small_region::of_region(region, machine, storage));
    let limit = io_limit::of_limit(machine.virtualisation.io_limit.as_deref());
    [limit, cache.filter(|_| !emulated), clock::of_machine(machine)].into_iter().flatten().collect()
}

/// Doubts about CPU time that others took, averaged over the whole check by the length of its runs.
fn of_the_time(steps: &[Step]) -> Vec<Caveat> {
    let found = [
        foreign_cpu::of_many(mean_share(steps, |cpu| cpu.foreign)),
        steal::of_share(mean_share(steps, |cpu| cpu.steal)),
        unstable::of_many(points(steps).map(|point| &point.outcome)),
        drift::of_rates(&same_rates(steps)),
    ];
    found.into_iter().flatten().collect()
}

/// The first of each kind.
pub(crate) fn one_of_each<'a>(caveats: impl Iterator<Item = &'a Caveat>) -> Vec<Caveat> {
    let mut kept: Vec<Caveat> = Vec::new();
    for caveat in caveats {
        if !kept.iter().any(|other| discriminant(other) == discriminant(caveat)) {
            kept.push(caveat.clone());
        }
    }
    kept
}

fn mean_share(steps: &[Step], share_of: impl Fn(&CpuUse) -> f64) -> f64 {
    let (mut weighted, mut whole) = (0.0, 0.0);
    for outcome in points(steps).map(|point| &point.outcome) {
        let length = outcome.elapsed.as_secs_f64();
        whole += length;
        weighted += length * share_of(&outcome.cpu);
    }
    if whole > 0.0 { weighted / whole } else { 0.0 }
}

/// A check asks for 4 KiB random reads at depth 32 in several steps; that their rates agree is the least to expect.
fn same_rates(steps: &[Step]) -> Vec<f64> {
    let Some(first) = first_of(steps, StepKind::Depth) else { return Vec::new() };
    // The current scheduler is tried first.
    let tried = first_of(steps, StepKind::Schedulers);
    let current = tried.and_then(|point| point.outcome.job.host.scheduler.as_ref());
    let is_same = |outcome: &&Outcome| {
        let job = &outcome.job;
        let small = job.block_sizes.largest() == Bytes(4096) && matches!(job.access, Access::Random { .. });
        let alone = (job.threads, job.queue_depth, job.batch.submit) == (1, 32, 1);
        let same = job.host.scheduler.as_ref().is_none_or(|name| Some(name) == current);
        let engine = job.engine == first.outcome.job.engine;
        small && alone && same && job.mix == Mix::READ && engine && job.direct
    };
    // What was looked at from inside ran with a handicap.
    let points = steps.iter().filter(|step| step.id != StepKind::Places).flat_map(|step| &step.points);
    points.map(|point| &point.outcome).filter(is_same).map(|outcome| outcome.iops.mean).collect()
}
