//! From what was asked to the report.

use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::ensure;
use iostack_model::answers::Iolat;
use iostack_model::{Bytes, Effort, Nanos, SCHEMA};
use iostack_target::{About, Audience, RunClock, Target, Wishes};

use super::measure::{self, Rounds};
use super::plan::{self, Test};
use super::reference::{self, Reference};
use super::{compare, gather};
use crate::check::fill;
use crate::check::measure::{Examiner, how_long, started_unix_ms};
use crate::check::plan::fill_limit;
use crate::check::traced::Profiler;

/// Question of `iostack iolat`; its docs are the help of its flags.
#[derive(clap::Args, Clone, Debug)]
pub struct IolatQuestion {
    /// Time of each test, in all its rounds.
    #[arg(long, default_value = "2500ms", value_name = "TIME")]
    pub runtime: Nanos,
    /// Leave out the tests through the page cache.
    #[arg(long)]
    pub direct_only: bool,
    /// Size of the scratch file, or of the region to use.
    #[arg(long)]
    pub size: Option<Bytes>,
    /// Reproduces offsets and content.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Tests, and compares with `against`: a saved run (its file), or a table printed in 2008 (its name).
pub fn answer(
    asked: &IolatQuestion,
    against: Option<&str>,
    target: &dyn Target,
    talk: &dyn Audience,
) -> anyhow::Result<Iolat> {
    let shortest = Nanos(plan::ROUND_SHORTEST.0 * u64::from(plan::ROUNDS));
    ensure!(asked.runtime >= shortest, "--runtime {} is too short: name at least {shortest}", asked.runtime);
    // Before the tests, so that a misspelt name costs no half minute.
    let against = against.map(|name| reference::load(name).map(|found| (name, found))).transpose()?;
    let mut iolat = test(asked, target, talk)?;
    iolat.comparison = against.map(|(name, reference)| match reference {
        Reference::Published(table) => compare::with_published(&iolat, &table),
        Reference::Saved(there) => compare::with_saved(&iolat, &there, name),
    });
    Ok(iolat)
}

fn test(asked: &IolatQuestion, target: &dyn Target, talk: &dyn Audience) -> anyhow::Result<Iolat> {
    let started = Instant::now();
    let wishes = Wishes { effort: Effort::Quick, size: asked.size };
    let mut session = target.occupy(&wishes, talk)?;
    let started_unix_ms = started_unix_ms(&*session);
    let scratch = fill::fill(&mut *session, fill_limit(wishes.effort), None, talk)?;
    let (tests, mut notes) = plan::tests(&session.about().place, asked.direct_only);
    ensure!(!tests.is_empty(), "no test can be made on `{}`: {}", session.about().name, notes.join(" "));
    let mut profiler = Profiler::new(session.ladder());
    let whole = measure::expected(tests.len(), asked.runtime);
    let (count, name, long) = (tests.len(), &session.about().name, how_long(&*session, whole));
    talk.say(&format!("{count} tests in {} rounds on {name} {long}", plan::ROUNDS));
    let examiner = Examiner { session: &*session, talk, started, deadline: None };
    let rounds = measure::measure(&examiner, &mut profiler, &tests, asked.runtime, asked.seed);
    notes.extend(rounds.notes.iter().cloned());
    let interrupted = talk.stop().load(Ordering::Relaxed);
    if interrupted {
        notes.push(cut_short(&rounds, &tests));
    }
    let tests: Vec<_> = rounds.tests.into_iter().filter_map(gather::test).collect();
    let elapsed = match session.about().place.clock {
        RunClock::Wall => examiner.elapsed(),
        RunClock::Virtual => Nanos(tests.iter().map(|test| test.elapsed.0).sum()),
    };
    let mut layers_missing = profiler.missing;
    if tests.iter().any(|test| test.layers.is_some()) {
        notes.extend(layers_missing.take().map(|reason| format!("Some rounds have no layers: {reason}.")));
    }
    let About { name, storage, machine, .. } = session.about();
    Ok(Iolat {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms,
        elapsed,
        seed: asked.seed,
        target: name.clone(),
        machine: machine.clone(),
        storage: storage.clone(),
        scratch,
        profiles: gather::profiles(&tests),
        tests,
        ladder: profiler.ladder,
        layers_missing,
        comparison: None,
        notes,
        interrupted,
    })
}

fn cut_short(rounds: &Rounds, tests: &[Test]) -> String {
    let made: usize = rounds.tests.iter().map(|test| test.rounds.len()).sum();
    let all = tests.len() * plan::ROUNDS as usize;
    format!("Interrupted after {made} of {all} measurements: the figures are of those.")
}
