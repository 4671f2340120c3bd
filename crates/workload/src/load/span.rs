//! When does a thread begin, when does what it does count, and when is its time up?

use iostack_model::{Job, Nanos};

/// The moments of one thread, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first I/O, after the start delay.
    pub begins: u64,
    /// I/Os submitted from here on count: the end of the ramp.
    pub border: u64,
    /// Nothing is submitted from here on; `u64::MAX` without a runtime.
    pub until: u64,
}

/// Time before I/Os count. A job that proves its writes counts from the first one: what it reads back is what it wrote.
pub fn ramp_of(job: &Job) -> Nanos {
    if job.verify.is_some() { Nanos(0) } else { job.ramp }
}

impl Span {
    /// The span of a job which may begin at `start`; `ticks` turns nanoseconds into ticks.
    pub fn of_job(job: &Job, start: u64, ticks: impl Fn(u64) -> u64) -> Span {
        let begins = start.saturating_add(ticks(job.start_delay.0));
        let border = begins.saturating_add(ticks(ramp_of(job).0));
        let until = job.runtime.map_or(u64::MAX, |runtime| border.saturating_add(ticks(runtime.0)));
        Span { begins, border, until }
    }

    /// The same in nanoseconds, from the start of its stage.
    pub fn in_stage(job: &Job) -> Span {
        Span::of_job(job, 0, |ns| ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{Verify, VerifyMode};

    #[test]
    fn the_runtime_counts_from_the_end_of_the_ramp() {
        let job = Job {
            start_delay: Nanos(10),
            ramp: Nanos(20),
            runtime: Some(Nanos(300)),
            verify: None,
            ..Job::default()
        };
        assert_eq!(Span::of_job(&job, 5, |ns| ns * 2), Span { begins: 25, border: 65, until: 665 });
        assert_eq!(Span::in_stage(&job), Span { begins: 10, border: 30, until: 330 });
        let endless = Job { runtime: None, ..job.clone() };
        assert_eq!(Span::in_stage(&endless).until, u64::MAX);
        let proving = Job { verify: Some(Verify::of_mode(VerifyMode::WriteOnly)), ..job };
        assert_eq!(Span::in_stage(&proving), Span { begins: 10, border: 10, until: 310 });
    }
}
