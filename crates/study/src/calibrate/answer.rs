//! From files to the sheet and its errors.

use std::sync::atomic::Ordering;

use anyhow::{Context, bail, ensure};
use iostack_model::answers::{CalibratedNumber, CalibratedPoint, Calibration};
use iostack_model::{Bytes, Job, Nanos, SCHEMA};
use iostack_target::{Audience, Targets};

use super::baselines;
use super::drive::{COUNT, Drive, Number, Numbers};
use super::fit::{Data, Fit, by_formula, by_simulator, intervals};
use super::flush;
use super::points::{Gathered, Point, PointSource, hold_out, tell_sleep};
use super::scores::scores;
use super::sheet::{self, FittedFacts};
use crate::sweep::pool::{self, RunWindow, Task};
use crate::sweep::watch::parallel;

/// A platform that is built in, all of whose numbers are exchanged.
const BASE: &str = "nvme-server";
/// Kinds of drives that are tried.
const DRIVES: [Drive; 6] = [
    Drive::Copied,
    Drive::Memory,
    Drive::Flash(4 << 10),
    Drive::Flash(16 << 10),
    Drive::Cloud { merges: false },
    Drive::Cloud { merges: true },
];
/// Kinds that go to the simulator.
const SIMULATED: usize = 3;
/// Fits again with what the simulator said.
const ROUNDS: u32 = 3;
/// Fits of the bootstrap.
const RESAMPLES: u32 = 80;
/// Loads that there must be before any is held out.
const LOADS_LEAST: usize = 6;

/// Fits a platform called `name` to the files, and tries it on what was held out.
///
/// # Errors
/// When no measurement can be fitted, or it was interrupted.
pub fn answer(
    files: &[(String, PointSource)],
    name: &str,
    targets: &dyn Targets,
    talk: &dyn Audience,
) -> anyhow::Result<Calibration> {
    let mut gathered = gather(files)?;
    hold(&mut gathered);
    let facts = facts(&gathered, name);
    let points = &gathered.points;
    let training: Vec<&Point> = points.iter().filter(|point| !point.held_out).collect();
    let cores = facts.cores.as_ref().map_or(8, |(cores, _)| *cores);
    talk.live(&format!("{} points, {} held out", points.len(), points.len() - training.len()));
    let mut data = Data { points: training, cores, beyond: Vec::new() };
    let simulator = Simulator { facts: &facts, targets, talk };
    let mut found = best_of_kinds(&mut data, &simulator)?;
    let mut ends = intervals(&data, &found, RESAMPLES);
    let mut said = Vec::new();
    if !gathered.flushes.is_empty() {
        let flushes: Vec<&Point> = gathered.flushes.iter().collect();
        let rates = |found: &Fit| -> anyhow::Result<Vec<f64>> {
            Ok(simulator
                .run(found.drive, &found.numbers, &flushes)?
                .into_iter()
                .map(|(iops, _)| iops)
                .collect())
        };
        let at = Number::Flush as usize;
        (found.numbers[at], ends[at]) = flush::time(&gathered.flushes, found.delay(), &rates(&found)?);
        said = flush::told(&gathered.flushes, &rates(&found)?);
    }
    if !gathered.doubts.is_empty() {
        widen(&mut ends, &found.numbers);
    }
    let all: Vec<&Point> = points.iter().collect();
    let answered = simulator.run(found.drive, &found.numbers, &all)?;
    let told: Vec<CalibratedPoint> =
        points.iter().zip(&answered).map(|(point, answer)| of_point(points, point, *answer)).collect();
    let mut calibration = assemble(&gathered, &facts, (&found, &ends), told);
    calibration.findings.extend(said);
    Ok(calibration)
}

