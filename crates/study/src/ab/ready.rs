//! Makes a side ready once, so that each of its runs is only the run.

use std::sync::atomic::AtomicBool;

use iostack_model::{Nanos, Outcome, TargetKind, TargetName};
use iostack_target::{AnyTarget, Audience, Prepared, RunClock, Wanted};

use super::sides::Side;

/// A side that can be run.
pub(crate) struct ReadySide<'a> {
    pub(crate) prepared: Box<dyn Prepared + 'a>,
    clock: RunClock,
}

/// Files laid out and held.
pub(crate) fn ready<'a>(
    side: &Side,
    target: &'a AnyTarget,
    talk: &dyn Audience,
) -> anyhow::Result<ReadySide<'a>> {
    Ok(ReadySide { prepared: target.prepare(&side.jobs, talk)?, clock: target.describe().clock })
}

impl ReadySide<'_> {
    /// True when nothing of this machine touches its runs.
    pub(crate) fn is_virtual(&self) -> bool {
        self.clock == RunClock::Virtual
    }

    /// The device, if it is simulated.
    pub(crate) fn simulated(&self) -> Option<String> {
        let TargetName { kind, path } = self.prepared.name();
        (kind == TargetKind::Sim).then(|| path.display().to_string())
    }

    /// One run, of which nobody hears: they are short and many. What the seed decides is decided anew.
    pub(crate) fn run(&self, seed: u64, stop: &AtomicBool) -> anyhow::Result<Vec<Outcome>> {
        self.prepared.run(Some(seed), Wanted::default(), stop)
    }
}

pub(crate) fn since(started: std::time::Instant) -> Nanos {
    Nanos(started.elapsed().as_nanos() as u64)
}
