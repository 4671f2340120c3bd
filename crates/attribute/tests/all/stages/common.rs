//! What the live tests of stages share: scratch files, devices of our own, traced loads.

use std::path::Path;

use iostack_attribute::bpf::BpfError;
use iostack_attribute::stages::{StageTrace, Subject, TraceError};
use iostack_engine::{Control, EngineError, run_job};
use iostack_model::{
    Amount, Bytes, Engine, Job, Ladder, Outcome, Part, Stages, Storage, TargetKind, TargetName, Way,
};

/// Attaches; says why the test is skipped where that is not permitted.
pub(crate) fn attach(test: &str, subject: &Subject<'_>, storage: &Storage) -> Option<StageTrace> {
    match StageTrace::attach(subject, storage, &Ladder::default()) {
        Ok(trace) => Some(trace),
        Err(error @ TraceError::Bpf(BpfError::NotPermitted { .. } | BpfError::Types(_))) => {
            println!("SKIPPED {test}: {error}");
            None
        }
        Err(error) => panic!("{error}: {error:?}"),
    }
}

/// A job of `count` I/Os over `size` bytes.
pub(crate) fn counted(engine: Engine, depth: u32, count: u64, size: u64) -> Job {
    Job {
        engine,
        queue_depth: depth,
        io_count: Some(count),
        size: Some(Amount::Bytes(Bytes(size))),
        ..Job::default()
    }
}

pub(crate) const ENGINES: [Engine; 3] = [Engine::Psync, Engine::Libaio, Engine::IO_URING];

/// Share of I/Os that must be matched where their ends are interrupts.
///
/// On the virtual machine where this was written, up to 3 % of the I/Os of a busy machine say by being unmatched that no
/// program saw their ends. The kernel's own trace, run beside, saw them. Where it was looked at (six of one run), the interrupt hit one
/// thread of a service of that machine, milliseconds long in the kernel; the count of skipped programs stays 0.
pub(crate) const MATCHED: f64 = 0.9;

/// Runs a job on a path with a trace of it; `None` when this machine cannot.
pub(crate) fn traced(test: &str, job: &Job, path: &Path) -> Option<(Outcome, Stages)> {
    let kind = if path.starts_with("/dev") { TargetKind::Block } else { TargetKind::File };
    let target = TargetName { kind, path: path.to_owned() };
    let storage = iostack_host::storage(path).expect("the path exists");
    let trace = attach(test, &Subject::Load, &storage)?;
    let control = Control { observer: Some(trace.observer()), ..Control::none() };
    let files = vec![vec![path.to_owned()]; job.threads as usize];
    let outcome = match run_job(job, &target, &storage, files, &control) {
        Err(error @ EngineError::EngineUnavailable { .. }) => {
            println!("SKIPPED {test}: {error}");
            return None;
        }
        result => result.unwrap_or_else(|error| panic!("{error}: {error:?}")),
    };
    let stages = trace.finish();
    show(&format!("{test} {:?} depth {}", job.engine, job.queue_depth), &stages, Some(&outcome));
    Some((outcome, stages))
}

/// Mean latency by the engine's own clock.
pub(crate) fn mean_ns(outcome: &Outcome) -> f64 {
    let bins = [&outcome.read, &outcome.write].into_iter().map(|flow| &flow.latency);
    let (sum, count) = bins.fold((0, 0), |(sum, count), bins| (sum + bins.sum_ns, count + bins.count));
    sum as f64 / count as f64
}

/// Prints what was seen, to be read when a test fails.
pub(crate) fn show(title: &str, stages: &Stages, outcome: Option<&Outcome>) {
    println!(
        "{title}: {} I/Os, {} matched, {} lost, mean {:.0} ns, engine {:.0} ns",
        stages.ios,
        stages.matched,
        stages.lost,
        stages.mean_ns(),
        outcome.map_or(0.0, mean_ns)
    );
    for way in &stages.ways {
        let parts = Part::ALL.map(|part| format!("{} {:.1} %", part.name(), way.part_share(part) * 100.0));
        println!(
            "  {} {}: {:.0} ns; {}",
            way.way.name(),
            way.whole.count,
            way.whole.mean_ns(),
            parts.join(", ")
        );
        let names = way.stages.iter().map(|(stage, bins)| format!("{} {:.0}", stage.name(), bins.mean_ns()));
        println!("    {}", names.collect::<Vec<_>>().join(", "));
    }
    for device in &stages.devices {
        let names =
            device.stages.iter().map(|(stage, bins)| format!("{} {:.0}", stage.name(), bins.mean_ns()));
        println!(
            "  {} below {:?}: {} bios, {} merged, {} split, {:.0} ns: {}",
            device.name,
            device.above,
            device.whole.count,
            device.merged,
            device.split,
            device.whole.mean_ns(),
            names.collect::<Vec<_>>().join(", ")
        );
    }
    println!(
        "  cost: {} events, {:.0} ns per event, {:.0} ns per I/O: {}",
        stages.tracing.events, stages.tracing.ns_per_event, stages.tracing.ns_per_io, stages.tracing.how
    );
}

/// Every I/O of the engine is in the stages, nothing lost, those not matched are said, and the means agree within 1 %.
pub(crate) fn assert_complete(outcome: &Outcome, stages: &Stages) {
    assert_eq!(stages.ios, outcome.ios(), "every I/O is counted once");
    assert_eq!(stages.lost, 0, "nothing is lost");
    assert_eq!(stages.matched + ios(stages, Way::Unmatched), stages.ios);
    let said = stages.notes.iter().any(|note| note.contains("was not seen to its end"));
    assert_eq!(said, stages.matched < stages.ios, "{:?}", stages.notes);
    for way in &stages.ways {
        let sum: u64 = way.stages.iter().map(|(_, bins)| bins.sum_ns).sum();
        assert_eq!(sum, way.whole.sum_ns, "the stages of {:?} add up", way.way);
    }
    let (own, engine) = (stages.mean_ns(), mean_ns(outcome));
    assert!((own / engine - 1.0).abs() < 0.01, "stages say {own:.0} ns, the engine {engine:.0} ns");
}

/// I/Os of one way.
pub(crate) fn ios(stages: &Stages, way: Way) -> u64 {
    stages.way(way).map_or(0, |way| way.whole.count)
}
