//! How does a terminal show a document?

use super::doubts::DoubtKind;
use super::table::{Cell, Column, Draws, Row, Table};
use super::{Block, Document, Doubts, Drawn, Section, To};
use crate::html::escape::within;
use crate::html::scale::Scale;
use crate::lists::{Joined, distinct};
use crate::text::WIDTH;
use crate::text::chart::chart;
use crate::text::format::{both_ends, clean, cut, paragraph};
use crate::text::glyphs::bar;
use crate::text::heat;

/// Columns of what a fact is about, at least and at most.
const LABEL: usize = 11;
const LABEL_MOST: usize = 27;
/// Sightings of a doubt that are told; the others are counted.
const SEEN: usize = 2;
/// Cells of a bar at least and at most.
const BAR: (usize, usize) = (6, 18);
/// A chain is not moved in further than this.
const INDENT: usize = 4;
/// Words in the last column go on below each other rather than be narrower than this.
const WRAPPED: usize = 28;
/// A column of words is not cut below this.
const WORDS: usize = 12;

pub(super) fn screen(document: &Document) -> String {
    let doubts = &document.doubts;
    let mut parts = vec![title(document) + &section(&document.head, doubts) + &of_all(document)];
    parts.extend(document.sections.iter().map(|one| section(one, doubts)));
    parts.push(answer(document) + &section(&document.because, doubts));
    parts.push(notes(doubts));
    parts.extend(document.next.as_ref().map(|(command, what)| match *what {
        "" => format!("next: {command}\n"),
        what => format!("next: {command}    # {what}\n"),
    }));
    parts.retain(|part| !part.is_empty());
    clean(&parts.join("\n"))
}

fn title(document: &Document) -> String {
    let mut beside = document.beside.join(", ");
    if document.interrupted.is_some() {
        beside += ", INTERRUPTED";
    }
    both_ends(&document.title, &cut(beside.trim_start_matches(", "), WIDTH))
}

fn of_all(document: &Document) -> String {
    let mark = mark(&document.doubts.numbers(&document.of_all, false));
    within("doubts     ", mark, " concern every figure below\n")
}

fn answer(document: &Document) -> String {
    if document.answers.is_empty() || document.answer.is_empty() {
        return String::new();
    }
    fact(document.answers, LABEL, &document.answer)
}

/// The words of all facts begin in one column, unless a label is too long for that.
fn section(section: &Section, doubts: &Doubts) -> String {
    let labels = section.blocks_for(To::Screen).filter_map(|block| match block {
        Block::Fact(label, _) | Block::Doubted(label, ..) => Some(label.chars().count() + 1),
        _ => None,
    });
    let width = labels.filter(|&width| width <= LABEL_MOST).fold(LABEL, usize::max);
    let mut text = String::new();
    let mut below_heading = false;
    for one in section.blocks_for(To::Screen) {
        // A table stands apart from what is above it.
        let stands_apart = matches!(one, Block::Table(_) | Block::Gap) && !below_heading;
        if stands_apart && !text.is_empty() && !text.ends_with("\n\n") {
            text.push('\n');
        }
        text += &block(one, width, doubts);
        below_heading = matches!(one, Block::Heading(_));
    }
    text
}

fn block(block: &Block, label_width: usize, doubts: &Doubts) -> String {
    let fact = |label: &str, words: &str| fact(label, label_width, words);
    match block {
        Block::Fact(label, words) => fact(label, words),
        Block::Doubted(label, words, marks) => {
            fact(label, &format!("{words} {}", mark(&doubts.numbers(marks, false))))
        }
        Block::Numbered(steps) => (1..).zip(steps).map(|(number, step)| numbered(number, step)).collect(),
        Block::Headline(what, marks, how) => {
            both_ends(&format!("{what} {}", mark(&doubts.numbers(marks, false))), how)
        }
        Block::Heading(words) | Block::Words(words) | Block::Note(words) => paragraph("", words),
        Block::Command(command) => format!("     $ {command}\n"),
        Block::List(items) => items.iter().map(|item| paragraph("  - ", item)).collect(),
        Block::Table(table) => drawn(table, doubts),
        Block::Plots(plots) => plots.iter().map(letters).collect(),
        Block::Heat(map, ..) => heat::map(map),
        Block::Gap | Block::Tiles(_) | Block::Fold(..) | Block::Figure(..) => String::new(),
        Block::Ready(lines) => lines.clone(),
    }
}

fn fact(label: &str, width: usize, words: &str) -> String {
    let label = if label.chars().count() < width { format!("{label:<width$}") } else { format!("{label}  ") };
    paragraph(&label, words)
}

