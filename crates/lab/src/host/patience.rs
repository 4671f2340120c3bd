//! When is a guest given up?
//!
//! ```text
//!   wall time │ ran │ waited for a processor │ slept │ ran │
//!   counts      yes   no: others had it        yes     yes      from the guest's last word on
//! ```
//!
//! A guest that goes on tells so now and then, and one that hangs is silent. How long its silence may be is not for the neighbours
//! on this machine to decide: while the emulator is ready and has no processor, no time passes. Nor is it for ever.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use iostack_host::counters::{task_time, waiting_in};

/// Time of all of the emulator's threads together by the kernel's account, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    ran: u64,
    waited: u64,
}

/// So many times the limit is the longest silence by the clock, however busy the host is.
pub(super) const WALL_TIMES: u32 = 5;

/// The limit of one run, and what is left of it.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    left: Duration,
    /// Silence by the clock.
    silent: Duration,
    threads: PathBuf,
    seen: Usage,
    at: Instant,
}

impl Patience {
    pub(super) fn new(limit: Duration, emulator: u32) -> Patience {
        let threads = PathBuf::from(format!("/proc/{emulator}/task"));
        let (silent, seen) = (Duration::ZERO, Usage::default());
        Patience { limit, left: limit, silent, threads, seen, at: Instant::now() }
    }

    /// The guest went on.
    pub(super) fn restart(&mut self) {
        self.look();
        (self.left, self.silent) = (self.limit, Duration::ZERO);
    }

    /// Time that it has been silent by the clock.
    pub(super) fn silent(&self) -> Duration {
        self.silent
    }

    /// True when it was silent for too long.
    pub(super) fn is_over(&mut self) -> bool {
        let charged = self.look();
        self.left = self.left.saturating_sub(charged);
        self.left.is_zero() || self.silent >= self.limit * WALL_TIMES
    }

    /// Charges the time since the last look.
    fn look(&mut self) -> Duration {
        let (now, usage) = (Instant::now(), self.usage());
        let since = |now: u64, before: u64| Duration::from_nanos(now.saturating_sub(before));
        let (ran, waited) = (since(usage.ran, self.seen.ran), since(usage.waited, self.seen.waited));
        let wall = now - self.at;
        (self.at, self.seen) = (now, usage);
        self.silent += wall;
        charged(wall, ran, waited)
    }

    /// Nothing where the kernel does not say: then all time counts.
    fn usage(&self) -> Usage {
        let threads = fs::read_dir(&self.threads).into_iter().flatten().flatten();
        let told = threads.filter_map(|one| Some((task_time(&one.path())?.1, waiting_in(&one.path())?)));
        told.fold(Usage::default(), |sum, (ran, waited)| Usage {
            ran: sum.ran + ran.0,
            waited: sum.waited + waited.0,
        })
    }
}

/// Part of a stretch that counts: that in which no thread waited for a processor, and at least what they ran, up to all
/// of it.
fn charged(wall: Duration, ran: Duration, waited: Duration) -> Duration {
    wall.saturating_sub(waited).max(ran).min(wall)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn time_without_a_processor_does_not_count() {
        assert_eq!(charged(100 * S, S, 99 * S), S, "a slow host");
        assert_eq!(charged(100 * S, 100 * S, Duration::ZERO), 100 * S, "it runs in circles");
        assert_eq!(charged(100 * S, Duration::ZERO, Duration::ZERO), 100 * S, "it sleeps");
        assert_eq!(charged(100 * S, 60 * S, 140 * S), 60 * S, "two threads that circle on a slow host");
        assert_eq!(charged(100 * S, 150 * S, 50 * S), 100 * S, "two that run beside each other");
    }

    #[test]
    fn a_silence_ends_at_the_limit_and_a_word_begins_it_anew() {
        // Of a process that is not there the kernel says nothing, so that all time counts.
        let mut patience = Patience::new(3600 * S, 0);
        assert!(!patience.is_over());
        patience.left = Duration::from_nanos(1);
        assert!(patience.is_over());
        patience.restart();
        assert_eq!(patience.left, 3600 * S);
        assert!(!patience.is_over());
        patience.silent = 5 * 3600 * S;
        assert!(patience.is_over(), "by the clock, whoever had the processor");
        patience.restart();
        assert!(!patience.is_over() && patience.silent() < 3600 * S);
        patience.silent = 4 * 3600 * S;
        assert!(!patience.is_over());
    }

    #[test]
    fn the_kernels_words_for_this_process_are_understood() {
        let usage = Patience::new(S, std::process::id()).usage();
        assert!(usage.ran > 0, "{usage:?}");
    }
}
