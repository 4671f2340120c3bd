//! Which cells are measured, how often, and for how long? Pure.

use iostack_merge::Policy;
use iostack_model::answers::MergeAsk;
use iostack_model::{Effort, Nanos};
use iostack_workload::Rng;

/// Every policy; the first is what programs do without merging.
pub(crate) const POLICIES: [Policy; 7] = [
    Policy::Pread,
    Policy::Ring,
    Policy::Stm,
    Policy::Atm,
    Policy::LeaderFollower,
    Policy::Hybrid,
    Policy::Auto,
];

/// The base of single calls and of coroutines.
pub(crate) const PLAIN: &str = POLICIES[0].name();
/// The base of groups.
pub(crate) const LOOP: &str = "one by one";
/// A group as one batch.
pub(crate) const MANY: &str = "read_many";
/// Coroutines.
pub(crate) const SCOPE: &str = "scope";

/// Threads that ask for groups, and that run coroutines.
pub(crate) const FEW: u32 = 2;

/// Sizes of commands to fit c and x to.
pub(crate) const SIZES: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// How a cell asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Each thread waits for one request at a time.
    Calls(Policy),
    /// Each thread does a group one call after the other.
    Loop,
    /// Each thread does a group as one batch.
    Many,
    /// Coroutines on few threads, each of which waits for one request at a time.
    Scope,
}

/// One cell to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) ask: MergeAsk,
    pub(crate) policy: &'static str,
    pub(crate) how: How,
    /// Callers, or requests in a group.
    pub(crate) column: u32,
    pub(crate) threads: u32,
}

/// The whole measurement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) cells: Vec<Planned>,
    pub(crate) rounds: u32,
    /// Of one cell in one round.
    pub(crate) slice: Nanos,
    /// Rounds of the fit.
    pub(crate) fit_rounds: u32,
    /// Of one size in one round of the fit.
    pub(crate) fit_slice: Nanos,
}

/// What a cell takes beside its slice: threads begin and end, a ring is made, the last requests come back.
const OVERHEAD: Nanos = Nanos::millis(8);

impl Plan {
    /// What is measured with this effort.
    pub(crate) fn of(effort: Effort) -> Plan {
        let (callers, groups, rounds, slice, fit_rounds): (&[u32], &[u32], u32, Nanos, u32) = match effort {
            Effort::Quick => (&[1, 8, 32], &[4, 16], 3, Nanos::millis(110), 6),
            Effort::Default => (&SIZES, &[1, 2, 4, 8, 16], 6, Nanos::millis(150), 12),
            Effort::Full => (&SIZES, &[1, 2, 4, 8, 16], 12, Nanos::millis(400), 30),
        };
        let mut cells = Vec::new();
        for &column in callers {
            cells.extend(POLICIES.iter().map(|&policy| Planned {
                ask: MergeAsk::Calls,
                policy: policy.name(),
                how: How::Calls(policy),
                column,
                threads: column,
            }));
        }
        for &column in groups {
            let group = |policy, how| Planned { ask: MergeAsk::Groups, policy, how, column, threads: FEW };
            cells.extend([group(LOOP, How::Loop), group(MANY, How::Many)]);
        }
        for &column in callers {
            let threads = FEW.min(column);
            cells.push(Planned { ask: MergeAsk::Scope, policy: SCOPE, how: How::Scope, column, threads });
        }
        Plan { cells, rounds, slice, fit_rounds, fit_slice: Nanos::millis(20) }
    }

    /// The same with every stretch so many times shorter.
    pub(crate) fn shorter(self, times: u64) -> Plan {
        let shorter = |whole: Nanos| Nanos(whole.0 / times.max(1));
        Plan { slice: shorter(self.slice), fit_slice: shorter(self.fit_slice), ..self }
    }

    /// Wall time of one cell in one round.
    pub(crate) fn each(&self) -> Nanos {
        self.slice + OVERHEAD
    }

    /// Wall time of the fit.
    pub(crate) fn fit_time(&self) -> Nanos {
        Nanos(self.fit_slice.0 * SIZES.len() as u64 * u64::from(self.fit_rounds))
    }

    /// Wall time of the whole.
    pub(crate) fn expected(&self) -> Nanos {
        self.fit_time() + Nanos(self.each().0 * self.cells.len() as u64 * u64::from(self.rounds))
    }
}

/// The numbers below `count` in an order that chance decides: no cell always follows the same.
pub(crate) fn shuffled(count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, rng.below(last as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_meets_every_number_of_callers_and_the_time_is_kept() {
        let plan = Plan::of(Effort::Default);
        for policy in POLICIES.map(Policy::name) {
            let columns: Vec<u32> =
                plan.cells.iter().filter(|cell| cell.policy == policy).map(|cell| cell.column).collect();
            assert_eq!(columns, SIZES, "{policy}");
        }
        let seconds = |effort| Plan::of(effort).expected().as_secs_f64();
        assert!((55.0..90.0).contains(&seconds(Effort::Default)), "{}", seconds(Effort::Default));
        assert!((8.0..15.0).contains(&seconds(Effort::Quick)), "{}", seconds(Effort::Quick));
        assert!(seconds(Effort::Full) > 200.0);
    }

    #[test]
    fn every_cell_has_its_base_in_the_plan() {
        for effort in [Effort::Quick, Effort::Default, Effort::Full] {
            let plan = Plan::of(effort);
            for cell in &plan.cells {
                let (ask, base) = match cell.ask {
                    MergeAsk::Groups => (MergeAsk::Groups, LOOP),
                    MergeAsk::Calls | MergeAsk::Scope => (MergeAsk::Calls, PLAIN),
                };
                let is_base = |other: &&Planned| {
                    other.ask == ask && other.policy == base && other.column == cell.column
                };
                assert_eq!(plan.cells.iter().filter(is_base).count(), 1, "{cell:?}");
            }
        }
    }

    #[test]
    fn an_order_has_everything_once() {
        let mut order = shuffled(50, &mut Rng::from_seed(3));
        assert_ne!(order, (0..50).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
        assert!(shuffled(0, &mut Rng::from_seed(1)).is_empty());
    }
}
