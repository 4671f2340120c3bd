//! Where on an axis does a value stand, and which values get a tick?

use serde::Serialize;

/// Division of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scale {
    /// Equal steps for equal differences.
    #[default]
    Linear,
    /// Doublings: queue depth, request size, threads.
    Log2,
    /// Decades: latency, IOPS over request size.
    Log10,
    /// Percentiles by their nines: 90 is 1, 99 is 2, 99.9 is 3. The tail gets the room it deserves.
    Nines,
}

impl Scale {
    /// Doublings where the values are spread by factors.
    pub(crate) fn of(values: &[f64]) -> Scale {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        if low > 0.0 && high / low >= 8.0 { Scale::Log2 } else { Scale::Linear }
    }

    /// True when 0 and below have no place on it.
    pub(crate) const fn is_log(self) -> bool {
        matches!(self, Scale::Log2 | Scale::Log10)
    }

    /// The value where equal distances look equal; `None` for values that have no place.
    pub(crate) fn position(self, value: f64) -> Option<f64> {
        let position = match self {
            Scale::Linear => value,
            Scale::Log2 => value.log2(),
            Scale::Log10 => value.log10(),
            Scale::Nines => -(1.0 - value / 100.0).log10(),
        };
        position.is_finite().then_some(position)
    }

    /// Values for ticks within `low..=high`, about `wanted` of them.
    pub(crate) fn ticks(self, low: f64, high: f64, wanted: usize) -> Vec<f64> {
        match self {
            Scale::Linear => linear_ticks(low, high, wanted),
            Scale::Log2 => powers(2.0, low, high, wanted),
            Scale::Log10 => decade_ticks(low, high, wanted),
            Scale::Nines => [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999]
                .into_iter()
                .filter(within(low, high))
                .collect(),
        }
    }
}

fn within(low: f64, high: f64) -> impl Fn(&f64) -> bool {
    // A tick at the very end survives rounding.
    move |&value| value >= low - low.abs() * 1e-9 && value <= high + high.abs() * 1e-9
}

/// Multiples of 1, 2, 2.5 or 5 times a power of ten.
fn linear_ticks(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let span = high - low;
    if !span.is_finite() || span <= 0.0 {
        return vec![low];
    }
    let rough = span / wanted.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough).unwrap_or(10.0) * power;
    let first = (low / step).ceil();
    (0..=20)
        .map(|index| (first + f64::from(index)) * step)
        .take_while(|&value| value <= high + step * 1e-9)
        .collect()
}

/// Powers of `base`, every second or third one when there are too many.
fn powers(base: f64, low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let first = (low.ln() / base.ln() - 1e-9).ceil() as i32;
    let last = (high.ln() / base.ln() + 1e-9).floor() as i32;
    let stride = (last - first).max(0) / i32::try_from(wanted.max(1)).unwrap_or(i32::MAX) + 1;
    (first..=last).filter(|power| power.rem_euclid(stride) == 0).map(|power| base.powi(power)).collect()
}

/// Decades; with 2 and 5 between them when there are few, and equal steps inside one decade.
fn decade_ticks(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let decades = (high / low).log10();
    if decades < 0.8 {
        return linear_ticks(low, high, wanted);
    }
    if decades > 2.6 {
        return powers(10.0, low, high, wanted);
    }
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    (first..=last)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(power)))
        .filter(within(low, high))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let cases: [(Scale, f64, f64, &[f64]); 6] = [
            (Scale::Linear, 0.0, 330.0, &[0.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0]),
            (Scale::Log2, 1.0, 128.0, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]),
            (Scale::Log10, 50.0, 900.0, &[50.0, 100.0, 200.0, 500.0]),
            (Scale::Log10, 10.0, 1e5, &[10.0, 100.0, 1e3, 1e4, 1e5]),
            (Scale::Nines, 0.0, 99.9, &[0.0, 50.0, 90.0, 99.0, 99.9]),
            (Scale::Linear, 5.0, 5.0, &[5.0]),
        ];
        for (scale, low, high, expected) in cases {
            let ticks = scale.ticks(low, high, 8);
            assert_eq!(ticks.len(), expected.len(), "{scale:?} {low}..{high}: {ticks:?}");
            for (tick, wanted) in ticks.iter().zip(expected) {
                assert!((tick - wanted).abs() <= wanted * 1e-9, "{scale:?}: {ticks:?}");
            }
        }
    }

    #[test]
    fn what_a_logarithm_cannot_show_has_no_place() {
        assert_eq!(Scale::Log10.position(0.0), None);
        assert_eq!(Scale::Log2.position(-3.0), None);
        assert_eq!(Scale::Nines.position(100.0), None);
        assert_eq!(Scale::Linear.position(f64::NAN), None);
        assert_eq!(Scale::Linear.position(0.0), Some(0.0));
    }
}
