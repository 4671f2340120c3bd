//! What time is it for a thread that is stepped?
//!
//! Stepping slows a thread about a thousandfold, and with the real clock everything it does by time (closing a 100 ms
//! element of a series, printing progress) would come around a thousand times too often per I/O. Where the program
//! is ours to disturb, its time-stamp counter is therefore held back: it advances by one tick per instruction, which
//! is about one instruction per clock, and by the real time of each system call; by no more than [`IO_MOST`] for one that
//! carries I/O, because on a busy machine it is the tracer and not the storage that is waited for. After an `rdtsc` the
//! answer in the registers is replaced.
//!
//! Only the instruction is covered. A program that asks the kernel or the vdso for the time sees the real one, and so
//! do its other threads.

use iostack_host::clock::Clock;
use iostack_model::Nanos;

use crate::sys;

/// Longest time that a call which carries I/O takes for the thread.
const IO_MOST: Nanos = Nanos::micros(200);

/// The held-back time-stamp counter of one thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    start: u64,
    in_calls: u64,
    last: u64,
}

impl Pace {
    /// Starts at the real time.
    pub(crate) fn start() -> Self {
        Pace::at(sys::time_stamp())
    }

    fn at(start: u64) -> Self {
        Pace { start, in_calls: 0, last: start }
    }

    /// A step is about to begin.
    pub(crate) fn before_step(&mut self) {
        self.last = sys::time_stamp();
    }

    /// The step was a system call, which has returned at `now`, and its time is the thread's own.
    pub(crate) fn called(&mut self, now: u64, carried: bool) {
        let most = if carried { Clock::calibrated().ticks(IO_MOST.0) } else { u64::MAX };
        self.in_calls += now.saturating_sub(self.last).min(most);
    }

    /// Value of the thread's counter after so many instructions.
    pub(crate) fn shows(&self, instructions: u64) -> u64 {
        self.start + self.in_calls + instructions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_by_instructions_and_in_calls_only() {
        let mut pace = Pace::at(1_000);
        assert_eq!(pace.shows(0), 1_000);
        pace.last = 5_000;
        pace.called(5_700, true);
        assert_eq!(pace.shows(42), 1_742);
        // A counter that differs between two CPUs must not run backwards.
        pace.last = 9_000;
        pace.called(8_000, true);
        assert_eq!(pace.shows(42), 1_742);
    }

    #[test]
    fn a_call_that_carries_io_takes_no_longer_than_storage_would_and_one_that_sleeps_as_long_as_it_does() {
        let most = Clock::calibrated().ticks(IO_MOST.0);
        let mut pace = Pace::at(0);
        pace.called(most + 1, true);
        assert_eq!(pace.shows(0), most);
        pace.called(most + 1, false);
        assert_eq!(pace.shows(0), 2 * most + 1);
    }
}
