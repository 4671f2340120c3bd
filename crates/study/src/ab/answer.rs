//! From what was asked to the report.

use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use iostack_model::{Machine, Nanos, SCHEMA, TargetKind};
use iostack_stats::{AB_BLOCKS_LEAST, AbArm, AbBlock, AbDesign, AbReport};
use iostack_target::{AnyTarget, Audience, Prepared, RunClock, Targets};

use super::figures::{self, Primary};
use super::sides::{self, Side};
use super::turns::{self, End, Turns, since};

/// Time of a run when none is asked for.
const RUN: Nanos = Nanos::millis(500);

/// Time in all, likewise.
const TIME: Nanos = Nanos::secs(120);

/// Blocks in virtual time, where no promise is to be kept.
const BLOCKS: u32 = 24;

/// Question of `iostack ab`; its docs are the help of its flags.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct AbQuestion {
    /// Job files: one for both sides, or one for A and one for B. None: one
    /// job from flags.
    pub jobs: Vec<PathBuf>,
    /// What answers: a file, a directory, a block device or sim:DEVICE.
    #[arg(long, value_name = "TARGET")]
    pub on: Option<String>,
    /// What A has of its own: an option of the job, on=TARGET,
    /// scheduler=NAME (of the device below), or a number of a simulated
    /// device; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub a: Vec<String>,
    /// What B has of its own, likewise.
    #[arg(long, value_name = "KEY=VALUE")]
    pub b: Vec<String>,
    /// Stop at this time at the latest [2m].
    #[arg(long, value_name = "TIME", conflicts_with = "blocks")]
    pub time: Option<Nanos>,
    /// Stop after so many blocks of four runs at the latest [simulated: 24].
    #[arg(long, value_name = "COUNT")]
    pub blocks: Option<u32>,
    /// The difference that matters: a smaller one need not be told from none.
    #[arg(long, value_name = "PERCENT", default_value = "2%")]
    pub difference: String,
    /// The figure that gives the answer [what the jobs leave free].
    #[arg(long, value_enum, value_name = "FIGURE")]
    pub figure: Option<Primary>,
    /// Run only this section of the job files; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub section: Vec<String>,
    /// Change a number of the simulated device of both sides; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Options of the jobs of both sides, which are flags of their own.
    #[arg(skip)]
    pub options: Vec<(String, String)>,
}

impl AbQuestion {
    fn flag(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
    }

    /// Time of each run.
    fn run(&self) -> anyhow::Result<Nanos> {
        let Some(typed) = self.flag("runtime") else { return Ok(RUN) };
        let run: Nanos = typed.parse().with_context(|| format!("`--runtime {typed}`"))?;
        ensure!(run.0 > 0, "`--runtime {typed}` is no time; each run needs some, such as 500ms");
        Ok(run)
    }

    /// Decides every order and draw. Nobody must know the coins before, so that of a real run comes from the clock.
    fn seed(&self, repeats: bool, now_ns: u64) -> anyhow::Result<u64> {
        match self.flag("seed") {
            Some(typed) => typed.parse().with_context(|| format!("`--seed {typed}` is no number")),
            None if repeats => Ok(1),
            // Six digits are typed easily.
            None => Ok(now_ns / 1_000 % 1_000_000),
        }
    }

    fn end(&self, simulated: bool, run: Nanos) -> anyhow::Result<End> {
        if let Some(blocks) = self.blocks.or(simulated.then_some(BLOCKS).filter(|_| self.time.is_none())) {
            ensure!(
                blocks >= AB_BLOCKS_LEAST,
                "`--blocks {blocks}` can never be sure: give {AB_BLOCKS_LEAST} at least"
            );
            return Ok(End::Blocks(blocks));
        }
        let time = self.time.unwrap_or(TIME);
        if !simulated {
            turns::check_time(time, run)?;
        }
        Ok(End::Time(time))
    }
}

/// `2%` or `2`.
fn percent(typed: &str) -> anyhow::Result<f64> {
    let number = typed.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    match number {
        Some(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent),
        _ => bail!("`--difference {typed}` is no share; give percent above 0 up to 100, such as 2%"),
    }
}

