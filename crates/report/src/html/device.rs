//! What is a simulated device made of, and why should its numbers be believed?
//!
//! The page of `iostack sim show --html`: a drawing that needs no script, the numbers with their reasons, the claims.

use iostack_model::{Basis, DeviceCard, DeviceClaim, DeviceLevel, DeviceNumber};

use super::page::{Section, document};
use super::sheet::Sheet;
use super::{escape, table};

const WIDTH: f64 = 1130.0;
/// Most parts of a kind that are drawn side by side.
const COLUMNS: usize = 16;
const LINE: f64 = 19.0;
const GAP: f64 = 26.0;
/// Letters that fit beside a drawing of the whole width.
const LETTERS: usize = 150;

/// The whole document.
pub(super) fn page(card: &DeviceCard) -> String {
    let mut sections = vec![
        Section::new("drawing", "Drawing", "What it is made of", figure(card)),
        Section::new("numbers", "Numbers", "Its numbers, and why to believe them", numbers(card)),
    ];
    if !card.claims.is_empty() {
        sections.push(Section::new("claims", "Claims", "What it must reach", claims(&card.claims)));
    }
    if !card.sources.is_empty() {
        sections.push(Section::new("sources", "Sources", "Sources", sources(&card.sources)));
    }
    document(&card.title, &header(card), &sections, &Sheet::bare(), &raw(card))
}

/// Title and what to know.
pub(super) fn header(card: &DeviceCard) -> String {
    let year = card.year.map_or(String::new(), |year| format!(", {year}"));
    format!(
        "<p class=\"kicker\"><b>SIMULATED</b> · sim:{name} · {kind}{year} · {origin}</p><h1>{title}</h1><p>{about}</p>\
         <p class=\"doubtline\">{sourced} of its numbers have a source, {fitted} are fitted to a claim, {assumed} are \
         assumed.{changed}</p>",
        name = escape::text(&card.name),
        kind = escape::text(&card.kind),
        origin = escape::text(&card.origin),
        title = escape::text(&card.title),
        about = escape::text(&card.about),
        sourced = card.sourced,
        fitted = card.fitted,
        assumed = card.assumed,
        changed = changed(card),
    )
}

/// The numbers as they are written in a file.
pub(super) fn raw(card: &DeviceCard) -> String {
    let numbers = card.numbers.iter().filter(|number| !number.value.is_empty());
    let numbers: Vec<String> = numbers
        .map(|number| format!("{}:{}", escape::json(&number.key), escape::json(&number.value)))
        .collect();
    format!(
        "{{\"name\":{},\"kind\":{},\"numbers\":{{{}}}}}",
        escape::json(&card.name),
        escape::json(&card.kind),
        numbers.join(",")
    )
}

fn changed(card: &DeviceCard) -> String {
    let changed: Vec<String> = card.changed.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if changed.is_empty() {
        return String::new();
    }
    format!(" Changed for this page: {}.", escape::text(&changed.join(", ")))
}

pub(super) fn numbers(card: &DeviceCard) -> String {
    let row = |number: &DeviceNumber| {
        vec![
            escape::text(&number.key),
            escape::text(&number.value),
            escape::text(&number.meaning),
            why(number),
        ]
    };
    let told = |basis: fn(Basis) -> bool| {
        card.numbers.iter().filter(|number| basis(number.basis)).map(row).collect::<Vec<_>>()
    };
    let usual = told(|basis| basis == Basis::Usual);
    let mut out = listed(&["number", "value", "what it means", "why"], &told(|basis| basis != Basis::Usual));
    if !usual.is_empty() {
        let heads = ["number", "value", "what it means", "why"];
        out += &format!(
            "<details><summary>{} more have the usual value of the kind</summary>{}</details>",
            usual.len(),
            listed(&heads, &usual)
        );
    }
    out
}

fn why(number: &DeviceNumber) -> String {
    match number.source.as_str() {
        "" => number.basis.name().to_owned(),
        source => format!("{}: {}", number.basis.name(), escape::text(source)),
    }
}

