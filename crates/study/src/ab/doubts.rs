//! Which doubts of the runs concern the comparison?

use std::mem::discriminant;

use iostack_doubt::Scope;
use iostack_model::{Caveat, Outcome};
use iostack_stats::{AbDoubt, AbSide};

/// Doubts of one run's own uncertainty are no doubts here: that it drifts, dips or is short is the noise that the turns
/// measure, and a figure that lacks samples is left out.
fn is_of_the_run_alone(caveat: &Caveat) -> bool {
    matches!(iostack_doubt::scope(caveat), Scope::Rate | Scope::Percentile)
}

/// Counts the doubts of one run of a side.
pub(crate) fn note(doubts: &mut Vec<AbDoubt>, side: AbSide, outcomes: &[Outcome]) {
    let mut seen = Vec::new();
    for caveat in outcomes.iter().flat_map(|outcome| &outcome.caveats) {
        if is_of_the_run_alone(caveat) || seen.contains(&discriminant(caveat)) {
            continue;
        }
        seen.push(discriminant(caveat));
        let known = doubts.iter().position(|doubt| discriminant(&doubt.caveat) == discriminant(caveat));
        let at = known.unwrap_or_else(|| {
            doubts.push(AbDoubt { caveat: caveat.clone(), runs: [0, 0] });
            doubts.len() - 1
        });
        doubts[at].runs[side as usize] += 1;
    }
}
