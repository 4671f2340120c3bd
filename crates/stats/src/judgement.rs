//! Do two figures differ, and would we have seen it if they did?
//!
//! Figures are compared by their ratio: the logarithm of the ratio is close to normal, and its variance is the sum of
//! the relative variances of the two. The degrees of freedom are Welch's (1947), because the runs need not be equally
//! long or noisy.
//!
//! ```text
//!          -5 %         0        +5 %
//!   ─────────┼──────────┼──────────┼────────
//!            │     ├──•─┤          │          Same: whatever it is, it is small
//!            │          │   ├───•──┼──┤       Better: not zero, and at least 1 %
//!   ├────────┼──────────•──────────┼───┤      Unclear: the runs are too noisy to say
//! ```

use iostack_model::Interval;

use crate::distribution::{UPPER, student_below, student_quantile};

/// A smaller change than this is of no use to anyone, however certain.
const PRACTICAL: f64 = 0.01;

/// Two figures are the same when the interval of their change lies within this.
const EQUAL: f64 = 0.05;

/// Judgement of the second of two figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, schemars::JsonSchema, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// The change, whatever it is, is small: its 95 % interval lies within 5 %, or it is certain but below 1 %.
    Same,
    /// The second is better, by at least 1 %, and the 95 % interval of the change excludes none.
    Better,
    /// The second is worse, likewise.
    Worse,
    /// The runs are too short or too noisy to say.
    Unclear,
}

impl Judgement {
    /// True when the two figures differ.
    pub const fn differs(self) -> bool {
        matches!(self, Judgement::Better | Judgement::Worse)
    }

    /// `same`, `better`, `worse`, `unclear`.
    pub const fn name(self) -> &'static str {
        match self {
            Judgement::Same => "same",
            Judgement::Better => "better",
            Judgement::Worse => "worse",
            Judgement::Unclear => "unclear",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    Higher,
    Lower,
}

/// The change from one figure to another, as a share of the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) mean: f64,
    /// Ends of the 95 % interval; equal to the mean when it could not be had.
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) confidence: f64,
    pub(crate) judgement: Judgement,
}

impl Change {
    /// Judges the change from `a` to `b`.
    pub(crate) fn between(a: Interval, b: Interval, aim: Aim) -> Change {
        if a.mean <= 0.0 || b.mean <= 0.0 {
            return Change::unknown(0.0);
        }
        let ratio = (b.mean / a.mean).ln();
        let (Some(noise_a), Some(noise_b)) = (Noise::of_interval(a), Noise::of_interval(b)) else {
            return Change::unknown(ratio.exp_m1());
        };
        let noise = noise_a.relative(a.mean).and(noise_b.relative(b.mean));
        let reach = noise.reach();
        let (low, high) = ((ratio - reach).exp_m1(), (ratio + reach).exp_m1());
        let mean = ratio.exp_m1();
        let certain = low > 0.0 || high < 0.0;
        let judgement = match (certain, mean.abs() >= PRACTICAL) {
            (true, true) if (mean > 0.0) == (aim == Aim::Higher) => Judgement::Better,
            (true, true) => Judgement::Worse,
            (true, false) => Judgement::Same,
            (false, _) if low > -EQUAL && high < EQUAL => Judgement::Same,
            (false, _) => Judgement::Unclear,
        };
        let confidence = match judgement {
            Judgement::Same => noise.between(-EQUAL - ratio, EQUAL - ratio),
            _ => noise.between(-ratio.abs(), ratio.abs()),
        };
        Change { mean, low, high, confidence, judgement }
    }

    fn unknown(mean: f64) -> Change {
        Change { mean, low: mean, high: mean, confidence: 0.0, judgement: Judgement::Unclear }
    }

    /// True when the runs were long enough for an interval.
    pub(crate) fn is_known(&self) -> bool {
        self.confidence > 0.0
    }

    /// The smallest change that these runs would have shown.
    pub(crate) fn smallest_shown(&self) -> f64 {
        ((self.high - self.low) / 2.0).max(PRACTICAL)
    }
}

/// Uncertainty of a figure, of a difference, or of the logarithm of a ratio of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    variance: f64,
    freedom: f64,
}

impl Noise {
    /// The noise that made this interval; `None` when there was none.
    pub(crate) fn of_interval(interval: Interval) -> Option<Noise> {
        if interval.samples < 3 {
            return None;
        }
        let freedom = f64::from(interval.samples - 1);
        // The wider side: a low end may have been cut off at zero.
        let half = (interval.high - interval.mean).max(interval.mean - interval.low);
        let deviation = half / student_quantile(UPPER, freedom);
        Some(Noise { variance: deviation * deviation, freedom })
    }

