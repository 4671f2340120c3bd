//! The parts of a simulated device as a drawing of letters.

use iostack_model::answers::DeviceLevel;

use super::columns;
use crate::lists::Joined;
use crate::text::WIDTH;
use crate::text::format::{cut, paragraph};

/// Most parts of a kind that are drawn side by side.
pub(super) const COLUMNS: usize = 8;
/// Width of a column.
pub(super) const STEP: usize = 9;
/// Letters inside a box as wide as the page.
pub(super) const INSIDE: usize = WIDTH - 8;
/// Blanks before the middle of the first box.
const MARGIN: usize = STEP / 2 - 1;

/// The parts below each other, those that are alike side by side.
pub(super) fn drawing(levels: &[DeviceLevel]) -> String {
    let mut out = format!("  {:MARGIN$}host\n", "");
    let (mut above, mut joined) = (1, true);
    for level in levels {
        // What hangs on each of several stands below it.
        let hangs = above > 1 && level.count >= above;
        let columns = columns(if hangs { above } else { level.count }, COLUMNS);
        if !joined && !level.is_way {
            out += &repeated("|", columns);
        }
        joined = level.is_way;
        out += &match (level.is_way, columns) {
            (true, 1) => line(level),
            (true, columns) => lines(level, columns),
            (false, 1) => wide(level),
            (false, columns) => row(level, columns, above),
        };
        above = level.count;
    }
    out
}

/// The same text in the middle of each of the columns.
pub(super) fn repeated(text: &str, columns: usize) -> String {
    let one = format!("{text:^STEP$}");
    format!("  {}\n", one.repeat(columns).trim_end())
}

/// A box as wide as the page around lines.
pub(super) fn boxed(lines: &[String]) -> String {
    let edge = format!("  +{}+\n", "-".repeat(INSIDE + 2));
    let lines = lines.iter().map(|line| format!("  | {:<INSIDE$} |\n", cut(line, INSIDE))).joined("");
    edge.clone() + &lines + &edge
}

fn told(level: &DeviceLevel) -> String {
    let facts = level.facts.join(", ");
    if level.count == 1 {
        return format!("{}: {facts}", level.name);
    }
    let some = level.is_way && level.count > COLUMNS as u64;
    let drawn = if some { format!(" ({COLUMNS} drawn)") } else { String::new() };
    format!("{} {}s{drawn}, each: {facts}", level.count, level.name)
}

/// A line down, with what goes over it beside.
fn line(level: &DeviceLevel) -> String {
    let mark = repeated("|", 1);
    let text = paragraph(&" ".repeat(MARGIN + 5), &told(level));
    let drawn = mark.trim_end();
    let beside = text.lines().map(|line| format!("{drawn}{}\n", &line[drawn.len()..])).joined("");
    if level.facts.is_empty() { mark } else { mark.clone() + &beside + &mark }
}

/// Several lines down, below what goes over each.
fn lines(level: &DeviceLevel, columns: usize) -> String {
    let mark = repeated("|", columns);
    mark.clone() + &paragraph("  ", &told(level)) + &mark
}

/// One box as wide as the page.
fn wide(level: &DeviceLevel) -> String {
    let mut lines = vec![level.name.to_string()];
    for fact in &level.facts {
        match lines.last_mut() {
            Some(line)
                if line.starts_with(' ') && line.chars().count() + 2 + fact.chars().count() <= INSIDE =>
            {
                *line += "; ";
                *line += fact;
            }
            _ => lines.push(format!("  {fact}")),
        }
    }
    boxed(&lines)
}

/// Small boxes side by side, and below them what each is.
fn row(level: &DeviceLevel, columns: usize, above: u64) -> String {
    let inside = STEP - 4;
    let edge = repeated(&format!("+{}+", "-".repeat(inside)), columns);
    let boxed = |text: &str| repeated(&format!("|{:^inside$}|", cut(text, inside)), columns);
    let mut out = edge.clone() + &boxed(level.name.name());
    let share = if above > 1 { level.count / above } else { 1 };
    if share > 1 {
        out += &boxed(&format!("x {share}"));
    }
    out + &edge + &paragraph("  ", &told(level))
}
