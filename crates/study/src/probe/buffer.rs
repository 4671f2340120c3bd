//! How much does it take before writes wait for the medium, and how quickly does the medium take it?
//!
//! ```text
//!   bytes written
//!     │            ____----  slow: what the medium takes
//!     │      ___---
//!     │    /·                 where this line meets the axis, and what was on its way to the medium then, is the buffer
//!     │  /   fast: into the buffer
//!     └──────────────── time
//! ```

use iostack_model::answers::{ProbeFinding, ProbePoint, ProbeUnit};
use iostack_model::{Bytes, Direction, Interval, Job, Mix, Nanos, Outcome};

use super::finding::{ProbeSubject, around, curve, part};
use super::hinge::{Hinge, hinge};
use super::measure::Prober;

pub(crate) const BUFFER: ProbeSubject = ProbeSubject {
    key: "buffer",
    name: "write buffer",
    unit: ProbeUnit::Bytes,
    direction: Direction::Write,
    how: "bytes over time of a burst after idleness: the later, slower line meets the axis at the buffer, less what is being programmed",
};
pub(crate) const DRAIN: ProbeSubject = ProbeSubject {
    key: "drain",
    name: "writes that the medium takes",
    unit: ProbeUnit::Bandwidth,
    direction: Direction::Write,
    how: "slope of a burst of writes when the buffer is full",
};

pub(crate) const PROGRAM: ProbeSubject = ProbeSubject {
    key: "programming_unit",
    name: "bytes that a station programs at once",
    unit: ProbeUnit::Bytes,
    direction: Direction::Write,
    how: "what the medium takes in the time of one program, over the number of stations",
};

/// A program of a whole unit takes so many times that of a small durable write, for its data comes first: likely, and at most.
const LOADING: (f64, f64) = (1.1, 1.45);
/// Below this share of what large reads get, the way of the data is not the limit.
const ON_THE_WAY: f64 = 0.3;
/// Sizes that are tried, until writes outrun the medium.
const SIZES: [u64; 3] = [4096, 16384, 65536];
/// Bytes of a burst, until the bend is well inside of it.
const VOLUMES: [u64; 4] = [8 << 20, 64 << 20, 256 << 20, 1 << 30];
/// A burst is at most this part of a drive.
const OF_DRIVE: u64 = 32;
const DEPTH: u32 = 32;
/// Idleness before a burst.
const IDLE: Nanos = Nanos::millis(800);
const LONGEST: Nanos = Nanos::secs(6);
/// The medium takes this share of what the buffer does, at most: else there is no bend.
const SLOWER: f64 = 0.85;
/// The bend lies in this part of the burst.
const INSIDE: f64 = 0.6;
/// A line further off than this, of the height of the bend, is none.
const MISFIT: f64 = 0.25;
/// A wait for the first program, as a share of it: until then nothing leaves the buffer.
const STALL: f64 = 0.15;
const DIPS: &str = "something takes the rate away every so often, and a burst may bend because of it";
/// Points of the curve that are kept.
const KEPT: usize = 200;

/// A burst, as points of time (s) and bytes, and the slot of bytes that may be half in the buffer.
struct Burst {
    size: u64,
    points: Vec<(f64, f64)>,
}

/// Bursts of small writes, larger ones where those do not outrun the medium.
pub(crate) fn ask(prober: &mut Prober<'_>) -> Vec<ProbeFinding> {
    let least = prober.unit.unwrap_or_else(|| prober.small()).0;
    // On a whole drive a large burst uses up its spare room, which looks the same.
    let is_part = prober.place().is_file && !prober.is_virtual();
    let most = prober.place().region.0 / if is_part { 2 } else { OF_DRIVE };
    let mut longest = None;
    for size in SIZES.into_iter().filter(|size| *size >= least) {
        for volume in VOLUMES.into_iter().filter(|&volume| volume <= most) {
            let Some(burst) = measure(prober, size, volume) else {
                let missing = prober.missing();
                return [BUFFER, DRAIN, PROGRAM].map(|subject| subject.untold(&missing)).into();
            };
            let bend = hinge(&burst.points, SLOWER).filter(|bend| bend.height < INSIDE * volume as f64);
            match bend {
                Some(bend) if bend.height >= 2.0 * size as f64 => {
                    if let Some(reason) = prober.limits.reason(bend.fast, Bytes(size)) {
                        let over = drawn(&burst);
                        return [BUFFER, DRAIN, PROGRAM]
                            .map(|it| it.finding(Err(reason.clone()), Bytes(size), over.clone()))
                            .into();
                    }
                    prober.drain = Some(bend.slow);
                    let mut found = found(&burst, bend, prober.program_ns);
                    if prober.dips.is_some() {
                        found[0] = BUFFER.finding(Err(DIPS.to_owned()), Bytes(size), drawn(&burst));
                    }
                    prober.buffer = found[0].value.map(|buffer| buffer.mean);
                    found.push(program(prober, bend.slow, &found[1]));
                    return found;
                }
                _ => longest = Some(burst),
            }
        }
    }
    let reason = "writes do not outrun the medium: what the buffer takes is programmed as quickly";
    let Some(burst) = longest else {
        let reason = "the region is too small for a burst";
        return [BUFFER, DRAIN, PROGRAM].map(|subject| subject.untold(reason)).into();
    };
    let (size, over) = (Bytes(burst.size), drawn(&burst));
    [BUFFER, DRAIN, PROGRAM].map(|it| it.finding(Err(reason.to_owned()), size, over.clone())).into()
}

