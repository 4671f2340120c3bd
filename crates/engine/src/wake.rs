//! How long before a moment must a thread stop sleeping to be there in time?
//!
//! ```text
//!   sleep ─────────────► asked wake ──lateness──► awake ──spin──► due
//!                         └────────── early ───────────────────────┘
//! ```
//!
//! A sleeping thread is woken late, by some microseconds on one machine and by tens of them on a virtual one. Each wake
//! teaches how late: the lead follows what 49 wakes of 50 stay below, so that I/Os start when they are due and no more is
//! spun than this takes. Pure; times are ticks.

/// 49 steps up for each step down is 49 wakes in time for each that is not.
const STEPS_UP: u64 = 49;
/// Steps that the lead is made of.
const STEPS: u64 = 512;

/// Lessons of a thread about being woken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wake {
    lead: u64,
    least: u64,
    most: u64,
}

impl Wake {
    /// Begins with a lead of `most` ticks, never uses less than `least`.
    pub(crate) fn new(least: u64, most: u64) -> Wake {
        Wake { lead: most, least, most }
    }

    /// Moment at which to ask to be woken, of a thread that is to be awake at `due`; `None` when sleeping does not pay
    /// any more.
    pub(crate) fn asked(&self, now: u64, due: u64) -> Option<u64> {
        (due > now + self.lead).then(|| due - self.lead)
    }

    /// A thread that asked to be woken at `asked` was awake at `now`.
    pub(crate) fn woke(&mut self, asked: u64, now: u64) {
        let step = (self.lead / STEPS).max(1);
        let late = now.saturating_sub(asked);
        let lead = if late > self.lead { self.lead + STEPS_UP * step } else { self.lead - step };
        self.lead = lead.clamp(self.least, self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_settles_where_49_wakes_of_50_are_in_time() {
        let mut wake = Wake::new(1_000, 200_000);
        let mut random = 1_u64;
        let mut late = 0;
        for turn in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Evenly 10,000 to 30,000 ticks late.
            let lateness = 10_000 + (random >> 33) % 20_000;
            let Some(asked) = wake.asked(0, 1_000_000) else { panic!("there is time to sleep") };
            late += u64::from(turn >= 10_000 && asked + lateness > 1_000_000);
            wake.woke(asked, asked + lateness);
        }
        assert!((100..400).contains(&late), "{late} of 10,000");
    }

    #[test]
    fn a_machine_that_always_wakes_late_is_not_spun_for_beyond_the_most() {
        let mut wake = Wake::new(1_000, 50_000);
        for _ in 0..100 {
            wake.woke(0, 9_000_000);
        }
        assert_eq!(wake.asked(0, 50_001), Some(1));
        assert_eq!(wake.asked(0, 50_000), None);
    }

    #[test]
    fn a_machine_that_wakes_at_once_keeps_the_least() {
        let mut wake = Wake::new(1_000, 50_000);
        for _ in 0..10_000 {
            wake.woke(5, 5);
        }
        assert_eq!((wake.asked(0, 1_000), wake.asked(0, 1_001)), (None, Some(1)));
    }
}
