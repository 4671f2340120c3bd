//! How does a page show a document?

use iostack_doubt::Weight;
use serde_json::{Map, Value};

use super::doubts::DoubtKind;
use super::table::{Bar, Cell, Column, Draws, Row, Table};
use super::{Block, Document, Doubts, Drawn, Marks, Section, To};
use crate::heat::HeatMap;
use crate::html::escape::{text as escaped, within};
use crate::html::heat;
use crate::html::page::document as file;
use crate::html::tiles::tiles;
use crate::lists::{Joined, grouped};

/// Sightings of a doubt before the fold.
const SEEN: usize = 4;
/// Share of a stacked bar below which a part has no room for its name, and what a letter takes.
const NAMED: (f64, f64) = (0.02, 0.009);

/// The page while it is written.
struct Page<'a> {
    document: &'a Document,
    /// Plots by their `id`, for `plot.js`.
    plots: Map<String, Value>,
    /// Heat maps by their `id`, for `heat.js`.
    heat: Map<String, Value>,
}

pub(super) fn page(document: &Document) -> String {
    let mut page = Page { document, plots: Map::new(), heat: Map::new() };
    let sections = document.sections.iter().map(|one| (one, page.section(one)));
    let mut sections: Vec<(&Section, String)> = sections.filter(|(_, body)| !body.is_empty()).collect();
    let mut doubts = Section::new("doubts", "Doubts", "Why to doubt it, and what to do");
    let folds = document.sections.iter().any(|one| one.fold.is_some());
    doubts.fold = folds.then(|| "each kind of doubt, where it was seen, what it changes".to_owned());
    if !document.unjudged {
        sections.push((&doubts, page.list()));
    }
    let header = page.header();
    file(&document.title, &header, &sections, [page.plots, page.heat], &document.raw)
}

fn collected<Each>(each: impl IntoIterator<Item = Each>, one: impl FnMut(Each) -> String) -> String {
    each.into_iter().map(one).joined("")
}

