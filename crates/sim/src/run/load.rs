//! Was the load full while it was measured?
//!
//! ```text
//!   first thread begins ──► last one begins ═══ full ═══ first one submits no more ──► last answer
//! ```
//!
//! While the load is full, the mean number in flight is what was asked for; before and after it is less. Rate and latency
//! of the whole belong to the asked load only as far as Little's law holds between them: rate times latency is the number
//! in flight.

use iostack_model::{Load, Nanos};

use crate::engine::Time;

/// Integral of a number in flight over time, and the number.
type Flight = (u128, u64);

/// Time in which the load of a report group is full.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Full {
    /// Threads that have not begun.
    pub(super) to_begin: usize,
    from: Option<(Time, u128)>,
    until: Option<(Time, Flight)>,
}

impl Full {
    /// A thread begins to measure.
    pub(super) fn begins(&mut self, now: Time, (area, _): Flight) {
        self.to_begin -= 1;
        if self.to_begin == 0 {
            self.from = Some((now, area));
        }
    }

    /// True when a thread submits no more.
    pub(super) fn is_over(&self) -> bool {
        self.until.is_some()
    }

    /// A thread submits no more; the first one counts.
    pub(super) fn ends(&mut self, now: Time, flight: Flight) {
        self.until.get_or_insert((now, flight));
    }

    /// The load in a measured time of `elapsed`, in which the I/Os that count were in flight for `flown` in sum.
    pub(super) fn told(&self, elapsed: Nanos, flown: u128) -> Option<Load> {
        let (until, (area_until, number)) = self.until?;
        // Some thread had ended before another began: the load was full at no time.
        let (from, area_from) = self.from.filter(|&(from, _)| from <= until).unwrap_or((until, area_until));
        let full = until - from;
        let in_flight = if full == 0 { number as f64 } else { (area_until - area_from) as f64 / full as f64 };
        if in_flight <= 0.0 || elapsed.0 == 0 {
            return None;
        }
        let little = flown as f64 / elapsed.0 as f64;
        Some(Load {
            in_flight,
            little,
            residual: (little - in_flight).abs() / in_flight,
            full: (full as f64 / elapsed.0 as f64).min(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads with 4 in flight each, of which the second ends when the first has half of its time before it.
    fn two(first_ends: Time) -> Full {
        let mut full = Full { to_begin: 2, ..Full::default() };
        full.begins(0, (0, 0));
        full.begins(0, (0, 0));
        full.ends(first_ends, (u128::from(first_ends) * 8, 8));
        full.ends(first_ends * 2, (u128::from(first_ends) * 12, 4));
        full
    }

    #[test]
    fn a_load_that_is_not_full_breaks_littles_law() {
        for (what, first_ends, elapsed, flown, expected) in [
            ("a tail without full load", 100, 200, 1200, (6.0, 0.25, 0.5)),
            ("full to the end", 100, 100, 800, (8.0, 0.0, 1.0)),
            ("never full: held against what was in flight when it first fell", 0, 10, 40, (4.0, 0.5, 0.0)),
        ] {
            let (little, residual, full) = expected;
            let load = two(first_ends).told(Nanos(elapsed), flown);
            assert_eq!(load, Some(Load { in_flight: 8.0, little, residual, full }), "{what}");
        }
        assert_eq!(Full::default().told(Nanos(10), 10), None, "without end");
        assert_eq!(two(0).told(Nanos(0), 0), None, "without time");
    }
}
