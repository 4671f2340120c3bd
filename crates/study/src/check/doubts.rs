//! Which doubts belong to a single figure, and which to the whole check? Pure.
//!
//! Hundreds of half-second runs on one machine share most of their doubts. What concerns all of them is said once;
//! what half a second cannot show (a cap, a cliff, p99.99) is not claimed of it.

use iostack_model::{Access, Bytes, Caveat, CpuUse, Machine, Mix, Nanos, Step, Storage};

/// A change of rate within a shorter run says nothing about caps or caches.
const LONG_ENOUGH: Nanos = Nanos::secs(2);
/// A disk with heads takes milliseconds.
const NO_HEADS: Nanos = Nanos::millis(1);
/// Below this share of the CPU time, what others took does not matter.
const OTHERS_MATTER: f64 = 0.05;
/// Steal above this is a doubt.
const STEAL_MATTERS: f64 = 0.01;

/// With this share of the runs uneven, the storage or the machine is.
const UNEVEN_MATTERS: f64 = 0.25;

/// Rates of the same job further apart than this are not one storage's.
const DRIFT_MATTERS: f64 = 0.3;

/// Takes the shared doubts out of the steps and returns them, the heaviest first.
pub(crate) fn lift(steps: &mut [Step], storage: &Storage, machine: &Machine, region: Bytes) -> Vec<Caveat> {
    let mut caveats = of_the_place(steps, storage, machine, region);
    caveats.extend(of_the_time(steps));
    caveats.sort_by_key(|caveat| caveat.changes().0);
    for step in steps {
        let wants_percentiles = step.id == "latency";
        for outcome in step.points.iter_mut().map(|point| &mut point.outcome) {
            let long = outcome.elapsed >= LONG_ENOUGH;
            outcome.caveats.retain(|caveat| match caveat {
                Caveat::CacheBelow { .. }
                | Caveat::SmallRegion { .. }
                | Caveat::ClockNotInvariant { .. }
                | Caveat::IoLimit { .. }
                | Caveat::Interrupted { .. }
                | Caveat::Steal { .. }
                | Caveat::ForeignCpu { .. } => false,
                Caveat::Unstable { .. }
                | Caveat::RateStep { .. }
                | Caveat::Cliff { .. }
                | Caveat::Slope { .. } => long,
                Caveat::FewSamples { .. } => wants_percentiles,
                _ => true,
            });
        }
    }
    caveats
}

fn of_the_place(steps: &[Step], storage: &Storage, machine: &Machine, region: Bytes) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if let Some(line) = &machine.virtualisation.io_limit {
        caveats.push(Caveat::IoLimit { line: line.clone() });
    }
    let median = steps
        .iter()
        .find(|step| step.id == "latency")
        .and_then(|step| step.points.first())
        .and_then(|point| point.outcome.latency().quantile_ns(0.5))
        .map(Nanos);
    if let (Some(device), Some(latency)) = (storage.bottom(), median)
        && device.rotational
        && latency < NO_HEADS
    {
        let claim = format!("{} claims to rotate; a disk with heads", device.name);
        caveats.push(Caveat::CacheBelow { claim, latency });
    } else {
        // A cache below that is certain says more than one that may be.
        caveats.extend(Caveat::small_region(region, machine, storage));
    }
    if !machine.cpu.tsc_invariant {
        caveats.push(Caveat::ClockNotInvariant { source: machine.kernel.clock_source.clone() });
    }
    caveats
}

/// What others took of the CPUs, averaged over the whole check by the length of its runs.
fn of_the_time(steps: &[Step]) -> Vec<Caveat> {
    let foreign = mean_share(steps, |cpu| cpu.foreign);
    let steal = mean_share(steps, |cpu| cpu.steal);
    let mut caveats = Vec::new();
    if foreign > OTHERS_MATTER {
        caveats.push(Caveat::ForeignCpu { share: foreign });
    }
    if steal > STEAL_MATTERS {
        caveats.push(Caveat::Steal { share: steal });
    }
    caveats.extend(uneven(steps));
    caveats.extend(drift(steps));
    caveats
}

/// The middle of the uneven runs, when there are many. Each figure shows its own interval anyway.
fn uneven(steps: &[Step]) -> Option<Caveat> {
    let outcomes = || steps.iter().flat_map(|step| &step.points).map(|point| &point.outcome);
    let mut widths: Vec<f64> = outcomes()
        .flat_map(|outcome| &outcome.caveats)
        .filter_map(|caveat| match caveat {
            Caveat::Unstable { relative } => Some(*relative),
            _ => None,
        })
        .collect();
    widths.sort_by(f64::total_cmp);
    let many = widths.len() as f64 > outcomes().count() as f64 * UNEVEN_MATTERS;
    many.then(|| Caveat::Unstable { relative: widths[widths.len() / 2] })
}

fn mean_share(steps: &[Step], share_of: impl Fn(&CpuUse) -> f64) -> f64 {
    let (mut weighted, mut whole) = (0.0, 0.0);
    for outcome in steps.iter().flat_map(|step| &step.points).map(|point| &point.outcome) {
        let length = outcome.elapsed.as_secs_f64();
        whole += length;
        weighted += length * share_of(&outcome.cpu);
    }
    if whole > 0.0 { weighted / whole } else { 0.0 }
}

/// A check asks for 4 KiB random reads at depth 32 in several steps; that their rates agree is the least to expect.
fn drift(steps: &[Step]) -> Option<Caveat> {
    // What was looked at from inside ran with a handicap.
    let points = || steps.iter().filter(|step| step.id != "places").flat_map(|step| &step.points);
    let engine = steps.iter().find(|step| step.id == "depth")?.points.first()?.outcome.job.engine;
    let rates: Vec<f64> = points()
        .map(|point| &point.outcome)
        .filter(|outcome| {
            let job = &outcome.job;
            let small =
                job.block_sizes.largest() == Bytes(4096) && matches!(job.access, Access::Random { .. });
            let alone = (job.threads, job.queue_depth, job.batch.submit) == (1, 32, 1);
            small && alone && job.mix == Mix::READ && job.engine == engine && job.direct
        })
        .map(|outcome| outcome.iops.mean)
        .collect();
    let (low, high) =
        rates.iter().fold((f64::MAX, 0.0f64), |(low, high), &rate| (low.min(rate), high.max(rate)));
    (rates.len() > 1 && high > low * (1.0 + DRIFT_MATTERS)).then_some(Caveat::Drift {
        low,
        high,
        runs: rates.len() as u32,
    })
}
