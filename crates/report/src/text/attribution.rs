//! Where the time and the clocks of one I/O alone go: the few lines that the screen of a check has room for.

use iostack_model::{Check, Layers, Part, Point, Stage, Stages, StepKind, Way, WayStages};

use super::format::{cut, paragraph, percent, time};
use super::glyphs::bar;
use super::layers::{clocks, unit};
use super::stages::ratio;

/// Cells of a part's bar.
const BAR: usize = 16;
/// Layers told.
const LAYERS: usize = 4;

/// At most eight lines: the three parts, the largest layers, where there is more; or why no point has any.
pub(super) fn lines(check: &Check) -> String {
    let points = || check.steps.iter().flat_map(|step| &step.points);
    let stages = points().find_map(|point| Some((point, point.outcome.stages.as_ref()?)));
    let layers = points().find_map(|point| Some((point, point.outcome.layers.as_ref()?)));
    let mut text = stages.map_or_else(String::new, |(point, stages)| parts(point, stages));
    text += &layers.map_or_else(String::new, |(point, layers)| largest_layers(point, layers));
    if !text.is_empty() {
        return text
            + &paragraph("more       ", "iostack stages, iostack layers; with --pid for a running program");
    }
    let reason = check.step(StepKind::Places).and_then(|step| step.note.as_deref());
    reason.map_or_else(String::new, |reason| paragraph("where      ", &format!("not looked at: {reason}")))
}

fn parts(point: &Point, stages: &Stages) -> String {
    let Some(way) = stages.way(Way::Device).filter(|way| way.whole.sum_ns > 0) else { return String::new() };
    let head =
        format!("WHERE THE TIME GOES ({}, depth {})", cut(&point.series, 24), point.outcome.job.depth());
    let mut text = format!("{head:<52}{:>6}{:>10}\n", "%", "mean");
    for part in Part::ALL.into_iter().filter(|&part| part != Part::Journal || way.part_mean_ns(part) > 0.0) {
        let (share, mean_ns) = (way.part_share(part), way.part_mean_ns(part));
        let drawn = if mean_ns > 0.0 { bar(share, 1.0, BAR) } else { " ".repeat(BAR) };
        text += &format!(
            "  {:<10}{drawn} {:<23}{:>6}{:>10}\n",
            part.name(),
            what(way, part),
            percent(share),
            time(mean_ns)
        );
    }
    text
}

/// The two largest stages of a part that has several.
fn what(way: &WayStages, part: Part) -> String {
    let mut own: Vec<(Stage, f64)> = way
        .stages
        .iter()
        .filter(|(stage, bins)| stage.part() == part && bins.sum_ns > 0)
        .map(|(stage, bins)| (*stage, ratio(bins.sum_ns as f64, way.whole.sum_ns as f64)))
        .collect();
    own.sort_by(|a, b| b.1.total_cmp(&a.1));
    if own.len() < 2 {
        return String::new();
    }
    let told = own.iter().take(2).map(|(stage, share)| format!("{} {:.0}", stage.name(), share * 100.0));
    told.collect::<Vec<_>>().join(", ") + " %"
}

fn largest_layers(point: &Point, layers: &Layers) -> String {
    if layers.rows.is_empty() || layers.tsc_hz == 0 {
        return String::new();
    }
    let total = layers.clocks.total().0 as f64;
    let told = layers.rows.iter().take(LAYERS).map(|row| {
        let share = ratio(row.time.0 as f64, total) * 100.0;
        let clocks = super::format::brief(clocks(layers, row.time.0 as f64));
        format!("{} {clocks} ({share:.0} %)", cut(&row.layer, 16))
    });
    let all = super::format::brief(clocks(layers, total));
    let rest = layers.rows.len().saturating_sub(LAYERS);
    let rest = if rest > 0 { format!(", {rest} more") } else { String::new() };
    let head = if point.series.is_empty() { String::new() } else { format!("{}: ", cut(&point.series, 24)) };
    paragraph(
        "clocks     ",
        &format!("{head}{all} {}; {}{rest}", unit(layers), told.collect::<Vec<_>>().join(", ")),
    )
}