/// The fit of each kind of drive by formula; the best of them are simulated, and the best of those is taken.
fn best_of_kinds(data: &mut Data<'_>, simulator: &Simulator<'_>) -> anyhow::Result<Fit> {
    let talk = simulator.talk;
    // A bucket that a probe saw run empty is a volume's: no other kind has one.
    let has_bucket = simulator.facts.probed("cap.burst", None).is_some();
    let kinds = DRIVES.iter().filter(|drive| !has_bucket || matches!(drive, Drive::Cloud { .. }));
    let mut fits: Vec<Fit> = kinds.map(|&drive| by_formula(data, drive)).collect();
    fits.sort_by(|a, b| a.score.total_cmp(&b.score));
    fits.truncate(SIMULATED);
    let (mut best, mut refused): (Option<(Fit, Vec<f64>)>, _) = (None, None);
    for fit in &fits {
        talk.live(&format!("simulating with a drive of the kind {}", fit.drive.kind()));
        let training = data.points.clone();
        let simulated = by_simulator(data, fit, ROUNDS, &mut |drive, numbers| {
            Ok(simulator.run(drive, numbers, &training)?.into_iter().map(|(iops, _)| iops).collect())
        });
        ensure!(!talk.stop().load(Ordering::Relaxed), "interrupted; nothing was written");
        let found = match simulated {
            Ok(found) => found,
            // Another kind may do: numbers that no drive of this one can have.
            Err(error) => {
                refused = Some(error);
                continue;
            }
        };
        if best.as_ref().is_none_or(|(known, _)| found.score < known.score) {
            best = Some((found, data.beyond.clone()));
        }
        data.beyond.clear();
    }
    let Some((found, beyond)) = best else {
        return Err(refused.context("a kind of drive was tried")?.context("the simulator refuses every fit"));
    };
    data.beyond = beyond;
    Ok(found)
}

fn gather(files: &[(String, PointSource)]) -> anyhow::Result<Gathered> {
    let mut gathered = Gathered::default();
    for (file, source) in files {
        gathered.add(file, source)?;
    }
    gathered.one_machine();
    if gathered.points.is_empty() {
        let left: Vec<String> = gathered.left.iter().map(|(why, count)| format!("{count} {why}")).collect();
        let left = if left.is_empty() { "there are none".to_owned() } else { left.join(", ") };
        bail!(
            "no measurement can be fitted ({left}); make some with `iostack check`, or direct reads with `iostack run` or \
             fio's --output-format=json"
        );
    }
    gathered.together();
    tell_sleep(&mut gathered.points);
    Ok(gathered)
}

/// Holds points out, where there are enough, and names what there is too little of.
fn hold(gathered: &mut Gathered) {
    let mut loads: Vec<_> = gathered.points.iter().map(|point| point.load).collect();
    loads.sort_unstable();
    loads.dedup();
    if loads.len() >= LOADS_LEAST {
        hold_out(&mut gathered.points);
    }
    if !gathered.points.iter().any(|point| point.held_out) {
        gathered.doubt(format!(
            "{} different loads are too few to hold one out: nothing says how far off the sheet is elsewhere; measure depths \
             from 1 to 128 and two sizes",
            loads.len()
        ));
    }
    let mut flights: Vec<u32> = gathered.points.iter().map(Point::in_flight).collect();
    flights.sort_unstable();
    flights.dedup();
    if flights.len() < 3 {
        gathered.doubt(format!(
            "{} depth(s) alone do not tell latency from what works side by side: only their sum is fitted",
            flights.len()
        ));
    }
}

fn facts(gathered: &Gathered, name: &str) -> FittedFacts {
    let points = &gathered.points;
    let kept = |file: &str| points.iter().any(|point| point.file == file);
    let files: Vec<&str> =
        gathered.origins.iter().map(|(file, ..)| file.as_str()).filter(|file| kept(file)).collect();
    let largest = points.iter().filter_map(|point| Some((point.region?, point.file.clone())));
    let shape = |read: u8| {
        let own = points
            .iter()
            .filter(|point| point.load.0 == read && !point.held_out && point.quantiles.is_some());
        let alone = own.min_by_key(|point| (point.in_flight(), point.load.2.abs_diff(4096), point.load.1))?;
        let host = alone.cpu.unwrap_or(0.0);
        let mean = (f64::from(alone.in_flight()) * 1e9 / alone.iops - host).max(1.0);
        Some(alone.quantiles?.map(|ns| (ns - host).max(1.0) / mean))
    };
    FittedFacts {
        name: name.to_owned(),
        files: match files.as_slice() {
            [first, _, _, ..] => format!("{first} and {} more", files.len() - 1),
            few => few.join(", "),
        },
        cores: gathered.cores.clone(),
        ghz: gathered.ghz.clone(),
        capacity: largest.max(),
        shapes: [shape(100), shape(0)],
        block_most: points.iter().map(|point| point.load.2).max().unwrap_or(4096),
        depth_most: points.iter().map(Point::in_flight).max().unwrap_or(1),
        probe: gathered.probe.clone(),
    }
}

