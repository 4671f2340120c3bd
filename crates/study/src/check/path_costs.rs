//! What do single parts of the path cost? The special cases of the 2010 paper (section 4.2), measured here.
//!
//! ```text
//!   with the part      A   A   A   A           each difference of neighbours is one value:
//!   without it           B   B   B   B         what drifts hits both, and cancels
//! ```
//!
//! All in clocks of the time-stamp counter. CPU time of a load is that of its thread, as the scheduler accounts it;
//! interrupts and kernel threads beside it are seen by a profile only. Start reading at [`measure`].

use iostack_model::answers::{PathCost, PathPart};
use iostack_model::{
    Access, Amount, BlockSizes, Bytes, Distribution, Effort, Engine, Interval, Job, Layers, Nanos, Order,
    Outcome,
};
use iostack_stats::{paired_difference, rate_interval};
use iostack_target::{HostPart, How, On};

use super::measure::Examiner;
use super::traced::Profiler;

/// The machine of the published clocks.
const INTEL: &str = "Intel 2010, section 4.2: Xeon X5570 2.93 GHz, Linux 2.6.28, ext3, SATA SSDs";

/// One part of the path.
struct PathCostPart {
    id: PathPart,
    name: &'static str,
    unit: &'static str,
    published: Option<f64>,
    published_where: &'static str,
    /// Wall time it needs.
    needs: Nanos,
    measure: fn(&mut PathCostBench<'_, '_>) -> PartFigure,
}

const CLOCKS: &str = "clocks";

/// The cheap ones first: they fit a quick check.
const PARTS: [PathCostPart; 5] = [
    PathCostPart {
        id: PathPart::SystemCall,
        name: "system call and return",
        unit: CLOCKS,
        published: Some(924.0),
        published_where: INTEL,
        needs: Nanos::millis(100),
        measure: system_call,
    },
    PathCostPart {
        id: PathPart::Switch,
        name: "wake-up and context switch",
        unit: CLOCKS,
        published: None,
        published_where: "Intel 2010 names it among the largest costs and prints no figure",
        needs: Nanos::millis(300),
        measure: switch,
    },
    PathCostPart {
        id: PathPart::FileSystem,
        name: "file system",
        unit: CLOCKS,
        published: Some(3_400.0),
        published_where: INTEL,
        needs: Nanos::millis(2_200),
        measure: file_system,
    },
    PathCostPart {
        id: PathPart::Interrupt,
        name: "interrupt, per I/O",
        unit: CLOCKS,
        published: Some(5_250.0),
        published_where: "Intel 2010: return path of the LSI driver; 650 when coalesced. Samsung: 5 to 35 us each",
        needs: Nanos::millis(2_200),
        measure: interrupt,
    },
    PathCostPart {
        id: PathPart::Buffering,
        name: "buffering",
        unit: "clocks/byte",
        published: Some(2.1),
        published_where: INTEL,
        needs: Nanos::millis(2_400),
        measure: buffering,
    },
];

/// A figure with how it was had, or why it was not.
struct PartFigure {
    measured: Option<Interval>,
    how: String,
    note: Option<String>,
}

impl PartFigure {
    fn value(measured: Interval, how: impl Into<String>) -> PartFigure {
        PartFigure { measured: Some(measured), how: how.into(), note: None }
    }

    fn nothing(how: impl Into<String>, why: impl Into<String>) -> PartFigure {
        PartFigure { measured: None, how: how.into(), note: Some(why.into()) }
    }
}

struct PathCostBench<'a, 's> {
    examiner: &'a Examiner<'s>,
    profiler: Option<Profiler>,
    /// Profiles of the depth-1 read, made once for all who want them.
    profiles: Option<Result<Vec<Layers>, String>>,
}

/// Wall time that a check gives them.
pub(crate) const fn allowed(effort: Effort) -> Nanos {
    match effort {
        Effort::Quick => Nanos::millis(800),
        Effort::Default => Nanos::secs(7),
        Effort::Full => Nanos::secs(20),
    }
}

/// Measures every part that fits `budget`; what does not is listed with the reason.
pub(crate) fn measure(examiner: &Examiner<'_>, budget: Nanos) -> Vec<PathCost> {
    let begin = examiner.elapsed();
    let mut bench = PathCostBench { examiner, profiler: None, profiles: None };
    let mut costs = Vec::new();
    for part in &PARTS {
        let spent = examiner.elapsed() - begin;
        // A profile that was made for one part is there for the next.
        let needs =
            if part.id == PathPart::Interrupt && bench.profiles.is_some() { Nanos(0) } else { part.needs };
        let found = if examiner.stopped() {
            PartFigure::nothing("", "interrupted before it was measured")
        } else if spent + needs > budget {
            PartFigure::nothing("", format!("skipped: it takes {needs}, and all together have {budget} here"))
        } else if examiner.session.about().machine.cpu.tsc_hz == 0 {
            PartFigure::nothing(
                "",
                "there is no time-stamp counter to trust here, so nothing can be told in clocks",
            )
        } else {
            examiner.talk.live(&format!("path costs: {}", part.name));
            (part.measure)(&mut bench)
        };
        costs.push(cost(part, found));
    }
    costs
}

