//! Did looking from inside see everything, and what did it cost?

use iostack_model::{Caveat, Clocks, Quality};

/// Looking took `ns_per_io` of CPU time of an I/O of this mean latency.
pub fn traced(ns_per_io: f64, mean_ns: f64) -> Caveat {
    Caveat::Traced { ns_per_io, share: if mean_ns > 0.0 { ns_per_io / mean_ns } else { 0.0 } }
}

/// Some events or samples were lost, beside those that arrived.
pub fn events_lost(lost: u64, seen: u64) -> Option<Caveat> {
    (lost > 0).then_some(Caveat::EventsLost { lost, seen })
}

/// Share of the I/Os below which those not seen to the end do not matter.
pub(crate) const UNMATCHED_MOST: f64 = 0.001;

/// Only `matched` of so many I/Os were seen to the end.
pub fn unmatched(ios: u64, matched: u64) -> Option<Caveat> {
    let unmatched = ios.saturating_sub(matched);
    (unmatched as f64 > ios as f64 * UNMATCHED_MOST).then_some(Caveat::Unmatched { unmatched, ios })
}

/// Share of the samples below which those without a sure layer do not matter.
pub(crate) const UNCLASSIFIED_MOST: f64 = 0.01;

/// Samples have no layer, or a guessed one.
pub fn unclassified(quality: &Quality) -> Option<Caveat> {
    let share = quality.unclassified + quality.inferred;
    (share > UNCLASSIFIED_MOST).then_some(Caveat::Unclassified { share })
}

/// CPU time was not counted exactly.
pub fn inexact_clocks(clocks: &Clocks) -> Option<Caveat> {
    (!clocks.exact).then(|| Caveat::InexactClocks { how: clocks.how.clone() })
}
