//! Runs the plan: measures point after point, keeps the promise, stops on Ctrl-C.

use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use iostack_model::answers::{Point, Step};
use iostack_model::{Job, Nanos, Outcome};
use iostack_target::{Audience, How, Measured, RunClock, Session, Wanted};

use super::planned::{Planned, PlannedStep, expected};

pub(crate) struct Examiner<'a> {
    pub(crate) session: &'a dyn Session,
    /// Progress for the user, and the flag that Ctrl-C sets.
    pub(crate) talk: &'a dyn Audience,
    /// Start of the check.
    pub(crate) started: Instant,
    /// Latest end, from `started`.
    pub(crate) deadline: Option<Nanos>,
}

impl Examiner<'_> {
    /// Since the start, by the clock of who waits.
    pub(crate) fn elapsed(&self) -> Nanos {
        Nanos(self.started.elapsed().as_nanos() as u64)
    }

    /// Ctrl-C was pressed.
    pub(crate) fn stopped(&self) -> bool {
        self.talk.stop().load(Ordering::Relaxed)
    }

    fn late(&self, next: Nanos) -> bool {
        self.deadline.is_some_and(|deadline| self.elapsed() + next > deadline)
    }

    /// Runs one job on the place; the error is one line.
    pub(crate) fn run(&self, job: &Job) -> Result<Outcome, String> {
        self.run_so(job, How::default()).map(|measured| measured.outcome)
    }

    /// Runs one job, elsewhere or with somebody who looks at it from inside. Of single jobs nobody hears how far they are.
    pub(crate) fn run_so(&self, job: &Job, how: How) -> Result<Measured, String> {
        self.session.run(job, how, self.talk.stop())
    }
}

/// Time now, by the clock of the place, ms since 1970: 0 where time is its own.
pub(crate) fn started_unix_ms(session: &dyn Session) -> u64 {
    match session.about().place.clock {
        RunClock::Wall => {
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis() as u64)
        }
        RunClock::Virtual => 0,
    }
}

/// Expected time, in words.
pub(crate) fn how_long(session: &dyn Session, expected: Nanos) -> String {
    match session.about().place.clock {
        RunClock::Wall => format!("for about {:.0} s", expected.as_secs_f64()),
        RunClock::Virtual => "in its own time".to_owned(),
    }
}

/// Progress through the plan.
struct Course {
    begun: Nanos,
    whole: Nanos,
    done: Nanos,
}

impl Course {
    /// Expected end: as planned, or on a target with a time of its own by the pace so far.
    fn end(&self, examiner: &Examiner<'_>) -> Nanos {
        let elapsed = examiner.elapsed();
        let left = self.whole.0.saturating_sub(self.done.0);
        if examiner.deadline.is_some() || self.done == Nanos(0) {
            return elapsed + Nanos(left);
        }
        let pace = (elapsed - self.begun).as_secs_f64() / self.done.as_secs_f64();
        elapsed + Nanos((left as f64 * pace) as u64)
    }
}

/// Measures every step of the plan.
pub(crate) fn measure(examiner: &Examiner<'_>, plan: &[PlannedStep]) -> Vec<Step> {
    let mut course = Course { begun: examiner.elapsed(), whole: expected(plan), done: Nanos(0) };
    let mut steps = Vec::new();
    for planned in plan {
        examiner.talk.step(planned.title, examiner.elapsed(), course.end(examiner));
        let before = course.done;
        steps.push(measure_step(examiner, planned, &mut course));
        course.done = before + planned.expected();
    }
    steps
}

fn measure_step(examiner: &Examiner<'_>, planned: &PlannedStep, course: &mut Course) -> Step {
    let started = examiner.elapsed();
    let mut notes: Vec<String> = planned.note.iter().cloned().collect();
    let mut points = Vec::new();
    for point in &planned.points {
        if examiner.stopped() {
            notes.push("interrupted".to_owned());
            break;
        }
        if examiner.late(point.expected()) {
            let Planned { series, label, .. } = point;
            notes.push(format!("cut short: the promised time was over before {series} {label}"));
            break;
        }
        let (elapsed, end) = (examiner.elapsed(), course.end(examiner));
        examiner.talk.point(point.series.name(), &point.label, elapsed, end);
        match measure_point(examiner, point, &mut notes) {
            Ok(outcome) => points.push(Point {
                series: point.series.clone(),
                x: point.x,
                label: point.label.clone(),
                outcome,
            }),
            Err(reason) => notes.push(format!("{} {}: {reason}", point.series, point.label)),
        }
        course.done += point.expected();
    }
    notes.dedup();
    let elapsed = match examiner.session.about().place.clock {
        RunClock::Wall => examiner.elapsed() - started,
        RunClock::Virtual => Nanos(points.iter().map(|point| point.outcome.elapsed.0).sum()),
    };
    Step {
        id: planned.id,
        title: planned.title.to_owned(),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        axis: planned.axis.clone(),
        points,
        elapsed,
    }
}

fn measure_point(
    examiner: &Examiner<'_>,
    point: &Planned,
    notes: &mut Vec<String>,
) -> Result<Outcome, String> {
    let look = Wanted { stages: point.traced, layers: point.traced, ..Wanted::default() };
    let measured = examiner.run_so(&point.job, How { on: point.on, look }).map_err(|reason| {
        if point.traced { format!("{reason}; `iostack doctor` says how to enable it") } else { reason }
    })?;
    notes.extend(measured.notes);
    let mut outcome = measured.outcome;
    point.keep_to_intent(&mut outcome.caveats);
    Ok(outcome)
}
