//! The time of a command is no line over the requests in it.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Weight, percent};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "not_linear",
    how: "`iostack merge`: a point lies over 15 % off the fitted line c + b x, or requests cost over 1.5 times as much (or under 1/1.5) in large commands as in small ones",
    weight: Weight::Partial,
    changes: "What merging saves is another amount.",
    remedy: "Believe the points, not the line.",
    says: |caveat| {
        let Caveat::NotLinear { residual, bend } = caveat else { return None };
        Some(format!(
            "c + b x does not hold: a point lies {} off the line, and a request more costs {bend:.1} times as much in \
         large commands as in small ones.",
            percent(*residual)
        ))
    },
    ..PLAIN
};

/// Doubt of a line: by the fit's own judgement, and by how far its points are off.
pub fn of_fit(holds: bool, residual: f64, bend: f64) -> Option<Caveat> {
    (!holds).then_some(Caveat::NotLinear { residual, bend })
}
