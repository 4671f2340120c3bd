//! Did a figure change from one run to another, and stay so?
//!
//! ```text
//!   ·· · ·· ·              each point is a run, days apart; a step is a level that changes and stays
//!   ─·──·──·─·─┐  ·
//!              └─·──·─··─
//! ```
//!
//! The cut of the runs into levels that leaves the smallest sum of squares, when each change costs a fee: found exactly, by
//! optimal partitioning (Jackson et al. 2005, "An algorithm for optimal partitioning of data on an interval"). It goes by
//! logarithms, since runs scatter by a share of their level. A run far from its neighbours is moved to them first (Hampel's
//! identifier: Davies and Gather 1993), so that a bad night is no step. Start reading at [`level_steps`].

use iostack_model::Interval;

use crate::interval::rate_interval;
use crate::segment::{
    Scatter, Segment, cheapest_cut, deviation_of_steps, join_alike, median, memory_of_steps, segment, steps,
};

/// Runs that a level is made of at least: with fewer, two bad nights would be one.
pub const LEVEL_RUNS_LEAST: usize = 5;

/// The fee of a change is `FEE * (ln(runs) + FEE_BASE + FEE_SHORT / runs)` variances of a run. The last term pays for not knowing
/// the scatter of few runs well. Found by simulation: of 10,000 series without a step, of 8 to 120 runs each, at most
/// 0.35 % show one, whether their scatter is normal, has heavy tails (Student's t with three degrees of freedom), has
/// a run in twenty ten deviations off, or a memory of 0.3.
const FEE: f64 = 2.7;
const FEE_BASE: f64 = 3.0;
const FEE_SHORT: f64 = 45.0;

/// Runs at which they and the usual memory have an equal say.
const MEMORY_WEIGHT: f64 = 100.0;

/// A run is held within so many deviations of the median of itself and `NEIGHBOURS` on each side.
const FAR: f64 = 2.5;
const NEIGHBOURS: usize = 4;

/// Variances of a run by which a shorter newest level must fit better to be believed in.
const SURE: f64 = 4.0;

/// A smaller change of level is of no use to anyone.
const STEP_LEAST: f64 = 0.01;

/// Runs never scatter by less than this share: a capped rate repeats to the last I/O, and its rounding is no step.
const SCATTER_LEAST: f64 = 0.002;

/// Runs that are looked at together; the time taken grows with the square of it.
const TOGETHER: usize = 600;

/// A level that changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelStep {
    /// First run of the new level.
    pub at: usize,
    /// The level before it, with the 95 % interval of its mean.
    pub before: Interval,
    /// The level after it.
    pub after: Interval,
}

/// Steps in a figure of runs, in the order of time; each run's value is above 0 and has its own interval.
pub fn level_steps(runs: &[Interval]) -> Vec<LevelStep> {
    let values: Vec<f64> = runs.iter().map(|run| run.mean).collect();
    let levels = levels(runs, &values);
    let level = |segment: &Segment| rate_interval(&values[segment.start..segment.end]);
    levels
        .windows(2)
        .map(|pair| LevelStep { at: pair[1].start, before: level(&pair[0]), after: level(&pair[1]) })
        .collect()
}

fn levels(runs: &[Interval], values: &[f64]) -> Vec<Segment> {
    let mut pieces = Vec::new();
    let (mut from, mut start) = (0, 0);
    while from < runs.len() {
        let end = (from + TOGETHER).min(runs.len());
        let found = cuts(&runs[from..end], runs.len()).into_iter().map(|cut| from + cut);
        // Near the end of a part that is not the last, the next part sees more.
        let sure = from + TOGETHER * 3 / 4;
        let found: Vec<usize> = found.filter(|&cut| end == runs.len() || cut < sure).collect();
        for &cut in &found {
            pieces.push(segment(values, start, cut));
            start = cut;
        }
        from = if end == runs.len() { end } else { found.last().map_or(from + TOGETHER / 2, |&last| last) };
    }
    pieces.push(segment(values, start, runs.len()));
    join_alike(values, pieces, STEP_LEAST)
}

/// Starts of the levels but for the first; `all` is the length of the whole series, which pays for how often one
/// looks.
fn cuts(runs: &[Interval], all: usize) -> Vec<usize> {
    if runs.len() < 2 * LEVEL_RUNS_LEAST {
        return Vec::new();
    }
    let logs: Vec<f64> = runs.iter().map(|run| run.mean.max(f64::MIN_POSITIVE).ln()).collect();
    let scatter = scatter(&logs);
    let count = all as f64;
    let fee =
        FEE * (count.ln() + FEE_BASE + FEE_SHORT / count) * scatter.deviation.powi(2) * scatter.lingering;
    let (values, weights) = (held(&logs, FAR * scatter.deviation), weights(runs));
    let mut cuts = partition(&values, &weights, fee);
    let sure = SURE * scatter.deviation.powi(2);
    if is_too_new(&values, &weights, &cuts, sure) {
        cuts.pop();
    }
    cuts
}

