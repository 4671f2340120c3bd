//! The job asks for something that the simulation leaves out.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Scope, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "not_simulated",
    how: "the job asks for what the simulation leaves out, such as the page cache, or what `fixed_buffers` saves",
    scope: Scope::Omission,
    weight: Weight::Partial,
    changes: "No hardware was measured.",
    remedy: "Expect a real system to differ by what it does.",
    says: |caveat| {
        let Caveat::NotSimulated { what } = caveat else { return None };
        Some(format!("Not simulated: {what}."))
    },
    ..PLAIN
};
