//! Which measurements make up a check, and how long each may take.
//!
//! Every step is a list of points, every point is one [`Job`] with a weight in seconds. The weights are scaled so
//! that the whole fits the promised time; nothing here touches the world.

use iostack_model::{Effort, Engine, Job, Nanos};
use iostack_target::Place;

use super::planned::{OVERHEAD, PlannedStep};
use super::steps;

/// Promised wall time from start to verdict.
pub(crate) const fn promised(effort: Effort) -> Option<Nanos> {
    match effort {
        Effort::Quick => Some(Nanos::secs(20)),
        Effort::Default => Some(Nanos::secs(90)),
        Effort::Full => None,
    }
}

/// Time that filling the scratch file may take, of a promise.
pub(crate) fn fill_limit(effort: Effort) -> Option<Nanos> {
    promised(effort).map(|promised| Nanos(promised.0 / 5))
}

/// Time of all points together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Time {
    /// Rest of the promised time.
    Within(Nanos),
    /// Time that the answers need.
    Whole,
    /// Virtual time, which costs nobody a second: by the time of one read alone.
    Virtual(Nanos),
}

/// Reads, one after the other, that fit a second of weight in virtual time: enough for the percentiles that are shown,
/// while a check of a fast platform takes some seconds of ours.
const READS_A_SECOND: u64 = 1000;
/// The same where a kernel is emulated, each of whose instructions takes time of ours.
const READS_OF_A_KERNEL: u64 = 200;

/// Reads that tell how long one takes.
const PROBED: u64 = 200;

/// Factor on every point's weight before anything is fitted to the promise.
const fn stretch(effort: Effort) -> f64 {
    match effort {
        Effort::Quick | Effort::Default => 1.25,
        Effort::Full => 5.0,
    }
}

/// Points of fewer reads say nothing in virtual time.
const SHORTEST_READS: u64 = 200;
/// Measurements of large requests take so many times longer in virtual time, at most.
const LONGER_MOST: u64 = 16;
/// Ramp in virtual time: one part in so many of the run's time.
const RAMP_OF: u64 = 5;
/// A simulated run lasts at least so many times as long as all that is in flight would take one after the other: what is in
/// flight at its end drains after it, and is part of its rate.
const DRAINS: u64 = 8;
/// Elements of a series are so long at least, and at most.
const SLICE_SHORTEST: Nanos = Nanos::millis(5);
const SLICE_LONGEST: Nanos = Nanos::millis(250);

/// The job that tells how long one read alone takes.
pub(crate) fn probe(place: &Place) -> Job {
    Job { io_count: Some(PROBED), ..steps::random_read(place, Engine::Psync, 1) }
}

/// All steps of a check, as long as there is time. `whose` says on what schedulers are tried.
pub(crate) fn plan(place: &Place, whose: &str, effort: Effort, seed: u64, time: Time) -> Vec<PlannedStep> {
    let mut steps = match effort {
        Effort::Quick => steps::quick(place),
        Effort::Default | Effort::Full => steps::all(place, whose),
    };
    let points = || steps.iter().flat_map(|step| &step.points);
    let (scale, shortest, slice) = match time {
        Time::Within(available) => {
            let ramps: f64 = points().map(|point| point.job.ramp.as_secs_f64()).sum();
            let wanted: f64 = points().map(|point| point.weight).sum();
            let net = available.as_secs_f64() - OVERHEAD.as_secs_f64() * points().count() as f64 - ramps;
            ((net / wanted.max(1e-9)).min(stretch(effort)), place.shortest, SLICE_SHORTEST)
        }
        Time::Whole => (stretch(effort), place.shortest, SLICE_SHORTEST),
        Time::Virtual(read) => {
            let of_reads = |count: u64| Nanos(read.0.saturating_mul(count));
            let shortest = of_reads(SHORTEST_READS).max(place.shortest);
            let reads = if place.tells_inside { READS_A_SECOND } else { READS_OF_A_KERNEL };
            let second = of_reads(reads).max(place.shortest).as_secs_f64();
            (second * stretch(effort), shortest, Nanos(1))
        }
    };
    for (index, point) in steps.iter_mut().flat_map(|step| &mut step.points).enumerate() {
        // In virtual time large requests have longer, so that there are enough of them.
        let pages = point.job.block_sizes.largest().0 / 4096;
        let longer = if matches!(time, Time::Virtual(_)) { pages.clamp(1, LONGER_MOST) } else { 1 };
        let weight = point.weight * longer as f64;
        let drained = match time {
            Time::Virtual(read) if place.tells_inside => {
                let flown = u64::from(point.job.depth()) * u64::from(point.job.threads);
                Nanos(read.0.saturating_mul(DRAINS * flown))
            }
            _ => Nanos(0),
        };
        let runtime = Nanos(((weight * scale).max(0.0) * 1e9) as u64).max(shortest).max(drained);
        // Twenty elements give an interval; longer runs get longer elements so that plots stay light.
        point.job.slice = Nanos((runtime.0 / 20).clamp(slice.0, SLICE_LONGEST.0));
        point.job.runtime = Some(runtime);
        if matches!(time, Time::Virtual(_)) && point.job.ramp == Nanos(0) {
            // Here the time before all are in flight costs nobody anything.
            point.job.ramp = Nanos(runtime.0 / RAMP_OF);
        }
        point.job.time_based = true;
        point.job.seed = seed.wrapping_add(index as u64);
    }
    steps
}