/// The newest level would be a shorter one, if it could be: it borrows runs of the level before it.
fn is_too_new(values: &[f64], weights: &[f64], cuts: &[usize], sure: f64) -> bool {
    let Some((&last, before)) = cuts.split_last() else { return false };
    let from = before.last().copied().unwrap_or(0);
    let squares = |start: usize, end: usize| {
        let each = || values[start..end].iter().zip(&weights[start..end]);
        let mean = each().map(|(value, weight)| value * weight).sum::<f64>()
            / weights[start..end].iter().sum::<f64>();
        each().map(|(value, weight)| weight * (value - mean).powi(2)).sum::<f64>()
    };
    let parted = |at: usize| squares(from, at) + squares(at, values.len());
    let shorter = values.len() - LEVEL_RUNS_LEAST + 1..values.len();
    shorter.into_iter().any(|at| parted(at) + sure < parted(last))
}

/// Distance of a run from its level by chance, from the differences between neighbours, of which a step is only one.
fn scatter(logs: &[f64]) -> Scatter {
    let steps = steps(logs);
    let rough = deviation_of_steps(&steps);
    // 0.7809 is the mean distance of a normal distribution whose distances are cut at two deviations, which is known better from
    // few runs.
    let cut: f64 = steps.iter().map(|step| step.abs().min(2.0 * rough)).sum();
    let of_steps = cut / steps.len() as f64 / 0.7809;
    Scatter::with_memory(of_steps, memory_of_steps(&steps, 3.0 * rough, MEMORY_WEIGHT), SCATTER_LEAST)
}

/// Weight of each run: one whose own interval is wider than is usual knows its level less. How wide is usual is of
/// no matter, since what a run does not know of itself is in the differences between runs.
fn weights(runs: &[Interval]) -> Vec<f64> {
    let widths: Vec<f64> = runs.iter().map(|run| run.relative()).collect();
    let usual = median(&widths).max(SCATTER_LEAST);
    widths.iter().map(|width| (usual / width.max(usual)).powi(2)).collect()
}

/// Each value, moved to within `far` of the median of its neighbours.
fn held(logs: &[f64], far: f64) -> Vec<f64> {
    let middle =
        |at: usize| median(&logs[at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(logs.len())]);
    (0..logs.len()).map(|at| logs[at].clamp(middle(at) - far, middle(at) + far)).collect()
}

