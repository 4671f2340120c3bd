//! Which doubts belong to a single figure, and which to the whole check? Pure.
//!
//! Hundreds of half-second runs on one machine share most of their doubts. What concerns all of them is said once;
//! what half a second cannot show (a cap, a cliff, p99.99) is not claimed of it.

use iostack_model::{Bytes, Caveat, Machine, Nanos, Step, Storage};

/// A change of rate within a shorter run says nothing about caps or caches.
const LONG_ENOUGH: Nanos = Nanos::secs(2);
/// A disk with heads takes milliseconds.
const NO_HEADS: Nanos = Nanos::millis(1);
/// Below this share of the CPU time, what others took does not matter.
const OTHERS_MATTER: f64 = 0.05;
/// Steal above this is a doubt.
const STEAL_MATTERS: f64 = 0.01;

/// Takes the shared doubts out of the steps and returns them.
pub(crate) fn lift(steps: &mut [Step], storage: &Storage, machine: &Machine, region: Bytes) -> Vec<Caveat> {
    let mut caveats = of_the_place(steps, storage, machine, region);
    caveats.extend(of_the_time(steps));
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
                Caveat::RateStep { .. } | Caveat::Cliff { .. } | Caveat::Slope { .. } => long,
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
    if region < machine.memory.total {
        caveats.push(Caveat::SmallRegion { region, memory: machine.memory.total });
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
    }
    if !machine.cpu.tsc_invariant {
        caveats.push(Caveat::ClockNotInvariant { source: machine.kernel.clock_source.clone() });
    }
    caveats
}

/// What others took of the CPUs, averaged over the whole check by the length of its runs.
fn of_the_time(steps: &[Step]) -> Vec<Caveat> {
    let foreign = mean_share(steps, |caveat| match caveat {
        Caveat::ForeignCpu { share } => Some(*share),
        _ => None,
    });
    let steal = mean_share(steps, |caveat| match caveat {
        Caveat::Steal { share } => Some(*share),
        _ => None,
    });
    let mut caveats = Vec::new();
    if foreign > OTHERS_MATTER {
        caveats.push(Caveat::ForeignCpu { share: foreign });
    }
    if steal > STEAL_MATTERS {
        caveats.push(Caveat::Steal { share: steal });
    }
    caveats
}

fn mean_share(steps: &[Step], share_of: impl Fn(&Caveat) -> Option<f64>) -> f64 {
    let (mut weighted, mut whole) = (0.0, 0.0);
    for outcome in steps.iter().flat_map(|step| &step.points).map(|point| &point.outcome) {
        let length = outcome.elapsed.as_secs_f64();
        whole += length;
        weighted += length * outcome.caveats.iter().find_map(&share_of).unwrap_or(0.0);
    }
    if whole > 0.0 { weighted / whole } else { 0.0 }
}
