//! Where on the paper does each point of a plot stand?
//!
//! Draws the axes, bands, lines, markers and labels of a [`Plot`] as an `<svg>` that needs no script. `plot.js` finds
//! points in it by [`frame`]. Start reading at [`draw`].

use super::escape;
use super::plot::{Axis, Look, Plot, Series, Spot};
use super::scale::Scale;

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
        let x_air = if plot.label_spots {
            0.05
        } else if plot.x.scale == Scale::Log2 {
            0.02
        } else {
            0.0
        };
        let letters = if labels_at_end(plot) {
            // Wide figures stand below each other; their axes shall end alike.
            let least = if plot.wide { 6 } else { 0 };
            curves().map(|series| series.name.chars().count().min(LABEL_LETTERS)).fold(least, usize::max)
        } else {
            0
        };
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
    let width = frame.width;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" \
         aria-label=\"{}: {} over {}\"><clipPath id=\"clip-{id}\"><rect x=\"{LEFT}\" y=\"{}\" width=\"{:.1}\" \
         height=\"{:.1}\"/></clipPath>",
        escape::text(&plot.heading),
        escape::text(&plot.y.label),
        escape::text(&plot.x.label),
        TOP - 6.0,
        (frame.right - LEFT).max(1.0),
        BOTTOM - TOP + 6.0,
    );
    out += &axes(plot, &frame);
    out += &marks(plot, &frame);
    out += &format!("<g clip-path=\"url(#clip-{id})\">");
    for series in &plot.series {
        out += &curve(series, &frame);
    }
    out += "</g>";
    if plot.label_spots {
        out += &spot_labels(plot, &frame);
    } else if labels_at_end(plot) {
        out += &end_labels(plot, &frame);
    }
    out += "</svg>";
    out
}

fn axes(plot: &Plot, frame: &Frame) -> String {
    let mut out = String::from("<g class=\"axes\">");
    for tick in frame.y.scale.ticks(frame.y.low, frame.y.high, 6) {
        let Some(y) = frame.y(tick) else { continue };
        let text = plot.y.quantity.show(tick);
        out += &format!(
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right:.1}\"/><text x=\"{x}\" y=\"{baseline:.1}\" \
             class=\"y\">{text}</text>",
            right = frame.right,
            x = LEFT - 7.0,
            baseline = y + 4.0,
        );
    }
    let room = ((frame.right - LEFT) / 56.0) as usize;
    for tick in frame.x.scale.ticks(frame.x.low, frame.x.high, room) {
        let Some(x) = frame.x(tick) else { continue };
        let text = plot.x.quantity.show(tick);
        // The last one must not leave the paper.
        let text_x = x.min(frame.width - 2.0 - text.chars().count() as f64 * LETTER / 2.0);
        out += &format!(
            "<path class=\"tick\" d=\"M{x:.1} {BOTTOM}v5\"/><text x=\"{text_x:.1}\" y=\"{}\" class=\"x\">{text}</text>",
            BOTTOM + 18.0,
        );
    }
    out += &format!(
        "<path class=\"base\" d=\"M{LEFT} {BOTTOM}H{right:.1}\"/><text x=\"4\" y=\"14\" class=\"name\">{y_name}</text>\
         <text x=\"{right:.1}\" y=\"{x_baseline}\" class=\"name end\">{x_name}</text></g>",
        right = frame.right,
        x_baseline = BOTTOM + 36.0,
        y_name = escape::text(&axis_name(&plot.y)),
        x_name = escape::text(&axis_name(&plot.x)),
    );
    out
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
    let mut out = String::new();
    for (index, mark) in plot.marks.iter().enumerate() {
        let Some(x) = frame.x(mark.x) else { continue };
        let slot = mark.slot.map_or(String::new(), |slot| format!(" s{slot}"));
        let room = mark.label.chars().count() as f64 * LETTER;
        let to_the_left = if mark.leftward { x - LEFT > room } else { frame.right - x < room };
        let (anchor, shift) = if to_the_left { (" end", -5.0) } else { ("", 5.0) };
        out += &format!(
            "<g class=\"mark{slot}\"><path d=\"M{x:.1} {TOP}V{BOTTOM}\"/><text x=\"{text_x:.1}\" y=\"{y:.1}\" \
             class=\"label{anchor}\">{label}</text></g>",
            text_x = x + shift,
            y = TOP + 8.0 + (index % 4) as f64 * LABEL_HEIGHT,
            label = escape::text(&mark.label),
        );
    }
    out
}

