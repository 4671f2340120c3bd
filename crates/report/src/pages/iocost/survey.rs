//! How do several exact costs stand beside each other?
//!
//! A line for each case; on a page a bar made of its layers. What all cases have alike stands first, so that the bars
//! begin alike and differ at their ends.

use std::cmp::Reverse;

use iostack_model::answers::IoCost;

use super::words::{clocks, share, sum, tell_apart};
use crate::document::{Bar, Column, Section, Table};
use crate::html::colours::Colours;
use crate::lists::{Joined, distinct};
use crate::text::format::{count, or_dash};

/// Layers named on a screen: where most of a case goes.
const MOST: usize = 4;

/// The cheapest and the dearest, in one sentence.
pub(super) fn answer(costs: &[IoCost]) -> String {
    let names = tell_apart(costs).names;
    let mut order: Vec<(u64, &String)> = costs.iter().map(|cost| cost.instructions).zip(&names).collect();
    order.sort_by_key(|(instructions, _)| *instructions);
    match order[..] {
        [] => "No case was counted.".to_owned(),
        [(low, first), .., (high, last)] => {
            format!("One I/O costs {} instructions ({first}) to {} ({last}).", count(low), count(high))
        }
        [(only, name)] => format!("One I/O costs {} instructions ({name}).", count(only)),
    }
}

/// Facts that all cases share, and each way of counting once.
pub(super) fn head(costs: &[IoCost]) -> Section {
    let mut head = Section::default();
    let common = tell_apart(costs).common;
    if !common.is_empty() {
        head.fact("all", common);
    }
    for how in distinct(costs.iter().map(|cost| &cost.how)) {
        head.fact("counted", how);
    }
    head
}

pub(super) fn section(costs: &[IoCost], colours: &Colours<'_>) -> Section {
    let mut section = Section::new("cases", "Side by side", "The cases side by side");
    let every: Vec<&IoCost> = costs.iter().collect();
    side_by_side(&mut section, &every, &tell_apart(costs).names, colours);
    section.fact("modal %", "share of the I/Os that had exactly so many instructions, the commonest count");
    section.fact("r/w", "reads and writes of the device's registers; - where not counted");
    section
}

/// A row a case, and on a page the instructions of every layer.
pub(super) fn side_by_side(
    section: &mut Section,
    costs: &[&IoCost],
    names: &[String],
    colours: &Colours<'_>,
) {
    let order = order(costs, colours);
    let most = costs.iter().map(|cost| cost.instructions).max().unwrap_or(0) as f64;
    let largest = |cost: &IoCost| {
        let largest = cost.layers.iter().take(MOST).map(|layer| {
            let part = layer.instructions as f64 / cost.instructions.max(1) as f64;
            format!("{} {:.0}", layer.layer, part * 100.0)
        });
        largest.joined(", ")
    };
    let table = Table::over(costs.iter().copied().zip(names))
        .words("case", |(_, name)| name)
        .column(Column::bars("").page(), |(cost, _)| Bar { parts: parts(cost, &order, colours), most })
        .number("instr.", |(cost, _)| count(cost.instructions))
        .number("modal %", |(cost, _)| or_dash(cost.modes.first(), |mode| share(mode.ios, cost.ios)))
        .number("r/w", |(cost, _)| {
            or_dash(cost.registers(), |(reads, writes)| format!("{}/{}", count(reads), count(writes)))
        })
        .number("clocks", |(cost, _)| or_dash(clocks(cost), count))
        .column(Column::words("most of it in, %").screen(), |(cost, _)| largest(cost));
    section.table(Table { heading: "Instructions of one I/O by layer".to_owned(), ..table.done() });
    let layers = layers(costs);
    let mut numbers = Table::over(&layers).words("layer", |layer| layer);
    for (cost, name) in costs.iter().zip(names) {
        numbers = numbers.number(name, |layer| count(of_layer(cost, layer)));
    }
    section.folded(format!("All {} layers in numbers", layers.len()), numbers.done());
}

/// Instructions of a layer; none where a case does not have it.
fn of_layer(cost: &IoCost, layer: &str) -> u64 {
    sum(cost.layers.iter().filter(|row| row.layer == layer).map(|row| row.instructions))
}

/// All layers of all cases, by their sum, largest first.
pub(super) fn layers(costs: &[&IoCost]) -> Vec<String> {
    let mut names: Vec<String> =
        costs.iter().flat_map(|cost| &cost.layers).map(|row| row.layer.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names.sort_by_key(|name| Reverse(sum(costs.iter().map(|cost| of_layer(cost, name)))));
    names
}

/// The layers with a colour of their own, those that differ least from case to case first.
fn order<'a>(costs: &[&IoCost], colours: &Colours<'a>) -> Vec<&'a str> {
    let mut order = colours.named().to_vec();
    order.sort_by_key(|layer| {
        let values = || costs.iter().map(|cost| of_layer(cost, layer));
        (values().max().unwrap_or(0) - values().min().unwrap_or(0), Reverse(values().next()))
    });
    order
}

/// Parts of the bar of a case; what has no colour of its own is its grey end.
fn parts(cost: &IoCost, order: &[&str], colours: &Colours<'_>) -> Vec<(usize, f64, String)> {
    let rest = cost.layers.iter().filter(|row| !order.contains(&row.layer.as_str()));
    let rest = (colours.slot(""), sum(rest.map(|row| row.instructions)), "smaller ones");
    let known = order.iter().map(|&layer| (colours.slot(layer), of_layer(cost, layer), layer));
    let parts = known.chain([rest]).filter(|(_, own, _)| *own > 0);
    parts.map(|(slot, own, name)| (slot, own as f64, name.to_owned())).collect()
}