fn cost(part: &PathCostPart, found: PartFigure) -> PathCost {
    PathCost {
        id: part.id.clone(),
        name: part.name.to_owned(),
        how: found.how,
        unit: part.unit.to_owned(),
        measured: found.measured,
        published: part.published,
        published_where: Some(part.published_where.to_owned()),
        note: found.note,
    }
}

/// Turns of the loops in user space.
const LOOP_TURNS: usize = 40;

fn system_call(bench: &mut PathCostBench<'_, '_>) -> PartFigure {
    let calls = HostPart::SystemCall.count();
    turns(bench, HostPart::SystemCall, &|made| {
        format!("getppid {calls} times minus the same loop without it, {made} turns")
    })
}

/// One round trip is two switches and twice the calls of handing a byte to oneself.
fn switch(bench: &mut PathCostBench<'_, '_>) -> PartFigure {
    let hands = HostPart::Switch.count();
    turns(bench, HostPart::Switch, &|made| {
        format!(
            "half of: two threads on one CPU hand a byte through pipes and back, minus the same reads and writes in one \
             thread; CPU time of {hands} rounds, {made} turns"
        )
    })
}

/// Turns of a loop of the machine's own; `how` says how it was measured, with so many turns.
fn turns(bench: &PathCostBench<'_, '_>, part: HostPart, how: &dyn Fn(usize) -> String) -> PartFigure {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    // A turn in which the thread lost its CPU is made again, as often as there are turns.
    for _ in 0..2 * LOOP_TURNS {
        match bench.examiner.session.turn(part) {
            Ok(None) => {}
            Ok(Some([own, none])) => {
                with.push(own);
                without.push(none);
            }
            Err(error) => return PartFigure::nothing(how(with.len()), error),
        }
        if with.len() == LOOP_TURNS {
            break;
        }
    }
    if with.len() < 3 {
        return PartFigure::nothing(how(with.len()), "other programs took the CPU away in nearly every turn");
    }
    PartFigure::value(paired_difference(&with, &without), how(with.len()))
}

/// Turns of a load.
const TURNS: usize = 5;
const TURN: Nanos = Nanos::millis(150);

/// A 4 KiB random read at depth 1, through psync.
fn read(bench: &PathCostBench<'_, '_>, runtime: Nanos) -> Job {
    let place = &bench.examiner.session.about().place;
    Job {
        name: "path cost".to_owned(),
        access: Access::UNIFORM,
        block_sizes: BlockSizes::all(Bytes(4096).max(place.logical_block)),
        engine: Engine::Psync,
        direct: place.direct,
        size: Some(Amount::Bytes(place.region)),
        runtime: Some(runtime),
        time_based: true,
        invalidate: false,
        ..Job::default()
    }
}

impl PathCostBench<'_, '_> {
    /// Runs a job on the target.
    fn run(&self, job: &Job) -> Result<Outcome, String> {
        self.examiner.run(job)
    }

    /// Profiles of the depth-1 read, one a turn; the same ones when asked again.
    fn profiles(&mut self) -> Result<&[Layers], String> {
        if self.profiles.is_none() {
            self.profiles = Some(self.take_profiles());
        }
        match self.profiles.as_ref().expect("set above") {
            Ok(profiles) => Ok(profiles),
            Err(reason) => Err(reason.clone()),
        }
    }

    fn take_profiles(&mut self) -> Result<Vec<Layers>, String> {
        let mut profiler =
            self.profiler.take().unwrap_or_else(|| Profiler::new(self.examiner.session.ladder()));
        let mut taken = Vec::new();
        for turn in 0..TURNS {
            if self.examiner.stopped() {
                break;
            }
            let job = Job { seed: 1 + turn as u64, ..read(self, TURN + Nanos::millis(100)) };
            let outcome = profiler.run(self.examiner, &job)?;
            taken.extend(outcome.layers);
        }
        let reason = profiler.missing.clone();
        self.profiler = Some(profiler);
        match (taken.len() >= 3, reason) {
            (true, _) => Ok(taken),
            (false, Some(reason)) => Err(format!("a profile is needed: {reason}")),
            (false, None) => Err("interrupted".to_owned()),
        }
    }
}

/// CPU clocks per I/O of the load's thread.
fn clocks(outcome: &Outcome) -> Option<f64> {
    (outcome.ios() > 0).then_some(outcome.cpu.clocks_per_io)
}

