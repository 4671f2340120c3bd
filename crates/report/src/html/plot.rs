//! What does a curve say, and how sure is it?
//!
//!   Plot ──► svg      (readable without a script, and on paper)
//!        └─► json        (the same points, for `plot.js`: tooltips, zoom, other scales)
//!
//! A series is told apart by colour *and* marker, a percentile of the same series by its dash; so a plot can be read
//! in grey. The band is the 95 % interval. Start reading at [`Plot`].

use super::escape;
use super::numbers::Quantity;
use super::scale::Scale;
use super::svg;

/// A figure with axes.
pub(super) struct Plot {
    /// What it shows, as a sentence where there is something to say.
    pub(super) heading: String,
    /// Horizontal axis.
    pub(super) x: Axis,
    /// Vertical axis.
    pub(super) y: Axis,
    /// The curves.
    pub(super) series: Vec<Series>,
    /// Vertical lines: knees, change points.
    pub(super) marks: Vec<Mark>,
    /// Count, interval, clock, machine; HTML.
    pub(super) caption: String,
    /// Write each spot's label beside it (latency over throughput: the depth).
    pub(super) label_spots: bool,
    /// Takes the whole width of the page.
    pub(super) wide: bool,
}

/// One axis.
#[derive(Clone)]
pub(super) struct Axis {
    /// What it counts, with the unit where the ticks do not carry it.
    pub(super) label: String,
    /// How ticks and tooltips are written.
    pub(super) quantity: Quantity,
    /// How it is divided at first.
    pub(super) scale: Scale,
}

impl Axis {
    pub(super) fn new(label: impl Into<String>, quantity: Quantity, scale: Scale) -> Axis {
        Axis { label: label.into(), quantity, scale }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
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
    pub(super) const fn name(self) -> &'static str {
        match self {
            Look::Line => "line",
            Look::Dashed => "dashed",
            Look::Plain => "plain",
            Look::PlainDashed => "plain dashed",
            Look::Area => "area",
            Look::Ideal => "ideal",
        }
    }

    pub(super) const fn has_markers(self) -> bool {
        matches!(self, Look::Line | Look::Dashed)
    }
}

/// One curve.
pub(super) struct Series {
    /// Name in the legend.
    pub(super) name: String,
    /// Colour and marker, 0..8.
    pub(super) slot: usize,
    /// How it is drawn.
    pub(super) look: Look,
    /// Its points, in order of x.
    pub(super) spots: Vec<Spot>,
}

/// One point of a curve.
#[derive(Clone, Debug, Default)]
pub(super) struct Spot {
    /// Horizontal value.
    pub(super) x: f64,
    /// Vertical value.
    pub(super) y: f64,
    /// Lower end of the 95 % interval; equal to `y` without one.
    pub(super) low: f64,
    /// Upper end.
    pub(super) high: f64,
    /// I/Os it rests on; 0 when that is said elsewhere.
    pub(super) count: u64,
    /// What the tooltip calls it; empty for the x value.
    pub(super) label: String,
    /// Some caveat concerns it.
    pub(super) doubtful: bool,
}

impl Spot {
    /// A point without interval.
    pub(super) fn at(x: f64, y: f64) -> Spot {
        Spot { x, y, low: y, high: y, ..Spot::default() }
    }

    /// True when there is an interval to draw.
    pub(super) fn has_interval(&self) -> bool {
        self.low.is_finite() && self.high.is_finite() && self.low < self.high
    }
}

/// A vertical line with a word.
pub(super) struct Mark {
    /// Where.
    pub(super) x: f64,
    /// What happened there.
    pub(super) label: String,
    /// Colour of the series it belongs to.
    pub(super) slot: Option<usize>,
    /// The word stands at the left: a curve that rises to its knee leaves the room there, one that falls does not.
    pub(super) leftward: bool,
}

/// Number of colours and markers.
pub(super) const SLOTS: usize = 8;

