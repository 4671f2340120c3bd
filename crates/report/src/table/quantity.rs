//! What do the values of an axis count?

use iostack_model::{Bytes, Nanos};

/// Unit of the numbers behind typed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// A number by itself: `8`, `1.5`.
    Plain,
    /// A size: `4k`.
    Bytes,
    /// A time: `25us`.
    Nanos,
    /// A share: `7%`.
    Percent,
    /// A bandwidth: `800MB/s`.
    BytesPerSecond,
    /// A rate: `3000/s`.
    PerSecond,
}

impl Measure {
    /// Ending of the name of a column of such numbers; empty when none is needed.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Measure::Plain => "",
            Measure::Bytes => "_bytes",
            Measure::Nanos => "_ns",
            Measure::Percent => "_percent",
            Measure::BytesPerSecond => "_bytes_per_s",
            Measure::PerSecond => "_per_s",
        }
    }

    fn number(self, text: &str) -> Option<f64> {
        match self {
            Measure::Plain => text.parse().ok().filter(|number: &f64| number.is_finite()),
            Measure::Bytes => text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64),
            Measure::Nanos => text.parse::<Nanos>().ok().map(|time| time.0 as f64),
            Measure::Percent => Measure::Plain.number(text.strip_suffix('%')?.trim()),
            Measure::BytesPerSecond => Measure::Bytes.number(text.strip_suffix("/s")?),
            Measure::PerSecond => Measure::Plain.number(text.strip_suffix("/s")?),
        }
    }
}

/// The numbers behind all the values, when they are of one kind; `None` for words.
pub(crate) fn measure(values: &[&str]) -> Option<(Measure, Vec<f64>)> {
    // `10m` is a size here: no axis of times goes by whole minutes alone.
    let kinds = [
        Measure::Plain,
        Measure::Bytes,
        Measure::Nanos,
        Measure::Percent,
        Measure::PerSecond,
        Measure::BytesPerSecond,
    ];
    let numbers =
        |kind: Measure| values.iter().map(|value| kind.number(value.trim())).collect::<Option<Vec<f64>>>();
    kinds.into_iter().find_map(|kind| numbers(kind).map(|numbers| (kind, numbers)))
}

/// The numbers behind typed values, in the unit they share; `None` for words.
pub fn numbers(values: &[&str]) -> Option<Vec<f64>> {
    measure(values).map(|(_, numbers)| numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_values_are_numbers_where_they_can_be() {
        for (typed, expected) in [
            (&["1", "32"][..], Some((Measure::Plain, vec![1.0, 32.0]))),
            (&["512", "4k"], Some((Measure::Bytes, vec![512.0, 4096.0]))),
            (&["0", "1ms"], Some((Measure::Nanos, vec![0.0, 1e6]))),
            (&["7%", "28%"], Some((Measure::Percent, vec![7.0, 28.0]))),
            (&["100MB/s"], Some((Measure::BytesPerSecond, vec![1e8]))),
            (&["3000/s"], Some((Measure::PerSecond, vec![3000.0]))),
            (&["greedy", "fifo"], None),
            (&["1", "greedy"], None),
            (&["nan"], None),
        ] {
            assert_eq!(measure(typed), expected, "{typed:?}");
        }
    }
}
