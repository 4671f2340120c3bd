//! The layer rules do not know some of the kernel's functions.

use iostack_model::{Caveat, Quality};

use crate::{Doubt, Limit, PLAIN, Weight, percent};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "unclassified",
    how: "over {} of the kernel's samples have no layer, or a guessed one",
    limit: Some(Limit::Share(MOST)),
    weight: Weight::Partial,
    changes: "Stages and layers are those of the rest.",
    remedy: "Look at the functions; add rules for this kernel.",
    says: |caveat| {
        let Caveat::Unclassified { share } = caveat else { return None };
        Some(format!("The layer rules do not know {} of the kernel's samples for sure.", percent(*share)))
    },
    ..PLAIN
};

/// Share of the samples below which there is nothing to say.
const MOST: f64 = 0.01;

/// Samples without a layer, and those with a guessed one.
pub fn of_quality(quality: &Quality) -> Option<Caveat> {
    let share = quality.unclassified + quality.inferred;
    (share > MOST).then_some(Caveat::Unclassified { share })
}