impl Page<'_> {
    fn header(&mut self) -> String {
        let document = self.document;
        let beside = collected(document.beside.iter().chain(&document.origin), |word| match word.as_str() {
            "SIMULATED" => " · <b class=\"simulated\">SIMULATED</b>".to_owned(),
            word => format!(" · {}", escaped(word)),
        });
        let interrupted = document.interrupted.map_or_else(String::new, |what| {
            format!("<p class=\"note\">Interrupted: the figures are of {what} until then.</p>")
        });
        let of_all = within(" Of every figure: ", self.links(&document.of_all), "");
        let told = document.doubts.told(true);
        let names = (1..)
            .zip(&told)
            .map(|(number, (_, kind))| format!("<a href=\"#doubt-{number}\">{}</a>", escaped(&kind.name)));
        let names = names.joined(", ");
        let doubts = match told.len() {
            _ if document.unjudged => String::new(),
            0 => "No reason to doubt these figures was found.".to_owned(),
            1 => format!("<b>1 kind of doubt:</b> {names}.{of_all}"),
            kinds => format!("<b>{kinds} kinds of doubt:</b> {names}.{of_all}"),
        };
        let doubts = within("<p class=\"doubtline\">", doubts, "</p>");
        let [title, answer] = [&document.title, &document.answer].map(|words| escaped(words));
        let (because, head) = (self.section(&document.because), self.section(&document.head));
        format!(
            "<p class=\"kicker\"><b>{title}</b>{beside}</p><h1>{answer}</h1>{because}{head}{doubts}{interrupted}"
        )
    }

    /// The blocks; facts that follow each other are one list.
    fn section(&mut self, section: &Section) -> String {
        let mut out = String::new();
        let mut facts = String::new();
        for block in section.blocks_for(To::Page) {
            let fact = match block {
                Block::Fact(label, words) => Some((label, words, String::new())),
                Block::Doubted(label, words, marks) => Some((label, words, self.links(marks))),
                _ => None,
            };
            if let Some((label, words, doubts)) = fact {
                facts += &format!("<dt>{}</dt><dd>{}{doubts}</dd>", escaped(label), escaped(words));
                continue;
            }
            out += &within("<dl>", std::mem::take(&mut facts), "</dl>");
            out += &self.block(block);
        }
        out + &within("<dl>", facts, "</dl>")
    }

    fn block(&mut self, block: &Block) -> String {
        match block {
            Block::Fact(..) | Block::Doubted(..) | Block::Gap => String::new(),
            Block::Numbered(steps) => {
                let step = |(act, command): &(String, Option<String>)| {
                    let command = command.iter().map(|command| format!("<code>{}</code>", escaped(command)));
                    format!("<li><p>{}</p>{}</li>", escaped(act), command.collect::<String>())
                };
                format!("<ol class=\"advice\">{}</ol>", collected(steps, step))
            }
            Block::Headline(_, marks, how) => {
                format!("<p class=\"took\">{}{}</p>", escaped(how), self.doubts(marks))
            }
            Block::Heading(words) => format!("<h3>{}</h3>", escaped(words)),
            Block::Words(words) => format!("<p>{}</p>", escaped(words)),
            Block::Note(words) => format!("<p class=\"note\">{}</p>", escaped(words)),
            Block::Command(command) => format!("<code>{}</code>", escaped(command)),
            Block::List(items) => {
                format!("<ul>{}</ul>", collected(items, |item| format!("<li>{}</li>", escaped(item))))
            }
            Block::Table(table) => self.table(table),
            Block::Plots(plots) => {
                format!("<div class=\"figures\">{}</div>", collected(plots, |drawn| self.plot(drawn)))
            }
            Block::Heat(map, what, counted, marks) => self.heat(map, what, &self.doubted(counted, marks)),
            Block::Tiles(items) => tiles(items),
            Block::Fold(summary, inner) => {
                let inner = self.section(inner);
                format!("<details class=\"raw\"><summary>{}</summary>{inner}</details>", escaped(summary))
            }
            Block::Figure(class, html, counted) => {
                let caption = self.caption(counted);
                format!("<figure class=\"wide {class}\">{html}<figcaption>{caption}</figcaption></figure>")
            }
            Block::Ready(html) => html.clone(),
        }
    }

    fn plot(&mut self, drawn: &Drawn) -> String {
        let caption = self.doubted(&drawn.counted, &drawn.marks);
        if !drawn.plot.has_points() {
            return format!(
                "<figure class=\"plot empty\"><h4>{}</h4><p>Nothing was measured that could be drawn here.</p></figure>\n",
                escaped(&drawn.plot.heading)
            );
        }
        let id = format!("plot-{}", self.plots.len() + 1);
        self.plots.insert(id.clone(), drawn.plot.json());
        drawn.plot.figure(&id, &caption)
    }

    /// Caption: what was counted, by which clock, on which machine.
    fn caption(&self, counted: &str) -> String {
        let words = [counted, &self.document.conditions];
        let words: Vec<String> = words.into_iter().filter(|words| !words.is_empty()).map(escaped).collect();
        if counted.is_empty() { String::new() } else { words.join("; ") + "." }
    }

    /// Caption with links to its doubts.
    fn doubted(&self, counted: &str, marks: &Marks) -> String {
        self.caption(counted) + &self.doubts(marks)
    }

    /// Links to doubts behind a word.
    fn doubts(&self, marks: &Marks) -> String {
        within(" <span class=\"doubts\">Doubts ", self.links(marks), "</span>")
    }

    fn heat(&mut self, map: &HeatMap, heading: &str, caption: &str) -> String {
        let id = format!("heat-{}", self.heat.len() + 1);
        let (figure, json) = heat::figure(map, &id, heading, caption);
        self.heat.insert(id, json);
        figure
    }

    fn links(&self, marks: &Marks) -> String {
        links(&self.document.doubts, marks)
    }

    fn table(&self, table: &Table) -> String {
        let shown: Vec<(usize, &Column)> =
            table.columns.iter().enumerate().filter(|(_, column)| column.to != To::Screen).collect();
        let head = collected(shown.iter().enumerate(), |(place, (_, column))| {
            format!("<th{}>{}</th>", class(column, place), escaped(&column.head))
        });
        let draw = |rows: &[&Row]| {
            let rows = collected(rows, |row| self.row(row, &shown));
            format!("<table class=\"numbers\"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
        };
        let (first, folded) = table.split();
        let first: Vec<&Row> = first.iter().chain(&table.sums).collect();
        let folded: Vec<&Row> = folded.iter().collect();
        let mut out = format!("<div class=\"scroll\">{}</div>", draw(&first));
        if !folded.is_empty() {
            out += &format!("<details><summary>{} more</summary>{}</details>", folded.len(), draw(&folded));
        }
        let captions = [escaped(&table.caption), self.caption(&table.page_caption)];
        let caption = captions.join(" ").trim().to_owned();
        let heading = escaped(&table.heading);
        if !shown.iter().any(|(_, column)| matches!(column.draws, Draws::Bars | Draws::Changes)) {
            let caption = within("<p class=\"took\">", caption, "</p>");
            return within("<h3>", heading, "</h3>") + &out + &caption;
        }
        let heading = within("<h4>", heading, "</h4>");
        let (legend, changes) = (legend(table), shown.iter().any(|(_, one)| one.draws == Draws::Changes));
        let class = match (legend.is_empty(), changes) {
            (_, true) => " changes",
            (false, _) => " stacked",
            _ => "",
        };
        format!(
            "<figure class=\"bars{class}\">{heading}{legend}{out}<figcaption>{caption}</figcaption></figure>"
        )
    }

    fn row(&self, row: &Row, shown: &[(usize, &Column)]) -> String {
        let none = Cell::default();
        if row.group {
            let cell = self.cell(row.cells.first().unwrap_or(&none));
            return format!("<tr class=\"group\"><th colspan=\"{}\">{cell}</th></tr>", shown.len());
        }
        let mut below = collected(&row.below, |line| format!("<br/><small>{}</small>", escaped(line)));
        below += &collected(&row.command, |command| format!("<code>{}</code>", escaped(command)));
        let cells = collected(shown.iter().enumerate(), |(place, (at, column))| {
            let cell = row.cells.get(*at).unwrap_or(&none);
            let class = class(column, place);
            if place == 0 {
                return format!("<th{class}>{}{below}</th>", self.cell(cell));
            }
            match &cell.bar {
                Some(bar) => format!("<td{class}>{}</td>", drawn(bar, column.draws, row)),
                None => format!("<td{class}>{}</td>", self.cell(cell)),
            }
        });
        format!("<tr{}>{cells}</tr>", if row.sum { " class=\"partsum\"" } else { "" })
    }

    fn cell(&self, cell: &Cell) -> String {
        let small = within(" <small>", escaped(&cell.small), "</small>");
        let text = escaped(&cell.text);
        let text = match cell.slot {
            Some(slot) => format!("<span class=\"swatch s{slot}\">{text}</span>"),
            None => text,
        };
        format!("{}{text}{small}{}", "&#8195;".repeat(cell.indent), self.links(&cell.marks))
    }

    /// All doubts with what was seen where; those that change nothing are folded.
    fn list(&self) -> String {
        let doubts = &self.document.doubts;
        if doubts.is_empty() {
            return "<p>None was found. Every caveat is looked for, none is assumed.</p>".to_owned();
        }
        let mut told: Vec<(usize, &DoubtKind)> =
            (1..).zip(doubts.told(true).into_iter().map(|(_, kind)| kind)).collect();
        told.sort_by_key(|(_, kind)| kind.weight);
        let (folded, shown): (Vec<_>, Vec<_>) =
            told.into_iter().partition(|(_, kind)| kind.weight == Weight::None);
        let items = |kinds: &[(usize, &DoubtKind)]| {
            format!("<ol class=\"doubts\">{}</ol>", collected(kinds, |(number, kind)| item(*number, kind)))
        };
        if folded.is_empty() {
            return items(&shown);
        }
        let (count, shown, rest) = (folded.len(), items(&shown), items(&folded));
        format!("{shown}<details><summary>{count} that change no verdict</summary>{rest}</details>")
    }
}