/// A table whose cells are words, which may be long.
fn listed(heads: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| -> String {
        cells.map(|cell| format!("<{tag} class=\"words\">{cell}</{tag}>")).collect()
    };
    let head = cells("th", &mut heads.iter().copied());
    let row = |row: &Vec<String>| format!("<tr>{}</tr>", cells("td", &mut row.iter().map(String::as_str)));
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\"><table class=\"numbers\"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

fn claims(claims: &[DeviceClaim]) -> String {
    let row = |claim: &DeviceClaim| {
        let found = claim.found.as_ref().zip(claim.difference.as_ref());
        vec![
            escape::text(&claim.what),
            escape::text(&claim.figure.replace('_', " ")),
            escape::text(&claim.expected),
            found.map_or("not tried".to_owned(), |(found, by)| escape::text(&format!("{found} ({by})"))),
            escape::text(&claim.source),
        ]
    };
    let rows: Vec<_> = claims.iter().map(row).collect();
    listed(&["claim", "figure", "must be", "found", "who says so"], &rows)
}

/// Documents that the device or one inside it cites, each once.
pub(super) fn sources_of_all(card: &DeviceCard) -> String {
    let mut all: Vec<(String, String)> = Vec::new();
    for source in card.sources.iter().chain(card.members.iter().flat_map(|member| &member.sources)) {
        if !all.contains(source) {
            all.push(source.clone());
        }
    }
    if all.is_empty() { String::new() } else { sources(&all) }
}

fn sources(sources: &[(String, String)]) -> String {
    let titles: Vec<(String, String)> =
        sources.iter().map(|(short, title)| (escape::text(short), escape::text(title))).collect();
    let rows: Vec<(&str, String)> =
        titles.iter().map(|(short, title)| (short.as_str(), title.clone())).collect();
    table::pairs(&rows)
}

fn figure(card: &DeviceCard) -> String {
    let mut top = 4.0;
    let mut drawn = text(WIDTH / 2.0, top + 12.0, "middle", "host");
    top += LINE;
    let (mut above, mut count) = (1, 1);
    for level in &card.levels {
        // What hangs on each of several stands below it.
        let hangs = count > 1 && level.count >= count;
        let columns =
            if hangs { above } else { usize::try_from(level.count).unwrap_or(COLUMNS).clamp(1, COLUMNS) };
        drawn += &lines(columns.max(above), top, GAP / 2.0);
        top += GAP / 2.0;
        drawn +=
            &if level.is_way { way(level, columns, &mut top) } else { part(level, columns, count, &mut top) };
        (above, count) = (columns, level.count);
    }
    format!(
        "<figure class=\"wide\"><svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {top}\" role=\"img\" \
         aria-label=\"{title}: its parts from the host down\">{drawn}</svg><figcaption>Parts that are alike stand side by \
         side{most}.</figcaption></figure>",
        title = escape::text(&card.title),
        most = if card.levels.iter().any(|level| level.count > COLUMNS as u64) {
            ", sixteen at most"
        } else {
            ""
        },
    )
}

/// The middle of one of several columns.
fn middle(column: usize, columns: usize) -> f64 {
    WIDTH * (column as f64 + 0.5) / columns as f64
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

fn told(level: &DeviceLevel) -> String {
    let name = if level.count == 1 { level.name.clone() } else { format!("{} {}s", level.count, level.name) };
    if level.facts.is_empty() { name } else { format!("{name}: {}", level.facts.join(", ")) }
}

fn way(level: &DeviceLevel, columns: usize, top: &mut f64) -> String {
    let mut out = text(WIDTH / 2.0, *top + 13.0, "middle", &told(level));
    *top += LINE;
    out += &lines(columns, *top, GAP / 2.0);
    *top += GAP / 2.0;
    out
}

/// One box, or several with what they are below.
fn part(level: &DeviceLevel, columns: usize, above: u64, top: &mut f64) -> String {
    let mut rows = vec![level.name.clone()];
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
        for line in wrapped(&[told(level)]) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says_cannot_become_part_of_the_page() {
        let evil = "</script><script>alert(1)</script>".to_owned();
        let card = DeviceCard {
            name: evil.clone(),
            title: evil.clone(),
            kind: "flash".to_owned(),
            about: evil.clone(),
            year: None,
            origin: evil.clone(),
            changed: vec![(evil.clone(), evil.clone())],
            levels: vec![
                DeviceLevel { name: evil.clone(), count: 1, is_way: true, facts: vec![evil.clone()] },
                DeviceLevel { name: evil.clone(), count: 4, is_way: false, facts: vec![evil.clone()] },
            ],
            numbers: vec![DeviceNumber {
                key: evil.clone(),
                value: evil.clone(),
                meaning: evil.clone(),
                basis: Basis::Assumed,
                source: evil.clone(),
            }],
            claims: Vec::new(),
            sources: vec![(evil.clone(), evil)],
            sourced: 0,
            fitted: 0,
            assumed: 1,
            members: Vec::new(),
        };
        let page = page(&card);
        assert!(!page.contains("<script>alert"));
        assert!(page.contains("&lt;script&gt;alert(1)"));
        assert_eq!(page.matches("rx=\"6\"").count(), 4);
    }
}
