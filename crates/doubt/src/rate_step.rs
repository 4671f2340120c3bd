//! The rate changed its level at once.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Scope, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "rate_step",
    how: "change-point detection over the series of rates",
    scope: Scope::Rate,
    weight: Weight::Partial,
    changes: "The mean is of several levels.",
    remedy: "Suspect a token bucket or a cap; run longer and trust the level after it.",
    says: |caveat| {
        let Caveat::RateStep { at, before, after } = caveat else { return None };
        Some(format!("The rate stepped from {before:.0} to {after:.0} IOPS at {at}."))
    },
    ..PLAIN
};