/// Gives each name its colour: reads, writes and mixes have the same on every figure, others what is left.
pub(super) fn slots(names: &[&str]) -> Vec<usize> {
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
    /// True when some point has a place on both axes; else there is nothing to draw.
    pub(super) fn has_points(&self) -> bool {
        self.series
            .iter()
            .flat_map(|series| &series.spots)
            .any(|spot| self.x.scale.position(spot.x).is_some() && spot.y.is_finite())
    }

    /// The whole figure as HTML.
    pub(super) fn figure(&self, id: &str) -> String {
        let legend: String =
            self.series.iter().enumerate().map(|(index, series)| legend_key(index, series)).collect();
        let wide = if self.wide { " wide" } else { "" };
        format!(
            "<figure class=\"plot{wide}\" id=\"{id}\" data-plot=\"{id}\"><h4>{heading}</h4>\
             <div class=\"legend\">{legend}</div><div class=\"canvas\">{svg}</div>\
             <figcaption>{caption}</figcaption></figure>\n",
            heading = escape::text(&self.heading),
            svg = svg::draw(self, id),
            caption = self.caption,
        )
    }

    /// The same for `plot.js`: `[x, y, low, high, count, label, doubtful]` per point, trailing defaults left out.
    pub(super) fn json(&self) -> String {
        let series: Vec<String> = self.series.iter().map(series_json).collect();
        let marks: Vec<String> = self
            .marks
            .iter()
            .map(|mark| {
                let slot = mark.slot.map_or("null".to_owned(), |slot| slot.to_string());
                format!(
                    "[{},{},{slot},{}]",
                    escape::precise(mark.x),
                    escape::json(&mark.label),
                    mark.leftward
                )
            })
            .collect();
        format!(
            "{{\"heading\":{},\"x\":{},\"y\":{},\"label_spots\":{},\"series\":[{}],\"marks\":[{}]}}",
            escape::json(&self.heading),
            axis_json(&self.x),
            axis_json(&self.y),
            self.label_spots,
            series.join(","),
            marks.join(",")
        )
    }
}

fn axis_json(axis: &Axis) -> String {
    format!(
        "{{\"label\":{},\"quantity\":\"{}\",\"scale\":\"{}\"}}",
        escape::json(&axis.label),
        axis.quantity.name(),
        axis.scale.name()
    )
}

fn series_json(series: &Series) -> String {
    let spots: Vec<String> = series.spots.iter().map(spot_json).collect();
    format!(
        "{{\"name\":{},\"slot\":{},\"look\":\"{}\",\"spots\":[{}]}}",
        escape::json(&series.name),
        series.slot,
        series.look.name(),
        spots.join(",")
    )
}

fn spot_json(spot: &Spot) -> String {
    let mut fields = vec![escape::precise(spot.x), escape::number(spot.y)];
    let interval = spot.has_interval();
    if interval || spot.count > 0 || !spot.label.is_empty() || spot.doubtful {
        let end = |value: f64| if interval { escape::number(value) } else { "null".to_owned() };
        fields.extend([end(spot.low), end(spot.high), spot.count.to_string()]);
    }
    if !spot.label.is_empty() || spot.doubtful {
        fields.push(escape::json(&spot.label));
    }
    if spot.doubtful {
        fields.push("1".to_owned());
    }
    format!("[{}]", fields.join(","))
}

fn legend_key(index: usize, series: &Series) -> String {
    let marker = if series.look.has_markers() {
        format!("<path class=\"marker\" d=\"{}\"/>", svg::marker(series.slot, 14.0, 7.0))
    } else {
        String::new()
    };
    format!(
        "<button type=\"button\" class=\"key s{slot} {look}\" data-series=\"{index}\" aria-pressed=\"true\">\
         <svg width=\"28\" height=\"14\" aria-hidden=\"true\"><path class=\"line\" d=\"M1 7H27\"/>{marker}</svg>{name}\
         </button>",
        slot = series.slot,
        look = series.look.name(),
        name = escape::text(&series.name),
    )
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

    #[test]
    fn a_spot_says_no_more_than_it_knows() {
        assert_eq!(spot_json(&Spot::at(1.0, f64::NAN)), "[1,null]");
        let spot = Spot { low: 1.5, high: 2.5, count: 97, ..Spot::at(1.0, 2.0) };
        assert_eq!(spot_json(&spot), "[1,2,1.5,2.5,97]");
        let doubtful = Spot { doubtful: true, ..spot };
        assert_eq!(spot_json(&doubtful), "[1,2,1.5,2.5,97,\"\",1]");
    }
}
