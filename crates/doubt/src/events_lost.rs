//! Trace events or samples were lost.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "events_lost",
    how: "the ring buffers of events and samples count what did not fit",
    weight: Weight::Partial,
    changes: "Stages and layers are those of the rest.",
    remedy: "Look at fewer devices, sample less often, or repeat at a lower load.",
    says: |caveat| {
        let Caveat::EventsLost { lost, seen } = caveat else { return None };
        Some(format!("{lost} trace events or samples were lost, {seen} arrived."))
    },
    ..PLAIN
};

/// So many were lost beside those that arrived.
pub fn of_events(lost: u64, seen: u64) -> Option<Caveat> {
    (lost > 0).then_some(Caveat::EventsLost { lost, seen })
}
