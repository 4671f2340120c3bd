//! What do single parts of the path cost? The special cases of the 2010 paper (section 4.2), measured here.
//!
//! ```text
//!   with the part      A   A   A   A           each difference of neighbours is one value:
//!   without it           B   B   B   B         what drifts hits both, and cancels
//! ```
//!
//! All in clocks of the time-stamp counter. CPU time of a load is that of its thread, as the scheduler accounts it;
//! interrupts and kernel threads beside it are seen by a profile only. Start reading at [`measure`].

use std::ops::RangeInclusive;

use iostack_model::answers::{PathCost, PathPart};
use iostack_model::{
    Access, Amount, BlockSizes, Bytes, Distribution, Effort, Engine, Interval, Job, Layers, Nanos, Order,
    Outcome,
};
use iostack_stats::{paired_difference, rate_interval};
use iostack_target::{HostPart, How, On, Place};

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
    measure: fn(&mut PathCostBench<'_, '_>) -> Result<Interval, String>,
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

struct PathCostBench<'a, 's> {
    examiner: &'a Examiner<'s>,
    /// Profiles of the depth-1 read, made once for all who want them.
    profiles: Option<Result<Vec<Layers>, String>>,
    /// Words for how the figure is had, and a note on it.
    how: String,
    note: Option<String>,
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
    let mut bench = PathCostBench { examiner, profiles: None, how: String::new(), note: None };
    PARTS.iter().map(|part| bench.cost(part, examiner.elapsed() - begin, budget)).collect()
}

impl PathCostBench<'_, '_> {
    /// Cost of one part, unless it takes longer than what those before it left of the time of all.
    fn cost(&mut self, part: &PathCostPart, spent: Nanos, budget: Nanos) -> PathCost {
        (self.how, self.note) = (String::new(), None);
        let examiner = self.examiner;
        // A profile that was made for one part is there for the next.
        let is_made = part.id == PathPart::Interrupt && self.profiles.is_some();
        let needs = if is_made { Nanos(0) } else { part.needs };
        let found = if examiner.stopped() {
            Err("interrupted before it was measured".to_owned())
        } else if spent + needs > budget {
            Err(format!("skipped: it takes {needs}, and all together have {budget} here"))
        } else if examiner.session.about().machine.cpu.tsc_hz == 0 {
            Err("there is no time-stamp counter to trust here, so nothing can be told in clocks".to_owned())
        } else {
            examiner.talk.live(&format!("path costs: {}", part.name));
            (part.measure)(self)
        };
        let note = self.note.take();
        PathCost {
            id: part.id.clone(),
            name: part.name.to_owned(),
            how: std::mem::take(&mut self.how),
            unit: part.unit.to_owned(),
            measured: found.as_ref().ok().copied(),
            published: part.published,
            published_where: Some(part.published_where.to_owned()),
            note: found.err().or(note),
        }
    }

    fn place(&self) -> &Place {
        &self.examiner.session.about().place
    }

    /// Profiles of the depth-1 read, one a turn; the same ones when asked again.
    fn profiles(&mut self) -> Result<&[Layers], String> {
        if self.profiles.is_none() {
            self.profiles = Some(self.take_profiles());
        }
        self.profiles.as_ref().expect("set above").as_deref().map_err(Clone::clone)
    }

    fn take_profiles(&self) -> Result<Vec<Layers>, String> {
        let mut profiler = Profiler::new(self.examiner.session.ladder());
        let mut taken = Vec::new();
        for seed in SEEDS {
            if self.examiner.stopped() {
                break;
            }
            let job = Job { seed, ..read(self, TURN + Nanos::millis(100)) };
            taken.extend(profiler.run(self.examiner, &job)?.layers);
        }
        match profiler.missing {
            _ if taken.len() >= ENOUGH => Ok(taken),
            Some(reason) => Err(format!("a profile is needed: {reason}")),
            None => Err(INTERRUPTED.to_owned()),
        }
    }

    /// CPU clocks per I/O of the load's thread with the part, and without it: `None` where a run made no I/O.
    fn pair(&self, with: &Job, without: (&Job, How)) -> Result<Option<[f64; 2]>, String> {
        let clocks = |outcome: &Outcome| (outcome.ios() > 0).then_some(outcome.cpu.clocks_per_io);
        let with = self.examiner.run(with)?;
        let without = self.examiner.run_so(without.0, without.1)?.outcome;
        Ok(clocks(&with).zip(clocks(&without)).map(<[f64; 2]>::from))
    }
}

/// Fewer turns have no interval.
const ENOUGH: usize = 3;
const INTERRUPTED: &str = "interrupted";

/// The difference over these turns, each with the part and without it; `too_few` says why there are less than three.
fn difference(turns: &[[f64; 2]], too_few: &str) -> Result<Interval, String> {
    let [with, without] = [0, 1].map(|side| turns.iter().map(|turn| turn[side]).collect::<Vec<_>>());
    if turns.len() < ENOUGH { Err(too_few.to_owned()) } else { Ok(paired_difference(&with, &without)) }
}

/// Turns of the loops in user space.
const LOOP_TURNS: usize = 40;

fn system_call(bench: &mut PathCostBench<'_, '_>) -> Result<Interval, String> {
    let calls = HostPart::SystemCall.count();
    turns(bench, HostPart::SystemCall, &|made| {
        format!("getppid {calls} times minus the same loop without it, {made} turns")
    })
}

