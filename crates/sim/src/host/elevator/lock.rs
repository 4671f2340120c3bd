//! How long does a lock take when others want it too?
//!
//! Those who wait spin on its cache line: each of them makes the holder slower. With w cores waiting a turn takes
//! `hold + w x contention`. So what passes through it per second *falls* as more want it, where a plain server's is flat.

use std::collections::VecDeque;

use crate::engine::{Account, Time};

/// A lock and those who wait for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lock {
    pub(crate) account: Account,
    /// Moments when those who asked are through with it, in order.
    ends: VecDeque<Time>,
}

impl Lock {
    /// Somebody asks for it at `now`: when its turn is over, and how much of that it waited or was slowed down, ns.
    pub(crate) fn take(&mut self, now: Time, hold: u64, contention: u64) -> (Time, u64) {
        while self.ends.front().is_some_and(|&end| end <= now) {
            self.ends.pop_front();
        }
        let start = now.max(self.account.until());
        let end = start + hold + contention * self.ends.len() as u64;
        self.account.book(now, start, end);
        self.ends.push_back(end);
        (end, end - now - hold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_that_is_there_makes_it_slower() {
        let mut lock = Lock::default();
        assert_eq!(lock.take(0, 100, 10), (100, 0));
        assert_eq!(lock.take(0, 100, 10), (210, 110));
        assert_eq!(lock.take(50, 100, 10), (330, 180));
        assert_eq!(lock.take(100, 100, 10), (450, 250));
        assert_eq!(lock.take(1000, 100, 10), (1100, 0));
    }
}
