//! Runs the plan: measures point after point, keeps the promise, stops on Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use iostack_answers::{Point, Step};
use iostack_engine::{Control, Work};
use iostack_host::{Held, Journal, SettingGuard};
use iostack_model::{Job, Nanos, Observer, Outcome};
use iostack_targets::Audience;
use iostack_targets::tracing::{Tracing, chain};

use super::place::Explored;
use super::planned::{On, Planned, PlannedStep};

/// What the measurements share.
pub(crate) struct Session<'a> {
    /// The place.
    pub(crate) explored: &'a Explored,
    /// Set by Ctrl-C.
    pub(crate) stop: &'a AtomicBool,
    /// Progress for the user.
    pub(crate) talk: &'a dyn Audience,
    /// When the check began.
    pub(crate) started: Instant,
    /// When it must have ended, from `started`.
    pub(crate) deadline: Option<Nanos>,
    /// Where changed settings are noted so that they survive a crash; without it none is changed.
    pub(crate) journal: Option<&'a Journal>,
}

impl Session<'_> {
    /// Since the start.
    pub(crate) fn elapsed(&self) -> Nanos {
        Nanos(self.started.elapsed().as_nanos() as u64)
    }

    /// Ctrl-C was pressed.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn late(&self, next: Nanos) -> bool {
        self.deadline.is_some_and(|deadline| self.elapsed() + next > deadline)
    }

    /// The job on the file or device of the check.
    pub(crate) fn work(&self, job: Job) -> Work {
        self.work_on(job, &self.explored.held)
    }

    /// The job on one file or device.
    pub(crate) fn work_on(&self, job: Job, held: &Arc<Held>) -> Work {
        let files = vec![vec![Arc::clone(held)]; job.threads as usize];
        Work {
            job,
            target: held.target().clone(),
            storage: self.explored.storage.clone(),
            files,
            recording: None,
        }
    }

    /// Runs it; the error is one line.
    pub(crate) fn run(&self, work: Work) -> Result<Outcome, String> {
        self.run_watched(work, None)
    }

    /// Runs it, with somebody who looks at it from inside.
    pub(crate) fn run_watched(&self, work: Work, observer: Option<&dyn Observer>) -> Result<Outcome, String> {
        let control = Control {
            stop: self.stop,
            progress: None,
            progress_every: Nanos::millis(500),
            status: None,
            observer,
        };
        let mut outcomes = iostack_engine::run(&[work], &control).map_err(|error| chain(&error))?;
        outcomes.pop().ok_or_else(|| "the engine returned no outcome".to_owned())
    }
}

/// Measures every step of the plan.
pub(crate) fn measure(session: &Session<'_>, plan: &[PlannedStep]) -> Vec<Step> {
    let mut remaining: u64 = plan.iter().map(|step| step.expected().0).sum();
    let mut done = Vec::new();
    for planned in plan {
        session.talk.step(planned.title, session.elapsed(), session.elapsed() + Nanos(remaining));
        done.push(measure_step(session, planned, remaining));
        remaining -= planned.expected().0;
    }
    done
}

fn measure_step(session: &Session<'_>, planned: &PlannedStep, remaining: u64) -> Step {
    let started = session.elapsed();
    let mut notes: Vec<String> = planned.note.iter().cloned().collect();
    let mut points = Vec::new();
    let mut left = remaining;
    for point in &planned.points {
        if session.stopped() {
            notes.push("interrupted".to_owned());
            break;
        }
        if session.late(point.expected()) {
            notes.push(format!(
                "cut short: the promised time was over before {} {}",
                point.series, point.label
            ));
            break;
        }
        session.talk.point(
            point.series.name(),
            &point.label,
            session.elapsed(),
            session.elapsed() + Nanos(left),
        );
        match measure_point(session, point, &mut notes) {
            Ok(outcome) => points.push(Point {
                series: point.series.clone(),
                x: point.x,
                label: point.label.clone(),
                outcome,
            }),
            Err(reason) => notes.push(format!("{} {}: {reason}", point.series, point.label)),
        }
        left = left.saturating_sub(point.expected().0);
    }
    notes.dedup();
    Step {
        id: planned.id,
        title: planned.title.to_owned(),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        axis: planned.axis.clone(),
        points,
        elapsed: session.elapsed() - started,
    }
}

fn measure_point(session: &Session<'_>, point: &Planned, notes: &mut Vec<String>) -> Result<Outcome, String> {
    let _guard = switch_scheduler(session, point)?;
    let work = match point.on {
        On::Target => session.work(point.job.clone()),
        On::RawDevice => session.work_on(point.job.clone(), &raw_device(session.explored)?),
    };
    let mut outcome = if point.traced { measure_traced(session, work, notes)? } else { session.run(work)? };
    point.keep_to_intent(&mut outcome.caveats);
    Ok(outcome)
}

/// The device below the file, for reading.
pub(crate) fn raw_device(explored: &Explored) -> Result<Arc<Held>, String> {
    let path = explored.place.raw_device.as_ref().map_err(Clone::clone)?;
    Held::open(path).map(Arc::new).map_err(|error| chain(&error))
}

/// Looks from inside as far as that is permitted; an error when it is not at all.
fn measure_traced(session: &Session<'_>, work: Work, notes: &mut Vec<String>) -> Result<Outcome, String> {
    let (tracing, refused) = Tracing::attach_permitted(&session.explored.storage, &session.explored.ladder);
    if tracing.sees_nothing() {
        return Err(format!("{}; `iostack doctor` says how to enable it", refused.join("; ")));
    }
    notes.extend(refused);
    let observer = tracing.observer();
    let mut outcome = session.run_watched(work, Some(&observer))?;
    tracing.finish(std::slice::from_mut(&mut outcome));
    Ok(outcome)
}

/// Switches when the point asks for a scheduler; the guard puts the old one back.
fn switch_scheduler(session: &Session<'_>, point: &Planned) -> Result<Option<SettingGuard>, String> {
    let Some(scheduler) = &point.scheduler else { return Ok(None) };
    let device = session.explored.storage.scheduled().ok_or("no device here has a choice of schedulers")?;
    let journal = session.journal.ok_or("changed settings cannot be noted anywhere")?;
    iostack_host::set_scheduler(&device.name, scheduler, journal).map(Some).map_err(|error| chain(&error))
}