fn links(doubts: &Doubts, marks: &Marks) -> String {
    let told = doubts.told(true);
    collected(doubts.numbers(marks, true), |number| {
        let name = escaped(&told[number - 1].1.name);
        format!("<a class=\"doubt\" href=\"#doubt-{number}\" title=\"{name}\">{number}</a>")
    })
}

fn item(number: usize, kind: &DoubtKind) -> String {
    let lines = |seen: &[(String, String)]| {
        collected(seen, |(place, said)| format!("<li><b>{}</b> {}</li>", escaped(place), escaped(said)))
    };
    let (shown, folded) = kind.seen.split_at(kind.seen.len().min(SEEN));
    let mut seen = format!("<ul>{}</ul>", lines(shown));
    if !folded.is_empty() {
        let (count, more) = (folded.len(), lines(folded));
        seen += &format!("<details><summary>{count} more</summary><ul>{more}</ul></details>");
    }
    let [name, changes, remedy] = [&kind.name, kind.changes, kind.remedy].map(escaped);
    format!(
        "<li id=\"doubt-{number}\"><h4><span class=\"doubt\">{number}</span> {name}</h4>\
         <p class=\"remedy\">{changes} {remedy}</p>{seen}</li>"
    )
}

fn class(column: &Column, place: usize) -> &'static str {
    match column.draws {
        _ if place == 0 => "",
        Draws::Words => " class=\"words\"",
        Draws::Number => " class=\"number\"",
        Draws::Bars | Draws::Changes => " class=\"bar\"",
    }
}

