//! Some I/Os failed.

use iostack_model::{Caveat, Outcome};

use crate::{Doubt, Evidence, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "failed",
    how: "I/Os returned errors",
    weight: Weight::Wrong,
    changes: "Figures are of the I/Os that succeeded.",
    remedy: "Look at the kernel log; figures count only I/Os that succeeded.",
    says,
    of_run: Some(of_run),
    in_simulation: true,
    ..PLAIN
};

fn says(caveat: &Caveat) -> Option<String> {
    let Caveat::Failed { count, message } = caveat else { return None };
    Some(format!("{count} I/Os failed ({message})."))
}

fn of_run(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let counted = outcome.failures.iter().filter(|failure| !failure.ignored);
    let commonest = counted.clone().max_by_key(|failure| failure.count)?;
    let count = counted.map(|failure| failure.count).sum();
    Some(Caveat::Failed { count, message: commonest.message.clone() })
}
