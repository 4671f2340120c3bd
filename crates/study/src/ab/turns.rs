//! Runs the turns until it is sure, or the time is over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, ensure};
use iostack_model::{Nanos, Outcome};
use iostack_stats::{
    AB_BLOCKS_LEAST, AbAnswer, AbBlock, AbDesign, AbDoubt, AbRow, AbRun, AbTest, ab_looks, ab_order, ab_seed,
};
use iostack_target::{Audience, Prepared, Wanted};

use super::{doubts, figures};

/// Condition that ends the turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    /// No block begins that would end later.
    Time(Nanos),
    /// So many blocks.
    Blocks(u32),
}

/// Results of the turns.
pub(crate) struct TurnsFound {
    pub(crate) rows: Vec<AbRow>,
    pub(crate) answer: AbAnswer,
    pub(crate) blocks: Vec<AbBlock>,
    pub(crate) doubts: Vec<AbDoubt>,
    pub(crate) interrupted: bool,
    pub(crate) failed: bool,
}

pub(crate) struct Turns<'a> {
    pub(crate) sides: &'a [Box<dyn Prepared + 'a>; 2],
    /// Nothing of this machine touches the runs.
    pub(crate) is_virtual: bool,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) talk: &'a dyn Audience,
    pub(crate) started: Instant,
}

impl Turns<'_> {
    /// One run of a side, of which nobody hears: they are short and many. What the seed decides is decided anew.
    fn run(&self, side: usize, seed: u64) -> anyhow::Result<Vec<Outcome>> {
        self.sides[side].run(Some(seed), Wanted::default(), self.stop)
    }
}

pub(crate) fn since(started: Instant) -> Nanos {
    Nanos(started.elapsed().as_nanos() as u64)
}

/// Blocks of four runs that fit, by the length of those that were run.
pub(crate) fn blocks_in(time: Nanos, block: Nanos) -> u32 {
    (time.0 / block.0.max(1)).min(u64::from(u32::MAX)) as u32
}

/// Is this time long enough to be ever sure?
pub(crate) fn check_time(time: Nanos, run: Nanos) -> anyhow::Result<()> {
    let least = Nanos(run.0 * 4 * u64::from(AB_BLOCKS_LEAST) + run.0 * 2);
    ensure!(
        time >= least,
        "`--time {time}` is too short: {AB_BLOCKS_LEAST} blocks of four runs of {run}, and one run of each to warm up, take \
         {least}; give --time {least} or a shorter --runtime"
    );
    Ok(())
}

/// Runs. `design.blocks` becomes what the first block's time makes of it.
pub(crate) fn run(turns: &Turns<'_>, design: &mut AbDesign, end: End) -> anyhow::Result<TurnsFound> {
    let mut test = AbTest::new(design.figures.clone(), design.difference_percent, design.seed);
    let mut found = TurnsFound {
        rows: Vec::new(),
        answer: AbAnswer::Undecided { blocks: None },
        blocks: Vec::new(),
        doubts: Vec::new(),
        interrupted: false,
        failed: false,
    };
    warm_up(turns, design.seed)?;
    let first = since(turns.started);
    let mut looks = ab_looks(design.blocks);
    while !found.interrupted && !is_over(end, found.blocks.len() as u32, first, since(turns.started)) {
        block(turns, design, &mut found)?;
        let count = found.blocks.len() as u32;
        if let (End::Time(time), 1) = (end, count) {
            // Before anything was looked at, and whichever side ran first: no look is bought twice.
            let left = Nanos(time.0.saturating_sub(first.0));
            design.blocks = blocks_in(left, since(turns.started) - first).max(AB_BLOCKS_LEAST);
            looks = ab_looks(design.blocks);
        }
        if looks.contains(&count) && count < design.blocks {
            look(&mut test, design, &mut found, f64::from(count) / f64::from(design.blocks));
            tell(turns, design, &found, end);
            if !matches!(found.answer, AbAnswer::Undecided { .. }) {
                return Ok(found);
            }
        }
        progress(turns, design, &found, end);
    }
    if found.blocks.is_empty() {
        return Ok(found);
    }
    // Ctrl-C may follow from what was seen, so that it buys no more than the blocks until then.
    let share = f64::from(found.blocks.len() as u32) / f64::from(design.blocks);
    let share = if found.interrupted { share } else { 1.0 };
    look(&mut test, design, &mut found, share);
    Ok(found)
}