/// The key of a table whose bars have several parts.
fn legend(table: &Table) -> String {
    let bars = table.rows.iter().flat_map(|row| &row.cells).filter_map(|cell| cell.bar.as_ref());
    let named = bars.flat_map(|bar| &bar.parts).filter(|(_, _, name)| !name.is_empty());
    let key = |(name, slots): (&String, Vec<usize>)| {
        format!("<span class=\"swatch s{}\">{}</span>", slots[0], escaped(name))
    };
    let keys = collected(grouped(named.map(|(slot, _, name)| (name, *slot))), key);
    within("<div class=\"swatches\">", keys, "</div>")
}

/// A bar as SVG with widths in percent: it fits any screen, and paper.
fn drawn(bar: &Bar, draws: Draws, row: &Row) -> String {
    let percent =
        |value: f64| if bar.most > 0.0 { (value / bar.most * 100.0).clamp(0.0, 100.0) } else { 0.0 };
    let label = escaped(row.cells.first().map_or("", |cell| &cell.text));
    if draws == Draws::Changes {
        let width = percent(bar.length().abs()) * 0.49;
        let from = if bar.length() >= 0.0 { 50.0 } else { 50.0 - width };
        let slot = bar.parts.first().map_or(0, |(slot, ..)| *slot);
        return format!(
            "<svg class=\"s{slot}\" width=\"100%\" height=\"16\" role=\"img\" aria-label=\"{label}\"><rect x=\"{from:.2}%\" y=\"2\" \
             width=\"{width:.2}%\" height=\"12\"/><line x1=\"50%\" x2=\"50%\" y1=\"0\" y2=\"16\"/></svg>"
        );
    }
    let height = if bar.parts.len() > 1 { 30 } else { 16 };
    let mut from = 0.0;
    let parts = collected(&bar.parts, |(slot, length, name)| {
        let (x, width) = (percent(from), percent(*length));
        from += length;
        let name = escaped(name);
        let share = length / bar.length().max(f64::MIN_POSITIVE) * 100.0;
        let title = within("<title>", name.clone(), &format!(": {share:.1} %</title>"));
        let room = width / 100.0 > NAMED.0.max(name.chars().count() as f64 * NAMED.1 + NAMED.1);
        let word = if room { format!("<text x=\"5\" y=\"19\">{name}</text>") } else { String::new() };
        format!(
            "<svg class=\"s{slot}\" x=\"{x:.3}%\" width=\"{width:.3}%\" height=\"{height}\">{title}<rect width=\"100%\" \
             height=\"{height}\"/>{word}</svg>"
        )
    });
    format!("<svg width=\"100%\" height=\"{height}\" role=\"img\" aria-label=\"{label}\">{parts}</svg>")
}