    /// The same as a share of `mean`.
    fn relative(self, mean: f64) -> Noise {
        Noise { variance: self.variance / (mean * mean), ..self }
    }

    pub(crate) fn and(self, other: Noise) -> Noise {
        let variance = self.variance + other.variance;
        let parts = self.variance.powi(2) / self.freedom + other.variance.powi(2) / other.freedom;
        let freedom = if parts > 0.0 { variance.powi(2) / parts } else { self.freedom + other.freedom };
        Noise { variance, freedom }
    }

    /// Half of the 95 % interval.
    pub(crate) fn reach(self) -> f64 {
        student_quantile(UPPER, self.freedom) * self.deviation()
    }

    fn deviation(self) -> f64 {
        self.variance.sqrt()
    }

    /// Probability that a deviation lies between these.
    fn between(self, low: f64, high: f64) -> f64 {
        if self.variance <= 0.0 {
            return if low < 0.0 && high > 0.0 { 1.0 } else { 0.0 };
        }
        let below = |value: f64| student_below(value / self.deviation(), self.freedom);
        (below(high) - below(low)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_interval;
    use crate::sample::Samples;

    fn interval(mean: f64, half: f64, samples: u32) -> Interval {
        Interval { mean, low: mean - half, high: mean + half, samples }
    }

    #[test]
    fn each_judgement_has_its_case() {
        let a = interval(1000.0, 10.0, 30);
        let cases = [
            (interval(1120.0, 10.0, 30), Aim::Higher, Judgement::Better),
            (interval(1120.0, 10.0, 30), Aim::Lower, Judgement::Worse),
            (interval(880.0, 10.0, 30), Aim::Higher, Judgement::Worse),
            (interval(880.0, 10.0, 30), Aim::Lower, Judgement::Better),
            (interval(1005.0, 10.0, 30), Aim::Higher, Judgement::Same),
            (interval(1030.0, 200.0, 30), Aim::Higher, Judgement::Unclear),
            (interval(1500.0, 0.0, 2), Aim::Higher, Judgement::Unclear),
            (interval(0.0, 0.0, 30), Aim::Higher, Judgement::Unclear),
        ];
        for (b, aim, judgement) in cases {
            assert_eq!(Change::between(a, b, aim).judgement, judgement, "{b:?}");
        }
        let exact = interval(1000.0, 0.0, 30);
        assert_eq!(Change::between(exact, exact, Aim::Higher).judgement, Judgement::Same);
        let tiny = Change::between(exact, interval(1005.0, 0.0, 30), Aim::Higher);
        assert_eq!((tiny.judgement, tiny.confidence), (Judgement::Same, 1.0), "certain, but below 1 %");
    }

    #[test]
    fn the_interval_of_the_change_is_that_of_a_ratio() {
        let change = Change::between(interval(1000.0, 20.0, 1000), interval(1120.0, 22.4, 1000), Aim::Higher);
        // Two relative halves of 2 % give 2.83 %, around a ratio of 1.12.
        assert!((change.mean - 0.12).abs() < 1e-9);
        assert!((change.low - (1.12 / 1.0287 - 1.0)).abs() < 1e-3, "{change:?}");
        assert!((change.high - (1.12 * 1.0287 - 1.0)).abs() < 1e-3, "{change:?}");
        assert!(change.confidence > 0.999);
    }

    /// Percent of 1000 seeded pairs of runs that are said to differ.
    fn differing(factor: f64, memory: f64) -> f64 {
        let differs = |&seed: &u64| {
            let mut samples = Samples::new(seed);
            let a = rate_interval(&samples.series(30, 1e4, 0.08, memory));
            let b = rate_interval(&samples.series(30, 1e4 * factor, 0.08, memory));
            Change::between(a, b, Aim::Higher).judgement.differs()
        };
        (1..=1_000).filter(differs).count() as f64 / 10.0
    }

    #[test]
    fn equal_runs_are_rarely_said_to_differ_and_unequal_ones_mostly() {
        for memory in [0.0, 0.5] {
            let percent = differing(1.0, memory);
            assert!(percent <= 6.0, "memory {memory}, seeds 1..=1000: {percent} % of equal pairs");
        }
        let percent = differing(1.12, 0.0);
        assert!(percent >= 98.0, "seeds 1..=1000: {percent} % of pairs 12 % apart");
    }
}
