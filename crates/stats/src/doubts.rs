//! What in the outcome's own series and counts makes it doubtful?

use iostack_model::{Caveat, IntervalFlow, Nanos, Outcome};

use crate::change::{Shape, shape};
use crate::interval::{rates, whole};
use crate::quantile::supported_percentiles;

/// Half an interval over the mean beyond which a rate counts as unstable.
pub const UNSTABLE: f64 = 0.05;

/// A drift is told per minute, which a shorter run knows nothing of: there it only makes the mean uncertain.
const SLOPE_SPAN: Nanos = Nanos::secs(10);

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
            let first = series.first()?;
            if Nanos(first.length.0 * series.len() as u64) < SLOPE_SPAN {
                return None;
            }
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            let minutes = first.length.as_secs_f64() / 60.0;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::outcome;

    /// Thirty quiet seconds with this many I/Os in second i, and the doubts of that.
    fn doubts(ios: impl Fn(u64) -> u64) -> Vec<Caveat> {
        doubts_of(30, ios)
    }

    fn doubts_of(seconds: usize, ios: impl Fn(u64) -> u64) -> Vec<Caveat> {
        let mut outcome = outcome(1, 3_000.0);
        outcome.series.truncate(seconds);
        for (second, element) in (0..).zip(&mut outcome.series) {
            // A little noise, which no real series is without.
            element.ios = [ios(second) + second % 7, 0, 0];
        }
        outcome.iops = crate::series_interval(&outcome.series);
        outcome.job.percentiles = vec![50.0];
        doubts_of_series(&outcome)
    }

    #[test]
    fn a_level_run_with_many_samples_is_not_doubted() {
        assert_eq!(doubts(|_| 3_000), []);
    }

    #[test]
    fn each_shape_becomes_its_caveat_at_its_time() {
        let cliff = doubts(|second| if second < 12 { 3_000 } else { 1_000 });
        let [Caveat::Cliff { at, before, after }] = cliff[..] else { panic!("{cliff:?}") };
        assert_eq!(at, Nanos::secs(12));
        assert!((before - 3_000.0).abs() < 10.0 && (after - 1_000.0).abs() < 10.0);
        let step = doubts(|second| if second < 12 { 3_000 } else { 4_000 });
        assert!(matches!(step[..], [Caveat::RateStep { at: Nanos(12_000_000_000), .. }]), "{step:?}");
        let dips = doubts(|second| if second % 6 == 5 { 500 } else { 3_000 });
        assert!(matches!(dips[..], [Caveat::Unstable { .. }]), "{dips:?}");
    }

    #[test]
    fn a_slope_is_told_per_minute() {
        // From 3000 down by 20 a second: 2710 in the middle, so 44 % of it per minute.
        let slope = doubts(|second| 3_000 - 20 * second);
        let [Caveat::Slope { per_minute }] = slope[..] else { panic!("{slope:?}") };
        assert!((per_minute + 0.443).abs() < 0.01, "{per_minute}");
    }

    #[test]
    fn a_slope_takes_ten_seconds_and_a_shorter_one_is_uneven() {
        let doubts = |seconds| doubts_of(seconds, |second| 3_000 - 100 * second);
        assert!(matches!(doubts(10)[..], [Caveat::Slope { .. }]), "{:?}", doubts(10));
        assert!(matches!(doubts(9)[..], [Caveat::Unstable { .. }]), "{:?}", doubts(9));
    }

    #[test]
    fn a_rate_is_unstable_above_a_twentieth_and_from_three_pieces_on() {
        let unstable = |samples, half: f64| {
            let mut outcome = outcome(3, 3_000.0);
            outcome.job.percentiles = vec![50.0];
            let mean = 1_000.0;
            outcome.iops = iostack_model::Interval { mean, low: mean - half, high: mean + half, samples };
            match doubts_of_series(&outcome)[..] {
                [] => false,
                [Caveat::Unstable { .. }] => true,
                ref other => panic!("{other:?}"),
            }
        };
        assert_eq!((unstable(3, 50.0), unstable(3, 50.1), unstable(2, 50.1)), (false, true, false));
    }

    #[test]
    fn of_the_percentiles_without_samples_the_nearest_is_named() {
        let mut outcome = outcome(1, 100.0);
        outcome.job.percentiles = vec![50.0, 99.99, 99.9, 99.0];
        let samples = outcome.ios();
        let few = Caveat::FewSamples { percentile: 99.9, samples, needed: 10_000 };
        assert_eq!(doubts_of_series(&outcome), [few]);
        outcome.read = iostack_model::Flow::default();
        assert_eq!(doubts_of_series(&outcome), [], "without I/O there is nothing to say about percentiles");
    }
}
