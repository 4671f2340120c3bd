//! The generator's own thread was the limit.

use iostack_model::{Caveat, Outcome};

use crate::common::{BUSY, closed_loop};
use crate::{Doubt, Evidence, Intent, Limit, PLAIN, Weight, percent};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "generator_bound",
    how: "the busiest thread of the generator was {} busy or more",
    limit: Some(Limit::Share(BUSY)),
    intended: Some(Intent::BusyThread),
    weight: Weight::Skewed,
    changes: "The device may do more than this figure.",
    remedy: "Use more threads, or a cheaper engine (io_uring with batches).",
    says,
    of_run: Some(of_run),
    ..PLAIN
};

fn says(caveat: &Caveat) -> Option<String> {
    let Caveat::GeneratorBound { busy } = caveat else { return None };
    Some(format!("The generator's thread was {} busy: it may be the limit, not the device.", percent(*busy)))
}

fn of_run(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let busy = outcome.cpu.busiest_thread;
    (busy >= BUSY && closed_loop(outcome)).then_some(Caveat::GeneratorBound { busy })
}
