//! How long does a lock take when others want it too?
//!
//! A turn alone takes `hold`. Who had to wait gets the lock from another core, and with it the cache lines of all that it guards:
//! `hold + contention`, however many wait, since they stand in a queue and each spins on a line of its own. So what passes through
//! it per second falls when a second core comes, and stays there.

use std::collections::VecDeque;

use crate::engine::{Account, Time};

/// A lock and those who wait for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lock {
    pub(crate) account: Account,
    /// Moments when those who asked are through with it, in order.
    ends: VecDeque<Time>,
    /// The socket of who had it last.
    pub(crate) socket: u32,
}

impl Lock {
    /// Somebody asks for it at `now`: when its turn is over, and how much of that it waited or was slowed down, ns.
    pub(crate) fn take(&mut self, now: Time, hold: u64, contention: u64) -> (Time, u64) {
        while self.ends.front().is_some_and(|&end| end <= now) {
            self.ends.pop_front();
        }
        let start = now.max(self.account.until());
        let end = start + hold + if self.ends.is_empty() { 0 } else { contention };
        self.account.book(now, start, end);
        self.ends.push_back(end);
        (end, end - now - hold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_was_waited_for_is_slower_however_many_wait() {
        let mut lock = Lock::default();
        assert_eq!(lock.take(0, 100, 10), (100, 0));
        assert_eq!(lock.take(0, 100, 10), (210, 110));
        assert_eq!(lock.take(50, 100, 10), (320, 170));
        assert_eq!(lock.take(100, 100, 10), (430, 230));
        assert_eq!(lock.take(430, 100, 10), (530, 0), "just free");
        assert_eq!(lock.take(1000, 100, 10), (1100, 0));
    }
}
