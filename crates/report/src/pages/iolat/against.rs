//! What moved against a saved run, or against what was printed in 2008?

use iostack_model::Interval;
use iostack_model::answers::{IolatComparison, LayerChange, Moved, TestChange};

use super::{clocks, or_dash, share};
use crate::document::{Block, Cell, Column, Row, Section, Table};
use crate::html::numbers::Quantity;
use crate::text::format::{brief, change, percent};

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
    let [words, number] = [Column::words, Column::number];
    let request = number("request there").page();
    let mut table =
        Table::new(vec![words("test"), number("there"), number("here"), request, number("change")]);
    table.columns.extend([number("95 %"), words("it is")]);
    for test in &against.tests {
        table.row(of_test(test, against));
    }
    section.put(Block::Table(table));
    if against.published {
        published(against, &mut section);
    } else {
        saved(against, &mut section);
    }
    section
}

fn of_test(test: &TestChange, against: &IolatComparison) -> [String; 7] {
    let by = test.change_percent;
    let here = test.reference.mean * (1.0 + by.mean / 100.0);
    let known = by.samples >= 3 || against.published;
    let word = match test.moved {
        Moved::Better => "faster",
        Moved::Worse if against.another_machine => "slower",
        Moved::Worse => "SLOWER",
        other => other.name(),
    };
    [
        test.name.clone(),
        Quantity::Count.say(test.reference.mean),
        Quantity::Count.say(here),
        Quantity::Nanos.say(test.reference_request_ns),
        change(by.mean),
        or_dash(known.then_some(by), |by| format!("{} to {}", change(by.low), change(by.high))),
        word.to_owned(),
    ]
}

/// Shares beside those printed, and how the layers of then are read.
fn published(against: &IolatComparison, section: &mut Section) {
    if against.layers.is_empty() {
        return;
    }
    let [words, number] = [Column::words, Column::number];
    let mut table =
        Table::new(vec![words("layer of then"), number("there %"), number("here %, direct tests")]);
    table.columns.extend([words("our layers"), words("why").page()]);
    "By layer".clone_into(&mut table.heading);
    for layer in &against.layers {
        let mapping = against.mapping.iter().find(|mapping| mapping.theirs == layer.layer);
        let ours = mapping.map_or_else(|| layer.layer.clone(), |mapping| mapping.ours.join(" "));
        let theirs = if layer.reference_share.is_some() { &layer.layer } else { "(not printed)" };
        let there = or_dash(layer.reference_share, |share| format!("{:.2}", share.mean * 100.0));
        let why = mapping.map_or("", |mapping| &mapping.why);
        table.row([theirs.into(), there.into(), share(layer.share), Cell::from(ours), why.into()]);
    }
    section.put(Block::Table(table));
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
    let [words, number] = [Column::words, Column::number];
    let mut table = Table::new(vec![words("layer"), words("test"), number("there"), number("here")]);
    table.columns.extend([number("change"), number("was %"), number("is %"), words("beyond chance").page()]);
    "Clocks per I/O by layer".clone_into(&mut table.heading);
    table.rows = moved.iter().chain(&others).map(|layer| of_layer(layer)).collect();
    table.shown = shown;
    let more = format!("{} of them moved", moved.len() - shown);
    table.rest = Some(Row::of([format!("... {} more", all - shown), more]));
    if moved.is_empty() {
        section.fact("layers", format!("none of {all} moved beyond the intervals"));
        section.page(Block::Table(table));
    } else {
        section.put(Block::Table(table));
    }
}

fn of_layer(layer: &LayerChange) -> Row {
    let word = match layer.moved {
        Moved::Better => "fewer",
        Moved::Worse => "more",
        other => other.name(),
    };
    let figure = |figure: Option<Interval>| figure.map_or_else(|| Cell::from("-"), clocks);
    let by = layer.clocks_change.map_or_else(
        || Cell::from("-"),
        |by| {
            let sign = if by.mean < 0.0 { "-" } else { "+" };
            let reach = format!("±{}", brief((by.high - by.low) / 2.0));
            let reach = if by.samples < 3 { String::new() } else { reach };
            Cell::from(format!("{sign}{}", brief(by.mean.abs().round()))).small(reach)
        },
    );
    Row::of([
        Cell::from(&layer.layer),
        Cell::from(&layer.test),
        figure(layer.reference_clocks),
        figure(layer.clocks),
        by,
        or_dash(layer.reference_share, |share| percent(share.mean)).into(),
        percent(layer.share.mean).into(),
        word.into(),
    ])
}
