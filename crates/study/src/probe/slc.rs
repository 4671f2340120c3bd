//! How much does it write quickly, before its slower cells take over?

use iostack_model::answers::{ProbeFinding, ProbePoint, ProbeUnit};
use iostack_model::{Access, Bytes, Direction, Effort, Interval, Job, Mix, Nanos, Outcome};

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
    let found = judge(&points, bend, prober.effort);
    let is_told = found.is_ok();
    prober.has_slc = is_told;
    let mut finding = SLC.finding(found, size, over);
    if let Some(bend) = bend.filter(|_| is_told) {
        finding.parts = vec![
            part("before", "rate before", ProbeUnit::Bandwidth, around(bend.fast, 0.02, 3)),
            part("after", "rate afterwards", ProbeUnit::Bandwidth, around(bend.slow, 0.05, 3)),
        ];
    }
    vec![finding]
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
