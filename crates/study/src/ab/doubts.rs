//! Which doubts of the runs concern the comparison?

use std::mem::discriminant;

use iostack_doubt::Scope;
use iostack_model::{Caveat, Outcome};
use iostack_stats::{AbDoubt, AbSide};

use crate::check::doubts::one_of_each;

/// Doubts of one run's own uncertainty are no doubts here: that it drifts, dips or is short is the noise that the turns
/// measure, and a figure that lacks samples is left out.
fn is_of_the_run_alone(caveat: &Caveat) -> bool {
    matches!(iostack_doubt::scope(caveat), Scope::Rate | Scope::Percentile)
}

/// Counts the doubts of one run of a side.
pub(crate) fn note(doubts: &mut Vec<AbDoubt>, side: AbSide, outcomes: &[Outcome]) {
    let caveats = outcomes.iter().flat_map(|outcome| &outcome.caveats);
    for caveat in one_of_each(caveats.filter(|caveat| !is_of_the_run_alone(caveat))) {
        let known = doubts.iter().position(|doubt| discriminant(&doubt.caveat) == discriminant(&caveat));
        let at = known.unwrap_or_else(|| {
            doubts.push(AbDoubt { caveat, runs: [0, 0] });
            doubts.len() - 1
        });
        doubts[at].runs[side as usize] += 1;
    }
}
