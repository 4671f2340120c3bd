//! What is a simulated drive or platform made of, why should its numbers be believed, and what is full in it?

#![expect(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "a drawing is made once, from pieces that read like what they become"
)]

mod curve;
mod part_letters;
mod parts;
mod sizing;
mod way;
mod way_letters;

use iostack_model::answers::{Basis, DeviceCard, DeviceClaim, DeviceNumber, DevicePicture};
use iostack_model::{Inside, Outcome};

use super::inside;
use crate::document::{Block, Document, Section, Table};
use crate::html::numbers::Quantity;
use crate::inside::reasons;
use crate::lists::{Joined, distinct};
use crate::text::format::{count, percent, rate, significant, time};
use crate::what_if::limiting;

/// Document of `iostack sim show`: of a platform the way of an I/O and what is full, of a drive its parts.
pub fn show(picture: &DevicePicture) -> Document {
    let card = &picture.card;
    let mut all = head(card);
    all.sections.push(drawing(picture));
    if let Some((outcome, inside)) = picture.run.as_ref().and_then(|run| Some((run, run.inside.as_ref()?))) {
        all.unjudged = false;
        all.doubts.note(&outcome.caveats, &card.name);
        all.sections.push(full(picture, outcome, inside));
    }
    all.sections.extend(picture.ranking.as_ref().map(sizing::ranking));
    all.sections.extend(picture.sizing.as_ref().map(sizing::sizing));
    all.sections.extend((!picture.curve.is_empty()).then(|| curve::curve(&picture.curve)));
    all.sections.push(numbers(card, "", "numbers"));
    for (at, member) in card.members.iter().enumerate() {
        all.sections.push(of_member(member, picture.roles.get(at).map(String::as_str)));
    }
    all.sections.extend((!card.claims.is_empty()).then(|| claims_of(card)));
    all.sections.extend(sources(card));
    all.data(picture);
    all
}

/// Only the claims, with what was found.
pub fn claims(card: &DeviceCard) -> Document {
    let mut all = Document::new(format!("iostack sim check {}", card.name));
    all.unjudged = true;
    all.beside = vec![card.title.clone()];
    all.sections.push(claims_of(card));
    let held = card.claims.iter().filter(|claim| claim.holds == Some(true)).count();
    (all.answers, all.answer) = ("CLAIMS", format!("{held} of {} claims hold.", card.claims.len()));
    all
}

fn head(card: &DeviceCard) -> Document {
    let mut all = Document::new(format!("iostack sim show {}", card.name));
    all.unjudged = true;
    let year = card.year.map_or(String::new(), |year| format!(", {year}"));
    all.beside = vec!["SIMULATED".to_owned(), format!("{}{year}", card.kind)];
    all.answer.clone_from(&card.title);
    all.head.screen(Block::Fact("is".to_owned(), card.title.clone()));
    all.head.fact("origin", card.origin.clone());
    if !card.changed.is_empty() {
        let changed = card.changed.iter().map(|(key, value)| format!("{key}={value}"));
        all.head.fact("changed", changed.joined(" "));
    }
    all.head.fact("numbers", tally(card));
    if !card.about.is_empty() {
        all.head.screen(Block::Gap).words(card.about.clone());
    }
    all
}

fn tally(card: &DeviceCard) -> String {
    let (sourced, fitted, assumed) = (card.sourced, card.fitted, card.assumed);
    format!("{sourced} have a source, {fitted} are fitted to a claim, {assumed} are assumed")
}

/// Its parts from top to bottom.
fn drawing(picture: &DevicePicture) -> Section {
    let mut section = Section::new("drawing", "Drawing", "What it is made of");
    let (letters, drawn, most) = if picture.roles.is_empty() {
        (
            part_letters::drawing(&picture.card.levels),
            parts::figure(&picture.card),
            "Parts that are alike stand side by side",
        )
    } else {
        "The path of an I/O, and what is full".clone_into(&mut section.title);
        let filled = "Each box is filled by the busy share of its busiest resource, mean over those alike; orange limits";
        (way_letters::path(picture), way::figure(picture), filled)
    };
    section.screen(Block::Ready(letters));
    section.page(Block::Figure("", drawn, format!("{most}, sixteen at most")));
    section
}

/// Facts that a job showed about the limit.
fn full(picture: &DevicePicture, outcome: &Outcome, inside: &Inside) -> Section {
    let mut section = Section::new("full", "Full", "What is full");
    section.page(Block::Tiles(tiles(outcome, inside)));
    for (_, sentence) in reasons(outcome, inside).into_iter().filter(|(label, _)| *label == "limit") {
        section.fact(if limiting(outcome).is_some() { "FULL" } else { "busiest" }, sentence);
    }
    section.page(Block::Command(picture.command.clone()));
    if let Some(host) = &inside.host {
        section.screen(Block::Gap).put(inside::clocks_heading(host)).table(inside::clocks(host));
    }
    section.page(Block::Table(inside::resources(outcome, inside)));
    section
}

