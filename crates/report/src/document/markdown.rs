//! How do the manual and a pull request show a document? As GitHub's flavour of Markdown.

use super::doubts::Doubts;
use super::table::{Cell, Column, Draws, Row, Table};
use super::{Block, Document, Section, To};
use crate::html::escape::within;
use crate::lists::Joined;
use crate::text::heat;

/// Title, answer, and what a screen has in headings, tables and lists; plots are for pages.
pub(super) fn page(document: &Document) -> String {
    let doubts = &document.doubts;
    let mut text = format!("# {}\n\n{}", document.title, answer(document) + &section(&document.head, doubts));
    for one in &document.sections {
        let body = section(one, doubts);
        if !body.trim().is_empty() {
            text += &format!("\n## {}\n\n{body}", one.title);
        }
    }
    text += &notes(doubts);
    if let Some((command, _)) = document.next.as_ref().filter(|(command, _)| command.starts_with("iostack "))
    {
        text += &format!("\nNext: `{command}`\n");
    }
    // Each block ends with an empty line, and a heading begins with one.
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text.trim_end().to_owned() + "\n"
}

fn answer(document: &Document) -> String {
    let interrupted =
        document.interrupted.map(|what| format!("interrupted: the figures are of {what} until then"));
    let beside = document.beside.iter().chain(&document.origin).chain(&interrupted);
    let beside = within("", beside.filter(|one| !one.is_empty()).joined(" · "), "\n\n");
    let of_all = mark(&document.doubts.numbers(&document.of_all, false));
    let of_all = within("- doubts of every figure: ", of_all, "\n");
    let answer = within("**", shown(&document.answer), "**\n\n");
    beside + &answer + &section(&document.because, &document.doubts) + &of_all
}

fn section(section: &Section, doubts: &Doubts) -> String {
    let mut text = String::new();
    let mut in_list = false;
    for one in section.blocks_for(To::Screen) {
        let item = matches!(one, Block::Fact(..) | Block::Doubted(..));
        if in_list && !item {
            text.push('\n');
        }
        in_list = item;
        text += &block(one, doubts);
    }
    text
}

/// `[1, 3]`: the numbers of the notes.
fn mark(numbers: &[usize]) -> String {
    within("\\[", numbers.iter().map(ToString::to_string).joined(", "), "\\]")
}

/// The doubts by number, each with what to do.
fn notes(doubts: &Doubts) -> String {
    let each = doubts.told(false).into_iter().map(|(_, kind)| {
        let seen = kind.seen.first().map_or("", |(_, said)| said.as_str());
        format!("1. {} {}\n", shown(seen), kind.remedy)
    });
    within("\n## Why to doubt it\n\n", each.joined(""), "")
}

fn block(block: &Block, doubts: &Doubts) -> String {
    match block {
        // A fact without a label goes on with the one before it.
        Block::Fact(label, words) if label.is_empty() => format!("  {words}\n"),
        Block::Fact(label, words) => format!("- {}: {}\n", shown(label), shown(words)),
        Block::Doubted(label, words, marks) => {
            format!("- {}: {} {}\n", shown(label), shown(words), mark(&doubts.numbers(marks, false)))
        }
        Block::Numbered(steps) => {
            let step = |(act, command): &(String, Option<String>)| {
                let command = command.iter().map(|command| format!(" `{command}`"));
                format!("1. {act}{}\n", command.collect::<String>())
            };
            steps.iter().map(step).joined("") + "\n"
        }
        Block::Headline(what, marks, how) => {
            format!("{}: {how} {}\n\n", shown(what), mark(&doubts.numbers(marks, false)))
        }
        Block::Heading(words) => format!("\n### {words}\n\n"),
        Block::Words(words) | Block::Note(words) => format!("{words}\n\n"),
        Block::Command(command) => format!("```sh\n{command}\n```\n\n"),
        Block::List(items) => items.iter().map(|item| format!("- {item}\n")).collect::<String>() + "\n",
        Block::Table(table) => drawn(table, doubts) + "\n",
        Block::Ready(lines) if lines.trim().is_empty() => String::new(),
        Block::Ready(lines) => format!("```text\n{}\n```\n\n", lines.trim_end()),
        Block::Heat(map, ..) => format!("```text\n{}\n```\n\n", heat::map(map).trim_end()),
        Block::Plots(_) | Block::Tiles(_) | Block::Fold(..) | Block::Gap | Block::Figure(..) => String::new(),
    }
}

fn drawn(table: &Table, doubts: &Doubts) -> String {
    // Bars say again what a number beside them says.
    let drawn =
        |column: &Column| column.to != To::Page && matches!(column.draws, Draws::Words | Draws::Number);
    let columns: Vec<(usize, &Column)> =
        table.columns.iter().enumerate().filter(|(_, column)| drawn(column)).collect();
    let line = |cells: &mut dyn Iterator<Item = String>| {
        cells.map(|cell| if cell.is_empty() { "| ".to_owned() } else { format!("| {cell} ") }).joined("")
            + "|\n"
    };
    let heads = line(&mut columns.iter().map(|(_, column)| escaped(&column.head)));
    let rule = |column: &Column| if column.draws == Draws::Number { "---:" } else { "---" };
    let rules = line(&mut columns.iter().map(|(_, column)| rule(column).to_owned()));
    let row = |row: &Row| {
        line(
            &mut columns
                .iter()
                .map(|(at, _)| row.cells.get(*at).map_or_else(String::new, |one| cell(one, doubts))),
        )
    };
    let rows = table.rows.iter().chain(&table.sums).map(row).joined("");
    heads + &rules + &rows + &within("\n", table.caption.clone(), "\n")
}

fn cell(cell: &Cell, doubts: &Doubts) -> String {
    let marks = mark(&doubts.numbers(&cell.marks, false));
    let words = [cell.text.trim(), &cell.small, &marks];
    escaped(&words.into_iter().filter(|words| !words.is_empty()).joined(" "))
}

/// Words that are no Markdown of ours: what looks like an element of HTML would not be shown.
fn shown(text: &str) -> String {
    text.replace('<', "&lt;")
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
