//! Looking from inside took time of its own.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, percent};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "traced",
    how: "the kernel's own account of the trace programs' time, per I/O",
    remedy: "Measure speed without --stages and --layers.",
    says: |caveat| {
        let Caveat::Traced { ns_per_io, share } = caveat else { return None };
        Some(format!(
            "Looking from inside cost {:.2} us of CPU per I/O, {} of the latency.",
            ns_per_io / 1e3,
            percent(*share)
        ))
    },
    ..PLAIN
};

/// Looking took so much CPU time of an I/O of this mean latency.
pub fn of_cost(ns_per_io: f64, mean_ns: f64) -> Caveat {
    Caveat::Traced { ns_per_io, share: if mean_ns > 0.0 { ns_per_io / mean_ns } else { 0.0 } }
}
