//! What do the reads that were looked at from inside add to the verdict? Pure.

use iostack_model::answers::{Point, StepKind};
use iostack_model::{Part, Stage, Way, WayStages};

use super::facts::{Facts, best_way, in_words};

/// Share of its time before the driver above which a read waits for the queue, not for the device.
const WAITS: f64 = 0.5;

/// Reads of the step `places`, with the stages of those that went to the device.
fn seen<'a>(facts: &Facts<'a>) -> impl Iterator<Item = (&'a Point, &'a WayStages)> {
    facts.points(StepKind::Places).iter().filter_map(|point| {
        let stages = point.outcome.stages.as_ref()?;
        Some((point, stages.way(Way::Device)?))
    })
}

/// Mean time in a stage, ns.
fn mean_ns(way: &WayStages, wanted: Stage) -> f64 {
    way.stages.iter().filter(|(stage, _)| *stage == wanted).map(|(_, bins)| bins.mean_ns()).sum()
}

/// A deep queue that waits on this side of the driver for over half of its time, ns: in the scheduler, before the driver in all,
/// and the whole.
fn waiting(facts: &Facts<'_>) -> Option<(u32, [f64; 3])> {
    let (point, way) = seen(facts).find(|(point, _)| point.outcome.job.queue_depth > 1)?;
    let (schedule, whole) = (mean_ns(way, Stage::Schedule), way.whole.mean_ns());
    let waiting = mean_ns(way, Stage::Queue) + schedule;
    let waits = whole > 0.0 && waiting > whole * WAITS;
    waits.then_some((point.outcome.job.queue_depth, [schedule, waiting, whole]))
}

fn times(ns: f64, whole: f64) -> String {
    format!("a read waits {:.0} of its {:.0} us", ns / 1e3, whole / 1e3)
}

/// The scheduler keeps a deep queue waiting.
pub(crate) fn by_scheduling(facts: &Facts<'_>) -> Option<String> {
    let (depth, [schedule, _, whole]) = waiting(facts)?;
    let device = facts.storage.scheduled().filter(|device| device.queue.scheduler != "none")?;
    let (name, device, waits) = (&device.queue.scheduler, &device.name, times(schedule, whole));
    (schedule > whole * WAITS)
        .then(|| format!("The I/O scheduler: at depth {depth} {waits} in {name} of {device}."))
}

/// Tags, locks or the scheduler keep a deep queue waiting.
pub(crate) fn by_waiting(facts: &Facts<'_>) -> Option<String> {
    let (depth, [_, waiting, whole]) = waiting(facts)?;
    let waits = times(waiting, whole);
    Some(format!("One queue: at depth {depth} {waits} between bio and driver (tags, scheduler, locks)."))
}

/// Sentence of a simulation about the best of all ways, whatever the verdict concluded from outside.
pub(crate) fn told(facts: &Facts<'_>) -> Option<String> {
    let best = best_way(facts)?;
    let limit = best.outcome.inside.as_ref()?.limit.as_ref()?;
    Some(format!("Inside, at the most of all ways ({}): {}", in_words(best), limit.why))
}

/// Sentences about who took the time of a read, at each depth that was looked at.
pub(crate) fn evidence(facts: &Facts<'_>) -> Vec<String> {
    seen(facts)
        .map(|(point, way)| {
            let percent = |part| way.part_share(part) * 100.0;
            format!(
                "Of a read's {:.1} us at depth {} the platform took {:.0} %, telling the device at most {:.0} %, the device {:.0} %.",
                way.whole.mean_ns() / 1e3,
                point.outcome.job.queue_depth,
                percent(Part::Platform),
                percent(Part::Transport),
                percent(Part::Device)
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use iostack_model::{Bins, Stages};
    use iostack_report::fixture;

    use super::*;
    use crate::check::planned::place_for_tests;
    use crate::check::summary;
    use crate::check::tests::facts_of;

    fn bins(ns: u64) -> Bins {
        Bins { count: 100, sum_ns: 100 * ns, min_ns: ns, max_ns: ns, ..Bins::default() }
    }

    fn stages(waiting_ns: u64, device_ns: u64) -> Stages {
        let way = WayStages {
            way: Way::Device,
            whole: bins(waiting_ns + device_ns),
            stages: vec![(Stage::Queue, bins(waiting_ns)), (Stage::Device, bins(device_ns))],
        };
        Stages { ways: vec![way], ..fixture::answer("stages") }
    }

    /// Judges a read at `depth` by its stages.
    fn judged(depth: u32, stages: Stages) -> (Option<String>, Vec<String>) {
        let mut check = fixture::check();
        let mut point = check.steps[0].points[0].clone();
        point.outcome.job.queue_depth = depth;
        point.outcome.stages = Some(stages);
        let places = check.steps.iter_mut().find(|step| step.id == StepKind::Places).expect("it is asked");
        places.points = vec![point];
        let (place, summary) = (place_for_tests(), summary::summarise(&check.steps));
        let facts = facts_of(&check, &place, &summary);
        assert_eq!(by_scheduling(&facts), None, "it waits for tags");
        (by_waiting(&facts), evidence(&facts))
    }

    #[test]
    fn reads_that_wait_before_the_driver_are_limited_by_the_queue() {
        let text = judged(32, stages(60_000, 40_000)).0.expect("60 of 100 us before the driver");
        assert!(text.contains("60 of its 100 us"), "{text}");
    }

    #[test]
    fn reads_that_wait_in_the_device_are_not() {
        assert_eq!(judged(32, stages(40_000, 60_000)).0, None);
        assert_eq!(judged(1, stages(60_000, 40_000)).0, None, "one read alone waits for no other");
    }

    #[test]
    fn the_evidence_names_all_three_parts() {
        let (_, lines) = judged(1, stages(30_000, 70_000));
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains("platform took 30 %") && lines[0].contains("device 70 %"), "{lines:?}");
    }
}
