//! The state at the start was made by formula, not by writing.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "state_by_formula",
    how: "a large device was not written to steady state, its state was calculated",
    weight: Weight::Partial,
    changes: "No hardware was measured.",
    remedy: "Use a smaller device, or write it with a job first, to check.",
    says: |caveat| {
        let Caveat::StateByFormula { how } = caveat else { return None };
        Some(format!("The state at the start was not written: {how}."))
    },
    ..PLAIN
};
