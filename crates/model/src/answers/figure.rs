//! Which figure of an outcome does a data sheet or a claim name?

use crate::Outcome;

/// Figure that is read off an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency, ns.
    LatencyMean,
    /// Median latency, ns.
    LatencyMedian,
    /// 99th percentile of the latency, ns.
    LatencyP99,
    /// Bytes written to flash per byte the host wrote.
    WriteAmplification,
}

const FIGURES: [(&str, Figure); 6] = [
    ("iops", Figure::Iops),
    ("bandwidth", Figure::Bandwidth),
    ("latency_mean", Figure::LatencyMean),
    ("latency_median", Figure::LatencyMedian),
    ("latency_p99", Figure::LatencyP99),
    ("write_amplification", Figure::WriteAmplification),
];

impl Figure {
    /// The one of this word.
    pub fn named(word: &str) -> Option<Figure> {
        FIGURES.iter().find(|(name, _)| *name == word).map(|(_, figure)| *figure)
    }

    /// All words that name a figure.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FIGURES.iter().map(|(name, _)| *name)
    }

    /// Its word in the file.
    pub fn name(self) -> &'static str {
        FIGURES.iter().find(|(_, figure)| *figure == self).map_or("", |(name, _)| name)
    }

    /// Reads it off; I/Os of all directions together.
    pub fn of(self, outcome: &Outcome) -> f64 {
        match self {
            Figure::Iops => outcome.rate(),
            Figure::Bandwidth => outcome.bandwidth(),
            Figure::LatencyMean => outcome.latency().mean_ns(),
            Figure::LatencyMedian => outcome.latency().quantile_ns(0.5).unwrap_or(0) as f64,
            Figure::LatencyP99 => outcome.latency().quantile_ns(0.99).unwrap_or(0) as f64,
            Figure::WriteAmplification => {
                let flash = outcome.inside.as_ref().and_then(|inside| inside.flash.as_ref());
                flash.map_or(0.0, |flash| flash.write_amplification)
            }
        }
    }
}
