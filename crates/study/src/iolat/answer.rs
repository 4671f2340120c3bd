//! From what was asked to the report.

use std::ffi::OsStr;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::ensure;
use iostack_answers::{Iolat, Scratch};
use iostack_model::{Bytes, Effort, Machine, Nanos, SCHEMA};
use iostack_targets::Audience;
use iostack_targets::left;

use super::measure::{self, Rounds};
use super::plan::{self, Test};
use super::reference::{self, Reference};
use super::{compare, gather};
use crate::check::fill;
use crate::check::measure::Session;
use crate::check::place::{self, Explored, Wishes};
use crate::check::traced::Profiler;

/// What is asked.
pub struct Asked<'a> {
    /// A directory, a file or a block device, as it was typed.
    pub target: &'a OsStr,
    /// Time of each test, in all its rounds.
    pub runtime: Nanos,
    /// No tests through the page cache.
    pub direct_only: bool,
    /// Size of the scratch file, or of the region to use.
    pub size: Option<Bytes>,
    /// Reproduces offsets and content.
    pub seed: u64,
    /// What exists may be written over.
    pub destroy_data: bool,
    /// Compare with a saved reference (its file), or with a table printed in 2008 (its name).
    pub against: Option<&'a str>,
}

/// Tests, and compares where that is asked.
pub fn answer(asked: &Asked<'_>, talk: &dyn Audience) -> anyhow::Result<Iolat> {
    let shortest = Nanos(plan::ROUND_SHORTEST.0 * u64::from(plan::ROUNDS));
    ensure!(asked.runtime >= shortest, "--runtime {} is too short: name at least {shortest}", asked.runtime);
    // Before the tests, so that a misspelt name costs no half minute.
    let against = asked.against.map(|name| reference::load(name).map(|found| (name, found))).transpose()?;
    let mut iolat = test(asked, talk)?;
    iolat.comparison = against.map(|(name, reference)| match reference {
        Reference::Published(table) => compare::with_published(&iolat, &table),
        Reference::Saved(there) => compare::with_saved(&iolat, &there, name),
    });
    Ok(iolat)
}

fn test(asked: &Asked<'_>, talk: &dyn Audience) -> anyhow::Result<Iolat> {
    let started = Instant::now();
    let started_unix_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis() as u64);
    let stop = talk.stop();
    let target = iostack_host::resolve(asked.target)?;
    left::settings(&|text| talk.warn(text));
    left::files(&target, &|text| talk.warn(text));
    let machine = iostack_host::machine();
    let wishes = Wishes { effort: Effort::Quick, size: asked.size, destroy_data: asked.destroy_data };
    let mut explored = place::explore(target, &machine, &wishes)?;
    let limit = place::fill_limit(wishes.effort);
    let scratch = fill::fill(&mut explored, limit, talk, started)?;
    let (tests, mut notes) = plan::tests(&explored.place, asked.direct_only);
    ensure!(!tests.is_empty(), "no test can be made on `{}`: {}", explored.target, notes.join(" "));
    let mut profiler = Profiler::new(&explored.ladder);
    let whole = measure::expected(tests.len(), asked.runtime);
    talk.say(&format!(
        "{} tests in {} rounds on {}, about {:.0} s",
        tests.len(),
        plan::ROUNDS,
        explored.target,
        whole.as_secs_f64()
    ));
    let session = Session { explored: &explored, stop, talk, started, deadline: None, journal: None };
    let rounds = measure::measure(&session, &mut profiler, &tests, asked.runtime, asked.seed);
    notes.extend(rounds.notes.iter().cloned());
    let interrupted = stop.load(Ordering::Relaxed);
    if interrupted {
        notes.push(cut_short(&rounds, &tests));
    }
    let found = Found { explored, machine, scratch, rounds, profiler, notes };
    let elapsed = Nanos(started.elapsed().as_nanos() as u64);
    Ok(Iolat { started_unix_ms, elapsed, seed: asked.seed, interrupted, ..figures(found) })
}

fn cut_short(rounds: &Rounds, tests: &[Test]) -> String {
    let made: usize = rounds.tests.iter().map(|test| test.rounds.len()).sum();
    let all = tests.len() * plan::ROUNDS as usize;
    format!("Interrupted after {made} of {all} measurements: the figures are of those.")
}

/// What was found, before it is summed up.
struct Found {
    explored: Explored,
    machine: Machine,
    scratch: Option<Scratch>,
    rounds: Rounds,
    profiler: Profiler,
    notes: Vec<String>,
}

fn figures(found: Found) -> Iolat {
    let Found { explored, machine, scratch, rounds, profiler, mut notes } = found;
    let tests: Vec<_> = rounds.tests.into_iter().filter_map(gather::test).collect();
    let profiled = tests.iter().any(|test| test.layers.is_some());
    let layers_missing = match profiler.missing {
        Some(reason) if profiled => {
            notes.push(format!("Some rounds have no layers: {reason}."));
            None
        }
        reason => reason,
    };
    Iolat {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: 0,
        elapsed: Nanos(0),
        seed: 0,
        target: explored.target,
        machine,
        storage: explored.storage,
        scratch,
        profiles: gather::profiles(&tests),
        tests,
        ladder: profiler.ladder,
        layers_missing,
        comparison: None,
        notes,
        interrupted: false,
    }
}
