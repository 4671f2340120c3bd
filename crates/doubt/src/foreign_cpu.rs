//! Other programs kept the CPUs busy.

use iostack_model::Caveat;

use crate::{Doubt, Limit, PLAIN, Scope, Weight, percent};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "foreign_cpu",
    how: "other programs took over {} of the CPU time (half of that of a whole check)",
    limit: Some(Limit::Share(MOST)),
    scope: Scope::Machine,
    weight: Weight::Skewed,
    changes: "Rates may be too low, latencies too high.",
    remedy: "Stop them, or repeat when the machine is quiet.",
    says: |caveat| {
        let Caveat::ForeignCpu { share } = caveat else { return None };
        Some(format!("Other programs took {} of the machine's CPU time.", percent(*share)))
    },
    of_run: Some(|outcome, _| {
        let share = outcome.cpu.foreign;
        (share > MOST).then_some(Caveat::ForeignCpu { share })
    }),
    ..PLAIN
};

/// Share of all CPU time above which it matters in one run.
const MOST: f64 = 0.10;
/// The same over many runs, whose mean strays less.
const MOST_OF_MANY: f64 = MOST / 2.0;

/// This share of all CPU time was others', on the mean over many runs.
pub fn of_many(share: f64) -> Option<Caveat> {
    (share > MOST_OF_MANY).then_some(Caveat::ForeignCpu { share })
}
