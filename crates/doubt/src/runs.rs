//! Do several runs, or the points of a fit, agree?

use iostack_model::{Caveat, Outcome};

/// Share by which rates of the same job may differ, and still be one storage's.
pub(crate) const DRIFT_MOST: f64 = 0.3;

/// Rates of the same job differ too much.
pub fn drift(rates: &[f64]) -> Option<Caveat> {
    let low = rates.iter().copied().fold(f64::MAX, f64::min);
    let high = rates.iter().copied().fold(0.0, f64::max);
    let runs = rates.len() as u32;
    (runs > 1 && high > low * (1.0 + DRIFT_MOST)).then_some(Caveat::Drift { low, high, runs })
}

/// Share of many runs above which the storage or the machine is uneven.
const UNEVEN_MOST: f64 = 0.25;

/// The middle one of the uneven runs, when there are many.
pub fn unstable_of_many<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Option<Caveat> {
    let (mut count, mut widths) = (0, Vec::new());
    for outcome in outcomes {
        count += 1;
        widths.extend(outcome.caveats.iter().filter_map(|caveat| match caveat {
            Caveat::Unstable { relative } => Some(*relative),
            _ => None,
        }));
    }
    widths.sort_by(f64::total_cmp);
    let many = widths.len() as f64 > f64::from(count) * UNEVEN_MOST;
    many.then(|| Caveat::Unstable { relative: widths[widths.len() / 2] })
}

/// The line of a fit does not describe its points, by the fit's own judgement.
pub fn not_linear(holds: bool, residual: f64, bend: f64) -> Option<Caveat> {
    (!holds).then_some(Caveat::NotLinear { residual, bend })
}

/// Callers that wait at the same time have at least so many times the rate of one: the device, or what is below it, works on several
/// commands at once.
pub(crate) const OVERLAP_LEAST: f64 = 1.5;

/// Several callers with plain calls, as many as had the highest rate, have much more than the rate of one.
pub fn cost_overlapped(one: f64, (callers, most): (u32, f64)) -> Option<Caveat> {
    (one > 0.0 && most > OVERLAP_LEAST * one).then_some(Caveat::CostOverlapped { callers, times: most / one })
}
