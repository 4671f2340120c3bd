//! The rate drifted over the whole run: throttling, or a state that is not yet steady.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Scope, Weight, percent};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "slope",
    how: "a trend over the whole run of at least ten seconds; in a shorter one it is `unstable`",
    scope: Scope::Rate,
    weight: Weight::Partial,
    changes: "The mean is of several levels.",
    remedy: "Run longer, until the rate is level; watch temperature and clock rates.",
    says: |caveat| {
        let Caveat::Slope { per_minute } = caveat else { return None };
        Some(format!("The rate drifted by {} a minute.", percent(*per_minute)))
    },
    ..PLAIN
};