/// One round trip is two switches and twice the calls of handing a byte to oneself.
fn switch(bench: &mut PathCostBench<'_, '_>) -> Result<Interval, String> {
    let hands = HostPart::Switch.count();
    turns(bench, HostPart::Switch, &|made| {
        format!(
            "half of: two threads on one CPU hand a byte through pipes and back, minus the same reads and writes in one \
             thread; CPU time of {hands} rounds, {made} turns"
        )
    })
}

/// Turns of a loop of the machine's own; `how` says how it was measured, with so many turns.
fn turns(
    bench: &mut PathCostBench<'_, '_>,
    part: HostPart,
    how: &dyn Fn(usize) -> String,
) -> Result<Interval, String> {
    let mut turns: Vec<[f64; 2]> = Vec::new();
    // A turn in which the thread lost its CPU is made again, as often as there are turns.
    for _ in 0..2 * LOOP_TURNS {
        bench.how = how(turns.len());
        turns.extend(bench.examiner.session.turn(part)?);
        if turns.len() == LOOP_TURNS {
            break;
        }
    }
    bench.how = how(turns.len());
    difference(&turns, "other programs took the CPU away in nearly every turn")
}

/// Turns of a load, by their seeds.
const SEEDS: RangeInclusive<u64> = 1..=TURNS;
const TURNS: u64 = 5;
const TURN: Nanos = Nanos::millis(150);

/// A 4 KiB random read at depth 1, through psync.
fn read(bench: &PathCostBench<'_, '_>, runtime: Nanos) -> Job {
    let place = bench.place();
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

/// File minus raw device where it may be read; else what a profile finds in the file system's layers.
fn file_system(bench: &mut PathCostBench<'_, '_>) -> Result<Interval, String> {
    if !bench.place().is_file {
        return Err("the target is a block device: there is no file system above it".to_owned());
    }
    let raw = match bench.place().raw_device.clone() {
        Ok(raw) => raw,
        Err(why) => return file_system_layers(bench, &why),
    };
    bench.how = format!("4 KiB direct random reads of a file minus those of {raw}, {TURNS} turns");
    let below = How { on: On::RawDevice, ..How::default() };
    let mut turns = Vec::new();
    for seed in SEEDS {
        let job = Job { seed, ..read(bench, TURN) };
        turns.extend(bench.pair(&job, (&job, below))?);
    }
    difference(&turns, INTERRUPTED)
}

/// The layer that a file has and a raw device has not.
const FILE_LAYER: &str = "fs";

fn file_system_layers(bench: &mut PathCostBench<'_, '_>, why: &str) -> Result<Interval, String> {
    bench.how = format!("clocks in the layer {FILE_LAYER} of a profile, {TURNS} turns");
    let profiles = bench.profiles().map_err(|reason| format!("{why}; {reason}"))?.iter();
    let values = profiles.filter_map(|layers| {
        let rows = layers.rows.iter().filter(|row| row.layer == FILE_LAYER);
        layers.clocks_per_io(Nanos(rows.map(|row| row.time.0).sum()))
    });
    let values: Vec<f64> = values.collect();
    let elsewhere = "what the file system adds elsewhere (memory, locks of its callers) is not in it";
    bench.note = Some(format!("{why}: {elsewhere}"));
    Ok(rate_interval(&values))
}

/// Interrupt time per I/O at depth 1, where the thread sleeps while the device works.
fn interrupt(bench: &mut PathCostBench<'_, '_>) -> Result<Interval, String> {
    bench.how = format!(
        "time in the device's interrupt and the block layer's soft interrupt outside the load's thread, per 4 KiB direct \
         read at depth 1, {TURNS} turns"
    );
    let profiles = bench.profiles()?;
    if profiles.iter().any(|layers| !layers.clocks.exact) {
        return Err("interrupts are bracketed on the rung of tracing only; see `iostack doctor`".to_owned());
    }
    let values: Vec<f64> =
        profiles.iter().filter_map(|layers| layers.clocks_per_io(layers.clocks.interrupts)).collect();
    if values.iter().all(|&value| value == 0.0) {
        return Err("no interrupt was seen: this device answers without one".to_owned());
    }
    let note =
        "Depth 1: no I/O shares its interrupt with another. Published is the driver's return path alone.";
    bench.note = Some(note.to_owned());
    Ok(rate_interval(&values))
}

/// Sizes over which the slope is taken.
const SIZES: [Bytes; 3] = [Bytes::kib(4), Bytes::kib(32), Bytes::kib(128)];

/// Buffered reads that miss minus direct ones, over the size of the request.
fn buffering(bench: &mut PathCostBench<'_, '_>) -> Result<Interval, String> {
    bench.how = format!(
        "slope over 4, 32 and 128 KiB of: random reads through the page cache that miss, minus direct ones, {TURNS} turns"
    );
    if !bench.place().is_file || !bench.place().direct {
        return Err("it needs a file that takes direct I/O too".to_owned());
    }
    let mut slopes = Vec::new();
    for seed in SEEDS {
        let mut points = Vec::new();
        for size in SIZES {
            if bench.examiner.stopped() {
                return Err(INTERRUPTED.to_owned());
            }
            let direct = Job {
                seed,
                block_sizes: BlockSizes::all(size),
                // Each block once, and an empty cache before: no read can hit.
                access: Access::Random { order: Order::Permutation, distribution: Distribution::Uniform },
                time_based: false,
                ..read(bench, Nanos::millis(55))
            };
            let buffered = Job { direct: false, invalidate: true, ..direct.clone() };
            let pair = bench.pair(&buffered, (&direct, How::default()))?;
            points.extend(pair.map(|[buffered, direct]| (size.0 as f64, buffered - direct)));
        }
        slopes.extend(slope(&points));
    }
    Ok(rate_interval(&slopes))
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
