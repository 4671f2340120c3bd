//! What is a simulated device made of, and why should its numbers be believed?

use iostack_model::{Basis, DeviceCard, DeviceClaim, DeviceLevel, DeviceNumber};

use super::WIDTH;
use super::format::{both_ends, clean, cut, paragraph};

/// Most parts of a kind that are drawn side by side.
const COLUMNS: usize = 8;
/// Width of a column.
const STEP: usize = 9;
/// Before the middle of the first.
const MARGIN: usize = STEP / 2 - 1;

/// The drawing, the table of numbers, the claims.
pub fn device(card: &DeviceCard) -> String {
    let mut out = head(card);
    out.push('\n');
    out += &drawing(&card.levels);
    out += &numbers_of(card, "Numbers");
    for member in &card.members {
        out.push('\n');
        out += &paragraph("", &format!("Inside is {}: `iostack sim show {}`.", member.title, member.name));
    }
    out += &tail(card);
    clean(&out)
}

/// Title, origin, and what to know.
pub(super) fn head(card: &DeviceCard) -> String {
    let year = card.year.map_or(String::new(), |year| format!(", {year}"));
    let mut out = both_ends(&card.title, &format!("{}{year}", card.kind));
    out += &paragraph("", &format!("sim:{}, {}", &card.name, origin(card)));
    if !card.about.is_empty() {
        out.push('\n');
        out += &paragraph("", &card.about);
    }
    out
}

/// Claims, sources, and how many numbers rest on what.
pub(super) fn tail(card: &DeviceCard) -> String {
    let mut out = String::new();
    if !card.claims.is_empty() {
        out.push('\n');
        out += "What it must reach\n";
        card.claims.iter().for_each(|each| out += &claim(each));
    }
    let mut sources: Vec<&(String, String)> = card.sources.iter().collect();
    for source in card.members.iter().flat_map(|member| &member.sources) {
        if card.kind == "platform" && !sources.contains(&source) {
            sources.push(source);
        }
    }
    if !sources.is_empty() {
        out += "\nSources\n";
        for (short, title) in sources {
            out += &paragraph(&format!("  {short:<12} "), title);
        }
    }
    out.push('\n');
    let tally = format!(
        "{} numbers have a source, {} are fitted to a claim, {} are assumed.",
        card.sourced, card.fitted, card.assumed
    );
    out + &paragraph("", &tally)
}

fn origin(card: &DeviceCard) -> String {
    let changed: Vec<String> = card.changed.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if changed.is_empty() {
        return card.origin.clone();
    }
    format!("{}, changed: {}", &card.origin, &changed.join(" "))
}

/// Only the claims, with what was found.
pub fn device_claims(card: &DeviceCard) -> String {
    let mut out = both_ends(&card.title, &format!("sim:{}", &card.name));
    card.claims.iter().for_each(|each| out += &claim(each));
    let held = card.claims.iter().filter(|claim| claim.holds == Some(true)).count();
    clean(&(out + &format!("\n{held} of {} claims hold.\n", card.claims.len())))
}

fn claim(claim: &DeviceClaim) -> String {
    let mut text = format!("{}: {}", claim.figure.replace('_', " "), claim.expected);
    if let (Some(found), Some(difference)) = (&claim.found, &claim.difference) {
        let verdict = if claim.holds == Some(true) { "holds" } else { "FAILS" };
        text = format!("{text}; found {found} ({difference}): {verdict}");
    }
    let name = &claim.name;
    let head =
        if name.chars().count() <= 18 { format!("  {name:<18} ") } else { format!("  {name}\n{:21}", "") };
    let mut out = head + &paragraph(&" ".repeat(21), &claim.what)[21..];
    out += &paragraph(&" ".repeat(21), &text);
    out + &paragraph(&" ".repeat(21), &claim.source)
}

/// Each number with its meaning and its reason; usual values in one line each.
pub(super) fn numbers_of(card: &DeviceCard, heading: &str) -> String {
    let mut out = format!("\n{heading}\n");
    let told = |number: &&DeviceNumber| number.basis != Basis::Usual;
    for number in card.numbers.iter().filter(told) {
        let (key, value) = (&number.key, cut(&number.value, 14));
        out += &paragraph(&format!("  {key:<24} {value:<14} "), &number.meaning);
        let why = match number.source.as_str() {
            "" => number.basis.name().to_owned(),
            source => format!("{}: {source}", number.basis.name()),
        };
        // A claim's name is one word, which may be long.
        let longest = why.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
        out += &paragraph(&" ".repeat(WIDTH.saturating_sub(longest).clamp(4, 42)), &why);
    }
    let usual = |number: &&DeviceNumber| number.basis == Basis::Usual && number.value != "none";
    let usual: Vec<String> = card
        .numbers
        .iter()
        .filter(usual)
        .map(|number| format!("{}\u{a0}{}", number.key, number.value))
        .collect();
    if !usual.is_empty() {
        out += &paragraph("  usual values: ", &usual.join(", ")).replace('\u{a0}', " ");
    }
    let absent: Vec<&str> = card
        .numbers
        .iter()
        .filter(|number| number.value == "none")
        .map(|number| number.key.as_str())
        .collect();
    if !absent.is_empty() {
        out += &paragraph("  without:      ", &absent.join(", "));
    }
    out
}

