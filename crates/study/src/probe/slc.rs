//! How much does it write quickly, before its slower cells take over?

use iostack_model::answers::{ProbeFinding, ProbePoint, ProbeUnit};
use iostack_model::{Access, Bytes, Direction, Effort, Interval, Job, Mix, Nanos, Outcome, Think};

use super::finding::{ProbeSubject, around, curve, part};
use super::hinge::{Hinge, hinge};
use super::measure::{Prober, stretch};

pub(crate) const SLC: ProbeSubject = ProbeSubject {
    key: "slc",
    name: "cells that are written quickly",
    unit: ProbeUnit::Bytes,
    direction: Direction::Write,
    how: "bytes over time of writes in order: the volume at which the rate falls and stays lower",
};

const SIZE: Bytes = Bytes::kib(128);
const DEPTH: u32 = 32;
/// Most that is written where time is the target's own.
const MOST: u64 = 40 << 30;
/// Time by the wall's clock, s.
pub(crate) const SECONDS: f64 = 30.0;
/// Slices of the run.
const SLICES: u64 = 600;
/// The rate afterwards, as a share of that before, at most.
const SLOWER: f64 = 0.85;
/// A run whose lines are further off than this, of the height of the bend, is none of two lines.
const MISFIT: f64 = 0.03;
/// A bend below so many times the buffer may be that of the buffer.
const BUFFERS: f64 = 3.0;
/// The same where the buffer is not known.
const LEAST: f64 = 8e6;

pub(crate) const RECOVERY: ProbeSubject = ProbeSubject {
    key: "slc.recovery",
    name: "share of them that is back after a pause of 5 s",
    unit: ProbeUnit::Share,
    direction: Direction::Write,
    how: "they are filled, nothing is done for 5 s, and what is written quickly then is measured again",
};

const PAUSE: Nanos = Nanos::secs(5);
/// Time by the wall's clock for that, s.
pub(crate) const RECOVERY_SECONDS: f64 = 15.0;
/// So many times what they hold is written before the pause, and after it.
const OVERFULL: f64 = 1.3;

/// Writes in order until the rate has fallen, or all is written.
pub(crate) fn ask(prober: &mut Prober<'_>) -> Vec<ProbeFinding> {
    let region = prober.place().region.0;
    let size = SIZE.max(prober.small());
    let volume = (region / 10 * 9).min(if prober.is_virtual() { MOST } else { u64::MAX });
    let (count, guess) = (volume / size.0, 2e9);
    let seconds = if prober.is_virtual() { volume as f64 / 1e7 } else { SECONDS * stretch(prober.effort) };
    let slice =
        if prober.is_virtual() { volume as f64 / guess / SLICES as f64 } else { seconds / SLICES as f64 };
    let job = Job {
        access: Access::Sequential,
        io_count: Some(count),
        threads: 1,
        queue_depth: DEPTH,
        runtime: Some(Nanos((seconds * 1e9) as u64)),
        slice: Nanos((slice * 1e9) as u64),
        ..prober.job(Mix::WRITE, size, 1)
    };
    let Some(outcome) = prober.run(&job) else { return vec![SLC.untold(prober.missing())] };
    let points = summed(&outcome);
    let over = curve(
        ("time", ProbeUnit::Seconds),
        ("bytes written", ProbeUnit::Bytes),
        points.iter().map(|&(x, y)| ProbePoint { x, y: Interval::exact(y) }).collect(),
    );
    let least = prober.buffer.map_or(LEAST, |buffer| BUFFERS * buffer);
    let bend = first_bend(&points, least);
    let limit = bend.and_then(|bend| prober.limits.reason(bend.fast, size));
    let found = limit.map_or_else(|| judge(&points, bend, prober.effort), Err);
    let is_told = found.is_ok();
    prober.has_slc = bend.is_some();
    let mut finding = SLC.finding(found, size, over);
    if let Some(bend) = bend.filter(|_| is_told) {
        finding.parts = vec![
            part("before", "rate before", ProbeUnit::Bandwidth, around(bend.fast, 0.02, 3)),
            part("after", "rate afterwards", ProbeUnit::Bandwidth, around(bend.slow, 0.05, 3)),
        ];
        let recovery = recover(prober, &job, bend);
        return vec![finding, recovery];
    }
    vec![finding, RECOVERY.untold("no cells that are written quickly were seen to fill up")]
}