/// Asks the simulator.
struct Simulator<'a> {
    facts: &'a FittedFacts,
    targets: &'a dyn Targets,
    talk: &'a dyn Audience,
}

impl Simulator<'_> {
    /// Rate and 99th percentile of each point.
    fn run(
        &self,
        drive: Drive,
        numbers: &Numbers,
        points: &[&Point],
    ) -> anyhow::Result<Vec<(f64, Option<u64>)>> {
        let entries = sheet::entries(drive, numbers, &[(0.0, 0.0); COUNT], self.facts);
        let changes = sheet::changes(&entries);
        let task = |point: &&Point| Task {
            device: BASE.to_owned(),
            changes: changes.clone(),
            jobs: Ok(vec![point.job(self.facts.capacity(drive, numbers))]),
            window: RunWindow::Own,
        };
        let tasks: Vec<Task> = points.iter().map(task).collect();
        let stop = self.talk.stop();
        let given = pool::run(&tasks, (parallel(None), self.targets), stop, &mut |_, _| ());
        let mut all = Vec::new();
        for given in given {
            let outcomes = given.context("it was not run")?;
            let outcomes = outcomes.map_err(|error| anyhow::anyhow!("{error}"))?;
            let outcome = outcomes.first().context("a run has an outcome")?;
            let latency = outcome.latency();
            let tail = latency.quantile_ns(0.99).filter(|_| latency.count >= 1000);
            all.push((outcome.rate().max(1e-3), tail));
        }
        Ok(all)
    }
}

/// Intervals of doubtful points are twice as wide.
fn widen(ends: &mut [(f64, f64); COUNT], numbers: &Numbers) {
    for ((low, high), own) in ends.iter_mut().zip(numbers).filter(|(_, own)| **own > 0.0) {
        (*low, *high) = (*low * *low / own, *high * *high / own);
    }
}

fn of_point(points: &[Point], point: &Point, (iops, tail): (f64, Option<u64>)) -> CalibratedPoint {
    let (network_iops, roofline_iops) = baselines::predict(points, point);
    let job: Job = point.job(1 << 30);
    let latency = |index: usize| point.quantiles.map(|all| Nanos(all[index] as u64));
    CalibratedPoint {
        file: point.file.clone(),
        pattern: job.rw_name().to_owned(),
        read_percent: point.load.0,
        block: Bytes(point.load.2),
        queue_depth: point.load.3,
        threads: point.load.4,
        engine: point.engine.name().to_owned(),
        held_out: point.held_out,
        iops: point.iops,
        latency_min: latency(0),
        latency_p50: latency(1),
        latency_p99: latency(2),
        latency_max: latency(3),
        cpu_per_io: point.cpu.map(|ns| Nanos(ns as u64)),
        sheet_iops: iops,
        sheet_p99: tail.map(Nanos),
        network_iops,
        roofline_iops,
    }
}

fn assemble(
    gathered: &Gathered,
    facts: &FittedFacts,
    (found, ends): (&Fit, &[(f64, f64); COUNT]),
    points: Vec<CalibratedPoint>,
) -> Calibration {
    let mut numbers = sheet::entries(found.drive, &found.numbers, ends, facts);
    let (scores, mut findings) = scores(&points);
    let about = match scores.first() {
        Some(score) => format!(
            "On {} points that were held out the simulator is off by {:.1} % of IOPS in the median, {:.1} % at worst.",
            score.points,
            100.0 * score.iops_median,
            100.0 * score.iops_worst
        ),
        None => "No point was held out, so that nobody knows how far off it is.".to_owned(),
    };
    let sheet = sheet::toml(facts, &numbers, &about);
    let left: Vec<String> = gathered.left.iter().map(|(why, count)| format!("{count} {why}")).collect();
    if !left.is_empty() {
        findings.push(format!("Not fitted: {}.", left.join(", ")));
    }
    let mut doubts = gathered.doubts.clone();
    if !doubts.is_empty() {
        doubts.push(
            "for these reasons every interval is twice as wide as the points alone would have it".to_owned(),
        );
    }
    numbers.sort_by_key(|number: &CalibratedNumber| !number.source.starts_with("measured"));
    Calibration {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        name: facts.name.clone(),
        files: gathered.origins.iter().map(|(file, ..)| file.clone()).collect(),
        drive: found.drive.kind().to_owned(),
        numbers,
        points,
        scores,
        findings,
        doubts,
        sheet,
    }
}
