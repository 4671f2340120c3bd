//! Where on the paper does each point of a plot stand?
//!
//! Draws the axes, bands, lines, markers and labels of a [`Plot`] as an `<svg>` that needs no script. `plot.js` finds
//! points in it by [`frame`]. Start reading at [`draw`].

use super::escape;
use super::plot::{Axis, Look, Plot, PlotMark, Scale, Series, Spot};
use crate::lists::Joined;

const HEIGHT: f64 = 300.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 258.0;
const LEFT: f64 = 64.0;
/// Mean width of a letter of the label font; decides the room at the right only.
const LETTER: f64 = 7.0;
const LABEL_LETTERS: usize = 20;
const LABEL_HEIGHT: f64 = 13.0;

/// The drawing area and what its edges mean.
struct Frame {
    width: f64,
    right: f64,
    x: AxisSpan,
    y: AxisSpan,
}

/// The visible part of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AxisSpan {
    scale: Scale,
    low: f64,
    high: f64,
}

impl AxisSpan {
    /// 0 at `low`, 1 at `high`.
    fn share(self, value: f64) -> Option<f64> {
        let (low, high) = (self.scale.position(self.low)?, self.scale.position(self.high)?);
        Some((self.scale.position(value)? - low) / (high - low))
    }

    /// The smallest span of an axis that shows all values with a little air.
    pub(super) fn around(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        air: f64,
        from_zero: bool,
    ) -> AxisSpan {
        let scale = axis.scale;
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|&value| scale.position(value).is_some()) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = if scale.is_log() { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        if scale.is_log() {
            if high / low < 2.0 {
                (low, high) = (low / 1.5, high * 1.5);
            }
            let factor = (high / low).powf(air);
            return AxisSpan { scale, low: low / factor, high: high * factor };
        }
        if from_zero && scale == Scale::Linear {
            low = low.min(0.0);
        }
        if high <= low {
            high = low + low.abs().max(1.0);
        }
        AxisSpan { scale, low, high: high + (high - low) * air }
    }
}

impl Frame {
    fn of_plot(plot: &Plot) -> Frame {
        let width = if plot.wide { 1130.0 } else { 560.0 };
        let curves = || plot.series.iter().filter(|series| series.look != Look::Ideal);
        let spots = || curves().flat_map(|series| &series.spots);
        let highest = spots().map(|spot| spot.y).filter(|y| y.is_finite()).fold(0.0, f64::max);
        // An interval that is far wider than everything measured would squeeze the curves flat; it is cut instead.
        let heights =
            spots().flat_map(|spot| [spot.y, spot.low.max(spot.y / 10.0), spot.high.min(2.0 * highest)]);
        let x_air = match plot.x.scale {
            _ if plot.label_spots => 0.05,
            Scale::Log2 => 0.02,
            _ => 0.0,
        };
        // Wide figures stand below each other; their axes shall end alike.
        let least = if plot.wide { 6 } else { 0 };
        let named = curves().filter(|_| labels_at_end(plot));
        let letters = named.map(|series| series.name.chars().count().min(LABEL_LETTERS)).max();
        let letters = letters.map_or(0, |letters| letters.max(least));
        Frame {
            width,
            right: width - 14.0 - letters as f64 * LETTER,
            x: AxisSpan::around(&plot.x, spots().map(|spot| spot.x), x_air, plot.x.scale == Scale::Linear),
            y: AxisSpan::around(&plot.y, heights, 0.05, true),
        }
    }

    fn x(&self, value: f64) -> Option<f64> {
        self.x.share(value).map(|share| LEFT + share * (self.right - LEFT))
    }

    /// A value without a place, such as 0 on a logarithmic axis, stands on the floor.
    fn y(&self, value: f64) -> Option<f64> {
        if value.is_nan() {
            return None;
        }
        let share = self.y.share(value).unwrap_or(0.0);
        Some(BOTTOM - share.clamp(-0.5, 1.5) * (BOTTOM - TOP))
    }

    fn place(&self, spot: &Spot) -> Option<(f64, f64)> {
        self.x(spot.x).zip(self.y(spot.y))
    }
}

/// Labels stand at the right end of the curves unless the curves are areas or too many.
fn labels_at_end(plot: &Plot) -> bool {
    (plot.series.len() > 1 || plot.wide)
        && plot.series.len() <= 8
        && plot.series.iter().all(|series| series.look != Look::Area)
        && !plot.label_spots
}

/// The right end of the horizontal axis, the values at its ends, and those of the vertical one.
pub(super) fn frame(plot: &Plot) -> [f64; 5] {
    let Frame { right, x, y, .. } = Frame::of_plot(plot);
    [right, x.low, x.high, y.low, y.high]
}