fn look(test: &mut AbTest, design: &mut AbDesign, found: &mut TurnsFound, share: f64) {
    design.looks.push(found.blocks.len() as u32);
    (found.rows, found.answer) = test.look(&found.blocks, share);
}

/// One run of each that does not count: caches, clocks and files as every later run finds them.
fn warm_up(turns: &Turns<'_>, seed: u64) -> anyhow::Result<()> {
    let runs = if turns.is_virtual { 0 } else { turns.sides.len() };
    (0..runs).try_for_each(|side| turns.run(side, ab_seed(seed, u32::MAX, side as u32)).map(drop))
}

/// No block begins that would end later than promised, by the mean of those before it.
fn is_over(end: End, blocks: u32, first: Nanos, now: Nanos) -> bool {
    match end {
        End::Blocks(most) => blocks >= most,
        End::Time(_) if blocks == 0 => false,
        End::Time(time) => {
            let mean = (now.0 - first.0) / u64::from(blocks);
            now.0 + mean > time.0
        }
    }
}

/// Four runs; a block that was cut short is none.
fn block(turns: &Turns<'_>, design: &AbDesign, found: &mut TurnsFound) -> anyhow::Result<()> {
    let number = found.blocks.len() as u32;
    let order = ab_order(design.seed, number);
    let mut runs = Vec::new();
    let mut seen = Vec::new();
    for (slot, side) in (0..).zip(order) {
        let own = ab_seed(design.seed, number, slot);
        let outcomes = turns.run(side as usize, own);
        if turns.stop.load(Ordering::Relaxed) {
            found.interrupted = true;
            return Ok(());
        }
        let outcomes = outcomes.with_context(|| format!("{} in block {}", side.letter(), number + 1))?;
        found.failed |= outcomes.iter().any(|outcome| !outcome.failures.is_empty());
        runs.push(AbRun {
            seed: own,
            ios: outcomes.iter().map(Outcome::ios).sum(),
            figures: figures::of_run(&outcomes, &design.figures),
        });
        seen.push((side, outcomes));
    }
    for (side, outcomes) in &seen {
        doubts::note(&mut found.doubts, *side, outcomes);
    }
    let runs: [AbRun; 4] = runs.try_into().ok().context("an order has four places")?;
    found.blocks.push(AbBlock { order, runs });
    Ok(())
}

/// Latest end of the turns, from their start.
fn until(design: &AbDesign, found: &TurnsFound, end: End, now: Nanos) -> Nanos {
    match end {
        End::Time(time) => time,
        End::Blocks(_) => Nanos(now.0 / found.blocks.len().max(1) as u64 * u64::from(design.blocks)),
    }
}

/// A look, for those who have no terminal.
fn tell(turns: &Turns<'_>, design: &AbDesign, found: &TurnsFound, end: End) {
    let now = since(turns.started);
    turns.talk.step(&so_far(design, found), now, until(design, found, end, now));
}

fn progress(turns: &Turns<'_>, design: &AbDesign, found: &TurnsFound, end: End) {
    let now = since(turns.started);
    let ends = until(design, found, end, now);
    let times = format!("[{:.0} of at most {:.0} s]", now.as_secs_f64(), ends.as_secs_f64());
    turns.talk.live(&format!("{times} {}", so_far(design, found)));
}

/// `block 12 of about 29; IOPS of B +3.1 % at the last look, not sure`.
fn so_far(design: &AbDesign, found: &TurnsFound) -> String {
    let blocks = format!("block {} of about {}", found.blocks.len(), design.blocks);
    let Some(row) = found.rows.first() else { return blocks };
    let sure = if matches!(found.answer, AbAnswer::Undecided { .. }) { "not sure yet" } else { "sure" };
    format!("{blocks}; {} of B {:+.1} %, {sure}", row.figure.name, row.change_percent.mean)
}

/// True if B is worse than A in any figure, for `--fail`.
pub fn is_worse(rows: &[AbRow]) -> bool {
    rows.iter().any(|row| row.verdict == iostack_stats::Judgement::Worse)
}
