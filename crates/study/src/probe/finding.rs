//! How is a finding put together?

use iostack_model::answers::{ProbeCurve, ProbeFinding, ProbePart, ProbePoint, ProbeUnit};
use iostack_model::{Bytes, Direction, Interval};

/// Subject of a finding, before anything is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeSubject {
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    pub(crate) unit: ProbeUnit,
    pub(crate) direction: Direction,
    /// Sentence on how it is inferred.
    pub(crate) how: &'static str,
}

impl ProbeSubject {
    /// The finding, without value or reason yet.
    fn begun(self) -> ProbeFinding {
        ProbeFinding {
            key: self.key.to_owned(),
            name: self.name.to_owned(),
            unit: self.unit,
            value: None,
            reason: None,
            how: self.how.to_owned(),
            direction: self.direction,
            request: Bytes(0),
            curve: curve(("", ProbeUnit::Count), ("", ProbeUnit::Count), Vec::new()),
            parts: Vec::new(),
            doubts: Vec::new(),
        }
    }

    /// It was found.
    pub(crate) fn told(self, value: Interval) -> ProbeFinding {
        ProbeFinding { value: Some(value), ..self.begun() }
    }

    /// It cannot be told from here.
    pub(crate) fn untold(self, reason: impl Into<String>) -> ProbeFinding {
        ProbeFinding { reason: Some(reason.into()), ..self.begun() }
    }

    /// Either, with the request size and the curve.
    pub(crate) fn finding(
        self,
        found: Result<Interval, String>,
        request: Bytes,
        curve: ProbeCurve,
    ) -> ProbeFinding {
        let finding = match found {
            Ok(value) => self.told(value),
            Err(reason) => self.untold(reason),
        };
        ProbeFinding { request, curve, ..finding }
    }
}

/// A curve of named axes, each with its unit.
pub(crate) fn curve(
    (over, x_unit): (&str, ProbeUnit),
    (of, y_unit): (&str, ProbeUnit),
    points: Vec<ProbePoint>,
) -> ProbeCurve {
    let log = matches!(x_unit, ProbeUnit::Count | ProbeUnit::Bytes);
    ProbeCurve { over: over.to_owned(), x_unit, of: of.to_owned(), y_unit, log, points }
}

/// A further number.
pub(crate) fn part(key: &str, name: &str, unit: ProbeUnit, value: Interval) -> ProbePart {
    ProbePart { key: key.to_owned(), name: name.to_owned(), unit, value }
}

/// An interval of a mean and a relative half width.
pub(crate) fn around(mean: f64, relative: f64, samples: u32) -> Interval {
    Interval { mean, low: mean * (1.0 - relative).max(0.0), high: mean * (1.0 + relative), samples }
}

/// The median; 0 of none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Plateaus that differ by less are one.
pub(crate) const SAME: f64 = 0.03;

/// Highest rate of a size: I/Os per second, and that of a station that all pass, where the curve has one.
pub(crate) type Plateau = (Bytes, f64, Option<f64>);

/// Limits that are known, for whoever might take one for something else.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProbeLimits {
    /// I/Os per second.
    pub(crate) iops: Option<f64>,
    /// Bytes per second.
    pub(crate) bytes: Option<f64>,
    /// I/Os that a bucket gave above its rate.
    pub(crate) credits: Option<f64>,
}

impl ProbeLimits {
    /// The reason why a rate that falls says nothing of the medium: it is the limit's until then.
    pub(crate) fn reason(&self, bytes_per_second: f64, size: Bytes) -> Option<String> {
        let is = |limit: Option<f64>, rate: f64| limit.is_some_and(|limit| (rate / limit - 1.0).abs() < SAME);
        if self.credits.is_some() {
            return Some("a bucket of tokens holds the rate, and what falls may be its".to_owned());
        }
        let volume = self.iops.is_some() && is(self.bytes, bytes_per_second);
        (volume || is(self.iops, bytes_per_second / size.0 as f64)).then(|| {
            "writes go at the limit that holds reads: a bucket that runs empty looks the same".to_owned()
        })
    }
}
