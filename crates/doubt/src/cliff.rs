//! The rate fell and stayed low: a write cache or free blocks ran out.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Scope, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "cliff",
    how: "the same: a fall of at least 20 % that stays",
    scope: Scope::Rate,
    weight: Weight::Partial,
    changes: "The mean is of several levels.",
    remedy: "Trust the level after the fall; size caches and over-provisioning for it.",
    says: |caveat| {
        let Caveat::Cliff { at, before, after } = caveat else { return None };
        Some(format!("The rate fell from {before:.0} to {after:.0} IOPS at {at} and stayed there."))
    },
    ..PLAIN
};
