//! What changed between two exact costs?

use iostack_model::answers::{CALLS, CostChange, CostDiff};

use super::survey::side_by_side;
use super::words::{change, change_percent, circumstances, clocks, share, sum};
use crate::document::{Bar, Block, Cell, Column, Columns, Row, Section, Table};
use crate::html::colours::Colours;
use crate::lists::Joined;
use crate::text::format::{count, or_dash};

/// Functions before the fold.
const FUNCTIONS: usize = 24;

/// Paths before the fold, and names of each.
const PATHS: usize = 8;
const PATH_NAMES: usize = 4;

/// The change in one sentence.
pub(super) fn answer(diff: &CostDiff) -> String {
    let (before, after) = (diff.before.instructions, diff.after.instructions);
    if before == after && diff.functions.is_empty() {
        return format!("Nothing changed: {} instructions before and after.", count(after));
    }
    let most = diff.layers.first().map_or_else(String::new, |layer| {
        format!(", most of it in {}: {}", layer.name, change(layer.before, layer.after))
    });
    format!("{} instructions ({}){most}.", change(before, after), change_percent(before, after))
}

/// Sections on what was varied, then the whole, the layers and the functions that differ.
pub(super) fn sections(diff: &CostDiff, colours: &Colours<'_>) -> Vec<Section> {
    let mut head = Section::default();
    for one in &diff.varied {
        head.fact("varied", one);
    }
    if diff.varied.is_empty() {
        head.fact("varied", "nothing: the same case twice");
    }
    head.fact("before", circumstances(&diff.before.case)).fact("after", circumstances(&diff.after.case));
    let mut whole = Section::new("changed", "What changed", "What changed");
    whole.table(figures(diff));
    let names = ["before", "after"].map(str::to_owned);
    let mut bars = Section::default();
    side_by_side(&mut bars, &[&diff.before, &diff.after], &names, colours);
    whole.blocks.extend(bars.on_page().blocks);
    vec![head, whole, layers(diff, colours), functions(diff, colours), paths(diff)]
}

/// Columns: before, after, the change, and the change in percent.
fn changes<Each: Copy>(mut table: Columns<Each>, of: impl Fn(Each) -> (u64, u64)) -> Columns<Each> {
    for (at, head) in ["before", "after", "change", "%"].into_iter().enumerate() {
        table = table.number(head, |each| cells(of(each))[at].clone());
    }
    table
}

fn cells((before, after): (u64, u64)) -> [String; 4] {
    [count(before), count(after), change(before, after), change_percent(before, after)]
}

fn figures(diff: &CostDiff) -> Table {
    let CostDiff { before, after, .. } = diff;
    let registers = before.registers().zip(after.registers());
    let rows = [
        ("instructions", Some((before.instructions, after.instructions))),
        ("register reads", registers.map(|(before, after)| (before.0, after.0))),
        ("register writes", registers.map(|(before, after)| (before.1, after.1))),
        ("modelled clocks", clocks(before).zip(clocks(after))),
    ];
    let rows = rows.into_iter().filter_map(|(name, figures)| Some((name, figures?)));
    let mut table = changes(Table::over(rows).words("of one I/O", |(name, _)| name), |(_, of)| of).done();
    let modal = [before, after].map(|cost| or_dash(cost.modes.first(), |mode| share(mode.ios, cost.ios)));
    table.row(std::iter::once("I/Os that had it, %".to_owned()).chain(modal));
    table
}

/// Table of each layer with a bar to the left for fewer, to the right for more.
fn layers(diff: &CostDiff, colours: &Colours<'_>) -> Section {
    let mut section = Section::new("layers", "Layers", "Which layers changed");
    if diff.layers.is_empty() {
        section.put(Block::Note("No layer changed.".to_owned()));
        return section;
    }
    let most = diff.layers.iter().map(|one| one.after.abs_diff(one.before)).max().unwrap_or(0).max(1) as f64;
    let table =
        changes(Table::over(&diff.layers).words("layer", |one| &one.name), |one| (one.before, one.after));
    let table = table.column(Column::changes(), |one| {
        Bar::whole(one.after as f64 - one.before as f64, most, colours.slot(&one.name))
    });
    let caption = "Layers without a change are left out; the changes add up to that of the whole.";
    section.table(Table { caption: caption.to_owned(), ..table.done() });
    section
}

fn functions(diff: &CostDiff, colours: &Colours<'_>) -> Section {
    let mut section = Section::new("functions", "Functions", "Which functions changed");
    if diff.functions.is_empty() {
        return section;
    }
    let table = Table::over(&diff.functions)
        .words("function", |one| Cell::from(&one.name).coloured(colours.slot(&one.layer)))
        .words("layer", |one| &one.layer);
    let mut table = changes(table, |one| (one.before, one.after)).done();
    let sums = |name: String, rows: &[CostChange]| {
        let both = (sum(rows.iter().map(|one| one.before)), sum(rows.iter().map(|one| one.after)));
        Row::of([name, String::new()].into_iter().chain(cells(both)))
    };
    let rest = &diff.functions[diff.functions.len().min(FUNCTIONS)..];
    table.shown = FUNCTIONS;
    table.rest = Some(sums(format!("... {} more", count(rest.len() as u64)), rest));
    table.sums.push(sums("SUM of what changed".to_owned(), &diff.functions));
    section.table(table);
    let varies = |name: &str| {
        let rows = diff.before.functions.iter().chain(&diff.after.functions).filter(|row| row.name == name);
        rows.filter_map(|row| row.alike).any(|share| share < 1.0)
    };
    let chance = diff.functions.iter().map(|one| one.name.as_str()).filter(|name| varies(name)).joined(", ");
    if !chance.is_empty() {
        section.put(Block::Note(format!(
            "Not the same in all I/Os of one side, so that a change may be chance: {chance}."
        )));
    }
    section
}

/// Places in the tree of calls at which a function changed: one that did in one place of several is told apart.
fn paths(diff: &CostDiff) -> Section {
    let mut section = Section::new("paths", "Paths", "On which path of calls");
    if diff.paths.is_empty() {
        return section;
    }
    // On the screen the innermost callers tell enough.
    let short = |one: &CostChange| {
        let names: Vec<&str> = one.name.rsplitn(PATH_NAMES + 1, CALLS).collect();
        let inner = names.iter().take(PATH_NAMES).rev().joined(CALLS);
        if names.len() > PATH_NAMES { format!("..{CALLS}{inner}") } else { inner }
    };
    let table = Table::over(&diff.paths).words("path", short);
    let mut table = table.number("change", |one| change(one.before, one.after)).done();
    table.shown = PATHS;
    section.table(table);
    section
}