/// Runs the turns; and whether I/Os failed.
pub fn answer(
    asked: &AbQuestion,
    targets: &dyn Targets,
    talk: &dyn Audience,
) -> anyhow::Result<(AbReport, bool)> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let machine = targets.machine();
    let run = asked.run()?;
    let mut sides = sides::sides(asked, machine.cpu.cores_online, run, targets)?;
    let open = |side: &Side| targets.open(side.on.as_deref(), &side.changes);
    let (a, b) = (open(&sides[0])?, open(&sides[1])?);
    let said = if asked.jobs.is_empty() { sized(&mut sides, [&a, &b], targets)? } else { None };
    let simulated = a.describe().clock == RunClock::Virtual;
    let end = asked.end(simulated, run)?;
    let seed = asked.seed(a.describe().repeats, now.as_nanos() as u64)?;
    let mut design = design(asked, &sides, end, run, seed)?;
    let stop = talk.stop();
    // Files are laid out and held once, so that each run is only the run.
    let ready = [a.prepare(&sides[0].jobs, talk)?, b.prepare(&sides[1].jobs, talk)?];
    if let Some(line) = said {
        talk.say(&line);
    }
    talk.say(&about(&design, end));
    // Files may have been laid out until here; the time that was promised is that of the turns.
    let started = Instant::now();
    let turns = Turns { sides: &ready, is_virtual: simulated, stop, talk, started };
    let found = turns::run(&turns, &mut design, end)?;
    let mut notes = notes(&sides, &found.blocks, &design);
    if found.blocks.is_empty() {
        notes.push("It was stopped before the first block was complete.".to_owned());
    }
    let report = AbReport {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: if simulated { 0 } else { now.as_millis() as u64 },
        elapsed: if simulated { Nanos(0) } else { since(started) },
        machine: if simulated { Machine::default() } else { machine },
        arms: [arm(&sides[0], &*ready[0]), arm(&sides[1], &*ready[1])],
        design,
        answer: found.answer,
        rows: found.rows,
        blocks: found.blocks,
        doubts: found.doubts,
        notes,
        interrupted: found.interrupted,
    };
    Ok((report, found.failed))
}

/// Gives the jobs of both sides a size where flags name none and files are to be made, and says so once.
fn sized(
    sides: &mut [Side; 2],
    opened: [&AnyTarget; 2],
    targets: &dyn Targets,
) -> anyhow::Result<Option<String>> {
    let mut said = None;
    for (side, target) in sides.iter_mut().zip(opened) {
        for job in &mut side.jobs {
            said = targets.give_end(job, target.describe())?.or(said);
        }
    }
    Ok(said)
}

fn arm(side: &Side, ready: &dyn Prepared) -> AbArm {
    let target = ready.name();
    let simulated = (target.kind == TargetKind::Sim).then(|| target.path.display().to_string());
    AbArm { name: side.name.clone(), target, storage: ready.storage(), jobs: side.jobs.clone(), simulated }
}

fn design(
    asked: &AbQuestion,
    sides: &[Side; 2],
    end: End,
    run: Nanos,
    seed: u64,
) -> anyhow::Result<AbDesign> {
    let primary = asked.figure.unwrap_or_else(|| figures::primary(sides));
    let ramp = sides.iter().flat_map(|side| &side.jobs).map(|job| job.ramp + job.start_delay).max();
    let (time, blocks) = match end {
        End::Blocks(blocks) => (None, blocks),
        End::Time(time) => {
            (Some(time), turns::blocks_in(time, Nanos((run + ramp.unwrap_or_default()).0 * 4)))
        }
    };
    Ok(AbDesign {
        seed,
        run,
        time,
        blocks: blocks.max(AB_BLOCKS_LEAST),
        looks: Vec::new(),
        difference_percent: percent(&asked.difference)?,
        figures: figures::figures(primary),
    })
}

fn about(design: &AbDesign, end: End) -> String {
    let most = match end {
        End::Time(time) => format!("{time} at most"),
        End::Blocks(blocks) => format!("{blocks} blocks at most"),
    };
    format!(
        "blocks of four runs of {}, A B B A or B A A B by a coin (seed {}), until it is sure; {most}",
        design.run, design.seed
    )
}

/// Remarks for whoever reads it.
fn notes(sides: &[Side; 2], blocks: &[AbBlock], design: &AbDesign) -> Vec<String> {
    let mut notes = Vec::new();
    if sides::are_alike(sides) {
        notes.push("A and B are the same: this shows what the machine does by itself.".to_owned());
    }
    let idle = blocks.iter().flat_map(|block| &block.runs).filter(|run| run.ios == 0).count();
    if idle > 0 {
        let all = blocks.len() * 4;
        notes.push(format!("{idle} of {all} runs made no I/O at all, and count as slower than any other."));
    }
    let lacks =
        |index: usize| blocks.iter().flat_map(|block| &block.runs).any(|run| run.figures[index].is_none());
    let missing: Vec<&str> = (0..design.figures.len())
        .filter(|&at| lacks(at))
        .map(|at| design.figures[at].name.as_str())
        .collect();
    if !missing.is_empty() {
        notes.push(format!(
            "Some runs made too few I/Os for {}, which is left out; a longer --runtime shows it.",
            missing.join(", ")
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_a_share_above_nothing() {
        for (typed, value) in [("2%", 2.0), ("0.5", 0.5), (" 100 % ", 100.0)] {
            assert!((percent(typed).expect(typed) - value).abs() < 1e-12);
        }
        for typed in ["0", "-1%", "100.1%", "x", "", "NaN"] {
            let error = percent(typed).expect_err(typed).to_string();
            assert!(error.contains("percent above 0 up to 100"), "{typed}: {error}");
        }
    }
}