fn tiles(outcome: &Outcome, inside: &Inside) -> Vec<(String, String, String)> {
    let latency = outcome.latency();
    let tile = |what: &str, value: String, detail: String| (what.to_owned(), value, detail);
    let mut tiles = vec![
        tile("IOPS", rate(outcome.rate()), Quantity::Bandwidth.say(outcome.bandwidth())),
        tile("mean latency", time(latency.mean_ns()), format!("{} I/Os", count(latency.count))),
    ];
    if let Some(host) = &inside.host {
        let each = significant(host.interrupts as f64 / latency.count.max(1) as f64, 3);
        let clocks = count(host.clocks_per_io.round() as u64);
        tiles.push(tile("clocks per I/O", clocks, format!("{each} interrupts per I/O")));
    }
    if let Some(limit) = &inside.limit {
        let what = if limiting(outcome).is_some() { "full" } else { "busiest" };
        tiles.push(tile(what, limit.name.clone(), format!("{} % busy", percent(limit.busy))));
    }
    tiles
}

/// A part of a platform, or a drive inside another.
fn of_member(member: &DeviceCard, role: Option<&str>) -> Section {
    let Some(role) = role else {
        let mut section = Section::new("inside", "Inside", "What is inside");
        section.fact("inside", format!("{}: `iostack sim show {}`", member.title, member.name));
        return section;
    };
    let short = role.rsplit('.').next().unwrap_or(role);
    let mut section = numbers(member, &format!("{short}: {}", member.title), &format!("member-{short}"));
    short.clone_into(&mut section.short);
    section.title = format!("Numbers of the {short}");
    let about = Block::Fact(role.to_owned(), format!("{}: {}", member.name, tally(member)));
    section.blocks.insert(1, (crate::document::To::All, about));
    section
}

/// Each number with its meaning and its reason; usual values in one line on a screen, behind a fold on a page.
fn numbers(card: &DeviceCard, heading: &str, id: &str) -> Section {
    let mut section = Section::new(id, "Numbers", "Its numbers, and why to believe them");
    if !heading.is_empty() {
        section.screen(Block::Heading(heading.to_owned()));
    }
    let (usual, told): (Vec<_>, Vec<_>) =
        card.numbers.iter().partition(|number| number.basis == Basis::Usual);
    section.table(table(&told));
    let (absent, present): (Vec<&DeviceNumber>, Vec<_>) =
        usual.iter().partition(|number| number.value == "none");
    let present = present.iter().map(|number| format!("{}={}", number.key, number.value)).joined(", ");
    for (label, words) in [("usual", present), ("without", absent.iter().map(|one| &one.key).joined(", "))] {
        if !words.is_empty() {
            section.screen(Block::Fact(label.to_owned(), words));
        }
    }
    if !usual.is_empty() {
        section.folded(format!("{} more have the usual value of the kind", usual.len()), table(&usual));
    }
    section
}

fn table(numbers: &[&DeviceNumber]) -> Table {
    let why = |number: &DeviceNumber| match number.source.as_str() {
        "" => number.basis.name().to_owned(),
        source => format!("{}: {source}", number.basis.name()),
    };
    Table::over(numbers.iter().copied())
        .words("number", |number| &number.key)
        .words("value", |number| &number.value)
        .words("what it means", |number| &number.meaning)
        .below(|number| vec![why(number)])
        .done()
}

fn claims_of(card: &DeviceCard) -> Section {
    let mut section = Section::new("claims", "Claims", "What it must reach");
    let found = |claim: &DeviceClaim| {
        let found = claim.found.as_ref().zip(claim.difference.as_ref());
        found.map_or("not tried".to_owned(), |(found, by)| format!("{found} ({by})"))
    };
    let table = Table::over(&card.claims)
        .words("claim", |claim| &claim.name)
        .words("must be", |claim| &claim.expected)
        .words("found", found)
        .words("verdict", |claim| claim.holds.map_or("", |holds| if holds { "holds" } else { "FAILS" }))
        .below(|claim| {
            vec![format!("{}: {}", claim.figure.replace('_', " "), claim.what), claim.source.clone()]
        });
    section.table(table.done());
    section
}

/// Documents that the device or one inside it cites, each once.
fn sources(card: &DeviceCard) -> Option<Section> {
    let members = card.members.iter().flat_map(|member| &member.sources);
    let all = distinct(card.sources.iter().chain(members));
    let mut section = Section::new("sources", "Sources", "Sources");
    section.screen(Block::Heading("Sources".to_owned()));
    for (short, title) in &all {
        section.fact(short, title);
    }
    (!all.is_empty()).then_some(section)
}

/// Width of a drawing of a page.
const WIDTH: f64 = 1130.0;

/// Number of boxes side by side for so many parts.
fn columns(count: u64, most: usize) -> usize {
    usize::try_from(count).unwrap_or(most).clamp(1, most)
}

/// Middle of a column of a drawing of a page.
fn middle(column: usize, columns: usize) -> f64 {
    WIDTH * (column as f64 + 0.5) / columns as f64
}

/// Lines of at most `width` letters; `next` begins all but the first.
fn wrapped(text: &str, width: usize, next: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("it begins with one");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= width {
            *last += " ";
            *last += word;
        } else {
            lines.push(format!("{next}{word}"));
        }
    }
    lines
}