/// The unit that each station programs at once, from what all of them take.
fn program(prober: &Prober<'_>, drain: f64, burst: &ProbeFinding) -> ProbeFinding {
    let stations = prober.small_reads.as_ref().and_then(|finding| finding.value);
    let found = match (stations, prober.program_ns) {
        (None, _) => Err("by how many stations the medium takes it is not known".to_owned()),
        _ if drain > ON_THE_WAY * prober.large => {
            Err("writes come near what large reads get: their way to the stations may be the limit"
                .to_owned())
        }
        (_, None) => Err("the time of a program is not known".to_owned()),
        (Some(stations), Some(program)) => {
            let whole = drain * program / 1e9;
            let (mean, low) = (whole / stations.mean * LOADING.0, whole / stations.high * 0.95);
            Ok(Interval { mean, low, high: whole / stations.low * LOADING.1, samples: stations.samples })
        }
    };
    PROGRAM.finding(found, burst.request, burst.curve.clone())
}

fn measure(prober: &mut Prober<'_>, size: u64, volume: u64) -> Option<Burst> {
    let job = prober.job(Mix::WRITE, Bytes(size), DEPTH);
    let each = volume / size / u64::from(job.threads);
    let idle = if prober.is_virtual() { Nanos(0) } else { IDLE };
    let job = Job { io_count: Some(each), runtime: Some(LONGEST), start_delay: idle, slice: LONGEST, ..job };
    let outcome = prober.run(&Prober::logged(job))?;
    Some(Burst { size, points: grown(&outcome) })
}

/// Bytes that are through over time since the first were.
fn grown(outcome: &Outcome) -> Vec<(f64, f64)> {
    let mut ended: Vec<(u64, u32)> = outcome.log.iter().map(|entry| (entry.time.0, entry.length)).collect();
    ended.sort_unstable();
    let first = ended.first().map_or(0, |entry| entry.0);
    let mut bytes = 0.0;
    let sum = |(time, length): (u64, u32)| {
        bytes += f64::from(length);
        ((time - first) as f64 / 1e9, bytes)
    };
    ended.into_iter().map(sum).collect()
}

/// The buffer of a burst that bends: each station programs for `program_ns`, and frees its part of the buffer at the end.
fn found(burst: &Burst, bend: Hinge, program_ns: Option<f64>) -> Vec<ProbeFinding> {
    let (size, over) = (Bytes(burst.size), drawn(burst));
    let drain = around(bend.slow, 0.02 + bend.misfit / 10.0, 3);
    let mut told = DRAIN.finding(Ok(drain), size, over.clone());
    told.parts =
        vec![part("into_buffer", "into the buffer", ProbeUnit::Bandwidth, around(bend.fast, 0.03, 3))];
    let program = program_ns.unwrap_or(0.0) / 1e9;
    let buffer = match stall(&burst.points, program) {
        Some(bytes) => Ok(around(bytes, 0.03 + burst.size as f64 / bytes, 3)),
        None if bend.misfit > MISFIT => Err("the burst has no clear bend".to_owned()),
        None if program_ns.is_none() => {
            Err("the time of a program is not known, and it is part of the sum".to_owned())
        }
        None => {
            let busy = bend.slow * program / 2.0 * (1.0 + bend.slow / bend.fast);
            let bytes = bend.intercept + busy;
            let error = (0.2 * busy + burst.size as f64 * 2.0) / bytes.max(1.0) + 0.05;
            if bytes > 0.0 && error < 0.35 {
                Ok(around(bytes, error, 3))
            } else {
                Err("what is being programmed is more than the rest of the buffer".to_owned())
            }
        }
    };
    vec![BUFFER.finding(buffer, size, over), told]
}

/// Bytes before the first wait, where it comes before the first program can have ended.
fn stall(points: &[(f64, f64)], program: f64) -> Option<f64> {
    let early = points.windows(2).take_while(|two| two[0].0 < program * 0.9);
    let wait =
        early.filter(|two| two[1].0 - two[0].0 > program * STALL).map(|two| (two[1].0 - two[0].0, two[0].1));
    wait.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, bytes)| bytes)
}

fn drawn(burst: &Burst) -> iostack_model::answers::ProbeCurve {
    let every = burst.points.len().div_ceil(KEPT).max(1);
    let points = burst.points.iter().step_by(every).map(|&(x, y)| ProbePoint { x, y: Interval::exact(y) });
    curve(("time", ProbeUnit::Seconds), ("bytes written", ProbeUnit::Bytes), points.collect())
}
