//! Many exact costs in one table: what each I/O costs, where most of it goes, and what the registers would add.

use iostack_model::IoCost;

use super::WIDTH;
use super::format::{both_ends, clean, count, cut, paragraph, percent};
use super::layers::share;
use crate::iocost::{LIMITS, PUBLISHED, clocks, prices, tell_apart};

/// Columns of the names at most; a longer name has a line of its own.
const NAME: usize = 30;
/// Columns of the figures after the name.
const FIGURES: usize = 9 + 9 + 7 + 9 + 2;

/// The table of a survey, in the order of the cases.
pub fn costs_text(costs: &[IoCost]) -> String {
    let cases = match costs.len() {
        1 => "1 case".to_owned(),
        cases => format!("{cases} cases"),
    };
    let title = both_ends("COST of one I/O, in instructions", &cases);
    let told = tell_apart(costs);
    let mut text = title;
    if !told.common.is_empty() {
        text += &paragraph("all        ", &told.common);
    }
    text += &methods(costs);
    if costs.is_empty() {
        return clean(&(text + "\nno case was counted\n\nnext: iostack lab cost scsi_ram\n"));
    }
    text += "\n";
    text += &table(costs, &told.names);
    text += "\n";
    text += &foot(costs);
    clean(
        &(text
            + "\nnext: iostack lab cost "
            + &cut(&costs[0].case.device, 24)
            + "    # functions of one case\n"),
    )
}

/// Each way of counting once.
fn methods(costs: &[IoCost]) -> String {
    let mut ways: Vec<&str> = Vec::new();
    for cost in costs {
        if !ways.contains(&cost.how.as_str()) {
            ways.push(&cost.how);
        }
    }
    ways.iter().map(|way| paragraph("counted    ", way)).collect()
}

fn table(costs: &[IoCost], names: &[String]) -> String {
    let widest = names.iter().map(|name| name.chars().count()).filter(|&width| width <= NAME).max();
    let width = widest.unwrap_or(0).max(8);
    let mut text = format!(
        "{:<width$}{:>9}{:>9}{:>7}{:>9}  most of it in, %\n",
        "CASE", "instr.", "modal %", "r/w", "clocks"
    );
    for (cost, name) in costs.iter().zip(names) {
        if name.chars().count() > width {
            text += &paragraph("", name);
            text += &row(cost, "", width);
        } else {
            text += &row(cost, name, width);
        }
    }
    text
}

fn row(cost: &IoCost, name: &str, width: usize) -> String {
    let registers =
        cost.registers().map_or_else(|| "-".to_owned(), |(reads, writes)| format!("{reads}/{writes}"));
    let clocks = clocks(cost).map_or_else(|| "-".to_owned(), count);
    format!(
        "{name:<width$}{:>9}{:>9}{registers:>7}{clocks:>9}  {}\n",
        count(cost.instructions),
        percent(cost.modal_share()),
        largest(cost, WIDTH - width - FIGURES)
    )
}

/// As many of the largest layers as fit, with their share in percent.
fn largest(cost: &IoCost, room: usize) -> String {
    let mut text = String::new();
    for layer in &cost.layers {
        let share = share(layer.instructions as f64, cost.instructions as f64) * 100.0;
        let comma = if text.is_empty() { "" } else { ", " };
        let one = format!("{comma}{} {share:.0}", layer.layer);
        if text.chars().count() + one.chars().count() > room {
            break;
        }
        text += &one;
    }
    text
}

fn foot(costs: &[IoCost]) -> String {
    let mut text =
        paragraph("r/w        ", "reads and writes of the device's registers; - where not counted");
    text += &paragraph("clocks     ", &format!("modelled, not measured: {}", prices(costs.iter())));
    text += &paragraph("published  ", &format!("{PUBLISHED}."));
    LIMITS.iter().fold(text, |text, limit| text + &paragraph("  - ", limit))
}
