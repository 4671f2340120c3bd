//! The mean I/O as one line from its start to its end, cut into stages.
//!
//! Widths are shares, so that it fits any screen and paper.

use iostack_model::{Bins, Part, Stage};

use super::colours::slot;
use super::escape;
use super::scale::Scale;
use crate::text::format::{percent, time};

/// Height of the line.
const HEIGHT: u32 = 46;
/// Share of the width from which a stage has room for its name on a telephone too.
const NAMED_WIDELY: f64 = 0.16;

/// The line with its ruler below a heading.
pub(crate) fn figure<'a>(
    heading: &str,
    stages: impl Iterator<Item = (Stage, &'a Bins)>,
    whole_ns: f64,
) -> String {
    format!("<h4>{}</h4>{}{}", escape::text(heading), line(stages, whole_ns), ruler(whole_ns, time))
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// True where a text of so many letters fits into a share of a page's width.
fn has_room(letters: usize, width: f64) -> bool {
    width > 0.006 + 0.0075 * letters as f64
}

fn line<'a>(stages: impl Iterator<Item = (Stage, &'a Bins)>, whole_ns: f64) -> String {
    let mut out = format!(
        "<svg class=\"timeline\" width=\"100%\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"stages\">"
    );
    let mut from = 0.0;
    for (index, (stage, bins)) in stages.enumerate() {
        let width = share(bins.mean_ns(), whole_ns);
        if width <= 0.0 {
            continue;
        }
        let (name, mean) = (stage.name(), time(bins.mean_ns()));
        let small = if width < NAMED_WIDELY { " class=\"small\"" } else { "" };
        let label = if has_room(name.len().max(mean.chars().count()), width) {
            format!("<text{small} x=\"5\" y=\"19\">{name}</text><text{small} x=\"5\" y=\"35\">{mean}</text>")
        } else {
            String::new()
        };
        // Neighbours of one part are told apart; a part of one stage has the colour of its name.
        let shade = if stage.part() == Part::Platform { index % 2 } else { 0 };
        let (slot, x, wide, percent) = (slot(stage), from * 100.0, width * 100.0, percent(width));
        out += &format!(
            "<svg class=\"s{slot} shade{shade}\" x=\"{x:.3}%\" width=\"{wide:.3}%\" height=\"{HEIGHT}\"><title>{name}: \
                 {mean}, {percent} % ({})</title><rect width=\"100%\" height=\"{HEIGHT}\"/>{label}</svg>",
            stage.meaning(),
        );
        from += width;
    }
    out + "</svg>"
}

/// An axis from 0 to `whole`, as wide as there is room.
pub(super) fn ruler(whole: f64, show: impl Fn(f64) -> String) -> String {
    let mut ticks = String::new();
    for tick in Scale::Linear.ticks(0.0, whole, 6) {
        let place = share(tick, whole) * 100.0;
        let anchor = match place {
            place if place < 2.0 => "start",
            place if place > 97.0 => "end",
            _ => "middle",
        };
        ticks += &format!(
            "<line x1=\"{place:.2}%\" x2=\"{place:.2}%\" y1=\"0\" y2=\"5\"/><text x=\"{place:.2}%\" y=\"17\" \
                 text-anchor=\"{anchor}\">{}</text>",
            show(tick)
        );
    }
    format!("<svg class=\"timeruler\" width=\"100%\" height=\"20\" aria-hidden=\"true\">{ticks}</svg>")
}
