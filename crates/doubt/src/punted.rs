//! `io_uring` handed the I/O to kernel workers instead of submitting it.

use iostack_model::{Caveat, Engine, Nanos};

use crate::{Doubt, Limit, PLAIN, Weight, percent};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "punted",
    how: "io_uring's worker threads appeared in this process and took over {} of its CPU time",
    limit: Some(Limit::Share(SHARE_LEAST)),
    weight: Weight::Skewed,
    changes: "io_uring's figures are those of its workers.",
    remedy: "Use psync or libaio on this device; they cost less here.",
    says: |caveat| {
        let Caveat::Punted { workers, cpu_share } = caveat else { return None };
        let (s, share) = (if *workers == 1 { "" } else { "s" }, percent(*cpu_share));
        Some(format!("io_uring handed I/O to {workers} kernel worker{s} ({share} of the CPU time)."))
    },
    of_run: Some(|outcome, evidence| {
        let Engine::IoUring { submit_poll: false, .. } = outcome.job.engine else { return None };
        of_workers(evidence.workers, outcome.cpu.workers, outcome.cpu.total())
    }),
    ..PLAIN
};

/// Share of the CPU time below which the workers did something else.
const SHARE_LEAST: f64 = 0.05;

/// So many workers took this of the CPU time in all.
pub fn of_workers(workers: u32, took: Nanos, all: Nanos) -> Option<Caveat> {
    let cpu_share = took.0 as f64 / all.0.max(1) as f64;
    (workers > 0 && cpu_share > SHARE_LEAST).then_some(Caveat::Punted { workers, cpu_share })
}