fn numbered(number: usize, (act, command): &(String, Option<String>)) -> String {
    let text = paragraph(&format!("  {number}. "), act);
    command.as_ref().map_or(text.clone(), |command| format!("{text}     $ {command}\n"))
}

fn letters(drawn: &Drawn) -> String {
    if !drawn.letters {
        return String::new();
    }
    let linear = drawn.plot.x.scale == Scale::Linear;
    chart(&drawn.plot.lines(), linear, |value| drawn.plot.y.quantity.say(value))
}

fn mark(numbers: &[usize]) -> String {
    within("[", numbers.iter().map(ToString::to_string).joined(","), "]")
}

/// The doubts, each with its number, the remedy once.
fn notes(doubts: &Doubts) -> String {
    let told = (1..).zip(doubts.told(false));
    let told = told.map(|(number, (_, kind))| note(number, kind, doubts.of_verdict));
    within("NOTES\n", told.joined(""), "")
}

fn note(number: usize, kind: &DoubtKind, of_verdict: bool) -> String {
    let mut said = distinct(kind.seen.iter().map(|(_, said)| said.as_str()));
    let more = match said.len().saturating_sub(SEEN) {
        0 => String::new(),
        1 => " (And once more.)".to_owned(),
        more => format!(" (And {more} times more.)"),
    };
    said.truncate(SEEN);
    let changes = if of_verdict { kind.changes } else { "" };
    paragraph(&format!("[{number}] "), &format!("{}{more} {changes} {}", said.join(" "), kind.remedy))
}

/// A column and its place, as far as a screen has it, and how wide it is.
struct ScreenColumn<'a> {
    at: usize,
    column: &'a Column,
    width: usize,
    /// Columns before the next.
    gap: usize,
}

fn drawn(table: &Table, doubts: &Doubts) -> String {
    let (shown, folded) = table.split();
    let rest = if folded.is_empty() { None } else { table.rest.as_ref() };
    let rows: Vec<&Row> = shown.iter().chain(rest).chain(&table.sums).collect();
    let places = places(table, &rows, doubts);
    let mut text = line(&places, |place| head(table, place));
    for row in rows {
        if row.group {
            text += &paragraph("", &row.cells.first().map_or_else(String::new, |cell| words(cell, doubts)));
            continue;
        }
        let above = above(row, &places, doubts);
        text += &above;
        text += &line(&places, |place| match row.cells.get(place.at) {
            Some(cell) if place.at > 0 || above.is_empty() => {
                let cell = shown_in(cell, place, doubts);
                if row.sum && place.at == 0 { cell.to_uppercase() } else { cell }
            }
            _ => String::new(),
        });
        text += &row.below.iter().map(|below| paragraph("    ", below)).collect::<String>();
        text += &row.command.iter().map(|command| format!("    $ {command}\n")).collect::<String>();
    }
    text + &if table.caption.is_empty() { String::new() } else { paragraph("", &table.caption) }
}

/// A name that its column would cut has lines of its own: it tells the rows apart.
fn above(row: &Row, places: &[ScreenColumn<'_>], doubts: &Doubts) -> String {
    let name = row.cells.first().map_or_else(String::new, |cell| words(cell, doubts));
    match places.first() {
        Some(first) if first.at == 0 && name.chars().count() > first.width => {
            paragraph("", &name).lines().map(|line| cut(line, WIDTH) + "\n").collect()
        }
        _ => String::new(),
    }
}

/// The first head of a table in capitals: where a reader's eye begins.
fn head(table: &Table, place: &ScreenColumn<'_>) -> String {
    let head = &place.column.head;
    if place.column.draws == Draws::Changes {
        return format!("{:>1$}|more", "fewer", place.width / 2);
    }
    if std::ptr::eq(place.column, &raw const table.columns[0]) { head.to_uppercase() } else { head.clone() }
}

fn words(cell: &Cell, doubts: &Doubts) -> String {
    let mark = mark(&doubts.numbers(&cell.marks, false));
    let words = [cell.text.as_str(), &cell.small, &mark];
    " ".repeat(cell.indent.min(INDENT)) + &words.into_iter().filter(|words| !words.is_empty()).joined(" ")
}

fn places<'a>(table: &'a Table, rows: &[&Row], doubts: &Doubts) -> Vec<ScreenColumn<'a>> {
    let columns = table.columns.iter().enumerate().filter(|(_, column)| column.to != To::Page);
    let width = |at: usize, column: &Column| {
        if matches!(column.draws, Draws::Bars | Draws::Changes) {
            return BAR.0 + if column.draws == Draws::Changes { BAR.0 + 1 } else { 0 };
        }
        let cells = rows.iter().filter(|row| !row.group).filter_map(|row| row.cells.get(at));
        cells.map(|cell| words(cell, doubts).chars().count()).fold(column.head.chars().count(), usize::max)
    };
    let mut places: Vec<ScreenColumn<'a>> =
        columns.map(|(at, column)| ScreenColumn { at, column, width: width(at, column), gap: 2 }).collect();
    fit(&mut places);
    places
}

