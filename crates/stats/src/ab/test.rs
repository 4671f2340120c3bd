//! Is it sure by now?

use iostack_model::Interval;

use super::coins::{Coins, exceeds, spent};
use super::report::{AbAnswer, AbBlock, AbFigure, AbRow, AbSide};
use super::walsh::{shift, signed_ranks};
use crate::Judgement;
use crate::segment::median;

/// Fewer blocks than this can never be sure: of the 32 signs of five, two are as extreme as any.
pub const AB_BLOCKS_LEAST: u32 = 6;

/// Other coins that are tried.
const COINS: usize = 9_999;

/// Each look has at least this many times the blocks of the one before.
const GROWTH: f64 = 1.2;

/// A rate of nothing, so that it has a logarithm; ranks do not care how small it is.
const NOTHING: f64 = 1e-9;

/// The numbers of blocks after which to look, when `blocks` are planned.
pub fn ab_looks(blocks: u32) -> Vec<u32> {
    let mut looks = Vec::new();
    let mut next = AB_BLOCKS_LEAST;
    while next < blocks {
        looks.push(next);
        next = (f64::from(next) * GROWTH).ceil() as u32;
    }
    looks.push(blocks);
    looks
}

/// The test, over all looks.
#[derive(Clone, Debug)]
pub struct AbTest {
    figures: Vec<AbFigure>,
    difference_percent: f64,
    coins: Coins,
}

impl AbTest {
    /// A test of these figures, the first of which gives the answer.
    pub fn new(figures: Vec<AbFigure>, difference_percent: f64, seed: u64) -> Self {
        Self::with_coins(figures, difference_percent, seed, COINS)
    }

    pub(super) fn with_coins(
        figures: Vec<AbFigure>,
        difference_percent: f64,
        seed: u64,
        others: usize,
    ) -> Self {
        AbTest { figures, difference_percent, coins: Coins::new(seed, others) }
    }

    /// Rows and answer of the blocks so far, which are `share` of what was planned. Later looks see the same blocks
    /// and more. Figures that a run lacks are left out.
    pub fn look(&mut self, blocks: &[AbBlock], share: f64) -> (Vec<AbRow>, AbAnswer) {
        let columns: Vec<(&AbFigure, Vec<[f64; 4]>)> = self
            .figures
            .iter()
            .enumerate()
            .filter_map(|(index, figure)| Some((figure, column(blocks, index)?)))
            .collect();
        let changes: Vec<Vec<f64>> =
            columns.iter().map(|(_, column)| column.iter().map(change).collect()).collect();
        let scores: Vec<Vec<f64>> = changes.iter().map(|changes| signed_ranks(changes)).collect();
        let critical = self.coins.critical(&scores, spent(share));
        let rows: Vec<AbRow> = (0..columns.len())
            .map(|at| {
                let sure = exceeds(scores[at].iter().sum::<f64>().abs(), critical);
                let change = percent(&changes[at], critical);
                row(columns[at].0, &columns[at].1, change, self.judgement(columns[at].0, change, sure))
            })
            .collect();
        let primary = rows.first().filter(|row| Some(&row.figure) == self.figures.first());
        let answer = primary.map_or(AbAnswer::Undecided { blocks: None }, |row| self.answer(row));
        (rows, answer)
    }

    fn judgement(&self, figure: &AbFigure, change: Interval, sure: bool) -> Judgement {
        match sure {
            true if (change.mean > 0.0) == figure.higher_is_better => Judgement::Better,
            true => Judgement::Worse,
            false if change.samples > 0 && most(change) <= self.difference_percent => Judgement::Same,
            false => Judgement::Unclear,
        }
    }

    fn answer(&self, primary: &AbRow) -> AbAnswer {
        let change = primary.change_percent;
        match primary.verdict {
            Judgement::Better => AbAnswer::Better { side: AbSide::B, by_percent: change },
            Judgement::Worse => AbAnswer::Better { side: AbSide::A, by_percent: turned(change) },
            Judgement::Same => AbAnswer::NoneLarger { percent: most(change) },
            Judgement::Unclear => AbAnswer::Undecided { blocks: self.blocks_wanted(change) },
        }
    }

    /// Half an interval shrinks with the root of the number of blocks.
    fn blocks_wanted(&self, change: Interval) -> Option<u32> {
        let half = (change.high - change.low) / 2.0;
        let wanted = f64::from(change.samples) * (half / self.difference_percent).powi(2);
        (change.samples > 0).then(|| (wanted.ceil() as u32).max(change.samples + 1))
    }
}

/// The values of each block for a figure, A, A, B, B; `None` when a run has none, or nothing but zeros is there.
fn column(blocks: &[AbBlock], figure: usize) -> Option<Vec<[f64; 4]>> {
    let of_block = |block: &AbBlock| {
        let of = |side| {
            let runs = block.order.iter().zip(&block.runs).filter(move |(of, _)| **of == side);
            runs.map(|(_, run)| run.figures.get(figure).copied().flatten())
        };
        let values: Option<Vec<f64>> = of(AbSide::A).chain(of(AbSide::B)).collect();
        <[f64; 4]>::try_from(values?).ok()
    };
    let column: Vec<[f64; 4]> = blocks.iter().map(of_block).collect::<Option<_>>()?;
    column.iter().flatten().any(|&value| value > 0.0).then_some(column)
}

