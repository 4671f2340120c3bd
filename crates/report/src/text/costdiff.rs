//! What changed between two exact costs, and does a budget hold?

use iostack_model::{BudgetVerdict, CostChange, CostDiff};

use super::format::{both_ends, clean, count, cut, paragraph};
use super::glyphs::bar;
use crate::iocost::{LIMITS, change, change_percent, circumstances, clocks, subject};

/// Functions told; JSON and HTML have all.
const FUNCTIONS: usize = 24;
/// Cells of each side of a layer's bar.
const SIDE: usize = 10;

/// Two costs side by side: the whole, then the layers and the functions that differ.
pub fn costdiff_text(diff: &CostDiff) -> String {
    let mut parts = vec![head(diff), whole(diff), by_layer(diff), by_function(diff)];
    parts.push(LIMITS.iter().map(|limit| paragraph("  - ", limit)).collect());
    parts.retain(|part| !part.is_empty());
    let device = &diff.before.case.device;
    let next = format!("\nnext: iostack lab cost {device}    # functions of one case\n");
    clean(&(parts.join("\n") + &next))
}

fn head(diff: &CostDiff) -> String {
    let title = both_ends("WHAT CHANGED in one I/O, in instructions", &cut(&subject(&diff.after.case), 38));
    let mut text = title;
    for varied in &diff.varied {
        text += &paragraph("varied     ", varied);
    }
    if diff.varied.is_empty() {
        text += &paragraph("varied     ", "nothing: the same case twice");
    }
    text + &paragraph("case       ", &circumstances(&diff.after.case))
}

fn whole(diff: &CostDiff) -> String {
    let (before, after) = (diff.before.instructions, diff.after.instructions);
    let mut text = columns("", "before", "after", "change", "%");
    text += &columns(
        "INSTRUCTIONS",
        &count(before),
        &count(after),
        &change(before, after),
        &change_percent(before, after),
    );
    let registers = diff.before.registers().zip(diff.after.registers());
    if let Some(((reads, writes), (reads_after, writes_after))) = registers {
        text += &line("register reads", reads, reads_after);
        text += &line("register writes", writes, writes_after);
    }
    if let Some((before, after)) = clocks(&diff.before).zip(clocks(&diff.after)) {
        text += &line("modelled clocks", before, after);
    }
    let modal = [&diff.before, &diff.after].map(|cost| format!("{:.1}", cost.modal_share() * 100.0));
    text + &columns("I/Os that had it, %", &modal[0], &modal[1], "", "")
}

fn line(name: &str, before: u64, after: u64) -> String {
    columns(name, &count(before), &count(after), &change(before, after), &change_percent(before, after))
}

fn columns(name: &str, before: &str, after: &str, change: &str, percent: &str) -> String {
    format!("{:<22}{before:>12}{after:>12}{change:>12}{percent:>10}\n", cut(name, 21))
}

/// Each layer with a bar to the left for fewer, to the right for more.
fn by_layer(diff: &CostDiff) -> String {
    if diff.layers.is_empty() {
        return paragraph("", "No layer changed.");
    }
    let most = diff.layers.iter().map(|one| one.after.abs_diff(one.before)).max().unwrap_or(0) as f64;
    let mut text = format!(
        "{:<15}{:>10}{:>10}{:>11}{:>10}  {:>SIDE$}|more\n",
        "LAYER", "before", "after", "change", "%", "fewer"
    );
    for one in &diff.layers {
        text += &format!(
            "{:<15}{:>10}{:>10}{:>11}{:>10}  {}\n",
            cut(&one.name, 14),
            count(one.before),
            count(one.after),
            change(one.before, one.after),
            change_percent(one.before, one.after),
            two_sided(one, most)
        );
    }
    text
}

/// A bar to the left is made of whole cells, since the eighths of a cell grow from the left.
fn two_sided(one: &CostChange, most: f64) -> String {
    let size = one.after.abs_diff(one.before) as f64;
    if one.after > one.before {
        return format!("{:SIDE$}|{}", "", bar(size, most, SIDE));
    }
    let cells = ((size / most.max(1.0) * SIDE as f64).round() as usize).clamp(1, SIDE);
    format!("{:>SIDE$}|", "█".repeat(cells))
}

fn by_function(diff: &CostDiff) -> String {
    if diff.functions.is_empty() {
        return String::new();
    }
    let mut text =
        format!("{:<40}{:<10}{:>10}{:>10}{:>10}\n", "FUNCTION", "layer", "before", "after", "change");
    for one in diff.functions.iter().take(FUNCTIONS) {
        text += &format!(
            "{:<40}{:<10}{:>10}{:>10}{:>10}\n",
            cut(&one.name, 39),
            cut(&one.layer, 9),
            count(one.before),
            count(one.after),
            change(one.before, one.after)
        );
    }
    let rest = &diff.functions[diff.functions.len().min(FUNCTIONS)..];
    let sums = |rows: &[CostChange]| -> (u64, u64) {
        (rows.iter().map(|one| one.before).sum(), rows.iter().map(|one| one.after).sum())
    };
    if !rest.is_empty() {
        let (before, after) = sums(rest);
        let name = format!("... {} more", count(rest.len() as u64));
        text += &sum_row(&name, before, after);
    }
    let (before, after) = sums(&diff.functions);
    text + &sum_row("SUM of what changed", before, after)
}

fn sum_row(name: &str, before: u64, after: u64) -> String {
    format!("{name:<50}{:>10}{:>10}{:>10}\n", count(before), count(after), change(before, after))
}

/// Which budgets hold, and what grew where one does not.
pub fn budget_text(verdicts: &[BudgetVerdict]) -> String {
    let broken = verdicts.iter().filter(|verdict| !verdict.holds).count();
    let answer = match (verdicts.len(), broken) {
        (0, _) => "nothing was held against a budget".to_owned(),
        (all, 0) => format!("all {all} hold"),
        (all, broken) => format!("{broken} of {all} DO NOT HOLD"),
    };
    let mut text = both_ends("BUDGETS of instructions for one I/O", &answer);
    if !verdicts.is_empty() {
        text += &format!("\n{:<39}{:>10}{:>10}{:>11}  {}\n", "CASE", "counted", "allowed", "", "holds");
    }
    for verdict in verdicts {
        text += &format!(
            "{:<39}{:>10}{:>10}{:>11}  {}\n",
            cut(&verdict.name, 38),
            count(verdict.counted),
            count(verdict.allowed),
            change(verdict.allowed, verdict.counted),
            if verdict.holds { "yes" } else { "NO" }
        );
        text += &verdict.grown.iter().map(grown).collect::<String>();
    }
    let next = if broken > 0 {
        "iostack lab cost scsi_ram --diff . source=DIR    # what changed"
    } else {
        "iostack lab cost scsi_ram    # functions of one case"
    };
    clean(&(text + "\nnext: " + next + "\n"))
}

/// A layer or a function that grew beyond the file's own figure.
fn grown(one: &CostChange) -> String {
    let name = if one.layer.is_empty() {
        format!("  layer {}", one.name)
    } else {
        // A module's function says by its name where it belongs.
        let layer =
            if one.name.contains(':') { String::new() } else { format!(" ({})", cut(&one.layer, 12)) };
        format!("    {}{layer}", cut(&one.name, 34 - layer.chars().count()))
    };
    format!(
        "{:<39}{:>10}{:>10}{:>11}\n",
        cut(&name, 38),
        count(one.after),
        count(one.before),
        change(one.before, one.after)
    )
}
