//! The run was cut short.

use iostack_model::{Caveat, Outcome};

use crate::{Doubt, Evidence, PLAIN, Scope, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "interrupted",
    how: "Ctrl-C or a signal",
    scope: Scope::Machine,
    weight: Weight::Wrong,
    changes: "What was not measured is in no figure.",
    remedy: "The figures are of the time until then.",
    says,
    of_run: Some(of_run),
    in_simulation: true,
    ..PLAIN
};

fn says(caveat: &Caveat) -> Option<String> {
    let Caveat::Interrupted { after, asked } = caveat else { return None };
    Some(match asked {
        Some(asked) => format!("Interrupted after {after} of {asked}."),
        None => format!("Interrupted after {after}."),
    })
}

fn of_run(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let asked = outcome.job.runtime;
    outcome.interrupted.then_some(Caveat::Interrupted { after: outcome.elapsed, asked })
}
