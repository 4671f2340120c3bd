//! A machine of the lab answered: its times are not hardware's.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Scope, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "lab",
    how: "always, on a device of the lab: which kernel, and what its clock counts",
    scope: Scope::Target,
    weight: Weight::Partial,
    changes: "No hardware was measured.",
    remedy: "Compare it with other runs of the lab only; `iostack lab cost` counts instructions exactly.",
    says: |caveat| {
        let Caveat::Lab { device, kernel, clock } = caveat else { return None };
        Some(format!("Lab: {device} under Linux {kernel} in an emulated machine: {clock}."))
    },
    ..PLAIN
};
