//! Too few I/Os for this percentile to mean anything.

use iostack_model::Caveat;

use crate::{Doubt, Limit, PLAIN, Scope};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "few_samples",
    how: "fewer than {} I/Os lie above the percentile",
    limit: Some(Limit::Times(iostack_stats::SAMPLES_BEYOND)),
    scope: Scope::Percentile,
    remedy: "Run longer.",
    says: |caveat| {
        let Caveat::FewSamples { percentile, samples, needed } = caveat else { return None };
        Some(format!("p{percentile} rests on {samples} I/Os; it takes {needed}."))
    },
    ..PLAIN
};
