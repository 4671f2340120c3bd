//! What does a job do next? What an engine of threads and a simulation decide alike.
//!
//! ```text
//!   jobs ──► stages, groups ──► Span of each thread: begins ── ramp ──► border ── runtime ──► until
//!
//!   Load::next(now, in flight) ──► Submit, Flush, At, Pause, Wait, Over
//!          ▲                          │
//!          └── completed(start, end) ◄┘
//! ```
//!
//! No clock and no system call: moments come in, as ticks of whoever asks. Start reading at [`Load::next`].

mod backlog;
mod before;
mod demand;
mod depth;
mod flushes;
mod next;
mod proving;
mod search;
mod share;
mod span;
mod steady;
mod together;

pub use backlog::Expected;
pub use before::Before;
pub use demand::Watchdog;
pub use depth::Depth;
pub use flushes::Flush;
pub use next::{Load, Next};
pub use proving::{Proving, is_read_by_pass, reads_back};
pub use search::{Search, Step};
pub use share::{Part, Shares};
pub use span::{Span, ramp_of};
pub use steady::{NOT_STEADY, look_for_steadiness};
pub use together::{group_numbers, stages};

use iostack_model::Job;

/// A thread stops after so many failures.
pub const FAILURES_MAX: u64 = 1000;

/// The CPUs of thread `thread` (from 0) of the job, of `cpus` that it has altogether.
pub fn cpus_of_thread(job: &Job, thread: u32, cpus: &[u32]) -> Vec<u32> {
    match cpus.len() {
        count if job.cpus_split && count > 0 => vec![cpus[(job.thread_first + thread) as usize % count]],
        _ => cpus.to_vec(),
    }
}

/// True when more than reads, writes and trims, as many as the depth holds, is asked for.
pub fn is_accompanied(job: &Job) -> bool {
    job.rate.is_some()
        || job.think.is_some()
        || job.verify.is_some()
        || job.sync.fsync_every > 0
        || job.sync.fdatasync_every > 0
        || job.latency_goal.is_some()
        || !job.demand.is_none()
        || job.logs.are_wanted()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns_at_the_cpus_where_these_are_split() {
        let job = Job { cpus_split: true, thread_first: 2, ..Job::default() };
        let own = |thread| cpus_of_thread(&job, thread, &[4, 5, 6]);
        assert_eq!([own(0), own(1), own(2)], [[6], [4], [5]]);
        assert_eq!(cpus_of_thread(&job, 1, &[]), [0; 0]);
        assert_eq!(cpus_of_thread(&Job { cpus_split: false, ..job }, 1, &[4, 5, 6]), [4, 5, 6]);
    }
}
