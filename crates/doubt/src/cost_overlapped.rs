//! The device works on several commands at once, which hides what a command costs by itself.

use iostack_model::Caveat;

use crate::{Doubt, Limit, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "cost_overlapped",
    how: "`iostack merge`: many waiting callers, each with plain calls, have over {} times the rate of one",
    limit: Some(Limit::Times(LEAST)),
    weight: Weight::Partial,
    changes: "What merging saves is another amount.",
    remedy: "There c is hidden already: expect less CPU time from merging, not more of the device.",
    says: |caveat| {
        let Caveat::CostOverlapped { callers, times } = caveat else { return None };
        Some(format!(
            "The device works on several commands at once: {callers} callers have {times:.1} times the rate of one \
         without any merging."
        ))
    },
    ..PLAIN
};

/// Callers that wait at the same time have at least so many times the rate of one: the device, or what is below it, works on several
/// commands at once.
const LEAST: f64 = 1.5;

/// The rate of one caller with plain calls, and that of as many as had the highest.
pub fn of_callers(one: f64, (callers, most): (u32, f64)) -> Option<Caveat> {
    (one > 0.0 && most > LEAST * one).then_some(Caveat::CostOverlapped { callers, times: most / one })
}