fn logarithms(values: &[f64; 4]) -> [f64; 4] {
    values.map(|value| value.max(NOTHING).ln())
}

/// Change from A to B within a block, as the logarithm of the ratio.
fn change(values: &[f64; 4]) -> f64 {
    let [a, a2, b, b2] = logarithms(values);
    (b + b2 - a - a2) / 2.0
}

fn percent(changes: &[f64], critical: f64) -> Interval {
    let told = shift(changes, critical);
    let percent = |ratio: f64| ratio.exp_m1() * 100.0;
    let (low, high) = told.ends.unwrap_or((told.middle, told.middle));
    Interval {
        mean: percent(told.middle),
        low: percent(low),
        high: percent(high),
        samples: if told.ends.is_some() { changes.len() as u32 } else { 0 },
    }
}

/// The same change seen from the other side.
fn turned(change: Interval) -> Interval {
    let turn = |percent: f64| ((1.0 + percent / 100.0).recip() - 1.0) * 100.0;
    Interval { mean: turn(change.mean), low: turn(change.high), high: turn(change.low), ..change }
}

fn row(figure: &AbFigure, column: &[[f64; 4]], change_percent: Interval, judgement: Judgement) -> AbRow {
    let of = |sides: std::ops::Range<usize>| {
        let values: Vec<f64> =
            column.iter().flat_map(|values| values[sides.clone()].iter().copied()).collect();
        median(&values)
    };
    AbRow {
        figure: figure.clone(),
        a: of(0..2),
        b: of(2..4),
        change_percent,
        noise_percent: noise(column).exp_m1() * 100.0,
        verdict: judgement,
    }
}

/// Standard deviation of one run's logarithm, from runs of the same side in the same block.
fn noise(column: &[[f64; 4]]) -> f64 {
    let squares = column.iter().map(|values| {
        let [a, a2, b, b2] = logarithms(values);
        (a - a2).powi(2) + (b - b2).powi(2)
    });
    (squares.sum::<f64>() / (4.0 * column.len().max(1) as f64)).sqrt()
}

