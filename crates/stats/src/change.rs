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
use crate::segment::{
    Scatter, Segment, deviation_of_steps, deviations, join_alike, median, memory_of_steps, segment, segments,
    steps,
};

/// The shape of a series of rates over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// One level throughout.
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

/// Fee of one change, in deviations of the noise: `FEE * (ln(count) + FEE_SHORT / count)`. The second term pays for not
/// knowing the noise well in a short series. Both found by simulation: of level series with 10 to 120 elements and
/// noise of 2 to 20 %, at most 2.5 % show a change with memory up to 0.3, and at most 6.5 % with memory 0.6.
const FEE: f64 = 1.4;
const FEE_SHORT: f64 = 12.0;

/// Elements at which the series and the usual memory have an equal say.
const MEMORY_WEIGHT: f64 = 15.0;

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
    let noise = noise(values);
    let count = values.len() as f64;
    let fee = FEE * (count.ln() + FEE_SHORT / count) * noise.deviation * noise.lingering;
    let shortest = (values.len() / 10).clamp(3, 12);
    let whole = [segment(values, 0, values.len())];
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

/// Noise of one element, from the differences between neighbours: a change of level is only one of them, a drift only moves their
/// mean.
fn noise(values: &[f64]) -> Scatter {
    let mut steps = steps(values);
    let centre = median(&steps);
    for step in &mut steps {
        *step -= centre;
    }
    let of_steps = deviation_of_steps(&steps);
    let memory = memory_of_steps(&steps, 3.0 * of_steps, MEMORY_WEIGHT);
    // A capped rate is exact to the last I/O; a fee of nothing would make changes of its rounding.
    let least = 0.002 * median(values).abs();
    Scatter::with_memory(of_steps, memory, least.max(f64::MIN_POSITIVE))
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
    let limit = (DIP_LEAST * level.abs()).max(5.0 * noise(series).deviation);
    let dips = series.iter().filter(|&value| (value - level).abs() > limit).count();
    let dipping = dips >= 2 && dips * 20 >= series.len();
    (relative > UNSTEADY || dipping).then_some(Shape::Unsteady { relative })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Samples;

    /// Level 10 000 with this noise, times what `factor` says of each element.
    fn noisy(seed: u64, count: usize, spread: f64, factor: impl Fn(usize) -> f64) -> Vec<f64> {
        let noise = Samples::new(seed).series(count, 10_000.0, spread, 0.0);
        noise.iter().enumerate().map(|(i, value)| value * factor(i)).collect()
    }

    /// Percent of seeds 1..=`seeds` whose series has a shape that `is` the expected one.
    fn share_of(seeds: u64, series: impl Fn(u64) -> Vec<f64>, is: impl Fn(Shape) -> bool) -> f64 {
        (1..=seeds).filter(|&seed| is(shape(&series(seed)))).count() as f64 * 100.0 / seeds as f64
    }

    fn share(series: impl Fn(u64) -> Vec<f64>, is: impl Fn(Shape) -> bool) -> f64 {
        share_of(200, series, is)
    }

    fn changes(shape: Shape) -> bool {
        matches!(shape, Shape::Step { .. } | Shape::Cliff { .. } | Shape::Slope { .. })
    }

    #[test]
    fn a_level_series_shows_no_change() {
        for (count, spread, memory, most) in [
            (60, 0.02, 0.0, 0.5),
            (60, 0.10, 0.0, 2.0),
            (60, 0.05, 0.6, 2.0),
            (10, 0.05, 0.0, 2.0),
            (20, 0.10, 0.0, 2.0),
            (30, 0.10, 0.3, 4.0),
        ] {
            let percent =
                share_of(1_000, |seed| Samples::new(seed).series(count, 1e4, spread, memory), changes);
            assert!(percent <= most, "{count} elements, noise {spread}, memory {memory}: {percent} %");
        }
        let quiet =
            share(|seed| Samples::new(seed).series(60, 1e4, 0.03, 0.0), |shape| shape == Shape::Level);
        assert!(quiet >= 99.5, "{quiet} % level");
    }

    #[test]
    fn each_course_of_the_rate_has_its_shape() {
        for (count, at, factor, spread) in [
            (60, 20, 1.25, 0.05),
            (60, 45, 0.85, 0.03),
            (15, 7, 1.4, 0.03),
            (60, 20, 0.7, 0.05),
            (60, 50, 0.3, 0.1),
            (15, 9, 0.5, 0.05),
        ] {
            let series = |seed| noisy(seed, count, spread, |i| if i < at { 1.0 } else { factor });
            let percent = share(series, |shape| match shape {
                Shape::Step { at: told, before, after } => {
                    factor > 0.8 && told.abs_diff(at) <= 1 && (after / before / factor - 1.0).abs() < 0.08
                }
                Shape::Cliff { at: told, before, after } => {
                    factor < 0.8 && told.abs_diff(at) <= 1 && after < 0.8 * before
                }
                _ => false,
            });
            let least = if factor < 0.8 { 95.0 } else { 93.0 };
            assert!(percent >= least, "{count} elements, x {factor} at {at}: {percent} %");
        }
        for (period, length) in [(10, 1), (10, 3), (20, 2), (7, 2)] {
            let dip = |i: usize| if i % period >= period - length { 0.4 } else { 1.0 };
            let percent =
                share(|seed| noisy(seed, 60, 0.03, dip), |shape| matches!(shape, Shape::Unsteady { .. }));
            assert!(percent >= 97.0, "dips of {length} in {period}: {percent} %");
        }
        let cases: [(&str, usize, f64, Course, Is); 4] = [
            (
                "a fall in two stages is one cliff at the larger",
                60,
                0.03,
                |i| if i < 20 { 1.0 } else { 0.35 + 0.15 * f64::from(u8::from(i < 40)) },
                |shape| matches!(shape, Shape::Cliff { at: 19..=21, .. }),
            ),
            ("a fall that recovers", 60, 0.05, |i| if (20..35).contains(&i) { 0.5 } else { 1.0 }, is_step),
            ("a token bucket that refills", 90, 0.05, |i| if i % 45 < 20 { 1.0 } else { 0.3 }, is_step),
            (
                "a drift of its size",
                60,
                0.03,
                |i| 1.0 - 0.3 * i as f64 / 60.0,
                |shape| matches!(shape, Shape::Slope { per_element } if (per_element / -50.0 - 1.0).abs() < 0.2),
            ),
        ];
        for (name, count, spread, course, is) in cases {
            let percent = share(|seed| noisy(seed, count, spread, course), is);
            assert!(percent >= if name.contains("drift") { 95.0 } else { 97.0 }, "{name}: {percent} %");
        }
    }

    type Course = fn(usize) -> f64;
    type Is = fn(Shape) -> bool;

    fn is_step(shape: Shape) -> bool {
        matches!(shape, Shape::Step { .. })
    }

    #[test]
    fn long_series_are_averaged_and_their_steps_still_placed() {
        for seed in 1..=20 {
            let told = shape(&noisy(seed, 3_000, 0.05, |i| if i < 1_234 { 1.0 } else { 0.6 }));
            assert!(matches!(told, Shape::Cliff { at: 1_230..=1_238, .. }), "seed {seed}: {told:?}");
        }
    }

    #[test]
    fn a_long_drift_is_told_by_element_and_not_by_block() {
        let exact: Vec<f64> = (0..2_400).map(|i| 1_000.0 - f64::from(i) * 0.1).collect();
        assert!(matches!(shape(&exact), Shape::Slope { per_element } if (per_element + 0.1).abs() < 1e-6));
    }

    #[test]
    fn a_drift_of_a_twentieth_is_told_and_less_is_not() {
        // Of the level in the middle, from end to end.
        let drift =
            |share: f64| (0..101).map(|i| 1_000.0 + f64::from(i - 50) * 1_000.0 * share / 101.0).collect();
        let told = |series: Vec<f64>| matches!(shape(&series), Shape::Slope { .. });
        assert!(told(drift(0.0501)) && told(drift(-0.0501)));
        assert!(!told(drift(0.0499)) && !told(drift(-0.0499)));
    }

    #[test]
    fn the_noise_is_that_of_the_world_it_came_from() {
        for (memory, lingering) in [(0.0, 1.0), (0.5, 3.0), (0.7, 17.0 / 3.0)] {
            let noise = noise(&Samples::new(5).series(20_000, 1e4, 0.05, memory));
            assert!((noise.deviation / 500.0 - 1.0).abs() < 0.05, "{memory}: {}", noise.deviation);
            assert!((noise.lingering / lingering - 1.0).abs() < 0.1, "{memory}: {}", noise.lingering);
        }
    }

    /// Worked out apart from this program: the step of 59 counts as three deviations, and ten elements have a say of 10 / 25.
    #[test]
    fn the_noise_of_ten_elements_is_as_worked_out_by_hand() {
        let ten = noise(&[100.0, 103.0, 97.0, 108.0, 92.0, 101.0, 160.0, 158.0, 165.0, 151.0]);
        let Scatter { deviation, lingering } = ten;
        assert!((deviation - 10.599_470_487).abs() < 1e-6, "{deviation}");
        assert!((lingering - 2.194_481_414).abs() < 1e-6, "{lingering}");
        // What is exact has two thousandths of its level as noise nevertheless.
        assert!((noise(&[500.0; 10]).deviation - 1.0).abs() < 1e-9);
    }

    #[test]
    fn six_elements_have_a_step_and_five_do_not() {
        assert!(matches!(shape(&[100.0, 100.0, 100.0, 50.0, 50.0, 50.0]), Shape::Cliff { at: 3, .. }));
        assert!(matches!(shape(&[100.0, 100.0, 100.0, 50.0, 50.0]), Shape::Unsteady { .. }));
    }

    #[test]
    fn short_empty_and_constant_series_have_their_shape() {
        assert_eq!(shape(&[]), Shape::Level);
        assert_eq!(shape(&[1.0]), Shape::Level);
        assert_eq!(shape(&[0.0; 60]), Shape::Level);
        assert_eq!(shape(&[5_000.0; 60]), Shape::Level);
        assert!(matches!(shape(&[100.0, 900.0, 100.0]), Shape::Unsteady { .. }));
    }
}
