//! Who may go on, of threads that share I/Os in proportion to their weights?
//!
//! A thread counts its own I/Os and those of all. Whoever has more of them than its weight has of all weights waits. It
//! takes part until its last I/O, and from the start of the stage: whichever thread the kernel starts first must not run
//! ahead. One whose job begins later takes part from then on, as if it had kept to its share before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iostack_model::{Job, Nanos};

#[derive(Debug, Default)]
struct Common {
    ios: AtomicU64,
    weight: AtomicU64,
}

/// The groups of a stage.
#[derive(Default)]
pub struct Shares {
    groups: Vec<(u32, Arc<Common>)>,
}

impl Shares {
    /// The part of one thread.
    pub fn part(&mut self, job: &Job) -> Option<Part> {
        let share = job.share?;
        let known = self.groups.iter().find(|(group, _)| *group == share.group);
        let common = known.map_or_else(Arc::default, |(_, common)| Arc::clone(common));
        if known.is_none() {
            self.groups.push((share.group, Arc::clone(&common)));
        }
        let mut part =
            Part { common, weight: u64::from(share.weight), nap: share.nap, own: 0, joined: false };
        if job.start_delay.0 == 0 {
            part.join();
        }
        Some(part)
    }
}

/// One thread's part.
#[derive(Debug)]
pub struct Part {
    common: Arc<Common>,
    weight: u64,
    nap: Nanos,
    own: u64,
    joined: bool,
}

impl Part {
    /// Takes part from now on, if it does not yet.
    pub fn join(&mut self) {
        if self.joined {
            return;
        }
        let ios = self.common.ios.load(Ordering::Relaxed);
        let others = self.common.weight.fetch_add(self.weight, Ordering::Relaxed);
        self.own =
            (u128::from(ios) * u128::from(self.weight)).checked_div(u128::from(others)).unwrap_or(0) as u64;
        self.common.ios.fetch_add(self.own, Ordering::Relaxed);
        self.joined = true;
    }

    /// Time to wait before looking again; `None` when the thread may go on.
    pub fn ahead(&self) -> Option<Nanos> {
        let (ios, weight) =
            (self.common.ios.load(Ordering::Relaxed), self.common.weight.load(Ordering::Relaxed));
        (self.own * weight > ios * self.weight).then_some(self.nap)
    }

    /// Counts an I/O.
    pub fn count(&mut self) {
        self.own += 1;
        self.common.ios.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.joined {
            self.common.weight.fetch_sub(self.weight, Ordering::Relaxed);
            self.common.ios.fetch_sub(self.own, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Share;

    fn parts<const N: usize>(weights: [(u32, u32); N]) -> [Part; N] {
        let mut shares = Shares::default();
        weights.map(|(group, weight)| {
            let share = Some(Share { group, weight, nap: Nanos(0) });
            shares.part(&Job { share, ..Job::default() }).expect("it shares")
        })
    }

    /// I/Os of each when all go on whenever they may.
    fn done(parts: &mut [Part], rounds: u32) -> Vec<u64> {
        for _ in 0..rounds {
            for part in &mut *parts {
                if part.ahead().is_none() {
                    part.count();
                }
            }
        }
        parts.iter().map(|part| part.own).collect()
    }

    #[test]
    fn those_that_go_on_whenever_they_may_keep_the_ratio_of_their_weights() {
        let done = done(&mut parts([(0, 3), (0, 2), (0, 1)]), 6000);
        assert!(done[0].abs_diff(3 * done[2]) <= 3 && done[1].abs_diff(2 * done[2]) <= 3, "{done:?}");
        assert!(done[0] >= 5999, "the heaviest is never held up: {done:?}");
    }

    #[test]
    fn what_starts_first_does_not_run_ahead_and_what_begins_later_stops_nobody() {
        let mut shares = Shares::default();
        let mut part = |delay| {
            let share = Some(Share { group: 0, weight: 1, nap: Nanos(0) });
            shares.part(&Job { share, start_delay: Nanos(delay), ..Job::default() }).expect("it shares")
        };
        let (mut both, mut late) = ([part(0), part(0)], part(1));
        assert_eq!(done(&mut both[..1], 50), [1], "the kernel has not started the other yet");
        assert_eq!(done(&mut both, 50), [50, 50]);
        late.join();
        let [first, second] = both;
        let all = done(&mut [first, second, late], 30);
        assert!(all.iter().all(|ios| (79..=81).contains(ios)), "{all:?}");
    }

    #[test]
    fn another_group_and_one_that_left_hold_nobody_up() {
        let mut parts = parts([(0, 1), (1, 1), (0, 1)]);
        assert_eq!(done(&mut parts[..2], 10), [1, 10], "the third has done nothing");
        let [mut first, _, third] = parts;
        drop(third);
        assert_eq!(done(std::slice::from_mut(&mut first), 10), [11]);
        assert!(Shares::default().part(&Job::default()).is_none());
    }
}