/// Fills them, pauses, and writes on: what is written quickly after the pause is what came back.
fn recover(prober: &mut Prober<'_>, filled: &Job, bend: Hinge) -> ProbeFinding {
    let size = filled.block_sizes.largest();
    let each = (bend.height * OVERFULL / size.0 as f64) as u64;
    let (first, second) = (bend.height / bend.fast, bend.height / bend.slow);
    let writing = 2.0 * (first + (OVERFULL - 1.0) * second);
    let longest = RECOVERY_SECONDS * stretch(prober.effort);
    if !prober.is_virtual() && writing + PAUSE.as_secs_f64() > longest {
        return RECOVERY.untold(format!("to fill them twice takes {writing:.0} s: longer than a probe"));
    }
    if 2 * each * size.0 > prober.place().region.0 {
        return RECOVERY.untold("the region is too small to fill them twice");
    }
    let job = Job {
        io_count: Some(2 * each),
        runtime: Some(Nanos((8.0 * (writing + longest) * 1e9) as u64)),
        think: Some(Think { time: PAUSE, every: each as u32, spin: Nanos(0) }),
        slice: Nanos((writing / SLICES as f64 * 1e9) as u64 + 1),
        ..filled.clone()
    };
    let Some(outcome) = prober.run(&job) else { return RECOVERY.untold(prober.missing()) };
    let points = after_pause(&summed(&outcome));
    let over = curve(
        ("time since the pause", ProbeUnit::Seconds),
        ("bytes written", ProbeUnit::Bytes),
        points.iter().map(|&(x, y)| ProbePoint { x, y: Interval::exact(y) }).collect(),
    );
    RECOVERY.finding(back(&points, bend), size, over)
}

/// Bytes written after the longest stretch without anything.
fn after_pause(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    // Of slices in which nothing ended, the last is the end of the pause.
    let (mut begin, mut longest, mut still) = (0, 0.0, 0);
    for at in 1..points.len() {
        if points[at].1 > points[at - 1].1 {
            still = at;
        } else if points[at].0 - points[still].0 > longest {
            (begin, longest) = (at, points[at].0 - points[still].0);
        }
    }
    let Some(&(start, before)) = points.get(begin) else { return Vec::new() };
    points[begin..].iter().map(|&(x, y)| (x - start, y - before)).collect()
}

/// Share of the cells that take writes quickly again.
fn back(points: &[(f64, f64)], full: Hinge) -> Result<Interval, String> {
    let &(time, bytes) = points.last().ok_or("nothing was written after the pause")?;
    let rate = bytes / time.max(1e-9);
    if let Some(bend) = hinge(points, SLOWER).filter(|bend| bend.misfit < MISFIT) {
        let share = (bend.height / full.height).min(1.0);
        return Ok(Interval { high: (share * 1.06 + 0.02).min(1.0), ..around(share, 0.06 + bend.misfit, 3) });
    }
    if rate < full.slow * 1.1 {
        return Ok(Interval { mean: 0.0, low: 0.0, high: 0.05, samples: 3 });
    }
    Err("the rate after the pause has no clear bend".to_owned())
}

/// Bytes that are through at the end of each slice.
pub(crate) fn summed(outcome: &Outcome) -> Vec<(f64, f64)> {
    let mut bytes = 0.0;
    let sum = |slice: &iostack_model::IntervalFlow| {
        bytes += slice.bytes.iter().sum::<u64>() as f64;
        ((slice.start + slice.length).as_secs_f64(), bytes)
    };
    outcome.series.iter().map(sum).collect()
}

/// The first of the bends, where there are several.
fn first_bend(points: &[(f64, f64)], least: f64) -> Option<Hinge> {
    let mut found = hinge(points, SLOWER).filter(|bend| bend.height > least)?;
    while let Some(earlier) = hinge(&points[..points.partition_point(|point| point.0 < found.at)], SLOWER)
        .filter(|earlier| earlier.height > least && earlier.misfit < MISFIT)
    {
        found = earlier;
    }
    Some(found)
}

fn judge(points: &[(f64, f64)], bend: Option<Hinge>, effort: Effort) -> Result<Interval, String> {
    let whole = points.last().map_or(0.0, |last| last.1);
    let said = Bytes(whole as u64);
    let Some(bend) = bend else {
        let more = if effort == Effort::Full { "" } else { "; --full writes for longer" };
        return Err(format!("the rate did not fall while {said} were written{more}"));
    };
    if bend.misfit > MISFIT {
        return Err(format!("the rate changed more than once while {said} were written"));
    }
    let each = whole / points.len() as f64;
    Ok(around(bend.height, 0.03 + bend.misfit + each / bend.height, 3))
}
