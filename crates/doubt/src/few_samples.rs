//! Too few I/Os for this percentile to mean anything.

use iostack_model::Caveat;

use crate::{Doubt, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "few_samples",
    how: "fewer than ten I/Os lie above the percentile",
    weight: Weight::None,
    changes: "",
    remedy: "Run longer.",
    says,
    of_run: None,
    in_simulation: false,
};

fn says(caveat: &Caveat) -> Option<String> {
    let Caveat::FewSamples { percentile, samples, needed } = caveat else { return None };
    Some(format!("p{percentile} rests on {samples} I/Os; it takes {needed}."))
}
