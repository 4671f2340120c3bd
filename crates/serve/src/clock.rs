//! What time is it for the drive? The wall's, from where the drive is when it starts, or what somebody tells.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use iostack_sim::engine::Time;

/// Time as the simulation counts it, ns. Clones are of one clock.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    /// It goes on by itself, from `at` when it started.
    Wall { start: Instant, at: Time },
    /// It stands until it is set.
    Told(Arc<AtomicU64>),
}

impl Clock {
    /// Clock of the wall: it is `at` now.
    pub(crate) fn start(at: Time) -> Clock {
        Clock::Wall { start: Instant::now(), at }
    }

    /// It is `at` until it is told otherwise.
    pub(crate) fn told(at: Time) -> Clock {
        Clock::Told(Arc::new(AtomicU64::new(at)))
    }

    /// The present moment, ns.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        match self {
            Clock::Wall { start, at } => at + start.elapsed().as_nanos() as Time,
            Clock::Told(now) => now.load(Ordering::Relaxed),
        }
    }

    /// Sets one that is told.
    pub(crate) fn set(&self, moment: Time) {
        if let Clock::Told(now) = self {
            now.store(moment, Ordering::Relaxed);
        }
    }

    /// Lateness of an answer that was due `at` and goes out earlier by `lead`. Of a clock that stands nobody knows yet.
    pub(crate) fn late(&self, at: Time, lead: u64) -> Option<u64> {
        matches!(self, Clock::Wall { .. }).then(|| (self.now() + lead).saturating_sub(at))
    }

    /// Time until then; nothing when it is past.
    pub(crate) fn until(&self, moment: Time) -> Duration {
        Duration::from_nanos(moment.saturating_sub(self.now()))
    }
}
