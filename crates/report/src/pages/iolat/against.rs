//! What moved against a saved run, or against what was printed in 2008?

use iostack_model::Interval;
use iostack_model::answers::{IolatComparison, LayerChange, Moved, TestChange};

use super::{clocks, share};
use crate::document::{Block, Cell, Column, Row, Section, Table};
use crate::html::numbers::Quantity;
use crate::text::format::{brief, change, or_dash, percent};

/// Changed layers before the fold.
const CHANGES: usize = 20;

pub(super) fn section(against: &IolatComparison) -> Section {
    let mut section = Section::new("against", "Against", &format!("Against {}", against.name));
    section.fact("AGAINST", format!("{}: {}", against.name, against.source));
    if against.another_machine {
        let note = "Another machine. A difference is that of two machines, not of a change.";
        section.page(Block::Note(note.to_owned()));
    }
    section.list(against.conditions.clone());
    if against.tests.is_empty() {
        section.words("no test in common");
        return section;
    }
    let here = |test: &TestChange| test.reference.mean * (1.0 + test.change_percent.mean / 100.0);
    let known = |by: &Interval| by.samples >= 3 || against.published;
    let request = Column::number("request there").page();
    let table = Table::over(&against.tests)
        .words("test", |test| &test.name)
        .number("there", |test| Quantity::Count.say(test.reference.mean))
        .number("here", |test| Quantity::Count.say(here(test)))
        .column(request, |test| Quantity::Nanos.say(test.reference_request_ns))
        .number("change", |test| change(test.change_percent.mean))
        .number("95 %", |test| {
            let by = Some(test.change_percent).filter(known);
            or_dash(by, |by| format!("{} to {}", change(by.low), change(by.high)))
        })
        .words("it is", |test| match test.moved {
            Moved::Better => "faster",
            Moved::Worse if against.another_machine => "slower",
            Moved::Worse => "SLOWER",
            other => other.name(),
        });
    section.table(table.done());
    if against.published {
        published(against, &mut section);
    } else {
        saved(against, &mut section);
    }
    section
}

/// Shares beside those printed, and how the layers of then are read.
fn published(against: &IolatComparison, section: &mut Section) {
    if against.layers.is_empty() {
        return;
    }
    let mapping = |layer: &LayerChange| against.mapping.iter().find(|mapping| mapping.theirs == layer.layer);
    let table = Table::over(&against.layers)
        .words("layer of then", |layer| {
            if layer.reference_share.is_some() { layer.layer.as_str() } else { "(not printed)" }
        })
        .number("there %", |layer| {
            or_dash(layer.reference_share, |share| format!("{:.2}", share.mean * 100.0))
        })
        .number("here %, direct tests", |layer| share(layer.share))
        .words("our layers", |layer| {
            mapping(layer).map_or_else(|| layer.layer.clone(), |mapping| mapping.ours.join(" "))
        })
        .column(Column::words("why").page(), |layer| {
            mapping(layer).map_or("", |mapping| mapping.why.as_str())
        });
    section.table(Table { heading: "By layer".to_owned(), ..table.done() });
}

/// The layers that moved, then the others: what a change of the kernel or the driver did.
fn saved(against: &IolatComparison, section: &mut Section) {
    let has_moved = |layer: &&LayerChange| matches!(layer.moved, Moved::Better | Moved::Worse);
    let (moved, others): (Vec<_>, Vec<_>) = against.layers.iter().partition(has_moved);
    let (all, shown) = (against.layers.len(), moved.len().min(CHANGES));
    if all == 0 {
        section.words("layers were not measured in both");
        return;
    }
    let table = Table::over(moved.iter().chain(&others).copied())
        .words("layer", |layer| &layer.layer)
        .words("test", |layer| &layer.test)
        .number("there", |layer| or_dash(layer.reference_clocks, clocks))
        .number("here", |layer| or_dash(layer.clocks, clocks))
        .number("change", |layer| or_dash(layer.clocks_change, clocks_change))
        .number("was %", |layer| or_dash(layer.reference_share, |share| percent(share.mean)))
        .number("is %", |layer| percent(layer.share.mean))
        .column(Column::words("beyond chance").page(), |layer| match layer.moved {
            Moved::Better => "fewer",
            Moved::Worse => "more",
            other => other.name(),
        });
    let more = format!("{} of them moved", moved.len() - shown);
    let rest = Some(Row::of([format!("... {} more", all - shown), more]));
    let table = Table { heading: "Clocks per I/O by layer".to_owned(), shown, rest, ..table.done() };
    if moved.is_empty() {
        section.fact("layers", format!("none of {all} moved beyond the intervals"));
        section.page(Block::Table(table));
    } else {
        section.table(table);
    }
}

fn clocks_change(by: Interval) -> Cell {
    let sign = if by.mean < 0.0 { "-" } else { "+" };
    let around =
        if by.samples < 3 { String::new() } else { format!("±{}", brief((by.high - by.low) / 2.0)) };
    Cell::from(format!("{sign}{}", brief(by.mean.abs().round()))).small(around)
}