#[cfg(test)]
mod tests {
    use iostack_model::answers::Series;
    use iostack_model::{Bytes, Caveat};

    use super::super::planned::place_for_tests;
    use super::*;

    #[test]
    fn every_effort_keeps_its_promise() {
        for (effort, available) in [(Effort::Quick, 17), (Effort::Default, 85), (Effort::Default, 40)] {
            let steps = plan(&place_for_tests(), "", effort, 1, Time::Within(Nanos::secs(available)));
            let total: u64 = steps.iter().map(|step| step.expected().0).sum();
            assert!(total <= Nanos::secs(available).0, "{effort:?} needs {}", Nanos(total));
        }
    }

    #[test]
    fn a_read_only_place_gets_no_write() {
        let place = Place { writable: false, is_file: false, ..place_for_tests() };
        for step in plan(&place, "", Effort::Default, 1, Time::Whole) {
            for point in &step.points {
                assert!(!point.job.mix.destroys(), "{} {}", step.id.name(), point.series);
                assert_eq!(point.job.sync, iostack_model::Sync::default());
            }
        }
    }

    #[test]
    fn a_simulated_run_is_long_beside_what_drains_at_its_end() {
        let (read, place) = (Nanos::micros(10), Place { tells_inside: true, ..place_for_tests() });
        let steps = plan(&place, "", Effort::Quick, 1, Time::Virtual(read));
        let jobs: Vec<&Job> = steps.iter().flat_map(|step| &step.points).map(|point| &point.job).collect();
        let flown = |job: &Job| u64::from(job.depth() * job.threads);
        assert!(jobs.iter().any(|job| flown(job) >= 128), "{jobs:?}");
        assert!(
            jobs.iter().all(|job| job.runtime.unwrap_or_default().0 >= 8 * flown(job) * read.0),
            "{jobs:?}"
        );
    }

    #[test]
    fn every_skipped_step_says_why() {
        let place =
            Place { writable: false, is_file: false, schedulers: Err("a test".into()), ..place_for_tests() };
        for step in plan(&place, "", Effort::Default, 1, Time::Whole) {
            assert!(!step.points.is_empty() || step.note.is_some(), "{}", step.id.name());
        }
    }

    #[test]
    fn what_a_step_intends_is_no_doubt_of_it_and_every_other_doubt_stays() {
        let (asked, device) = (Bytes(2), Bytes(1));
        let all = vec![
            Caveat::CachedReads { asked, device },
            Caveat::GeneratorBound { busy: 1.0 },
            Caveat::BufferedWrites { asked, device },
            Caveat::Steal { share: 0.5 },
        ];
        let kept = |series: Series| {
            let steps = plan(&place_for_tests(), "", Effort::Default, 1, Time::Whole);
            let points = steps.iter().flat_map(|step| &step.points);
            let point = points.into_iter().find(|point| point.series == series).expect("it is planned");
            let mut caveats = all.clone();
            point.keep_to_intent(&mut caveats);
            caveats
        };
        assert_eq!(kept(Series::BufferedCached), all[3..]);
        assert_eq!(kept(Series::BufferedCold), all);
    }

    #[test]
    fn no_block_is_smaller_than_the_logical_block() {
        let place = Place { logical_block: Bytes(4096), ..place_for_tests() };
        let steps = plan(&place, "", Effort::Default, 1, Time::Whole);
        let mut direct = steps.iter().flat_map(|step| &step.points).filter(|point| point.job.direct);
        assert!(direct.all(|point| point.job.block_sizes.smallest() >= Bytes(4096)), "{steps:?}");
    }
}
