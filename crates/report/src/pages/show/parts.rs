//! The parts of a simulated device as a drawing of a page, those alike side by side.

use iostack_model::answers::{DeviceCard, DeviceLevel};

use super::{WIDTH, columns, middle};
use crate::html::escape;

/// Most parts of a kind that are drawn side by side.
const COLUMNS: usize = 16;
const LINE: f64 = 19.0;
const GAP: f64 = 26.0;
/// Letters that fit beside a drawing of the whole width.
const LETTERS: usize = 150;

/// The drawing as HTML without its frame.
pub(super) fn figure(card: &DeviceCard) -> String {
    let mut top = 4.0;
    let mut drawn = text(WIDTH / 2.0, top + 12.0, "middle", "host");
    top += LINE;
    let (mut above, mut count) = (1, 1);
    for level in &card.levels {
        // What hangs on each of several stands below it.
        let hangs = count > 1 && level.count >= count;
        let columns = if hangs { above } else { columns(level.count, COLUMNS) };
        drawn += &lines(columns.max(above), top, GAP / 2.0);
        top += GAP / 2.0;
        drawn +=
            &if level.is_way { way(level, columns, &mut top) } else { part(level, columns, count, &mut top) };
        (above, count) = (columns, level.count);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {top}\" role=\"img\" aria-label=\"{}: its parts \
         from the host down\">{drawn}</svg>",
        escape::text(&card.title)
    )
}

fn lines(columns: usize, top: f64, length: f64) -> String {
    (0..columns)
        .map(|column| {
            let x = middle(column, columns);
            format!("<path class=\"base\" d=\"M{x:.1} {top:.1}v{length:.1}\"/>")
        })
        .collect()
}

/// `text` is not escaped yet.
fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escape::text(text))
}

/// Its name and its facts.
fn told(level: &DeviceLevel) -> Vec<String> {
    let name =
        if level.count == 1 { level.name.to_string() } else { format!("{} {}s", level.count, level.name) };
    let mut facts = level.facts.clone();
    match facts.first_mut() {
        Some(first) => *first = format!("{name}: {first}"),
        None => facts.push(name),
    }
    facts
}

fn way(level: &DeviceLevel, columns: usize, top: &mut f64) -> String {
    let mut out = text(WIDTH / 2.0, *top + 13.0, "middle", &told(level).join(", "));
    *top += LINE;
    out += &lines(columns, *top, GAP / 2.0);
    *top += GAP / 2.0;
    out
}

/// One box, or several with what they are below.
fn part(level: &DeviceLevel, columns: usize, above: u64, top: &mut f64) -> String {
    let mut rows = vec![level.name.to_string()];
    if columns == 1 {
        rows.extend(wrapped(&level.facts));
    } else if above > 1 && level.count > above {
        rows.push(format!("× {}", level.count / above));
    }
    let height = rows.len() as f64 * LINE + 8.0;
    let width = if columns == 1 { WIDTH - 8.0 } else { (WIDTH / columns as f64 - 10.0).min(110.0) };
    let mut out = String::new();
    for column in 0..columns {
        let x = middle(column, columns);
        out += &format!(
            "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"6\" fill=\"none\" \
             stroke=\"var(--quiet)\"/>",
            x - width / 2.0,
        );
        for (row, line) in rows.iter().enumerate() {
            out += &text(x, *top + 17.0 + row as f64 * LINE, "middle", line);
        }
    }
    *top += height + 4.0;
    if columns > 1 {
        for line in wrapped(&told(level)) {
            *top += LINE;
            out += &text(WIDTH / 2.0, *top - 5.0, "middle", &line);
        }
    }
    out
}

/// Facts in lines that fit.
fn wrapped(facts: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for fact in facts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + fact.chars().count() <= LETTERS => {
                *line += " · ";
                *line += fact;
            }
            _ => lines.push(fact.clone()),
        }
    }
    lines
}
