//! What changed between two exact costs?
//!
//! A bar to the left for a layer that became cheaper, to the right for one that became dearer, then the functions.
//! Start reading at [`body`].

use std::fmt::Write as _;

use iostack_model::{CostChange, CostDiff};

use super::layers::Colours;
use super::numbers::grouped;
use super::table::{pairs, table};
use super::{costbars, escape};
use crate::iocost::{circumstances, clocks};

/// Functions shown before the fold.
const FUNCTIONS: usize = 24;

/// The change with its sign.
pub(super) fn signed(before: u64, after: u64) -> String {
    let sign = match before.cmp(&after) {
        std::cmp::Ordering::Less => "+",
        std::cmp::Ordering::Equal => "",
        std::cmp::Ordering::Greater => "\u{2212}",
    };
    format!("{sign}{}", grouped(after.abs_diff(before)))
}

/// The same of the share, with a minus of its own.
fn change_percent(before: u64, after: u64) -> String {
    crate::iocost::change_percent(before, after).replace('-', "\u{2212}").replace(' ', "\u{202f}")
}

/// The change in one sentence, plain text.
pub(super) fn answer(diff: &CostDiff) -> String {
    let (before, after) = (diff.before.instructions, diff.after.instructions);
    if before == after && diff.functions.is_empty() {
        return format!("Nothing changed: {} instructions before and after", grouped(after));
    }
    let most = diff.layers.first().map_or_else(String::new, |layer| {
        format!(", most of it in {}: {}", layer.name, signed(layer.before, layer.after))
    });
    format!("{} instructions ({}){most}", signed(before, after), change_percent(before, after))
}

/// Everything about a difference.
pub(super) fn body(diff: &CostDiff, colours: &Colours<'_>) -> String {
    let cases = ["before".to_owned(), "after".to_owned()];
    let varied = if diff.varied.is_empty() {
        "nothing: the same case twice".to_owned()
    } else {
        diff.varied.join("; ")
    };
    let list = pairs(&[
        ("Varied", escape::text(&varied)),
        ("Before", escape::text(&circumstances(&diff.before.case))),
        ("After", escape::text(&circumstances(&diff.after.case))),
    ]);
    let caption = "modal I/O of each; bars from a common zero";
    list + &whole(diff)
        + &format!(
            "<div class=\"figures\">{}{}</div>",
            costbars::figure(&[&diff.before, &diff.after], &cases, colours, caption),
            by_layer(diff, colours)
        )
        + &by_function(diff, colours)
}

fn whole(diff: &CostDiff) -> String {
    let row = |name: &str, before: u64, after: u64| {
        vec![
            name.to_owned(),
            grouped(before),
            grouped(after),
            signed(before, after),
            change_percent(before, after),
        ]
    };
    let mut rows = vec![row("instructions", diff.before.instructions, diff.after.instructions)];
    if let Some((before, after)) = diff.before.registers().zip(diff.after.registers()) {
        rows.push(row("register reads", before.0, after.0));
        rows.push(row("register writes", before.1, after.1));
    }
    if let Some((before, after)) = clocks(&diff.before).zip(clocks(&diff.after)) {
        rows.push(row("modelled clocks", before, after));
    }
    table(&["of one I/O", "before", "after", "change", ""], &rows)
}

fn by_layer(diff: &CostDiff, colours: &Colours<'_>) -> String {
    if diff.layers.is_empty() {
        return "<p class=\"note\">No layer changed.</p>".to_owned();
    }
    let most = diff.layers.iter().map(|one| one.after.abs_diff(one.before)).max().unwrap_or(0).max(1);
    let mut rows = String::new();
    for one in &diff.layers {
        let width = one.after.abs_diff(one.before) as f64 / most as f64 * 49.0;
        let from = if one.after >= one.before { 50.0 } else { 50.0 - width };
        write!(
            rows,
            "<tr><th>{name}</th><td class=\"bar s{slot}\"><svg width=\"100%\" height=\"16\" role=\"img\" \
             aria-label=\"{name} {change}\"><rect x=\"{from:.2}%\" y=\"2\" width=\"{width:.2}%\" height=\"12\"/>\
             <line x1=\"50%\" x2=\"50%\" y1=\"0\" y2=\"16\"/></svg></td><td class=\"number\">{before}</td>\
             <td class=\"number\">{after}</td><td class=\"number\">{change}</td><td class=\"number percent\">{percent}</td></tr>",
            name = escape::text(&one.name),
            slot = colours.slot(&one.name),
            before = grouped(one.before),
            after = grouped(one.after),
            change = signed(one.before, one.after),
            percent = change_percent(one.before, one.after),
        )
        .expect("a string takes everything");
    }
    format!(
        "<figure class=\"bars changes\"><h4>Which layers changed</h4><div class=\"scroll\"><table><thead><tr><th>layer</th>\
         <th class=\"axis\">fewer | more</th><th class=\"number\">before</th><th class=\"number\">after</th>\
         <th class=\"number\">change</th><th class=\"percent\"></th></tr></thead><tbody>{rows}</tbody></table></div>\
         <figcaption>layers without a change are left out; the changes add up to that of the whole</figcaption></figure>"
    )
}

fn by_function(diff: &CostDiff, colours: &Colours<'_>) -> String {
    if diff.functions.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = diff.functions.iter().map(|one| row(one, colours)).collect();
    let heads = ["function", "before", "after", "change", "", "layer"];
    let (first, rest) = rows.split_at(rows.len().min(FUNCTIONS));
    let rest = if rest.is_empty() {
        String::new()
    } else {
        format!("<details><summary>{} more functions</summary>{}</details>", rest.len(), table(&heads, rest))
    };
    format!("<h3>Which functions changed</h3>{}{rest}", table(&heads, first))
}

fn row(one: &CostChange, colours: &Colours<'_>) -> Vec<String> {
    vec![
        super::iocost::dotted(&one.name, colours.slot(&one.layer)),
        grouped(one.before),
        grouped(one.after),
        signed(one.before, one.after),
        change_percent(one.before, one.after),
        escape::text(&one.layer),
    ]
}
