//! How far apart are two figures, in their own unit?
//!
//! A ratio says how much better a run is; a difference says what a part costs: with it minus without it. Measured in
//! turns, the difference of each turn is one value, and a drift of the machine cancels ([`paired_difference`]). Of two
//! finished figures only their intervals are left ([`difference`], after Welch 1947).

use iostack_model::Interval;

use crate::judgement::Noise;
use crate::rate_interval;

/// The 95 % interval of `with - without`, turn by turn; turns that only one of the two has are left out.
pub fn paired_difference(with: &[f64], without: &[f64]) -> Interval {
    let differences: Vec<f64> = with.iter().zip(without).map(|(with, without)| with - without).collect();
    rate_interval(&differences)
}

/// The 95 % interval of `a - b`. Without one for both, the ends are the mean and `samples` stays below 3.
pub fn difference(a: Interval, b: Interval) -> Interval {
    let mean = a.mean - b.mean;
    let samples = a.samples.min(b.samples);
    let (Some(noise_a), Some(noise_b)) = (Noise::of_interval(a), Noise::of_interval(b)) else {
        return Interval { samples, ..Interval::exact(mean) };
    };
    let reach = noise_a.and(noise_b).reach();
    Interval { mean, low: mean - reach, high: mean + reach, samples }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Samples;

    #[test]
    fn a_drift_that_both_share_cancels_in_turns() {
        let drift =
            |cost: f64| (0..20).map(|turn| 1000.0 + 50.0 * f64::from(turn) + cost).collect::<Vec<_>>();
        let told = paired_difference(&drift(924.0), &drift(0.0));
        assert!((told.low, told.high) == (924.0, 924.0) && told.samples == 20, "{told:?}");
        let apart = difference(rate_interval(&drift(924.0)), rate_interval(&drift(0.0)));
        assert!(apart.low < 824.0 && apart.high > 1024.0, "{apart:?}");
    }

    #[test]
    fn nineteen_of_twenty_intervals_hold_the_true_difference() {
        let holds = |&seed: &u64| {
            let mut samples = Samples::new(seed);
            let a = rate_interval(&samples.series(10, 30_000.0, 0.05, 0.0));
            let b = rate_interval(&samples.series(20, 26_600.0, 0.02, 0.0));
            let told = difference(a, b);
            (told.low..=told.high).contains(&3_400.0)
        };
        let percent = (1..=2_000).filter(holds).count() as f64 / 20.0;
        assert!((93.0..=98.5).contains(&percent), "seeds 1..=2000: {percent} %");
    }

    /// A rate is not negative: the low end of what is very uneven is cut off, and says nothing of the noise.
    #[test]
    fn a_low_end_that_was_cut_off_leaves_the_noise_as_it_is() {
        let whole = Interval { mean: 10.0, low: -20.0, high: 40.0, samples: 5 };
        let cut = Interval { low: 0.0, ..whole };
        let other = Interval { mean: 5.0, low: 4.0, high: 6.0, samples: 5 };
        assert_eq!(difference(cut, other), difference(whole, other));
        let mirrored = Interval { high: 12.0, ..whole };
        assert_eq!(difference(mirrored, other), difference(whole, other), "and so is a high end");
    }

    #[test]
    fn two_turns_claim_no_interval() {
        let told = paired_difference(&[5.0, 7.0], &[1.0, 1.0]);
        assert_eq!((told.mean, told.low, told.high, told.samples), (5.0, 5.0, 5.0, 2));
        let few = Interval { mean: 4.0, low: 4.0, high: 4.0, samples: 2 };
        assert_eq!(difference(few, Interval::exact(1.0)), Interval { samples: 0, ..Interval::exact(3.0) });
    }
}
