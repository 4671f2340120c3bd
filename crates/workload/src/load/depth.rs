//! How many I/Os at once?

use iostack_model::Job;

/// Number of I/Os at once, of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// Most I/Os in flight.
    pub slots: u32,
    /// Handed over together, at most.
    pub submit: u32,
    /// Waited for together when no more may be in flight.
    pub complete_min: u32,
}

impl Depth {
    /// The depth of a job; no batch is larger than what can be in flight.
    pub fn of_job(job: &Job) -> Depth {
        let slots = job.depth().max(1);
        Depth {
            slots,
            submit: job.batch.submit.clamp(1, slots),
            complete_min: job.batch.complete_min.clamp(1, slots),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{Batch, Engine};

    #[test]
    fn no_batch_is_larger_than_the_queue() {
        let job = |engine, queue_depth, submit, complete_min| {
            let batch = Batch { submit, complete_min };
            let Depth { slots, submit, complete_min } =
                Depth::of_job(&Job { engine, queue_depth, batch, ..Job::default() });
            (slots, submit, complete_min)
        };
        assert_eq!(job(Engine::Libaio, 8, 8, 7), (8, 8, 7));
        assert_eq!(job(Engine::Libaio, 8, 9, 10), (8, 8, 8));
        assert_eq!(job(Engine::Libaio, 0, 0, 0), (1, 1, 1));
        assert_eq!(job(Engine::Psync, 8, 4, 4), (1, 1, 1), "one at a time");
    }
}
