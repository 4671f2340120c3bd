//! The load was not full all the time.

use iostack_model::{Caveat, Load};

use crate::{Doubt, Limit, PLAIN, Weight, percent};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "load_not_full",
    how: "simulation: rate times latency is over {} away from the I/Os in flight while every thread submitted (Little's law)",
    limit: Some(Limit::Share(Load::RESIDUAL_MOST)),
    weight: Weight::Skewed,
    changes: "Rate and latency are not those of the load asked for.",
    remedy: "For rates of a steady load use --ramp and --runtime instead of a count, and run longer.",
    says: |caveat| {
        let Caveat::LoadNotFull { in_flight, little, residual, full } = caveat else { return None };
        Some(format!(
            "The load was full for {} of the time only: {in_flight:.1} I/Os were in flight then, rate times latency is \
         {little:.1} ({} off).",
            percent(*full),
            percent(*residual)
        ))
    },
    of_run: Some(|outcome, _| {
        let Load { in_flight, little, residual, full } = outcome.inside.as_ref()?.load?;
        (residual > Load::RESIDUAL_MOST).then_some(Caveat::LoadNotFull { in_flight, little, residual, full })
    }),
    in_simulation: true,
    ..PLAIN
};
