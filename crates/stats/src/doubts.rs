//! What in the outcome's own series and counts makes it doubtful?

use iostack_model::{Caveat, IntervalFlow, Nanos, Outcome};

use crate::change::{Shape, shape};
use crate::interval::{rates, whole};
use crate::quantile::supported_percentiles;

/// Half an interval over the mean beyond which a rate counts as unstable.
const UNSTABLE: f64 = 0.05;

/// Doubts from the series of rates (a step, a cliff, a slope, noise) and from the number of samples. Of the
/// percentiles that lack samples only the one that lacks fewest is named: the further ones lack them all the more.
pub fn doubts_of_series(outcome: &Outcome) -> Vec<Caveat> {
    let mut doubts: Vec<Caveat> = doubt_of_shape(&outcome.series).into_iter().collect();
    let relative = outcome.iops.relative();
    if doubts.is_empty() && outcome.iops.samples >= 3 && relative > UNSTABLE {
        doubts.push(Caveat::Unstable { relative });
    }
    doubts.extend(doubt_of_samples(outcome));
    doubts
}

fn doubt_of_shape(series: &[IntervalFlow]) -> Option<Caveat> {
    let series = whole(series);
    let rates = rates(series);
    let time = |at: usize| series.get(at).map_or(Nanos(0), |element| element.start);
    Some(match shape(&rates) {
        Shape::Level => return None,
        Shape::Step { at, before, after } => Caveat::RateStep { at: time(at), before, after },
        Shape::Cliff { at, before, after } => Caveat::Cliff { at: time(at), before, after },
        Shape::Slope { per_element } => {
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            let minutes = series.first()?.length.as_secs_f64() / 60.0;
            Caveat::Slope { per_minute: per_element / mean / minutes }
        }
        Shape::Unsteady { relative } => Caveat::Unstable { relative },
    })
}

fn doubt_of_samples(outcome: &Outcome) -> Option<Caveat> {
    let latency = outcome.latency();
    if latency.count == 0 {
        return None;
    }
    let lacking = |caveat: &Caveat| match caveat {
        Caveat::FewSamples { needed, .. } => *needed,
        _ => u64::MAX,
    };
    supported_percentiles(&latency, &outcome.job.percentiles).1.into_iter().min_by_key(lacking)
}
