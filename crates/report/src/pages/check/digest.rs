//! Where the time and the clocks of one I/O alone go: the few lines that the screen of a check has room for.

use iostack_model::answers::{Check, Point, StepKind};
use iostack_model::{Layers, Part, Stage, Stages, Way, WayStages};

use crate::document::{Bar, Block, Cell, Document, Section, Table};
use crate::html::colours::slot_of_part;
use crate::lists::Joined;
use crate::pages::layers::{clocks, unit};
use crate::pages::stages::{parts_of, ratio};
use crate::text::format::{brief, cut, percent, time};

/// Layers named before the rest is counted.
const LAYERS: usize = 4;

/// Puts at most eight lines: the three parts, the largest layers, where there is more; or why no point has any. A page
/// has all of it.
pub(super) fn section(check: &Check, all: &mut Document) {
    let mut section = Section::new("where", "", "Where time and clocks go");
    let points = || check.steps.iter().flat_map(|step| &step.points);
    if let Some((point, stages)) = points().find_map(|point| Some((point, point.outcome.stages.as_ref()?)))
        && let Some(table) = parts(stages)
    {
        let (series, depth) = (cut(point.series.name(), 24), point.outcome.job.depth());
        section.screen(Block::Heading(format!("WHERE THE TIME GOES ({series}, depth {depth})")));
        section.screen(Block::Table(table));
    }
    if let Some((point, layers)) = points().find_map(|point| Some((point, point.outcome.layers.as_ref()?)))
        && let Some(told) = largest_layers(point, layers)
    {
        section.screen(Block::Fact("clocks".to_owned(), told));
    }
    let reason = check.step(StepKind::Places).and_then(|step| step.note.as_deref());
    if !section.blocks.is_empty() {
        let more = "iostack stages, iostack layers; with --pid for a running program";
        section.screen(Block::Fact("more".to_owned(), more.to_owned()));
    } else if let Some(reason) = reason {
        section.screen(Block::Fact("where".to_owned(), format!("not looked at: {reason}")));
    }
    all.sections.push(section);
}

fn parts(stages: &Stages) -> Option<Table> {
    let way = stages.way(Way::Device).filter(|way| way.whole.sum_ns > 0)?;
    let table = Table::over(parts_of(way))
        .words("part", |part| Cell { indent: 1, ..Cell::from(part.name()) })
        .bars(|part| Bar::whole(way.part_share(part), 1.0, slot_of_part(part)))
        .words("", |part| what(way, part))
        .number("%", |part| percent(way.part_share(part)))
        .number("mean", |part| time(way.part_mean_ns(part)));
    Some(table.done())
}

/// The two largest stages of a part that has several.
fn what(way: &WayStages, part: Part) -> String {
    let own = way.stages.iter().filter(|(stage, bins)| stage.part() == part && bins.sum_ns > 0);
    let mut own: Vec<(Stage, f64)> =
        own.map(|(stage, bins)| (*stage, ratio(bins.sum_ns as f64, way.whole.sum_ns as f64))).collect();
    own.sort_by(|a, b| b.1.total_cmp(&a.1));
    if own.len() < 2 {
        return String::new();
    }
    let told = own.iter().take(2).map(|(stage, share)| format!("{} {:.0}", stage.name(), share * 100.0));
    told.joined(", ") + " %"
}

fn largest_layers(point: &Point, layers: &Layers) -> Option<String> {
    if layers.rows.is_empty() || layers.tsc_hz == 0 {
        return None;
    }
    let total = layers.clocks.total().0 as f64;
    let told = layers.rows.iter().take(LAYERS).map(|row| {
        let share = ratio(row.time.0 as f64, total) * 100.0;
        format!("{} {} ({share:.0} %)", cut(&row.layer, 16), brief(clocks(layers, row.time.0 as f64)))
    });
    let rest = layers.rows.len().saturating_sub(LAYERS);
    let rest = (rest > 0).then(|| format!("{rest} more"));
    let told = told.chain(rest).joined(", ");
    let series = Some(cut(point.series.name(), 24)).filter(|name| !name.is_empty());
    let head = series.map_or_else(String::new, |series| format!("{series}: "));
    Some(format!("{head}{} {}; {told}", brief(clocks(layers, total)), unit(layers)))
}
