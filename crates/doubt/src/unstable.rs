//! The rate was too uneven for the interval to be narrow.

use iostack_model::{Caveat, Outcome};

use crate::{Doubt, Limit, PLAIN, Scope, percent};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "unstable",
    how: "the 95 % interval of the rate is over {} wide, either way; of a check: in over a quarter of its runs",
    limit: Some(Limit::Share(iostack_stats::UNSTABLE)),
    scope: Scope::Rate,
    remedy: "Run longer, or on a quieter machine.",
    says: |caveat| {
        let Caveat::Unstable { relative } = caveat else { return None };
        Some(format!("The rate was uneven: the 95 % interval is +-{}.", percent(*relative)))
    },
    ..PLAIN
};

/// Share of many runs above which the storage or the machine is uneven.
const MOST_OF_MANY: f64 = 0.25;

/// The middle of the uneven runs, when there are many.
pub fn of_many<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Option<Caveat> {
    let (mut count, mut widths) = (0, Vec::new());
    for outcome in outcomes {
        count += 1;
        widths.extend(outcome.caveats.iter().filter_map(|caveat| match caveat {
            Caveat::Unstable { relative } => Some(*relative),
            _ => None,
        }));
    }
    widths.sort_by(f64::total_cmp);
    let many = widths.len() as f64 > f64::from(count) * MOST_OF_MANY;
    many.then(|| Caveat::Unstable { relative: widths[widths.len() / 2] })
}