/// The cheapest cut into levels of at least [`LEVEL_RUNS_LEAST`] values: weighted squares from the means, and a fee a change.
fn partition(values: &[f64], weights: &[f64], fee: f64) -> Vec<usize> {
    let count = values.len();
    // Sums before each place: of the weights, of the values from the first on, which keeps them small, and of their squares.
    let mut sums = vec![[0.0; 3]; count + 1];
    for (at, (value, weight)) in values.iter().zip(weights).enumerate() {
        let value = value - values[0];
        let parts = [*weight, weight * value, weight * value * value];
        sums[at + 1] = std::array::from_fn(|part| sums[at][part] + parts[part]);
    }
    let mut cuts = cheapest_cut(count, LEVEL_RUNS_LEAST, fee, |start| {
        let sums = &sums;
        move |end| {
            let [weight, sum, squares]: [f64; 3] =
                std::array::from_fn(|part| sums[end][part] - sums[start][part]);
            squares - sum * sum / weight
        }
    });
    cuts.retain(|&start| start > 0);
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Samples;

    /// Distribution of runs around their level.
    #[derive(Clone, Copy, Debug)]
    enum ScatterKind {
        Normal,
        /// Student's t with three degrees of freedom.
        Heavy,
        /// Keeps so much of the run before.
        Memory(f64),
    }

    /// `count` runs that scatter by the share `spread`, from place `at` on at `factor` times the level.
    fn runs(
        seed: u64,
        kind: ScatterKind,
        count: usize,
        spread: f64,
        at: usize,
        factor: f64,
    ) -> Vec<Interval> {
        let mut samples = Samples::new(seed);
        let noise: Vec<f64> = match kind {
            ScatterKind::Normal => samples.series(count, 1.0, spread, 0.0),
            ScatterKind::Memory(memory) => samples.series(count, 1.0, spread, memory),
            ScatterKind::Heavy => (0..count).map(|_| 1.0 + spread * heavy(&mut samples)).collect(),
        };
        let level = |place: usize| if place < at { 10_000.0 } else { 10_000.0 * factor };
        (0..).zip(noise).map(|(place, noise)| Interval::exact(level(place) * noise.max(0.1))).collect()
    }

    fn heavy(samples: &mut Samples) -> f64 {
        let squares: f64 = (0..3).map(|_| samples.normal().powi(2)).sum();
        samples.normal() / (squares / 3.0).sqrt()
    }

    #[test]
    fn fewer_than_one_in_two_hundred_series_without_a_step_show_one() {
        use ScatterKind::{Heavy, Memory, Normal};
        for kind in [Normal, Heavy, Memory(0.2), Memory(0.3)] {
            let sizes = [(10, 0.01, 2_000), (20, 0.03, 2_000), (60, 0.01, 1_000), (400, 0.02, 200)];
            for (count, spread, seeds) in sizes {
                let steps = |seed: &u64| !level_steps(&runs(*seed, kind, count, spread, 0, 1.0)).is_empty();
                let found = (1..=seeds).filter(steps).count() as u64;
                assert!(found * 200 < seeds, "{kind:?}, {count} runs, {spread}: {found} of 1..={seeds}");
            }
        }
    }

    /// Number of seeds 1..=200 whose step of -5 % is found when there are `after` runs of it, within two runs of its
    /// place.
    fn found(kind: ScatterKind, spread: f64, before: usize, after: usize) -> usize {
        let finds = |seed: &u64| {
            let steps = level_steps(&runs(*seed, kind, before + after, spread, before, 0.95));
            steps.iter().any(|step| step.at.abs_diff(before) <= 2 && step.after.mean < step.before.mean)
        };
        (1..=200).filter(finds).count()
    }

    #[test]
    fn a_step_of_5_percent_is_found_with_its_fifth_run_where_runs_scatter_by_1_percent() {
        for kind in [ScatterKind::Normal, ScatterKind::Memory(0.2)] {
            assert!(found(kind, 0.01, 20, 5) >= 190, "{kind:?}: {} of 200", found(kind, 0.01, 20, 5));
        }
        assert_eq!(found(ScatterKind::Normal, 0.01, 20, 2), 0, "two runs are no level");
        let four = level_steps(&runs(1, ScatterKind::Normal, 24, 0.0, 20, 0.95));
        assert_eq!(four, [], "four runs are no level, and borrow none of the one before");
    }

    #[test]
    fn it_takes_20_runs_at_2_percent_and_many_more_at_3() {
        for (spread, before, after, expected) in
            [(0.02, 50, 20, 180..=200), (0.03, 200, 60, 180..=200), (0.03, 20, 5, 0..=20)]
        {
            let found = found(ScatterKind::Normal, spread, before, after);
            assert!(expected.contains(&found), "{spread}, {after} runs: {found} of 200");
        }
    }

    #[test]
    fn each_step_of_a_long_series_has_its_place_and_its_levels() {
        let mut series = runs(1, ScatterKind::Normal, 1_500, 0.01, 1_000, 0.9);
        series.extend(runs(2, ScatterKind::Normal, 400, 0.01, 0, 0.9 * 1.05));
        let steps = level_steps(&series);
        let places: Vec<usize> = steps.iter().map(|step| step.at).collect();
        assert!(matches!(places[..], [999..=1_001, 1_498..=1_502]), "{places:?}");
        let [first, later] = [steps[0].before.mean, steps[0].after.mean];
        assert!((first - 10_000.0).abs() < 10.0 && (later - 9_000.0).abs() < 10.0, "{first} {later}");
        assert_eq!(steps[0].after, steps[1].before);
    }

    #[test]
    fn bad_nights_and_what_is_too_small_are_no_steps() {
        let mut series = runs(3, ScatterKind::Normal, 60, 0.005, 0, 1.0);
        for at in [10, 11, 30, 59] {
            series[at].mean *= 0.3;
        }
        assert_eq!(level_steps(&series), []);
        let exact = |factor: f64| -> Vec<Interval> {
            (0..40).map(|at| Interval::exact(if at < 20 { 1e4 } else { 1e4 * factor })).collect()
        };
        assert_eq!(level_steps(&exact(0.991)), []);
        assert_eq!(level_steps(&exact(0.989)).len(), 1);
        assert_eq!(level_steps(&exact(1.0)), []);
        assert_eq!(level_steps(&[]), []);
        assert_eq!(level_steps(&exact(0.5)[16..25]), [], "nine runs are not two levels");
        assert_eq!(level_steps(&exact(0.5)[15..25]).len(), 1);
    }

    #[test]
    fn runs_that_know_their_rate_less_than_is_usual_count_less() {
        let told = |of_first: f64, of_last: f64| {
            let mut series = runs(4, ScatterKind::Normal, 40, 0.01, 34, 0.95);
            for (at, run) in series.iter_mut().enumerate() {
                let half = run.mean * if at < 34 { of_first } else { of_last };
                *run = Interval { low: run.mean - half, high: run.mean + half, samples: 10, ..*run };
            }
            level_steps(&series).len()
        };
        assert_eq!((told(0.01, 0.01), told(0.3, 0.3), told(0.3, 0.0), told(0.01, 0.05)), (1, 1, 1, 0));
    }
}
