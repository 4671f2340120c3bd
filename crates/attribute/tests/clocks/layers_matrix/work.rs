//! Every engine, direct and buffered, reads and writes.

use std::path::Path;

use iostack_attribute::classify::Rules;
use iostack_attribute::layers::{LayerTrace, Subject};
use iostack_engine::{Control, EngineError, run_job};
use iostack_model::{Amount, Bytes, Engine, Job, Ladder, Layers, Mix, Nanos, Rung, TargetKind, TargetName};
use iostack_testkit::{Zram, folder};

use super::places::{Image, mounted};
use crate::common::{ladder_with, random};

/// Faster than by default, to gather samples quickly.
pub(crate) const RATE_HZ: u32 = 9973;
pub(crate) const SAMPLES: u64 = 1_000;
/// Of a workload's kernel samples.
const UNKNOWN_MAX: f64 = 0.01;
const SIZE: Bytes = Bytes(64 << 20);

/// Samples of one workload, perhaps of several runs.
#[derive(Default)]
pub(crate) struct Pool {
    kernel: u64,
    unknown: f64,
    worst: Vec<String>,
}

impl Pool {
    pub(crate) fn add(&mut self, layers: &Layers) {
        let user = layers.rows.iter().find(|row| row.layer == "user").map_or(0, |row| row.samples);
        let kernel = layers.samples - user;
        self.kernel += kernel;
        self.unknown += (layers.quality.unclassified + layers.quality.inferred) * kernel as f64;
        let doubtful =
            |row: &&iostack_model::FunctionRow| row.layer == "unclassified" || row.kind == "inferred";
        let named = layers.functions.iter().filter(doubtful);
        self.worst.extend(named.map(|row| format!("{} ({}) {}", row.name, row.layer, row.samples)));
    }

    pub(crate) fn share(&self) -> f64 {
        if self.kernel == 0 { 0.0 } else { self.unknown / self.kernel as f64 }
    }

    pub(crate) fn is_enough(&self) -> bool {
        self.kernel >= SAMPLES
    }

    /// Says what was seen; true when it is good.
    pub(crate) fn tell(&self, name: &str) -> bool {
        let good = self.is_enough() && self.share() <= UNKNOWN_MAX;
        let share = 100.0 * self.share();
        println!("{name}: {} kernel samples, {share:.2} % unclassified or inferred", self.kernel);
        if !self.worst.is_empty() {
            println!("    {}", self.worst.join(", "));
        }
        good
    }
}

/// Runs `once` until there are as many samples as a verdict needs, whatever they say; some times at most.
pub(crate) fn gather(mut once: impl FnMut() -> Option<Layers>) -> Option<Pool> {
    let mut pool = Pool::default();
    for _ in 0..40 {
        pool.add(&once()?);
        if pool.is_enough() {
            break;
        }
    }
    Some(pool)
}

/// One workload once.
fn load(ladder: &Ladder, job: &Job, path: &Path) -> Result<Layers, EngineError> {
    let kind = if path.starts_with("/dev") { TargetKind::Block } else { TargetKind::File };
    let target = TargetName { kind, path: path.to_owned() };
    let storage = iostack_host::storage(path).expect("the path exists");
    let trace = LayerTrace::start(Rules::built_in(), Subject::Load, &storage, ladder, 1_000_000_000, RATE_HZ)
        .expect("the ladder was climbed");
    let control = Control { observer: Some(trace.observer()), ..Control::none() };
    let outcome = run_job(job, &target, &storage, vec![vec![path.to_owned()]], &control)?;
    let layers = trace.finish(Some(outcome.ios()), "I/Os of the load");
    let rows: u64 = layers.rows.iter().map(|row| row.time.0).sum();
    assert_eq!(rows, layers.clocks.total().0, "rows add up to the total");
    assert!(layers.lost * 100 <= layers.samples, "{} of {} samples lost", layers.lost, layers.samples);
    Ok(layers)
}

/// Every combination on one path. Returns the workloads that are not classified well enough.
fn matrix(ladder: &Ladder, place: &str, path: &Path, span: Nanos) -> Vec<String> {
    let mut bad = Vec::new();
    for (engine, name, depth) in
        [(Engine::Psync, "psync", 1), (Engine::Libaio, "libaio", 8), (Engine::IO_URING, "io_uring", 8)]
    {
        for (direct, way) in [(true, "direct"), (false, "buffered")] {
            for (mix, verb) in [(Mix::READ, "read"), (Mix::WRITE, "write")] {
                let title = format!("{place} {name} {way} {verb}");
                let job = Job {
                    engine,
                    queue_depth: depth,
                    direct,
                    mix,
                    size: Some(Amount::Bytes(SIZE)),
                    runtime: Some(span),
                    time_based: true,
                    ..Job::default()
                };
                let pool = gather(|| match load(ladder, &job, path) {
                    Ok(layers) => Some(layers),
                    Err(error @ EngineError::EngineUnavailable { .. }) => {
                        println!("SKIPPED {title}: {error}");
                        None
                    }
                    Err(error) => panic!("{title}: {error}: {error:?}"),
                });
                if pool.is_some_and(|pool| !pool.tell(&title)) {
                    bad.push(title);
                }
            }
        }
    }
    bad
}

/// All places. `span` is the time of one run of one workload.
fn places(test: &str, span: Nanos) {
    let Some(ladder) = ladder_with(test, Rung::AllSamples) else { return };
    let mut bad = Vec::new();
    for kind in ["ext4", "xfs", "btrfs"] {
        match mounted(kind) {
            Ok(mounted) => {
                bad.extend(matrix(
                    &ladder,
                    &format!("{kind} on loop"),
                    &random(&mounted, "data", SIZE.0),
                    span,
                ));
            }
            Err(why) => println!("SKIPPED {test} on {kind}: {why}"),
        }
    }
    match Image::new("layers-loop", SIZE.0) {
        Ok(device) => bad.extend(matrix(&ladder, "loop", &device, span)),
        Err(why) => println!("SKIPPED {test} on loop: {why}"),
    }
    match Zram::new(SIZE.0) {
        Ok(device) => bad.extend(matrix(&ladder, "zram", &device, span)),
        Err(why) => println!("SKIPPED {test} on zram: {why}"),
    }
    // The disk below is never written and often not readable: what lies on it is.
    println!("SKIPPED {test} on the raw disk: the machine's own disk is not written");
    let folder = folder!("layers-disk");
    bad.extend(matrix(&ladder, "the disk's file system", &random(&folder, "data", SIZE.0), span));
    assert!(bad.is_empty(), "not classified well enough, or too few samples: {bad:?}");
}

#[test]
fn kernel_samples_of_our_loads_are_classified_to_within_1_percent() {
    places("kernel_samples_of_our_loads_are_classified_to_within_1_percent", Nanos::millis(150));
}

#[test]
#[ignore = "slow: two minutes"]
fn many_kernel_samples_of_our_loads_are_classified_to_within_1_percent() {
    places("many_kernel_samples_of_our_loads_are_classified_to_within_1_percent", Nanos::secs(2));
}
