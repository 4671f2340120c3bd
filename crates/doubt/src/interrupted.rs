//! The run was cut short.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Scope, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "interrupted",
    how: "Ctrl-C or a signal",
    scope: Scope::Machine,
    weight: Weight::Wrong,
    changes: "What was not measured is in no figure.",
    remedy: "The figures are of the time until then.",
    says: |caveat| {
        let Caveat::Interrupted { after, asked } = caveat else { return None };
        Some(match asked {
            Some(asked) => format!("Interrupted after {after} of {asked}."),
            None => format!("Interrupted after {after}."),
        })
    },
    of_run: Some(|outcome, _| {
        let asked = outcome.job.runtime;
        outcome.interrupted.then_some(Caveat::Interrupted { after: outcome.elapsed, asked })
    }),
    in_simulation: true,
    ..PLAIN
};
