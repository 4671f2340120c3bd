//! Did the rate hold?
//!
//! ```text
//!   ───────────   level        ───┐          cliff: falls by a fifth or more, and stays there
//!                                 └───────
//!   ──┐  ┌──┐     step: a change of level in either direction, or several
//!     └──┘  └──
//!   ──────\_____  slope: drifts            ─┬─┬─┬─┬─  unsteady: dips, or noise that no level explains
//! ```
//!
//! Three descriptions of the series compete: one level, a straight line, levels with changes between them. Each is
//! fitted by medians and pays for what it explains with, so that noise is not taken for a change. The fee follows the
//! noise between neighbours, which no change of level can inflate, and the memory of that noise, because noise that
//! lingers looks like a level for a while. Start reading at [`shape`].

use crate::interval::rate_interval;
use crate::segment::{Segment, deviations, join_alike, median, segments};

/// The shape of a series of rates over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// One level.
    Level,
    /// The level changed, in either direction, perhaps several times.
    Step {
        /// First element of the new level, at the largest of the changes.
        at: usize,
        /// Level before it.
        before: f64,
        /// Level after it.
        after: f64,
    },
    /// The level fell by a fifth or more and stayed down to the end.
    Cliff {
        /// First element of the lower level.
        at: usize,
        /// Level before it.
        before: f64,
        /// Level after it.
        after: f64,
    },
    /// The level drifted from one end to the other.
    Slope {
        /// Change from one element to the next.
        per_element: f64,
    },
    /// No level, but dips or noise too large for the mean to be known.
    Unsteady {
        /// Half of the 95 % interval over the mean.
        relative: f64,
    },
}

/// A change of level below this share is not reported, however certain.
const STEP_LEAST: f64 = 0.10;

/// A fall of at least this share is a cliff.
const CLIFF_LEAST: f64 = 0.20;

/// A drift below this share of the level, from end to end, is not reported.
const SLOPE_LEAST: f64 = 0.05;

/// A wider interval of the mean than this is unsteady.
const UNSTEADY: f64 = 0.05;

/// An element this far from its level, and beyond five deviations, is a dip or a spike.
const DIP_LEAST: f64 = 0.20;

/// More changes than this are no levels any more.
const CHANGES_MOST: usize = 5;

/// Below this there are not two stretches of three elements.
const FEWEST: usize = 6;

/// Longer series are averaged down to at most this many elements: the search takes the cube of it.
const LONGEST: usize = 240;

/// Fee of one change, in deviations of the noise times the logarithm of the length. Found by simulation: level series of
/// 10 to 600 elements with memory 0 to 0.6 must not show a change.
const FEE: f64 = 1.2;

