//! How does the manual show a document?

use super::table::{Cell, Column, Draws, Row, Table};
use super::{Block, Document, Section, To};

/// Headings, tables and lists; what is ready for a screen or a page is not for it, nor are plots.
pub(super) fn page(document: &Document) -> String {
    let mut text = format!("# {}\n\n{}", document.title, section(&document.head));
    for one in &document.sections {
        text += &format!("\n## {}\n\n{}", one.title, section(one));
    }
    // Each block ends with an empty line, and a heading begins with one.
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text.trim_end().to_owned() + "\n"
}

fn section(section: &Section) -> String {
    section.of(To::All).map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Fact(label, words) | Block::Doubted(label, words, _) => format!("- {label}: {words}\n"),
        Block::Numbered(steps) => {
            steps.iter().map(|(act, _)| format!("1. {act}\n")).collect::<String>() + "\n"
        }
        Block::Headline(what, _, how) => format!("{what}: {how}\n\n"),
        Block::Heading(words) => format!("\n### {words}\n\n"),
        Block::Words(words) | Block::Note(words) => format!("{words}\n\n"),
        Block::Command(command) => format!("```sh\n{command}\n```\n\n"),
        Block::List(items) => items.iter().map(|item| format!("- {item}\n")).collect::<String>() + "\n",
        Block::Table(table) => drawn(table) + "\n",
        Block::Plots(_)
        | Block::Tiles(_)
        | Block::Fold(..)
        | Block::Ready(_)
        | Block::Gap
        | Block::Figure(..) => String::new(),
    }
}

fn drawn(table: &Table) -> String {
    let columns: Vec<(usize, &Column)> =
        table.columns.iter().enumerate().filter(|(_, one)| one.to == To::All).collect();
    let line = |cells: &[String]| {
        let each =
            cells.iter().map(|cell| if cell.is_empty() { "| ".to_owned() } else { format!("| {cell} ") });
        each.collect::<String>() + "|\n"
    };
    let heads: Vec<String> = columns.iter().map(|(_, column)| escaped(&column.head)).collect();
    let rules = columns
        .iter()
        .map(|(_, column)| if column.draws == Draws::Number { "---:" } else { "---" }.to_owned());
    let row = |row: &Row| {
        let cells = columns.iter().map(|(at, _)| row.cells.get(*at).map_or_else(String::new, cell));
        line(&cells.collect::<Vec<_>>())
    };
    line(&heads)
        + &line(&rules.collect::<Vec<_>>())
        + &table.rows.iter().chain(&table.sums).map(row).collect::<String>()
}

fn cell(cell: &Cell) -> String {
    escaped(format!("{} {}", cell.text, cell.small).trim())
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
