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

/// Time of a cell beside its slice: threads begin and end, a ring is made, the last requests come back.
const OVERHEAD: Nanos = Nanos::millis(8);

fn planned(ask: MergeAsk, policy: &str, how: MergeHow, (column, threads): (u32, u32)) -> MergePlanned {
    MergePlanned { ask, policy: policy.to_owned(), how, column, threads }
}

/// Measurement with this effort, each stretch so many times shorter, in requests of so many bytes.
pub(crate) fn measurement(
    effort: Effort,
    shorter: u64,
    (direction, request): (Direction, u64),
    stamped: bool,
    seed: u64,
) -> MergeAsked {
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
    let [slice, fit_slice] = [slice, Nanos::millis(20)].map(|whole| Nanos(whole.0 / shorter.max(1)));
    let (overhead, sizes) = (OVERHEAD, SIZES.to_vec());
    MergeAsked {
        cells,
        rounds,
        slice,
        overhead,
        sizes,
        fit_rounds,
        fit_slice,
        direction,
        request,
        stamped,
        seed,
    }
}

/// Wall time of the whole.
pub(crate) fn expected(asked: &MergeAsked) -> Nanos {
    let fit = asked.fit_slice.0 * asked.sizes.len() as u64 * u64::from(asked.fit_rounds);
    let each = (asked.slice + asked.overhead).0;
    Nanos(fit + each * asked.cells.len() as u64 * u64::from(asked.rounds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(effort: Effort) -> MergeAsked {
        measurement(effort, 1, (Direction::Read, 4096), true, 1)
    }

    #[test]
    fn every_policy_meets_every_number_of_callers_and_the_time_is_kept() {
        let default = plan(Effort::Default);
        for policy in POLICIES {
            let columns: Vec<u32> =
                default.cells.iter().filter(|cell| cell.policy == policy).map(|cell| cell.column).collect();
            assert_eq!(columns, SIZES, "{policy}");
        }
        let seconds = |effort| expected(&plan(effort)).as_secs_f64();
        assert!((55.0..90.0).contains(&seconds(Effort::Default)), "{}", seconds(Effort::Default));
        assert!((8.0..15.0).contains(&seconds(Effort::Quick)), "{}", seconds(Effort::Quick));
        assert!(seconds(Effort::Full) > 200.0);
    }

    #[test]
    fn every_cell_has_its_base_in_the_plan() {
        for effort in [Effort::Quick, Effort::Default, Effort::Full] {
            let plan = plan(effort);
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