/// The plot as an `<svg>` element.
pub(super) fn draw(plot: &Plot, id: &str) -> String {
    let frame = Frame::of_plot(plot);
    let [heading, y, x] = [&plot.heading, &plot.y.label, &plot.x.label].map(|text| escape::text(text));
    let (width, top, height) = (frame.width, TOP - 6.0, BOTTOM - TOP + 6.0);
    let inner = (frame.right - LEFT).max(1.0);
    let curves = plot.series.iter().map(|series| curve(series, &frame)).joined("");
    let labels = if plot.label_spots { spot_labels(plot, &frame) } else { end_labels(plot, &frame) };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" \
         aria-label=\"{heading}: {y} over {x}\"><clipPath id=\"clip-{id}\"><rect x=\"{LEFT}\" y=\"{top}\" \
         width=\"{inner:.1}\" height=\"{height:.1}\"/></clipPath>{axes}{marks}<g clip-path=\"url(#clip-{id})\">{curves}\
         </g>{labels}</svg>",
        axes = axes(plot, &frame),
        marks = marks(plot, &frame),
    )
}

fn axes(plot: &Plot, frame: &Frame) -> String {
    let mut out = String::from("<g class=\"axes\">");
    let right = frame.right;
    for tick in frame.y.scale.ticks(frame.y.low, frame.y.high, 6) {
        let Some(y) = frame.y(tick) else { continue };
        let (text, x, baseline) = (plot.y.quantity.show(tick), LEFT - 7.0, y + 4.0);
        out += &format!(
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right:.1}\"/><text x=\"{x}\" y=\"{baseline:.1}\" \
             class=\"y\">{text}</text>"
        );
    }
    let room = ((right - LEFT) / 56.0) as usize;
    for tick in frame.x.scale.ticks(frame.x.low, frame.x.high, room) {
        let Some(x) = frame.x(tick) else { continue };
        let (text, y) = (plot.x.quantity.show(tick), BOTTOM + 18.0);
        // The last one must not leave the paper.
        let text_x = x.min(frame.width - 2.0 - text.chars().count() as f64 * LETTER / 2.0);
        out += &format!(
            "<path class=\"tick\" d=\"M{x:.1} {BOTTOM}v5\"/><text x=\"{text_x:.1}\" y=\"{y}\" class=\"x\">{text}</text>"
        );
    }
    let [x_name, y_name] = [&plot.x, &plot.y].map(|axis| escape::text(&axis_name(axis)));
    let baseline = BOTTOM + 36.0;
    out + &format!(
        "<path class=\"base\" d=\"M{LEFT} {BOTTOM}H{right:.1}\"/><text x=\"4\" y=\"14\" class=\"name\">{y_name}</text>\
         <text x=\"{right:.1}\" y=\"{baseline}\" class=\"name end\">{x_name}</text></g>"
    )
}

/// The label, with a word about the scale: a reader must not take a logarithm for a straight line.
fn axis_name(axis: &Axis) -> String {
    match axis.scale {
        Scale::Linear => axis.label.clone(),
        Scale::Log2 | Scale::Log10 => format!("{} · log scale", axis.label),
        Scale::Nines => format!("{} · each step is ten times rarer", axis.label),
    }
}

fn marks(plot: &Plot, frame: &Frame) -> String {
    let mark = |(index, mark): (usize, &PlotMark)| {
        let x = frame.x(mark.x)?;
        let slot = mark.slot.map_or(String::new(), |slot| format!(" s{slot}"));
        let room = mark.label.chars().count() as f64 * LETTER;
        let to_the_left = if mark.leftward { x - LEFT > room } else { frame.right - x < room };
        let (anchor, text_x) = if to_the_left { (" end", x - 5.0) } else { ("", x + 5.0) };
        let (y, label) = (TOP + 8.0 + (index % 4) as f64 * LABEL_HEIGHT, escape::text(&mark.label));
        Some(format!(
            "<g class=\"mark{slot}\"><path d=\"M{x:.1} {TOP}V{BOTTOM}\"/><text x=\"{text_x:.1}\" y=\"{y:.1}\" \
             class=\"label{anchor}\">{label}</text></g>"
        ))
    };
    plot.marks.iter().enumerate().filter_map(mark).joined("")
}

fn curve(series: &Series, frame: &Frame) -> String {
    let mut out = format!("<g class=\"series s{} {}\">", series.slot, series.look.name());
    out += &bands(series, frame);
    let places: Vec<Option<(f64, f64)>> = series.spots.iter().map(|spot| frame.place(spot)).collect();
    let before = std::iter::once(&None).chain(&places);
    let line = places.iter().zip(before).filter_map(|(place, before)| {
        let ((x, y), step) = ((*place)?, if before.is_some() { 'L' } else { 'M' });
        Some(format!("{step}{x:.1} {y:.1}"))
    });
    let line = line.joined("");
    if series.look == Look::Area
        && let (Some((first, _)), Some(Some((last, _)))) = (places.iter().flatten().next(), places.last())
    {
        out += &format!("<path class=\"fill\" d=\"{line}L{last:.1} {BOTTOM}L{first:.1} {BOTTOM}Z\"/>");
    }
    out += &format!("<path class=\"line\" d=\"{line}\"/>");
    let is_marked = series.look.has_markers() || series.spots.len() == 1;
    for (spot, place) in series.spots.iter().zip(places).filter(|_| is_marked) {
        let Some((x, y)) = place else { continue };
        if spot.doubtful {
            out += &format!("<circle class=\"doubt\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\"/>");
        }
        out += &format!("<path class=\"marker\" d=\"{}\"/>", marker(series.slot, x, y));
    }
    out + "</g>"
}

