//! Some I/Os failed.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "failed",
    how: "I/Os returned errors",
    weight: Weight::Wrong,
    changes: "Figures are of the I/Os that succeeded.",
    remedy: "Look at the kernel log; figures count only I/Os that succeeded.",
    says: |caveat| {
        let Caveat::Failed { count, message } = caveat else { return None };
        Some(format!("{count} I/Os failed ({message})."))
    },
    of_run: Some(|outcome, _| {
        let counted = outcome.failures.iter().filter(|failure| !failure.ignored);
        let commonest = counted.clone().max_by_key(|failure| failure.count)?;
        let count = counted.map(|failure| failure.count).sum();
        Some(Caveat::Failed { count, message: commonest.message.clone() })
    }),
    in_simulation: true,
    ..PLAIN
};