/// File minus raw device where it may be read; else what a profile finds in the file system's layers.
fn file_system(bench: &mut PathCostBench<'_, '_>) -> PartFigure {
    if !bench.examiner.session.about().place.is_file {
        return PartFigure::nothing("", "the target is a block device: there is no file system above it");
    }
    let raw = match bench.examiner.session.about().place.raw_device.clone() {
        Ok(raw) => raw,
        Err(why) => return file_system_layers(bench, &why),
    };
    let how = format!("4 KiB direct random reads of a file minus those of {raw}, {TURNS} turns");
    let below = How { on: On::RawDevice, ..How::default() };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let job = Job { seed: 1 + turn as u64, ..read(bench, TURN) };
        let pair = bench.run(&job).and_then(|file| Ok((file, bench.examiner.run_so(&job, below)?.outcome)));
        match pair {
            Ok((file, device)) => {
                if let (Some(file), Some(device)) = (clocks(&file), clocks(&device)) {
                    with.push(file);
                    without.push(device);
                }
            }
            Err(reason) => return PartFigure::nothing(how, reason),
        }
    }
    if with.len() < 3 {
        return PartFigure::nothing(how, "interrupted");
    }
    PartFigure::value(paired_difference(&with, &without), how)
}

/// Layers that a file has and a raw device has not.
const FILE_LAYERS: [&str; 1] = ["fs"];

fn file_system_layers(bench: &mut PathCostBench<'_, '_>, why: &str) -> PartFigure {
    let how = format!("clocks in the layer {} of a profile, {TURNS} turns", FILE_LAYERS.join(" and "));
    let profiles = match bench.profiles() {
        Ok(profiles) => profiles,
        Err(reason) => return PartFigure::nothing(how, format!("{why}; {reason}")),
    };
    let values: Vec<f64> = profiles
        .iter()
        .filter_map(|layers| {
            let rows = layers.rows.iter().filter(|row| FILE_LAYERS.contains(&row.layer.as_str()));
            layers.clocks_per_io(Nanos(rows.map(|row| row.time.0).sum()))
        })
        .collect();
    let note =
        format!("{why}: what the file system adds elsewhere (memory, locks of its callers) is not in it");
    PartFigure { note: Some(note), ..PartFigure::value(rate_interval(&values), how) }
}

/// Interrupt time per I/O at depth 1, where the thread sleeps while the device works.
fn interrupt(bench: &mut PathCostBench<'_, '_>) -> PartFigure {
    let how = format!(
        "time in the device's interrupt and the block layer's soft interrupt outside the load's thread, per 4 KiB direct \
         read at depth 1, {TURNS} turns"
    );
    let profiles = match bench.profiles() {
        Ok(profiles) => profiles,
        Err(reason) => return PartFigure::nothing(how, reason),
    };
    if profiles.iter().any(|layers| !layers.clocks.exact) {
        return PartFigure::nothing(
            how,
            "interrupts are bracketed on the rung of tracing only; see `iostack doctor`",
        );
    }
    let values: Vec<f64> =
        profiles.iter().filter_map(|layers| layers.clocks_per_io(layers.clocks.interrupts)).collect();
    if values.iter().all(|&value| value == 0.0) {
        return PartFigure::nothing(how, "no interrupt was seen: this device answers without one");
    }
    let note =
        "Depth 1: no I/O shares its interrupt with another. Published is the driver's return path alone.";
    PartFigure { note: Some(note.to_owned()), ..PartFigure::value(rate_interval(&values), how) }
}

/// Sizes over which the slope is taken.
const SIZES: [Bytes; 3] = [Bytes::kib(4), Bytes::kib(32), Bytes::kib(128)];

/// Buffered reads that miss minus direct ones, over the size of the request.
fn buffering(bench: &mut PathCostBench<'_, '_>) -> PartFigure {
    let how = format!(
        "slope over 4, 32 and 128 KiB of: random reads through the page cache that miss, minus direct ones, {TURNS} turns"
    );
    let place = &bench.examiner.session.about().place;
    if !place.is_file || !place.direct {
        return PartFigure::nothing(how, "it needs a file that takes direct I/O too");
    }
    let mut slopes = Vec::new();
    for turn in 0..TURNS {
        let mut points = Vec::new();
        for size in SIZES {
            if bench.examiner.stopped() {
                return PartFigure::nothing(how, "interrupted");
            }
            let job = Job {
                seed: 1 + turn as u64,
                block_sizes: BlockSizes::all(size),
                // Each block once, and an empty cache before: no read can hit.
                access: Access::Random { order: Order::Permutation, distribution: Distribution::Uniform },
                time_based: false,
                ..read(bench, Nanos::millis(55))
            };
            let pair = bench
                .run(&Job { direct: false, invalidate: true, ..job.clone() })
                .and_then(|buffered| Ok((buffered, bench.run(&job)?)));
            match pair {
                Ok((buffered, direct)) => {
                    if let (Some(buffered), Some(direct)) = (clocks(&buffered), clocks(&direct)) {
                        points.push((size.0 as f64, buffered - direct));
                    }
                }
                Err(reason) => return PartFigure::nothing(how, reason),
            }
        }
        slopes.extend(slope(&points));
    }
    PartFigure::value(rate_interval(&slopes), how)
}

/// Least squares; `None` of fewer than two different places.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let along: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    (spread > 0.0).then(|| along / spread)
}

#[cfg(test)]
#[path = "path_costs_tests.rs"]
mod tests;
