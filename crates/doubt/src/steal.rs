//! The hypervisor took CPU time away.

use iostack_model::Caveat;

use crate::{Doubt, Limit, PLAIN, Scope, Weight, percent};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "steal",
    how: "`/proc/stat`: the hypervisor took over {} of the CPU time",
    limit: Some(Limit::Share(MOST)),
    scope: Scope::Machine,
    weight: Weight::Skewed,
    changes: "Rates may be too low, latencies too high.",
    remedy: "Repeat when the host is quieter; compare within one run only.",
    says: |caveat| {
        let Caveat::Steal { share } = caveat else { return None };
        Some(format!("The hypervisor took {} of the CPU time.", percent(*share)))
    },
    of_run: Some(|outcome, _| of_share(outcome.cpu.steal)),
    ..PLAIN
};

/// Share of all CPU time above which it matters.
const MOST: f64 = 0.01;

/// This share of all CPU time was taken.
pub fn of_share(share: f64) -> Option<Caveat> {
    (share > MOST).then_some(Caveat::Steal { share })
}
