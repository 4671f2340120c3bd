//! What is told of a result, whoever reads it?
//!
//! ```text
//!   a report's figures ──► pages/ ──► Document ──┬─► text       the screen
//!   (pure data)            said once             ├─► html       the page
//!                                                └─► markdown   the manual
//! ```
//!
//! A document is a title, an answer, sections of blocks, doubts and a next command. What only one reader can be shown is
//! put for that reader alone ([`Section::screen`], [`Section::page`]). Start reading at [`Document`].

#![expect(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "a document is drawn once, from pieces that read like what they become"
)]

mod doubts;
mod html;
mod markdown;
mod table;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use doubts::{Doubts, Marks};
pub(crate) use table::{Bar, Cell, Column, Columns, Row, Table};

use iostack_model::answers::{Answer, labelled};

use crate::heat::HeatMap;
use crate::html::plot::Plot;

/// Everything a command tells its reader: title, answer, sections, doubts.
#[derive(Default)]
pub struct Document {
    /// Command as typed: `iostack ab`.
    pub(crate) title: String,
    /// Words beside the title: `SIMULATED`, how long, which seed.
    pub(crate) beside: Vec<String>,
    /// Words beside the title of a page alone: date and version.
    pub(crate) origin: Vec<String>,
    /// Subject of the figures when the run was cut short: `the runs`.
    pub(crate) interrupted: Option<&'static str>,
    /// Label of the answer on a screen: `ANSWER`, `VERDICT`; empty where only the page has one.
    pub(crate) answers: &'static str,
    /// The heading of the page; what ends a screen.
    pub(crate) answer: String,
    /// Evidence of the answer, and advice.
    pub(crate) because: Section,
    /// Blocks between the title and the first section.
    pub(crate) head: Section,
    pub(crate) sections: Vec<Section>,
    /// True where doubts were not looked for: no list of them is drawn.
    pub(crate) unjudged: bool,
    /// All doubts that were met.
    pub(crate) doubts: Doubts,
    /// Doubts that concern every figure.
    pub(crate) of_all: Marks,
    /// Clock and machine, for the captions of plots.
    pub(crate) conditions: String,
    /// A command, and what it does.
    pub(crate) next: Option<(String, &'static str)>,
    /// The report as JSON.
    pub(crate) raw: String,
}

/// Reader for whom a block is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum To {
    #[default]
    All,
    Screen,
    Page,
}

/// A part of a document.
#[derive(Default)]
pub(crate) struct Section {
    /// Anchor on the page: letters and dashes.
    pub(crate) id: String,
    /// Entry in the navigation of a page.
    pub(crate) short: String,
    /// Heading on a page.
    pub(crate) title: String,
    /// Summary of the contents, where a page folds the section.
    pub(crate) fold: Option<String>,
    pub(crate) blocks: Vec<(To, Block)>,
}

/// Piece of a section, whoever draws it.
pub(crate) enum Block {
    /// Label, and the words about it.
    Fact(String, String),
    /// Label, the words about it, and its doubts.
    Doubted(String, String, Marks),
    /// Steps in their order, each with a command where there is one.
    Numbered(Vec<(String, Option<String>)>),
    /// Subject of the section, its doubts, and how it was measured.
    Headline(String, Marks, String),
    /// An empty line on a screen.
    Gap,
    /// A heading inside a section.
    Heading(String),
    Words(String),
    /// A remark that stands out on a page.
    Note(String),
    /// Command that can be typed.
    Command(String),
    List(Vec<String>),
    Table(Table),
    /// Curves, with what was counted, and the doubts of it.
    Plots(Vec<Drawn>),
    /// Latency over time in shades: its heading on a page, what was counted, and the doubts of it.
    Heat(HeatMap, String, String, Marks),
    /// The figures to remember: what, how much, what to know of it.
    Tiles(Vec<(String, String, String)>),
    /// Behind a fold on a page; a screen has no room for it.
    Fold(String, Section),
    /// A drawing of a page: its class, its HTML, what was counted.
    Figure(&'static str, String, String),
    /// Ready: HTML on a page, lines on a screen.
    Ready(String),
}

/// A plot with what stands below it.
pub(crate) struct Drawn {
    pub(crate) plot: Plot,
    /// Caption: number of I/Os, and the meaning of a band.
    pub(crate) counted: String,
    pub(crate) marks: Marks,
    /// A plot of letters on the screen.
    pub(crate) letters: bool,
}

impl Drawn {
    pub(crate) fn new(plot: Plot, counted: impl Into<String>) -> Drawn {
        Drawn { plot, counted: counted.into(), marks: Marks::default(), letters: false }
    }
}

impl Section {
    pub(crate) fn new(id: &str, short: &str, title: &str) -> Section {
        // Ids of files become anchors: what is no letter, digit or dash of one could end the attribute.
        let id = id.replace(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c), "-");
        Section { id, short: short.to_owned(), title: title.to_owned(), ..Section::default() }
    }