/// The shape of a series of rates of equal slices, in the order of time.
pub fn shape(series: &[f64]) -> Shape {
    let block = series.len().div_ceil(LONGEST).max(1);
    let coarse: Vec<f64> = series.chunks_exact(block).map(mean).collect();
    let described = if coarse.len() < FEWEST { Described::Level } else { describe(&coarse) };
    match described {
        Described::Line { slope } => Shape::Slope { per_element: slope / block as f64 },
        Described::Levels(pieces) => {
            named(&pieces, series, block).unwrap_or_else(|| unsteady(series).unwrap_or(Shape::Level))
        }
        Described::Level => unsteady(series).unwrap_or(Shape::Level),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The description that won.
enum Described {
    Level,
    Line { slope: f64 },
    Levels(Vec<Segment>),
}

fn describe(values: &[f64]) -> Described {
    let noise = Noise::of(values);
    let fee = FEE * (values.len() as f64).ln() * noise.deviation * noise.lingering;
    let shortest = (values.len() / 10).clamp(3, 12);
    let whole = [Segment { start: 0, end: values.len(), level: median(values) }];
    let flat_cost = deviations(values, &whole);
    let (pieces, left) = segments(values, fee, shortest);
    let levels_cost = left + fee * (pieces.len() - 1) as f64;
    let (slope, left) = line(values);
    let line_cost = left + fee;
    let drift = (slope * values.len() as f64).abs();
    if line_cost < flat_cost.min(levels_cost) {
        if drift >= SLOPE_LEAST * whole[0].level.abs() { Described::Line { slope } } else { Described::Level }
    } else {
        let pieces = join_alike(values, pieces, STEP_LEAST);
        if pieces.len() > 1 { Described::Levels(pieces) } else { Described::Level }
    }
}

/// What one element's noise is, free of the series' levels and drifts.
struct Noise {
    deviation: f64,
    /// Elements that one independent draw of the noise lasts for, as a variance: (1 + memory) / (1 - memory).
    lingering: f64,
}

impl Noise {
    /// From the differences between neighbours: a change of level is only one of them, a drift only moves their mean.
    fn of(values: &[f64]) -> Noise {
        let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let centre = median(&steps);
        let distances: Vec<f64> = steps.iter().map(|step| (step - centre).abs()).collect();
        // 1.4826 makes the median of distances the deviation of a normal distribution.
        let of_steps = 1.4826 * median(&distances);
        let limit = 3.0 * of_steps;
        let tame: Vec<f64> = steps.iter().map(|step| (step - centre).clamp(-limit, limit)).collect();
        let squares: f64 = tame.iter().map(|step| step * step).sum();
        let products: f64 = tame.windows(2).map(|pair| pair[0] * pair[1]).sum();
        // Differences of an AR(1) process correlate by -(1 - memory) / 2.
        let memory = if squares > 0.0 { (1.0 + 2.0 * products / squares).clamp(0.0, 0.8) } else { 0.0 };
        // A capped rate is exact to the last I/O; a fee of nothing would make changes of its rounding.
        let least = 0.002 * median(values).abs();
        Noise {
            deviation: (of_steps / (2.0 * (1.0 - memory)).sqrt()).max(least).max(f64::MIN_POSITIVE),
            lingering: (1.0 + memory) / (1.0 - memory),
        }
    }
}

/// Slope of the line through the series, the median over all pairs (Theil and Sen), and the absolute deviations from it.
fn line(values: &[f64]) -> (f64, f64) {
    let slopes: Vec<f64> = (1..values.len())
        .flat_map(|j| (0..j).map(move |i| (values[j] - values[i]) / (j - i) as f64))
        .collect();
    let slope = median(&slopes);
    let flat: Vec<f64> = values.iter().enumerate().map(|(i, value)| value - slope * i as f64).collect();
    let level = median(&flat);
    (slope, flat.iter().map(|value| (value - level).abs()).sum())
}

/// Levels as a shape; `None` when they come and go too often to be levels.
fn named(pieces: &[Segment], series: &[f64], block: usize) -> Option<Shape> {
    if pieces.len() > CHANGES_MOST + 1 {
        return None;
    }
    let size = |at: &usize| (pieces[*at].level - pieces[at - 1].level).abs();
    let largest = (1..pieces.len()).max_by(|x, y| size(x).total_cmp(&size(y)))?;
    let (before, after) = (pieces[largest - 1].level, pieces[largest].level);
    let at = placed(pieces[largest].start * block, series, block, (before, after));
    let falls = |level: f64| level <= before * (1.0 - CLIFF_LEAST);
    let falling = pieces.windows(2).all(|pair| pair[1].level < pair[0].level);
    let stays = pieces[largest..].iter().all(|piece| falls(piece.level));
    if falls(after) && stays && (falling || pieces.len() == 2) {
        Some(Shape::Cliff { at, before, after })
    } else {
        Some(Shape::Step { at, before, after })
    }
}

/// The element near `at` that parts the two levels best: averaging had blurred it by a block.
fn placed(at: usize, series: &[f64], block: usize, (before, after): (f64, f64)) -> usize {
    if block == 1 {
        return at;
    }
    let (first, last) = (at.saturating_sub(block), (at + block).min(series.len()));
    let cost = |cut: &usize| -> f64 {
        let left = series[first..*cut].iter().map(|value| (value - before).abs());
        left.chain(series[*cut..last].iter().map(|value| (value - after).abs())).sum()
    };
    (first..=last).min_by(|x, y| cost(x).total_cmp(&cost(y))).unwrap_or(at)
}

/// Dips, or an interval too wide for a level.
fn unsteady(series: &[f64]) -> Option<Shape> {
    if series.len() < 3 {
        return None;
    }
    let interval = rate_interval(series);
    let relative = (interval.high - interval.mean) / interval.mean.abs().max(f64::MIN_POSITIVE);
    let level = median(series);
    let limit = (DIP_LEAST * level.abs()).max(5.0 * Noise::of(series).deviation);
    let dips = series.iter().filter(|&value| (value - level).abs() > limit).count();
    let dipping = dips >= 2 && dips * 20 >= series.len();
    (relative > UNSTEADY || dipping).then_some(Shape::Unsteady { relative })
}
