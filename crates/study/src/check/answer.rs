//! From what was asked to the report.

use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::ensure;
use iostack_model::answers::{Against, Check, PathCost, Scratch, Step, Summary, Verdict};
use iostack_model::{Bytes, Effort, Nanos, SCHEMA};
use iostack_target::{About, Audience, RunClock, Session, Target, Wishes};

use super::against::DataSheet;
use super::facts::Facts;
use super::measure::{self, Examiner};
use super::plan::{self, Time};
use super::planned::PlannedStep;
use super::scatter::Scatter;
use super::{advice, doubts, fill, path_costs, summary, verdict};

/// Question with all that it needs.
pub struct CheckQuestion<'a> {
    /// Time that it may take.
    pub effort: Effort,
    /// Size of the scratch file, or of the region to read.
    pub size: Option<Bytes>,
    /// Reproduces offsets and content.
    pub seed: u64,
    /// Data sheet that the drive is held against.
    pub against: Option<&'a DataSheet>,
}

/// Explores, measures, sums up and judges.
pub fn answer(asked: &CheckQuestion<'_>, target: &dyn Target, talk: &dyn Audience) -> anyhow::Result<Check> {
    let started = Instant::now();
    let wishes = Wishes { effort: asked.effort, size: asked.size };
    let mut session = target.occupy(&wishes, talk)?;
    let is_virtual = session.about().place.clock == RunClock::Virtual;
    let started_unix_ms = measure::started_unix_ms(&*session);
    // The report takes a moment too.
    let deadline = plan::promised(asked.effort).filter(|_| !is_virtual).map(|time| time - Nanos::secs(2));
    let storage = &session.about().storage;
    let below = storage.scheduled().map(|device| advice::whose(storage, &device.name));
    let tried = format!("tried{}", below.unwrap_or_default());
    let planned = |session: &dyn Session, time| {
        plan::plan(&session.about().place, &tried, asked.effort, asked.seed, time)
    };
    if deadline.is_none() && !is_virtual {
        let whole = expected(&planned(&*session, Time::Whole));
        talk.say(&format!(
            "a full check: about {:.0} min, and the time to fill a scratch file",
            whole.as_secs_f64() / 60.0
        ));
    }
    let scratch = fill::fill(&mut *session, plan::fill_limit(asked.effort), None, talk)?;
    let examiner = Examiner { session: &*session, talk, started, deadline };
    let for_paths = if is_virtual { Nanos(0) } else { path_costs::allowed(asked.effort) };
    let time = match deadline {
        Some(end) => Time::Within(Nanos(end.0.saturating_sub(examiner.elapsed().0 + for_paths.0))),
        None if is_virtual => Time::Virtual(one_read(&examiner)?),
        None => Time::Whole,
    };
    let plan = planned(&*session, time);
    let long = measure::how_long(&*session, expected(&plan) + for_paths);
    talk.say(&format!("checking {} {long}", session.about().name));
    let steps = measure::measure(&examiner, &plan);
    let path_costs = if is_virtual { Vec::new() } else { path_costs::measure(&examiner, for_paths) };
    let interrupted = talk.stop().load(Ordering::Relaxed);
    let against = asked.against.map(|sheet| sheet.beside(&steps, &session.about().storage));
    let elapsed = if is_virtual { virtual_time(&steps) } else { examiner.elapsed() };
    let found = Measurements { started_unix_ms, elapsed, scratch, steps, path_costs, against, interrupted };
    Ok(judge(asked, &*session, found))
}

fn expected(plan: &[PlannedStep]) -> Nanos {
    Nanos(plan.iter().map(|step| step.expected().0).sum())
}

/// Time of one small read alone on this target, by its own clock.
fn one_read(examiner: &Examiner<'_>) -> anyhow::Result<Nanos> {
    let outcome = examiner.run(&plan::probe(&examiner.session.about().place)).map_err(anyhow::Error::msg)?;
    ensure!(outcome.ios() > 0, "not one read of `{}` came back", examiner.session.about().name);
    let mean = Nanos(outcome.latency().mean_ns() as u64);
    ensure!(
        mean.0 > 0,
        "an I/O of `{}` takes no time: there is nothing to measure",
        examiner.session.about().name
    );
    Ok(mean)
}

/// Sum of the target's time over all steps.
fn virtual_time(steps: &[Step]) -> Nanos {
    Nanos(steps.iter().map(|step| step.elapsed.0).sum())
}

/// Steps and facts before the verdict.
struct Measurements {
    started_unix_ms: u64,
    elapsed: Nanos,
    scratch: Option<Scratch>,
    steps: Vec<Step>,
    path_costs: Vec<PathCost>,
    against: Option<Against>,
    interrupted: bool,
}

fn judge(asked: &CheckQuestion<'_>, session: &dyn Session, found: Measurements) -> Check {
    let Measurements { started_unix_ms, elapsed, scratch, mut steps, path_costs, against, interrupted } =
        found;
    let About { place, name, storage, machine } = session.about();
    let caveats = doubts::lift(&mut steps, storage, machine, place.region);
    let summary: Summary = summary::summarise(&steps);
    let verdict: Verdict = verdict::decide(&Facts {
        place,
        steps: &steps,
        summary: &summary,
        io_limits: &machine.virtualisation.io_limits,
        storage,
        cores: machine.cpu.cores_usable,
        caveats: &caveats,
        scatter: Scatter::of_steps(&steps),
    });
    Check {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms,
        elapsed,
        effort: asked.effort,
        seed: asked.seed,
        target: name.clone(),
        storage: storage.clone(),
        machine: machine.clone(),
        scratch,
        steps,
        summary,
        path_costs,
        against,
        verdict,
        caveats,
        interrupted,
    }
}
