//! What came of it so far? For those who will not wait for the end.
//!
//! Threads publish what they counted before each telling, and say what they have come to; a group is then put together
//! as if it had ended at its last I/O. Nothing of it is taken from the run.

use std::sync::atomic::Ordering;
use std::time::Duration;

use iostack_host::clock::Clock;
use iostack_host::counters::WorkerWatch;
use iostack_model::{Nanos, Phase};

use crate::group::Group;
use crate::outcome::assemble_all;
use crate::{Control, Status};

/// Threads publish this many times between two tellings, so that what is told is not old.
const FRESHNESS: u64 = 4;

/// Tells the outcomes so far, again and again.
pub(crate) struct Teller<'a> {
    status: Status<'a>,
    go: u64,
    next: u64,
    every: u64,
}

impl<'a> Teller<'a> {
    /// `None` when nobody listens.
    pub(crate) fn new(control: &Control<'a>, phase: Phase, go: u64) -> Option<Teller<'a>> {
        let status = control.status.filter(|_| phase == Phase::Running)?;
        let every = Clock::calibrated().ticks(status.every.0).max(1);
        Some(Teller { status, go, next: go.saturating_add(every), every })
    }

    /// Time until the next telling.
    pub(crate) fn left(&self, now: u64) -> Duration {
        Duration::from_nanos(Clock::calibrated().nanos(self.next.saturating_sub(now)))
    }

    /// Tells it when it is time.
    pub(crate) fn tell(&mut self, groups: &[Group<'_>], watch: &mut WorkerWatch, now: u64) {
        let asked = self.status.asked.is_some_and(|asked| asked.swap(false, Ordering::Relaxed));
        if now >= self.next {
            // A telling that was missed is not made up for.
            self.next += (now - self.next) / self.every * self.every + self.every;
        } else if !asked {
            return;
        }
        let so_far = groups.iter().map(|group| group.so_far(watch)).collect();
        (self.status.tell)(assemble_all(so_far, self.go));
    }
}

/// Time between two publications of a thread for whoever looks or listens; `u64::MAX` when nobody does.
pub(crate) fn published_every(control: &Control<'_>) -> Nanos {
    let told = control.status.map(|status| {
        let told = Nanos((status.every.0 / FRESHNESS).max(1));
        if status.asked.is_some() { told.min(control.progress_every) } else { told }
    });
    let shown = control.progress.map(|_| control.progress_every);
    told.into_iter().chain(shown).min().unwrap_or(Nanos(u64::MAX))
}
