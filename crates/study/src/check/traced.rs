//! A measurement under a profile: what came of the job, and where its clocks went.

use iostack_model::{Job, Ladder, Outcome};
use iostack_target::{How, Wanted};

use super::measure::Examiner;

/// Profiler, or the reason that there is none.
pub(crate) struct Profiler {
    pub(crate) ladder: Ladder,
    /// Reason that no profile could be had, once it was tried.
    pub(crate) missing: Option<String>,
    /// It worked at least once: a failure after that concerns one measurement.
    worked: bool,
}

impl Profiler {
    /// A profiler that keeps to what may be measured.
    pub(crate) fn new(ladder: Ladder) -> Profiler {
        Profiler { ladder, missing: None, worked: false }
    }

    /// Runs the job, with a profile where one may be had; without one the outcome has no layers.
    pub(crate) fn run(&mut self, examiner: &Examiner<'_>, job: &Job) -> Result<Outcome, String> {
        if self.missing.is_some() && !self.worked {
            return examiner.run(job);
        }
        let look = Wanted { layers: true, ..Wanted::default() };
        match examiner.run_so(job, How { look, ..How::default() }) {
            Ok(measured) => {
                self.worked = true;
                Ok(measured.outcome)
            }
            Err(error) => {
                self.missing = Some(error);
                examiner.run(job)
            }
        }
    }
}
