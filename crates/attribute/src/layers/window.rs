//! When does time count? From each opening to its closing. Pure.

use iostack_model::Nanos;

/// Spans that do not overlap, in order; the last may be open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Windows {
    spans: Vec<(Nanos, Option<Nanos>)>,
}

impl Windows {
    /// Opens the window: time counts from now on. Nothing changes where it does already.
    pub(crate) fn open(&mut self, now: Nanos) -> bool {
        let closed = !self.is_open();
        if closed {
            self.spans.push((now, None));
        }
        closed
    }

    /// Up to now, time counted. Nothing when it does not.
    pub(crate) fn close(&mut self, now: Nanos) -> bool {
        match self.spans.last_mut() {
            Some((_, end @ None)) => {
                *end = Some(now);
                true
            }
            _ => false,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.spans.last(), Some((_, None)))
    }

    /// True when that moment counts.
    pub(crate) fn holds(&self, moment: Nanos) -> bool {
        self.spans.iter().rev().any(|&(begin, end)| moment >= begin && end.is_none_or(|end| moment < end))
    }

    /// Time that has counted.
    pub(crate) fn elapsed(&self, now: Nanos) -> Nanos {
        let lengths = self.spans.iter().map(|&(begin, end)| end.unwrap_or(now) - begin);
        lengths.fold(Nanos(0), |sum, length| sum + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_between_opening_and_closing_and_nowhere_else() {
        let mut windows = Windows::default();
        assert!(!windows.holds(Nanos(5)) && !windows.close(Nanos(6)));
        assert!(windows.open(Nanos(10)) && !windows.open(Nanos(15)));
        assert!(windows.holds(Nanos(1000)), "still open");
        assert!(windows.close(Nanos(20)) && !windows.close(Nanos(25)));
        assert!(windows.open(Nanos(40)));
        let counted: Vec<u64> = (0..60).step_by(5).filter(|&moment| windows.holds(Nanos(moment))).collect();
        assert_eq!(counted, [10, 15, 40, 45, 50, 55]);
        assert_eq!(windows.elapsed(Nanos(47)), Nanos(17));
    }
}