fn curve(series: &Series, frame: &Frame) -> String {
    let mut out = format!("<g class=\"series s{} {}\">", series.slot, series.look.name());
    out += &bands(series, frame);
    let mut line = String::new();
    let mut previous = None;
    let mut first = None;
    for spot in &series.spots {
        let place = frame.x(spot.x).zip(frame.y(spot.y));
        if let Some((x, y)) = place {
            let step = if previous.is_some() { 'L' } else { 'M' };
            line += &format!("{step}{x:.1} {y:.1}");
            first = first.or(Some(x));
        }
        previous = place;
    }
    if series.look == Look::Area
        && let (Some(first), Some((last, _))) = (first, previous)
    {
        out += &format!("<path class=\"fill\" d=\"{line}L{last:.1} {BOTTOM}L{first:.1} {BOTTOM}Z\"/>");
    }
    out += &format!("<path class=\"line\" d=\"{line}\"/>");
    if series.look.has_markers() || series.spots.len() == 1 {
        for spot in &series.spots {
            if let Some((x, y)) = frame.x(spot.x).zip(frame.y(spot.y)) {
                if spot.doubtful {
                    out += &format!("<circle class=\"doubt\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\"/>");
                }
                out += &format!("<path class=\"marker\" d=\"{}\"/>", marker(series.slot, x, y));
            }
        }
    }
    out += "</g>";
    out
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
            let outline: Vec<String> =
                high.iter().chain(low.iter().rev()).map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            out += &format!("<path class=\"band\" d=\"M{}Z\"/>", outline.join("L"));
        }
    }
    out
}

/// Names at the right end of the curves, moved apart where they would overlap.
fn end_labels(plot: &Plot, frame: &Frame) -> String {
    let mut ends: Vec<(f64, &Series)> = plot
        .series
        .iter()
        .filter(|series| series.look != Look::Ideal)
        .filter_map(|series| {
            let y = series.spots.iter().rev().find_map(|spot| frame.x(spot.x).and(frame.y(spot.y)))?;
            Some((y.clamp(TOP, BOTTOM), series))
        })
        .collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lowest = f64::NEG_INFINITY;
    for end in &mut ends {
        end.0 = end.0.max(lowest + LABEL_HEIGHT);
        lowest = end.0;
    }
    // What was pushed out below is pushed back up.
    let mut highest = BOTTOM + 2.0;
    for end in ends.iter_mut().rev() {
        end.0 = end.0.min(highest);
        highest = end.0 - LABEL_HEIGHT;
    }
    let mut out = String::new();
    for (y, series) in ends {
        out += &format!(
            "<text class=\"direct s{}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            series.slot,
            frame.right + 8.0,
            y + 4.0,
            escape::text(&shortened(&series.name)),
        );
    }
    out
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
            let Some((x, y)) = frame.x(spot.x).zip(frame.y(spot.y)) else { continue };
            if (x - before.0).hypot(y - before.1) < 15.0 {
                continue;
            }
            before = (x, y);
            out += &format!(
                "<text class=\"spot s{}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                series.slot,
                x + 6.0,
                y + 12.0,
                escape::text(&spot.label),
            );
        }
    }
    out
}

/// One shape per slot, about 7 px wide, around a point.
pub(super) fn marker(slot: usize, x: f64, y: f64) -> String {
    let polygon = |corners: &[(f64, f64)]| {
        let path: Vec<String> =
            corners.iter().map(|(dx, dy)| format!("{:.1} {:.1}", x + dx, y + dy)).collect();
        format!("M{}Z", path.join("L"))
    };
    match slot {
        0 => format!("M{:.1} {y:.1}a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z", x - 3.6),
        1 => polygon(&[(-3.3, -3.3), (3.3, -3.3), (3.3, 3.3), (-3.3, 3.3)]),
        2 => polygon(&[(0.0, -4.4), (4.2, 3.2), (-4.2, 3.2)]),
        3 => polygon(&[(0.0, -4.6), (4.6, 0.0), (0.0, 4.6), (-4.6, 0.0)]),
        4 => polygon(&[(0.0, 4.4), (4.2, -3.2), (-4.2, -3.2)]),
        5 => polygon(&[(-4.4, -1.6), (4.4, -1.6), (4.4, 1.6), (-4.4, 1.6)]),
        6 => polygon(&[(-1.6, -4.4), (1.6, -4.4), (1.6, 4.4), (-1.6, 4.4)]),
        _ => polygon(&[
            (-4.0, -4.0),
            (0.0, -1.4),
            (4.0, -4.0),
            (1.4, 0.0),
            (4.0, 4.0),
            (0.0, 1.4),
            (-4.0, 4.0),
            (-1.4, 0.0),
        ]),
    }
}
