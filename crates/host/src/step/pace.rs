//! What time is it for a thread that is stepped?
//!
//! Stepping slows a thread about a thousandfold, and with the real clock everything it does by time (closing a 100 ms
//! element of a series, printing progress) would come around a thousand times too often per I/O. Where the program
//! is ours to disturb, its time-stamp counter is therefore held back: it advances by one tick per instruction, which
//! is about one instruction per clock, and by the real time of each system call. After an `rdtsc` the answer in the
//! registers is replaced.
//!
//! Only the instruction is covered. A program that asks the kernel or the vdso for the time sees the real one, and so
//! do its other threads.

use super::sys;

/// The held-back time-stamp counter of one thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    start: u64,
    in_calls: u64,
    last: u64,
}

impl Pace {
    /// Starts at the real time.
    pub(super) fn start() -> Self {
        Pace::at(sys::time_stamp())
    }

    fn at(start: u64) -> Self {
        Pace { start, in_calls: 0, last: start }
    }

    /// A step is about to begin.
    pub(super) fn before_step(&mut self) {
        self.last = sys::time_stamp();
    }

    /// The step was a system call, and its time is the thread's own.
    pub(super) fn called(&mut self) {
        self.called_until(sys::time_stamp());
    }

    fn called_until(&mut self, now: u64) {
        self.in_calls += now.saturating_sub(self.last);
    }

    /// What the thread's counter shows after so many instructions.
    pub(super) fn shows(&self, instructions: u64) -> u64 {
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
        pace.called_until(5_700);
        assert_eq!(pace.shows(42), 1_742);
        // A counter that differs between two CPUs must not run backwards.
        pace.last = 9_000;
        pace.called_until(8_000);
        assert_eq!(pace.shows(42), 1_742);
    }
}
