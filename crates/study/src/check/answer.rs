//! From what was asked to the report.

use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::ensure;
use iostack_model::answers::Check;
use iostack_model::{Bytes, Effort, Nanos, SCHEMA};
use iostack_target::{About, Audience, RunClock, Session, Target, Wishes};

use super::against::DataSheet;
use super::facts::Facts;
use super::measure::{self, Examiner};
use super::plan::{self, Time};
use super::planned::{PlannedStep, expected};
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
    if deadline.is_none() && !is_virtual {
        let minutes = expected(&planned(asked, &*session, Time::Whole)).as_secs_f64() / 60.0;
        talk.say(&format!("a full check: about {minutes:.0} min, and the time to fill a scratch file"));
    }
    let scratch = fill::fill(&mut *session, plan::fill_limit(asked.effort), None, talk)?;
    let examiner = Examiner { session: &*session, talk, started, deadline };
    let for_paths = if is_virtual { Nanos(0) } else { path_costs::allowed(asked.effort) };
    let time = match deadline {
        Some(end) => Time::Within(Nanos(end.0.saturating_sub(examiner.elapsed().0 + for_paths.0))),
        None if is_virtual => Time::Virtual(one_read(&examiner)?),
        None => Time::Whole,
    };
    let plan = planned(asked, &*session, time);
    let About { place, name, storage, machine } = session.about();
    let long = measure::how_long(&*session, expected(&plan) + for_paths);
    talk.say(&format!("checking {name} {long}"));
    let mut steps = measure::measure(&examiner, &plan);
    let path_costs = if is_virtual { Vec::new() } else { path_costs::measure(&examiner, for_paths) };
    let of_steps = Nanos(steps.iter().map(|step| step.elapsed.0).sum());
    let interrupted = talk.stop().load(Ordering::Relaxed);
    let against = asked.against.map(|sheet| sheet.beside(&steps, storage));
    let elapsed = if is_virtual { of_steps } else { examiner.elapsed() };
    let caveats = doubts::lift(&mut steps, storage, machine, place.region);
    let summary = summary::summarise(&steps);
    let facts = Facts::new(place, (storage, machine), (&steps, &summary), &caveats);
    let verdict = verdict::decide(&facts);
    Ok(Check {
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
        prediction: None,
        verdict,
        caveats,
        interrupted,
    })
}

fn planned(asked: &CheckQuestion<'_>, session: &dyn Session, time: Time) -> Vec<PlannedStep> {
    let About { place, storage, .. } = session.about();
    let below = storage.scheduled().map(|device| advice::whose(storage, &device.name));
    let tried = format!("tried{}", below.unwrap_or_default());
    plan::plan(place, &tried, asked.effort, asked.seed, time)
}

/// Time of one small read alone on this target, by its own clock.
fn one_read(examiner: &Examiner<'_>) -> anyhow::Result<Nanos> {
    let About { place, name, .. } = examiner.session.about();
    let outcome = examiner.run(&plan::probe(place)).map_err(anyhow::Error::msg)?;
    ensure!(outcome.ios() > 0, "not one read of `{name}` came back");
    let mean = Nanos(outcome.latency().mean_ns() as u64);
    ensure!(mean.0 > 0, "an I/O of `{name}` takes no time: there is nothing to measure");
    Ok(mean)
}