    pub(crate) fn put(&mut self, block: Block) -> &mut Section {
        self.to(To::All, block)
    }

    /// Adds a block for the screen alone.
    pub(crate) fn screen(&mut self, block: Block) -> &mut Section {
        self.to(To::Screen, block)
    }

    /// Adds a block for the page alone.
    pub(crate) fn page(&mut self, block: Block) -> &mut Section {
        self.to(To::Page, block)
    }

    pub(crate) fn to(&mut self, to: To, block: Block) -> &mut Section {
        self.blocks.push((to, block));
        self
    }

    pub(crate) fn fact(&mut self, label: impl Into<String>, words: impl Into<String>) -> &mut Section {
        self.put(Block::Fact(label.into(), words.into()))
    }

    pub(crate) fn words(&mut self, words: impl Into<String>) -> &mut Section {
        self.put(Block::Words(words.into()))
    }

    pub(crate) fn table(&mut self, table: Table) -> &mut Section {
        self.put(Block::Table(table))
    }

    /// Adds a table for the page, behind a fold.
    pub(crate) fn folded(&mut self, summary: impl Into<String>, table: Table) -> &mut Section {
        let mut inner = Section::default();
        inner.table(table);
        self.page(Block::Fold(summary.into(), inner))
    }

    pub(crate) fn list(&mut self, items: Vec<String>) -> &mut Section {
        if !items.is_empty() {
            self.put(Block::List(items));
        }
        self
    }

    /// The section for the page alone, where a screen has no room for it.
    pub(crate) fn on_page(mut self) -> Section {
        self.blocks.retain(|(to, _)| *to != To::Screen);
        self.blocks.iter_mut().for_each(|(to, _)| *to = To::Page);
        self
    }

    /// Blocks that this reader is shown.
    pub(crate) fn blocks_for(&self, to: To) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(move |(each, _)| *each == To::All || *each == to).map(|(_, block)| block)
    }
}

impl Document {
    pub(crate) fn new(title: impl Into<String>) -> Document {
        Document { title: title.into(), raw: "null".to_owned(), ..Document::default() }
    }

    /// Puts the answer into the page as `--json` writes it, so that its reader can keep it.
    pub(crate) fn data(&mut self, answer: &impl Answer) {
        self.data_of_several(&labelled(answer));
    }

    /// Puts several answers into the page as one JSON list.
    pub(crate) fn data_of_several(&mut self, report: &impl serde::Serialize) {
        // Only strings have this letter, which could end a `<script>` element early.
        self.raw =
            serde_json::to_string(report).unwrap_or_else(|_| "null".to_owned()).replace('<', "\\u003c");
    }

    /// The screen: at most 80 columns, the same without colour.
    pub fn text(&self) -> String {
        text::screen(self)
    }

    /// The page: one HTML file that fetches nothing.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// A page of the manual.
    pub fn markdown(&self) -> String {
        markdown::page(self)
    }
}
