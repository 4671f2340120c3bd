//! The way of some I/Os was not seen from end to end.

use iostack_model::Caveat;

use crate::{Doubt, Limit, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "unmatched",
    how: "over {} of the I/Os that should have reached a device were not seen to the end",
    limit: Some(Limit::Share(MOST)),
    weight: Weight::Partial,
    changes: "Stages and layers are those of the rest.",
    remedy: "Believe the stages only as far as the rest is alike.",
    says: |caveat| {
        let Caveat::Unmatched { unmatched, ios } = caveat else { return None };
        Some(format!("{unmatched} of {ios} I/Os were not seen from end to end."))
    },
    ..PLAIN
};

/// Share of the I/Os below which there is nothing to say.
const MOST: f64 = 0.001;

/// Doubt of I/Os, of which so many were seen to the end.
pub fn of_ios(ios: u64, matched: u64) -> Option<Caveat> {
    let unmatched = ios.saturating_sub(matched);
    (unmatched as f64 > ios as f64 * MOST).then_some(Caveat::Unmatched { unmatched, ios })
}