/// Lets the last words go on below each other, then leaves out what is light, then moves together, then cuts the longest
/// words, until the line fits; bars take what is left.
fn fit(places: &mut Vec<ScreenColumn<'_>>) {
    let whole = |places: &[ScreenColumn<'_>]| {
        let all: usize = places.iter().map(|place| place.width + place.gap).sum();
        all.saturating_sub(places.first().map_or(0, |first| first.gap))
    };
    while whole(places) > WIDTH {
        let over = whole(places) - WIDTH;
        let wraps = |last: &&mut ScreenColumn<'_>| last.column.draws == Draws::Words && last.width > WRAPPED;
        if let Some(last) = places.last_mut().filter(wraps) {
            last.width = last.width.saturating_sub(over).max(WRAPPED);
            continue;
        }
        let light = (0..places.len()).filter(|&at| places[at].column.light > 0);
        if let Some(lightest) = light.max_by_key(|&at| places[at].column.light) {
            places.remove(lightest);
            continue;
        }
        for place in places.iter_mut() {
            place.gap = 1;
        }
        let over = whole(places).saturating_sub(WIDTH);
        if over == 0 {
            break;
        }
        let wide =
            places.iter_mut().filter(|place| place.column.draws == Draws::Words && place.width > WORDS);
        match wide.max_by_key(|place| place.width) {
            Some(widest) => widest.width = widest.width.saturating_sub(over).max(WORDS),
            None => return,
        }
    }
    let left = WIDTH - whole(places);
    let drawn = |place: &ScreenColumn<'_>| matches!(place.column.draws, Draws::Bars | Draws::Changes);
    let count = places.iter().filter(|place| drawn(place)).count().max(1);
    // Even, so that both sides of a change have as much.
    let each = (left / count).min(BAR.1 - BAR.0) / 2 * 2;
    places.iter_mut().filter(|place| drawn(place)).for_each(|place| place.width += each);
}

/// The cells of a row side by side. Words in the last place go on below each other; others are cut.
fn line(places: &[ScreenColumn<'_>], cell: impl Fn(&ScreenColumn<'_>) -> String) -> String {
    let gap = " ".repeat(places.first().map_or(2, |place| place.gap));
    let Some((last, others)) = places.split_last() else { return "\n".to_owned() };
    let mut before = String::new();
    for place in others {
        before += &(aligned(&cell(place), place) + &gap);
    }
    let text = cell(last);
    if last.column.draws == Draws::Words && text.chars().count() > last.width && !others.is_empty() {
        return paragraph(&before, &text).lines().map(|line| cut(line, WIDTH) + "\n").collect();
    }
    cut((before + &aligned(&text, last)).trim_end(), WIDTH) + "\n"
}

fn aligned(text: &str, place: &ScreenColumn<'_>) -> String {
    let width = place.width;
    if place.column.draws == Draws::Number {
        return format!("{:>width$}", cut(text, width));
    }
    let kept = cut(text, width);
    // Behind a whole word, where there is one.
    let words = kept.strip_suffix('…').and_then(|kept| kept.rsplit_once(' ')).map(|(words, _)| words);
    match words.filter(|words| words.chars().count() * 2 > width) {
        Some(words) => format!("{:<width$}", words.to_owned() + "…"),
        None => format!("{kept:<width$}"),
    }
}

fn shown_in(cell: &Cell, place: &ScreenColumn<'_>, doubts: &Doubts) -> String {
    let Some(drawn) = &cell.bar else { return words(cell, doubts) };
    let length = drawn.length();
    if place.column.draws != Draws::Changes {
        return if length > 0.0 { bar(length, drawn.most, place.width) } else { String::new() };
    }
    let side = place.width / 2;
    if length > 0.0 {
        return format!("{:side$}|{}", "", bar(length, drawn.most, side));
    }
    // To the left it is made of whole cells, since the eighths of a cell grow from the left.
    let cells = (-length / drawn.most.max(1.0) * side as f64).round() as usize;
    let cells = if length < 0.0 { cells.clamp(1, side) } else { 0 };
    format!("{:>side$}|", "█".repeat(cells))
}