/// The largest change that the interval holds, in either direction.
fn most(change: Interval) -> f64 {
    (-change.low).max(change.high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;
    use crate::ab::{AbRun, ab_order};

    fn figure(name: &str, higher_is_better: bool) -> AbFigure {
        AbFigure { name: name.to_owned(), unit: Unit::PerSecond, higher_is_better }
    }

    /// Blocks whose runs have these values, by block, side and number.
    fn blocks(count: u32, value: impl Fn(u32, AbSide, usize) -> Vec<Option<f64>>) -> Vec<AbBlock> {
        let of_block = |block| {
            let order = ab_order(1, block);
            let run = |slot: usize| AbRun { seed: 0, ios: 1, figures: value(block, order[slot], slot) };
            AbBlock { order, runs: [run(0), run(1), run(2), run(3)] }
        };
        (0..count).map(of_block).collect()
    }

    /// B has `factor` times A's rate, and each run 1 % more than the one before.
    fn drifting(count: u32, factor: f64) -> Vec<AbBlock> {
        blocks(count, |block, side, slot| {
            let drift = 1.01_f64.powf(f64::from(block * 4) + slot as f64);
            // A little noise that no order cancels.
            let noise = 1.0 + 0.001 * f64::from((block * 7 + slot as u32 * 3) % 5);
            vec![Some(1_000.0 * drift * noise * if side == AbSide::B { factor } else { 1.0 })]
        })
    }

    fn told(blocks: &[AbBlock], higher: bool) -> (Vec<AbRow>, AbAnswer) {
        AbTest::new(vec![figure("IOPS", higher)], 2.0, 1).look(blocks, 1.0)
    }

    #[test]
    fn a_drift_is_no_difference_and_hides_none() {
        let (rows, answer) = told(&drifting(12, 1.0), true);
        let AbAnswer::NoneLarger { percent } = answer else { panic!("{answer:?} {rows:?}") };
        assert!(percent < 0.3, "{percent}");
        let (rows, answer) = told(&drifting(12, 1.05), true);
        let AbAnswer::Better { side: AbSide::B, by_percent } = answer else { panic!("{answer:?} {rows:?}") };
        assert!(by_percent.low > 4.7 && by_percent.high < 5.3 && by_percent.samples == 12, "{by_percent:?}");
        assert_eq!(rows[0].verdict, Judgement::Better);
    }

    #[test]
    fn the_better_side_is_told_against_the_other_one() {
        let (rows, answer) = told(&drifting(12, 0.8), true);
        let AbAnswer::Better { side: AbSide::A, by_percent } = answer else { panic!("{answer:?}") };
        assert!((by_percent.mean - 25.0).abs() < 0.3, "{by_percent:?}: 1 / 0.8");
        assert!(by_percent.low < by_percent.mean && by_percent.mean < by_percent.high);
        assert!((rows[0].change_percent.mean + 20.0).abs() < 0.3 && rows[0].verdict == Judgement::Worse);
        let (_, answer) = told(&drifting(12, 0.8), false);
        let AbAnswer::Better { side: AbSide::B, by_percent } = answer else { panic!("{answer:?}") };
        assert!((by_percent.mean + 20.0).abs() < 0.3, "{by_percent:?}: less latency, by a fifth");
    }

    #[test]
    fn five_blocks_are_never_sure_and_six_are() {
        let (rows, answer) = told(&drifting(5, 2.0), true);
        assert_eq!(answer, AbAnswer::Undecided { blocks: None });
        assert_eq!((rows[0].verdict, rows[0].change_percent.samples), (Judgement::Unclear, 0));
        assert!((rows[0].change_percent.mean - 100.0).abs() < 1.0, "the estimate is told all the same");
        assert!(matches!(told(&drifting(AB_BLOCKS_LEAST, 2.0), true).1, AbAnswer::Better { .. }));
    }

    #[test]
    fn what_is_asked_about_decides_between_none_and_undecided() {
        let noisy = blocks(12, |block, side, slot| {
            let up = (block + slot as u32 + u32::from(side == AbSide::B)) % 3;
            vec![Some(1_000.0 + 30.0 * f64::from(up))]
        });
        let at = |difference| AbTest::new(vec![figure("IOPS", true)], difference, 1).look(&noisy, 1.0);
        let (rows, answer) = at(0.5);
        let AbAnswer::Undecided { blocks: Some(wanted) } = answer else { panic!("{answer:?} {rows:?}") };
        let half = (rows[0].change_percent.high - rows[0].change_percent.low) / 2.0;
        assert_eq!(wanted, (12.0 * (half / 0.5).powi(2)).ceil() as u32);
        let most = (-rows[0].change_percent.low).max(rows[0].change_percent.high);
        assert_eq!(at(most).1, AbAnswer::NoneLarger { percent: most }, "just at it");
        assert!(matches!(at(most * 0.999).1, AbAnswer::Undecided { .. }), "just not");
    }

    #[test]
    fn a_figure_that_a_run_lacks_is_left_out_and_nothing_else() {
        let all = |lacks: u32| {
            blocks(8, move |block, _, _| vec![Some(10.0), (block != lacks).then_some(5.0), Some(0.0)])
        };
        let figures =
            || vec![figure("IOPS", true), figure("p99 latency", false), figure("CPU per I/O", false)];
        let names = |blocks: &[AbBlock]| {
            let (rows, _) = AbTest::new(figures(), 2.0, 1).look(blocks, 1.0);
            rows.into_iter().map(|row| row.figure.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&all(99)), ["IOPS", "p99 latency"], "zeros are no figure");
        assert_eq!(names(&all(3)), ["IOPS"]);
        let without = blocks(8, |_, _, _| vec![None, Some(1.0), None]);
        let (_, answer) = AbTest::new(figures(), 2.0, 1).look(&without, 1.0);
        let undecided = AbAnswer::Undecided { blocks: None };
        assert_eq!(answer, undecided, "another figure does not answer for the primary one");
    }

    #[test]
    fn a_run_without_io_counts_as_very_slow() {
        let stalled = blocks(8, |block, side, _| {
            vec![Some(if block == 2 && side == AbSide::B { 0.0 } else { 100.0 + f64::from(block) })]
        });
        let (rows, answer) = told(&stalled, true);
        let same = rows[0].change_percent.mean.abs() < 1e-9 && !rows[0].verdict.differs();
        assert!(same, "{rows:?} {answer:?}");
    }

    #[test]
    fn a_run_without_io_is_slower_than_any_other() {
        let [none, rare, slow, quick] = logarithms(&[0.0, 1e-6, 0.5, 2.0]);
        assert!(none < rare && rare < slow && slow < quick, "{none} {rare} {slow} {quick}");
    }

    #[test]
    fn noise_is_that_of_a_run() {
        // Runs of a side lie 2 % apart: a deviation of 2 / sqrt(2) percent each.
        let column = vec![[100.0, 102.0, 200.0, 204.0]; 5];
        assert!((noise(&column) - 1.02_f64.ln() / 2.0_f64.sqrt()).abs() < 1e-12);
        assert!(noise(&[]).abs() < 1e-12);
    }

    #[test]
    fn looks_grow_and_end_with_all_blocks() {
        assert_eq!(ab_looks(30), [6, 8, 10, 12, 15, 18, 22, 27, 30]);
        assert_eq!(ab_looks(6), [6]);
        assert_eq!(ab_looks(7), [6, 7]);
    }
}
