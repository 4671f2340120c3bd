//! A simulation answered: as good as the numbers of the device.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Scope, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "simulated",
    how: "always, on a simulated device: how many of its numbers have a source, were fitted, were assumed",
    scope: Scope::Target,
    weight: Weight::Partial,
    changes: "No hardware was measured.",
    remedy: "`iostack sim show DEVICE` lists them; measure a real one where you can.",
    says: |caveat| {
        let Caveat::Simulated { device, sourced, fitted, assumed } = caveat else { return None };
        Some(format!(
            "Simulated: {device} rests on {sourced} numbers with a source, {fitted} fitted, {assumed} assumed."
        ))
    },
    ..PLAIN
};
