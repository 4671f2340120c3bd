//! The generator's own thread was the limit.

use iostack_model::Caveat;

use crate::common::{BUSY, closed_loop};
use crate::{Doubt, Intent, Limit, PLAIN, Weight, percent};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "generator_bound",
    how: "the busiest thread of the generator was {} busy or more",
    limit: Some(Limit::Share(BUSY)),
    intended: Some(Intent::BusyThread),
    weight: Weight::Skewed,
    changes: "The device may do more than this figure.",
    remedy: "Use more threads, or a cheaper engine (io_uring with batches).",
    says: |caveat| {
        let Caveat::GeneratorBound { busy } = caveat else { return None };
        Some(format!(
            "The generator's thread was {} busy: it may be the limit, not the device.",
            percent(*busy)
        ))
    },
    of_run: Some(|outcome, _| {
        let busy = outcome.cpu.busiest_thread;
        (busy >= BUSY && closed_loop(outcome)).then_some(Caveat::GeneratorBound { busy })
    }),
    ..PLAIN
};