/// Connected stretches of points with intervals become one band; a lone one becomes a bar.
fn bands(series: &Series, frame: &Frame) -> String {
    let mut out = String::new();
    for run in series.spots.split(|spot| !spot.has_interval()) {
        let edge = |end: fn(&Spot) -> f64| {
            run.iter().filter_map(|spot| frame.x(spot.x).zip(frame.y(end(spot)))).collect::<Vec<_>>()
        };
        let (low, high) = (edge(|spot| spot.low), edge(|spot| spot.high));
        if let ([(x, bottom)], [(_, top)]) = (low.as_slice(), high.as_slice()) {
            out += &format!("<path class=\"whisker\" d=\"M{x:.1} {bottom:.1}V{top:.1}\"/>");
        } else if !low.is_empty() {
            let outline = high.iter().chain(low.iter().rev()).map(|(x, y)| format!("{x:.1} {y:.1}"));
            out += &format!("<path class=\"band\" d=\"M{}Z\"/>", outline.joined("L"));
        }
    }
    out
}

/// Names at the right end of the curves, moved apart where they would overlap.
fn end_labels(plot: &Plot, frame: &Frame) -> String {
    let curves = plot.series.iter().filter(|series| series.look != Look::Ideal && labels_at_end(plot));
    let ends = curves.filter_map(|series| {
        let y = series.spots.iter().rev().find_map(|spot| frame.place(spot))?.1;
        Some((y.clamp(TOP, BOTTOM), series))
    });
    let mut ends: Vec<(f64, &Series)> = ends.collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lowest = f64::NEG_INFINITY;
    for (y, _) in &mut ends {
        *y = y.max(lowest + LABEL_HEIGHT);
        lowest = *y;
    }
    // What was pushed out below is pushed back up.
    let mut highest = BOTTOM + 2.0;
    for (y, _) in ends.iter_mut().rev() {
        *y = y.min(highest);
        highest = *y - LABEL_HEIGHT;
    }
    let labels = ends.into_iter().map(|(y, series)| {
        label("direct", series.slot, (frame.right + 8.0, y + 4.0), &shortened(&series.name))
    });
    labels.joined("")
}

fn label(class: &str, slot: usize, (x, y): (f64, f64), text: &str) -> String {
    format!("<text class=\"{class} s{slot}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape::text(text))
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LABEL_LETTERS {
        return name.to_owned();
    }
    // The last word tells p50 from p99.
    let last = name.rsplit(' ').next().filter(|word| word.chars().count() < 6).unwrap_or_default();
    let kept = LABEL_LETTERS - 2 - last.chars().count();
    let first: String = name.chars().take(kept).collect();
    format!("{}… {last}", first.trim_end()).trim_end().to_owned()
}

/// The label of each spot beside it, as far as there is room.
fn spot_labels(plot: &Plot, frame: &Frame) -> String {
    let mut out = String::new();
    for series in plot.series.iter().filter(|series| series.look == Look::Line) {
        let mut before = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        for spot in series.spots.iter().filter(|spot| spot.label.chars().count() <= 8) {
            let Some((x, y)) = frame.place(spot) else { continue };
            if (x - before.0).hypot(y - before.1) >= 15.0 {
                before = (x, y);
                out += &label("spot", series.slot, (x + 6.0, y + 12.0), &spot.label);
            }
        }
    }
    out
}

/// One shape per slot, about 7 px wide, around a point.
pub(super) fn marker(slot: usize, x: f64, y: f64) -> String {
    let corners: &[(f64, f64)] = match slot {
        0 => return format!("M{:.1} {y:.1}a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z", x - 3.6),
        1 => &[(-3.3, -3.3), (3.3, -3.3), (3.3, 3.3), (-3.3, 3.3)],
        2 => &[(0.0, -4.4), (4.2, 3.2), (-4.2, 3.2)],
        3 => &[(0.0, -4.6), (4.6, 0.0), (0.0, 4.6), (-4.6, 0.0)],
        4 => &[(0.0, 4.4), (4.2, -3.2), (-4.2, -3.2)],
        5 => &[(-4.4, -1.6), (4.4, -1.6), (4.4, 1.6), (-4.4, 1.6)],
        6 => &[(-1.6, -4.4), (1.6, -4.4), (1.6, 4.4), (-1.6, 4.4)],
        _ => &[
            (-4.0, -4.0),
            (0.0, -1.4),
            (4.0, -4.0),
            (1.4, 0.0),
            (4.0, 4.0),
            (0.0, 1.4),
            (-4.0, 4.0),
            (-1.4, 0.0),
        ],
    };
    let path = corners.iter().map(|(dx, dy)| format!("{:.1} {:.1}", x + dx, y + dy));
    format!("M{}Z", path.joined("L"))
}