/// The parts below each other, those that are alike side by side.
fn drawing(levels: &[DeviceLevel]) -> String {
    let mut out = format!("  {:MARGIN$}host\n", "");
    let (mut above, mut joined) = (1, true);
    for level in levels {
        // What hangs on each of several stands below it.
        let hangs = above > 1 && level.count >= above;
        let columns = columns(if hangs { above } else { level.count });
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

fn columns(count: u64) -> usize {
    usize::try_from(count).unwrap_or(COLUMNS).clamp(1, COLUMNS)
}

/// The same text in the middle of each of the columns.
fn repeated(text: &str, columns: usize) -> String {
    let one = format!("{text:^STEP$}");
    format!("  {}\n", one.repeat(columns).trim_end())
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
    let beside: Vec<String> =
        text.lines().map(|line| format!("{}{}\n", mark.trim_end(), &line[mark.trim_end().len()..])).collect();
    if level.facts.is_empty() { mark } else { mark.clone() + &beside.concat() + &mark }
}

/// Several lines down, below what goes over each.
fn lines(level: &DeviceLevel, columns: usize) -> String {
    let mark = repeated("|", columns);
    mark.clone() + &paragraph("  ", &told(level)) + &mark
}

/// One box as wide as the page.
fn wide(level: &DeviceLevel) -> String {
    let inside = WIDTH - 8;
    let edge = format!("  +{}+\n", "-".repeat(inside + 2));
    let boxed = |text: &str| format!("  | {:<inside$} |\n", cut(text, inside));
    let mut lines = vec![level.name.clone()];
    for fact in &level.facts {
        let fact = fact.clone();
        match lines.last_mut() {
            Some(line)
                if line.starts_with(' ') && line.chars().count() + 2 + fact.chars().count() <= inside =>
            {
                *line += "; ";
                *line += &fact;
            }
            _ => lines.push(format!("  {fact}")),
        }
    }
    edge.clone() + &lines.iter().map(|line| boxed(line)).collect::<String>() + &edge
}

/// Small boxes side by side, and below them what each is.
fn row(level: &DeviceLevel, columns: usize, above: u64) -> String {
    let inside = STEP - 4;
    let edge = repeated(&format!("+{}+", "-".repeat(inside)), columns);
    let boxed = |text: &str| repeated(&format!("|{:^inside$}|", cut(text, inside)), columns);
    let mut out = edge.clone() + &boxed(&level.name);
    let share = if above > 1 { level.count / above } else { 1 };
    if share > 1 {
        out += &boxed(&format!("x {share}"));
    }
    out + &edge + &paragraph("  ", &told(level))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(title: &str) -> DeviceCard {
        let level = |name: &str, count, is_way| DeviceLevel {
            name: name.to_owned(),
            count,
            is_way,
            facts: vec!["800 MB/s".to_owned(), "as long as it is known and not much longer".to_owned()],
        };
        let number = |key: &str, basis| DeviceNumber {
            key: key.to_owned(),
            value: "25us".to_owned(),
            meaning: "what it means in a line that is somewhat long".to_owned(),
            basis,
            source: "sheet: page 4".to_owned(),
        };
        DeviceCard {
            name: "mine".to_owned(),
            title: title.to_owned(),
            kind: "flash".to_owned(),
            about: "A drive. ".repeat(20),
            year: Some(2026),
            origin: "mine.toml".to_owned(),
            changed: vec![("flash.read".to_owned(), "30us".to_owned())],
            levels: vec![
                level("link", 1, true),
                level("controller", 1, false),
                level("channel", 16, true),
                level("die", 64, false),
            ],
            numbers: vec![number("flash.read", Basis::Cited), number("flash.program", Basis::Usual)],
            claims: vec![DeviceClaim {
                name: "read".to_owned(),
                what: "4 KiB random reads".to_owned(),
                figure: "latency_mean".to_owned(),
                expected: "85 us within 2 %".to_owned(),
                source: "sheet: page 5".to_owned(),
                found: Some("90 us".to_owned()),
                difference: Some("+5.9 %".to_owned()),
                holds: Some(false),
            }],
            sources: vec![("sheet".to_owned(), "Data sheet".to_owned())],
            sourced: 1,
            fitted: 0,
            assumed: 1,
            members: Vec::new(),
        }
    }

    #[test]
    fn a_drawing_fits_the_screen_and_shows_what_works_side_by_side() {
        let text = device(&card("My drive"));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.matches("| x 4 |").count() == COLUMNS, "{text}");
        assert!(text.contains("16 channels (8 drawn), each: 800 MB/s"), "{text}");
        assert!(text.contains("changed: flash.read=30us"), "{text}");
        assert!(text.contains("source: sheet: page 4"), "{text}");
        assert!(text.contains("usual values: flash.program 25us"), "{text}");
    }

    #[test]
    fn a_claim_that_fails_is_said_aloud() {
        let text = device_claims(&card("My drive"));
        assert!(text.contains("found 90 us (+5.9 %):") && text.contains("FAILS"), "{text}");
        assert!(text.ends_with("0 of 1 claims hold.\n"), "{text}");
    }

    #[test]
    fn what_a_file_says_cannot_command_the_terminal() {
        let text = device(&card("\u{1b}[31mred"));
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
