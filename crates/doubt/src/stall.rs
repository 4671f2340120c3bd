//! A closed loop stood still: who waits asks nothing, so that its percentiles count the wait once.

use iostack_model::{Caveat, Nanos, Outcome};

use crate::common::closed_loop;
use crate::{Doubt, Evidence, Limit, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "stall",
    how: "closed loops: an I/O took {}, a hundredth of the run, and ten times what 99 of 100 take, at least",
    limit: Some(Limit::Time(LEAST)),
    weight: Weight::Skewed,
    changes: "Percentiles are too good.",
    remedy: "Ask with a rate (--rate) to see how many a stall hits, or look for its cause.",
    says: |caveat| {
        let Caveat::Stall { at, longest, waiting } = caveat else { return None };
        let lacked = (waiting.0 * 2 >= longest.0).then(|| format!("; its thread lacked a CPU for {waiting}"));
        let lacked = lacked.unwrap_or_default();
        Some(format!(
            "An I/O took {longest} in the element at {at}, and a closed loop asked nothing meanwhile{lacked}."
        ))
    },
    of_run: Some(of_run),
    ..PLAIN
};

/// A stall is an I/O that takes this long at least,
const LEAST: Nanos = Nanos::millis(100);
/// and this share of the run,
const SHARE: f64 = 0.01;
/// and so many times what 99 of 100 take: a device that is always slow does not stall.
const TIMES: u64 = 10;

/// The longest I/O of a closed loop, where it is much longer than the others.
fn of_run(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let latency = outcome.latency();
    let longest = Nanos(latency.max_ns);
    let usual = latency.quantile_ns(0.99)?;
    let long = longest >= LEAST && longest.0 as f64 >= outcome.elapsed.0 as f64 * SHARE;
    let stands_out = longest.0 >= usual.saturating_mul(TIMES);
    let element = outcome.series.iter().max_by_key(|element| element.max);
    let (at, waiting) = element.map_or((Nanos(0), Nanos(0)), |element| (element.start, element.waiting));
    (closed_loop(outcome) && long && stands_out).then_some(Caveat::Stall { at, longest, waiting })
}
