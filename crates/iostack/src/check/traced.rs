//! A measurement under a profile: what came of the job, and where its clocks went.

use iostack_attribute::layers::{LayerTrace, Subject};
use iostack_engine::Work;
use iostack_host::clock::Clock;
use iostack_model::{Ladder, Outcome};

use super::measure::Session;

/// How to profile here, or why not.
pub(crate) struct Profiler {
    /// What may be measured.
    pub(crate) ladder: Ladder,
    /// Why a profile could not be had, once it was tried.
    pub(crate) missing: Option<String>,
    /// It worked at least once: a failure after that concerns one measurement.
    worked: bool,
}

impl Profiler {
    /// A profiler that keeps to what may be measured.
    pub(crate) fn new(ladder: &Ladder) -> Profiler {
        Profiler { ladder: ladder.clone(), missing: None, worked: false }
    }

    /// Runs the job, with a profile where one may be had; without one the outcome has no layers.
    pub(crate) fn run(&mut self, session: &Session<'_>, work: Work) -> Result<Outcome, String> {
        if self.missing.is_some() && !self.worked {
            return session.run(work);
        }
        let tsc_hz = Clock::calibrated().tsc_hz();
        let trace = match LayerTrace::start(Subject::Load, &work.storage, &self.ladder, tsc_hz, 0) {
            Ok(trace) => trace,
            Err(error) => {
                self.missing = Some(super::measure::chain(&error));
                return session.run(work);
            }
        };
        self.worked = true;
        let outcome = session.run_watched(work, Some(trace.observer()));
        // Finished in any case: a load that failed must not leave probes behind.
        let mut outcome = match outcome {
            Ok(outcome) => outcome,
            Err(reason) => {
                drop(trace);
                return Err(reason);
            }
        };
        outcome.layers = Some(trace.finish(Some(outcome.ios()), "I/Os of the load"));
        Ok(outcome)
    }
}
