//! What time is it for the drive? The wall's, from where the drive is when it starts.

use std::time::{Duration, Instant};

use iostack_sim::engine::Time;

/// Wall time as the simulation counts it, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    at: Time,
}

impl Clock {
    /// It is `at` now.
    pub(crate) fn start(at: Time) -> Clock {
        Clock { start: Instant::now(), at }
    }

    /// The present moment, ns.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        self.at + self.start.elapsed().as_nanos() as Time
    }

    /// How long until then; nothing when it is past.
    pub(crate) fn until(&self, moment: Time) -> Duration {
        Duration::from_nanos(moment.saturating_sub(self.now()))
    }
}
