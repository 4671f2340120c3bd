//! The rate that was asked for was not kept.

use iostack_model::{Caveat, Outcome};

use crate::{Doubt, Limit, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "rate_missed",
    how: "an open loop stayed below {} of its rate, beyond what chance explains",
    limit: Some(Limit::Share(ENOUGH)),
    weight: Weight::Skewed,
    changes: "Latencies are those of an overload.",
    remedy: "Lower the rate, raise the depth, or take it as the limit.",
    says: |caveat| {
        let Caveat::RateMissed { asked, achieved } = caveat else { return None };
        Some(format!("{asked:.0} I/Os per second were asked for, {achieved:.0} reached."))
    },
    of_run: Some(|outcome, _| {
        missed(outcome).map(|(asked, achieved)| Caveat::RateMissed { asked, achieved })
    }),
    in_simulation: true,
    ..PLAIN
};

/// Share of the rate that is enough.
const ENOUGH: f64 = 0.98;

/// I/Os per second asked and reached, when fewer were reached than chance explains.
pub fn missed(outcome: &Outcome) -> Option<(f64, f64)> {
    let asked = outcome.job.rate?.iops * f64::from(outcome.job.threads);
    let achieved = outcome.rate();
    // Random arrivals of n I/Os stray by sqrt(n); three times that is no chance any more.
    let chance = 3.0 / (outcome.ios().max(1) as f64).sqrt();
    (achieved < asked * (ENOUGH - chance)).then_some((asked, achieved))
}
