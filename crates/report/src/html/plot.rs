//! What does a curve say, and how sure is it?
//!
//!   Plot ──► svg      (readable without a script, and on paper)
//!        └─► json        (the same points, for `plot.js`: tooltips, zoom, other scales)
//!
//! A series is told apart by colour *and* marker, a percentile of the same series by its dash; so a plot can be read
//! in grey. The band is the 95 % interval. Start reading at [`Plot`].

use iostack_model::Interval;
use iostack_model::answers::{ReproLine, ReproPlot};

pub(crate) use super::numbers::Quantity;
pub(crate) use super::scale::Scale;

/// A figure with axes.
#[derive(Default)]
pub(crate) struct Plot {
    /// Heading: a sentence where there is something to say.
    pub(crate) heading: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    /// Vertical lines: knees, change points.
    pub(crate) marks: Vec<PlotMark>,
    /// Write each spot's label beside it (latency over throughput: the depth).
    pub(crate) label_spots: bool,
    /// Takes the whole width of the page.
    pub(crate) wide: bool,
}

/// Axis of a plot.
#[derive(Clone, Default)]
pub(crate) struct Axis {
    /// Quantity with its unit, where the ticks do not carry it.
    pub(crate) label: String,
    /// Form of ticks and tooltips.
    pub(crate) quantity: Quantity,
    pub(crate) scale: Scale,
}

impl Axis {
    /// An axis of equal steps.
    pub(crate) fn linear(label: impl Into<String>, quantity: Quantity) -> Axis {
        Axis::new(label, quantity, Scale::Linear)
    }

    pub(crate) fn new(label: impl Into<String>, quantity: Quantity, scale: Scale) -> Axis {
        Axis { label: label.into(), quantity, scale }
    }
}

/// Drawing style of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Line, markers, band.
    Line,
    /// Dashed line with hollow markers: a higher percentile of the series of the same colour.
    Dashed,
    /// Line without markers, for many points.
    Plain,
    /// Dashed line without markers.
    PlainDashed,
    /// Outline filled down to the axis: histograms.
    Area,
    /// Thin grey line for comparison.
    Ideal,
}

impl Look {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Look::Line => "line",
            Look::Dashed => "dashed",
            Look::Plain => "plain",
            Look::PlainDashed => "plain dashed",
            Look::Area => "area",
            Look::Ideal => "ideal",
        }
    }

    pub(crate) const fn has_markers(self) -> bool {
        matches!(self, Look::Line | Look::Dashed)
    }
}

/// Curve with its name in the legend.
pub(crate) struct Series {
    pub(crate) name: String,
    /// Colour and marker, 0..8.
    pub(crate) slot: usize,
    pub(crate) look: Look,
    /// Its points, in order of x.
    pub(crate) spots: Vec<Spot>,
}

impl Series {
    pub(crate) fn new(
        name: impl Into<String>,
        slot: usize,
        look: Look,
        spots: impl IntoIterator<Item = Spot>,
    ) -> Series {
        Series { name: name.into(), slot, look, spots: spots.into_iter().collect() }
    }
}

/// Point of a curve.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spot {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Ends of the 95 % interval; equal to `y` without one.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// I/Os it rests on; 0 when that is said elsewhere.
    pub(crate) count: u64,
    /// Name in the tooltip; empty for the x value.
    pub(crate) label: String,
    /// Some caveat concerns it.
    pub(crate) doubtful: bool,
}

impl Spot {
    /// A point without interval.
    pub(crate) fn at(x: f64, y: f64) -> Spot {
        Spot { x, y, low: y, high: y, ..Spot::default() }
    }

    /// A point with its interval.
    pub(crate) fn of_interval(x: f64, value: Interval) -> Spot {
        Spot { low: value.low, high: value.high, ..Spot::at(x, value.mean) }
    }

    /// True when there is an interval to draw.
    pub(crate) fn has_interval(&self) -> bool {
        self.low.is_finite() && self.high.is_finite() && self.low < self.high
    }
}

/// A vertical line with a word.
pub(crate) struct PlotMark {
    pub(crate) x: f64,
    pub(crate) label: String,
    /// Colour of the series it belongs to.
    pub(crate) slot: Option<usize>,
    /// The word stands at the left: a curve that rises to its knee leaves the room there, one that falls does not.
    pub(crate) leftward: bool,
}

/// Number of colours and markers.
pub(crate) const SLOTS: usize = 8;

/// Gives each name its colour: reads, writes and mixes have the same on every figure, others what is left.
pub(crate) fn slots(names: &[&str]) -> Vec<usize> {
    let mut taken = [false; SLOTS];
    let mut given = vec![None; names.len()];
    let preferred = |name: &str| {
        let name = name.to_lowercase();
        // Whole words: "threads" are not reads.
        let has = |wanted: &str| name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == wanted);
        match (has("read"), has("write"), has("mix") || name.contains('/')) {
            (_, _, true) | (true, true, _) => Some(2),
            (_, true, _) => Some(1),
            (true, _, _) => Some(0),
            _ => None,
        }
    };
    // Random access is on most figures, so it chooses first.
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&index| !names[index].contains("random"));
    for index in order {
        given[index] = preferred(names[index]).filter(|&wish| !std::mem::replace(&mut taken[wish], true));
    }
    let mut next = (0..SLOTS).filter(|&slot| !taken[slot]).collect::<Vec<_>>().into_iter();
    given
        .into_iter()
        .enumerate()
        .map(|(index, slot)| slot.or_else(|| next.next()).unwrap_or(index % SLOTS))
        .collect()
}

impl Plot {
    pub(crate) fn new(
        heading: impl Into<String>,
        x: Axis,
        y: Axis,
        series: impl IntoIterator<Item = Series>,
    ) -> Plot {
        let series = series.into_iter().collect();
        Plot { heading: heading.into(), x, y, series, ..Plot::default() }
    }

    /// True when some point has a place on both axes; else there is nothing to draw.
    pub(crate) fn has_points(&self) -> bool {
        self.series
            .iter()
            .flat_map(|series| &series.spots)
            .any(|spot| self.x.scale.position(spot.x).is_some() && spot.y.is_finite())
    }

    /// The curves alone, for a plot of letters.
    pub(crate) fn lines(&self) -> ReproPlot {
        let line = |series: &Series| ReproLine {
            name: series.name.clone(),
            points: series.spots.iter().map(|spot| (spot.x, spot.y)).collect(),
        };
        ReproPlot {
            heading: self.heading.clone(),
            over: self.x.label.clone(),
            figure: self.y.label.clone(),
            lines: self.series.iter().map(line).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_keep_their_colour() {
        assert_eq!(slots(&["random write", "random read", "50/50 mix"]), [1, 0, 2]);
        assert_eq!(slots(&["sequential read", "io_uring", "random read"]), [1, 2, 0]);
        assert_eq!(slots(&["psync", "psync, 32 threads"]), [0, 1]);
        let many: Vec<String> = (0..20).map(|index| format!("engine {index}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(slots(&names).iter().all(|&slot| slot < SLOTS));
    }
}
