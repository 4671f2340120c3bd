//! What is stamped, what is checked, and when is what was written read back?

use iostack_model::{Job, VerifyMode};

use crate::Limits;

/// True when what the job writes is read back afterwards.
pub fn reads_back(job: &Job) -> bool {
    job.verify.is_some_and(|verify| verify.mode == VerifyMode::WriteThenRead) && job.mix.write > 0
}

/// True when each pass is read back before the next one. One that reads back along the way goes on with that instead.
pub fn is_read_by_pass(job: &Job) -> bool {
    let along = job.verify.is_some_and(|verify| verify.backlog.is_some() || verify.trims.is_some());
    let by_passes = Limits::of_job(job).passes == u64::from(job.loops) && job.io_count.is_none();
    job.loops > 1 && reads_back(job) && !along && by_passes && job.recorded.is_none()
}

/// Phase of a job that verifies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proving {
    /// Writes carry stamps.
    pub stamps: bool,
    /// Reads are checked.
    pub checks: bool,
    /// The first that is wrong is the last.
    pub fatal: bool,
}

impl Proving {
    /// The phase at the start of a job; none where nothing is to be proved.
    pub fn of_job(job: &Job) -> Proving {
        job.verify.map_or(Proving::default(), |verify| Proving {
            stamps: verify.mode != VerifyMode::ReadOnly,
            checks: verify.mode == VerifyMode::ReadOnly,
            fatal: verify.fatal,
        })
    }

    /// Turns to reading back: checks reads, and nothing else.
    pub fn read_back(&mut self) {
        (self.stamps, self.checks) = (false, true);
    }

    /// Turns to writing again.
    pub fn write_again(&mut self) {
        (self.stamps, self.checks) = (true, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{Mix, Verify};

    fn job(mode: VerifyMode, mix: Mix) -> Job {
        Job { verify: Some(Verify::of_mode(mode)), mix, ..Job::default() }
    }

    #[test]
    fn only_what_was_written_to_be_read_is_read_back() {
        assert!(reads_back(&job(VerifyMode::WriteThenRead, Mix::WRITE)));
        assert!(!reads_back(&job(VerifyMode::WriteThenRead, Mix::READ)));
        assert!(!reads_back(&job(VerifyMode::WriteOnly, Mix::WRITE)));
        assert!(!reads_back(&Job::default()));
        let passes = Job { loops: 2, ..job(VerifyMode::WriteThenRead, Mix::WRITE) };
        assert!(is_read_by_pass(&passes));
        assert!(!is_read_by_pass(&Job { loops: 1, ..passes.clone() }), "there is one pass");
        assert!(!is_read_by_pass(&Job { io_count: Some(7), ..passes }), "it may end within a pass");
    }

    #[test]
    fn writes_are_stamped_until_they_are_read_back() {
        let mut proving = Proving::of_job(&job(VerifyMode::WriteThenRead, Mix::WRITE));
        assert_eq!((proving.stamps, proving.checks), (true, false));
        proving.read_back();
        assert_eq!((proving.stamps, proving.checks), (false, true));
        proving.write_again();
        assert_eq!((proving.stamps, proving.checks), (true, false));
        let checks = Proving::of_job(&job(VerifyMode::ReadOnly, Mix::READ));
        assert_eq!((checks.stamps, checks.checks), (false, true));
        assert!(Proving::of_job(&job(VerifyMode::WriteOnly, Mix::WRITE)).stamps);
        assert_eq!(Proving::of_job(&Job::default()), Proving::default());
    }
}
