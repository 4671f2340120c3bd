//! Which cells are measured, how often, and for how long? Pure.

use iostack_model::answers::MergeAsk;
use iostack_model::{Direction, Effort, Nanos};
use iostack_target::{MergeAsked, MergeHow, MergePlanned};

/// Every policy of the library, by its name; the first is what programs do without merging.
pub(crate) const POLICIES: [&str; 7] = ["pread", "ring", "stm", "atm", "leader-follower", "hybrid", "auto"];

/// The base of single calls and of coroutines.
pub(crate) const PLAIN: &str = POLICIES[0];
/// The base of groups.
pub(crate) const LOOP: &str = "one by one";
/// A group as one batch.
pub(crate) const MANY: &str = "read_many";
/// Name of the policy with coroutines.
pub(crate) const SCOPE: &str = "scope";

/// Threads that ask for groups, and that run coroutines.
pub(crate) const FEW: u32 = 2;

/// Sizes of commands to fit c and x to.
pub(crate) const SIZES: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The whole measurement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MergePlan {
    pub(crate) cells: Vec<MergePlanned>,
    pub(crate) rounds: u32,
    /// Time of one cell in one round.
    pub(crate) slice: Nanos,
    /// Rounds of the fit.
    pub(crate) fit_rounds: u32,
    /// Time of one size in one round of the fit.
    pub(crate) fit_slice: Nanos,
}

/// Time of a cell beside its slice: threads begin and end, a ring is made, the last requests come back.
const OVERHEAD: Nanos = Nanos::millis(8);

fn planned(ask: MergeAsk, policy: &str, how: MergeHow, (column, threads): (u32, u32)) -> MergePlanned {
    MergePlanned { ask, policy: policy.to_owned(), how, column, threads }
}

impl MergePlan {
    /// Measurement to ask of a place, in requests of so many bytes.
    pub(crate) fn asked(&self, direction: Direction, request: u64, stamped: bool, seed: u64) -> MergeAsked {
        MergeAsked {
            cells: self.cells.clone(),
            rounds: self.rounds,
            slice: self.slice,
            overhead: OVERHEAD,
            sizes: SIZES.to_vec(),
            fit_rounds: self.fit_rounds,
            fit_slice: self.fit_slice,
            direction,
            request,
            stamped,
            seed,
        }
    }

    /// Plan with this effort.
    pub(crate) fn with_effort(effort: Effort) -> MergePlan {
        let (callers, groups, rounds, slice, fit_rounds): (&[u32], &[u32], u32, Nanos, u32) = match effort {
            Effort::Quick => (&[1, 8, 32], &[4, 16], 3, Nanos::millis(110), 6),
            Effort::Default => (&SIZES, &[1, 2, 4, 8, 16], 6, Nanos::millis(150), 12),
            Effort::Full => (&SIZES, &[1, 2, 4, 8, 16], 12, Nanos::millis(400), 30),
        };
        let mut cells = Vec::new();
        for &column in callers {
            let one_by_one = |policy| planned(MergeAsk::Calls, policy, MergeHow::Calls, (column, column));
            cells.extend(POLICIES.map(one_by_one));
        }
        for &column in groups {
            let group = |policy, how| planned(MergeAsk::Groups, policy, how, (column, FEW));
            cells.extend([group(LOOP, MergeHow::Loop), group(MANY, MergeHow::Many)]);
        }
        for &column in callers {
            cells.push(planned(MergeAsk::Scope, SCOPE, MergeHow::Scope, (column, FEW.min(column))));
        }
        MergePlan { cells, rounds, slice, fit_rounds, fit_slice: Nanos::millis(20) }
    }

    /// The same with every stretch so many times shorter.
    pub(crate) fn shorter(self, times: u64) -> MergePlan {
        let shorter = |whole: Nanos| Nanos(whole.0 / times.max(1));
        MergePlan { slice: shorter(self.slice), fit_slice: shorter(self.fit_slice), ..self }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_meets_every_number_of_callers_and_the_time_is_kept() {
        let plan = MergePlan::with_effort(Effort::Default);
        for policy in POLICIES {
            let columns: Vec<u32> =
                plan.cells.iter().filter(|cell| cell.policy == policy).map(|cell| cell.column).collect();
            assert_eq!(columns, SIZES, "{policy}");
        }
        let seconds = |effort| MergePlan::with_effort(effort).expected().as_secs_f64();
        assert!((55.0..90.0).contains(&seconds(Effort::Default)), "{}", seconds(Effort::Default));
        assert!((8.0..15.0).contains(&seconds(Effort::Quick)), "{}", seconds(Effort::Quick));
        assert!(seconds(Effort::Full) > 200.0);
    }

    #[test]
    fn every_cell_has_its_base_in_the_plan() {
        for effort in [Effort::Quick, Effort::Default, Effort::Full] {
            let plan = MergePlan::with_effort(effort);
            for cell in &plan.cells {
                let (ask, base) = match cell.ask {
                    MergeAsk::Groups => (MergeAsk::Groups, LOOP),
                    MergeAsk::Calls | MergeAsk::Scope => (MergeAsk::Calls, PLAIN),
                };
                let is_base = |other: &&MergePlanned| {
                    other.ask == ask && other.policy == base && other.column == cell.column
                };
                assert_eq!(plan.cells.iter().filter(is_base).count(), 1, "{cell:?}");
            }
        }
    }
}
