//! A measurement under a profile: what came of the job, and where its clocks went.

use iostack_engine::Work;
use iostack_model::{Ladder, Outcome};
use iostack_targets::Wanted;
use iostack_targets::tracing::Tracing;

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
        let wanted = Wanted { layers: true, ..Wanted::default() };
        let tracing = match Tracing::attach(wanted, None, &work.storage, &self.ladder) {
            Ok(tracing) => tracing,
            Err(error) => {
                self.missing = Some(format!("{error:#}"));
                return session.run(work);
            }
        };
        self.worked = true;
        let observer = tracing.observer();
        let mut outcome = session.run_watched(work, Some(&observer))?;
        tracing.finish(std::slice::from_mut(&mut outcome));
        Ok(outcome)
    }
}
