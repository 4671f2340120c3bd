//! What does one case cost: how often exactly so much, in which layers, calls and functions, and with which registers?

use iostack_model::answers::{CostFunction, IoCost};

use super::words::{
    boots, broken_sum, change, circumstances, clock_sum, clocks, place, price, share, subject, sum,
    time_stamp,
};
use super::{CaseFrame, calltree};
use crate::document::{Bar, Block, Cell, Column, Row, Section, Table};
use crate::text::format::count;

/// Exact counts before the fold.
const MODES: usize = 4;

/// The number in one sentence.
pub(super) fn answer(cost: &IoCost) -> String {
    if cost.modes.is_empty() {
        return "NOT ONE I/O was counted.".to_owned();
    }
    let most = cost.layers.first().map_or_else(String::new, |layer| {
        format!("; most of them in {}: {} %", layer.layer, share(layer.instructions, cost.instructions))
    });
    format!(
        "A {} costs exactly {} instructions, in {} % of {} I/Os{most}.",
        subject(&cost.case),
        count(cost.instructions),
        share(cost.modes[0].ios, cost.ios),
        count(cost.ios)
    )
}

/// Sections on everything about one case; the first says what was counted.
pub(super) fn sections(cost: &IoCost, room: &CaseFrame<'_>) -> Vec<Section> {
    let mut about = Section::new("about", "About", "What was counted");
    about.fact("case", circumstances(&cost.case));
    about.fact("counted", format!("{}; iostack {}", cost.how, cost.iostack));
    if cost.modes.is_empty() {
        about.page(Block::Note("Not one I/O was counted.".to_owned()));
        return vec![about, trust(cost)];
    }
    about.page(Block::Tiles(tiles(cost)));
    vec![
        about,
        modes(cost, room),
        layers(cost, room),
        calls(cost, room),
        functions(cost, room),
        registers(cost),
        trust(cost),
    ]
}

fn tiles(cost: &IoCost) -> Vec<(String, String, String)> {
    let mut items = vec![
        ("instructions".to_owned(), count(cost.instructions), "of the commonest I/O, exactly".to_owned()),
        (
            "I/Os with exactly these".to_owned(),
            format!("{} %", share(cost.modes[0].ios, cost.ios)),
            format!("of {}", count(cost.ios)),
        ),
    ];
    items.extend(cost.layers.first().map(|first| {
        let part = format!("{} %", share(first.instructions, cost.instructions));
        (format!("most in: {}", first.layer), part, format!("{} instructions", count(first.instructions)))
    }));
    if let Some((reads, writes)) = cost.registers() {
        let both = format!("{} / {}", count(reads), count(writes));
        items.push(("register accesses".to_owned(), both, "reads / writes".to_owned()));
    }
    items.extend(clocks(cost).map(|clocks| {
        let detail = format!("at {} an instruction", price(cost.prices.cpi));
        ("modelled clocks".to_owned(), count(clocks), detail)
    }));
    items
}

fn bar(value: u64, most: u64, slot: usize) -> Cell {
    Cell::of_bar(Bar::whole(value as f64, most as f64, slot))
}

/// Table of the most common exact counts; a single one needs none.
fn modes(cost: &IoCost, room: &CaseFrame<'_>) -> Section {
    let mut section = Section::new("counts", "Exact counts", "How often exactly so many");
    if cost.modes.len() < 2 {
        return section;
    }
    let row = |name: String, ios: u64, beside: String| {
        let part = share(ios, cost.ios);
        Row::of([
            name.into(),
            count(ios).into(),
            part.into(),
            bar(ios, cost.modes[0].ios, 0),
            Cell::from(beside),
        ])
    };
    let (number, words) = (Column::number, Column::words);
    let columns = vec![
        words("exact count"),
        number("I/Os"),
        number("%"),
        Column::bars(""),
        words("against the modal one"),
    ];
    let mut table = Table::new(columns);
    table.rows.extend(cost.modes.iter().map(|mode| {
        let beside = match change(cost.instructions, mode.instructions) {
            same if same == "0" => "the modal one".to_owned(),
            other => other,
        };
        row(count(mode.instructions), mode.ios, beside)
    }));
    table.shown = if room.detail.full { 0 } else { MODES };
    let folded = cost.modes.iter().skip(MODES).map(|mode| mode.ios);
    table.rest = Some(row(format!("... {} more", folded.len()), sum(folded), String::new()));
    let others = cost.ios.saturating_sub(sum(cost.modes.iter().map(|mode| mode.ios)));
    if others > 0 {
        table.sums.push(row("others".to_owned(), others, String::new()));
    }
    section.put(Block::Table(table));
    section
}

fn layers(cost: &IoCost, room: &CaseFrame<'_>) -> Section {
    let mut section = Section::new("layers", "Layers", "Instructions by layer");
    if cost.layers.is_empty() {
        return section;
    }
    let total = sum(cost.layers.iter().map(|row| row.instructions));
    let most = cost.layers.iter().map(|row| row.instructions).max().unwrap_or(0);
    let (number, words) = (Column::number, Column::words);
    let columns = vec![words("layer"), number("instr."), number("%"), Column::bars(""), words("what")];
    let mut table = Table::new(columns);
    for layer in &cost.layers {
        let own = layer.instructions;
        let drawn = bar(own, most, room.colours.slot(&layer.layer));
        table.row([
            Cell::from(&layer.layer),
            count(own).into(),
            share(own, total).into(),
            drawn,
            Cell::from(&layer.meaning),
        ]);
    }
    table.sums.push(Row::of(["SUM".to_owned(), count(total), share(total, total)]));
    section.put(Block::Table(table));
    section
}

/// Section of every call, which only a page has room for.
fn calls(cost: &IoCost, room: &CaseFrame<'_>) -> Section {
    let mut section = Section::new("calls", "Calls", "What it called");
    match &cost.tree {
        Some(tree) => {
            let caption = format!(
                "The modal I/O, {} of {} alike; {}.",
                count(cost.modes[0].ios),
                count(cost.ios),
                cost.how
            );
            section.page(Block::Ready(calltree::figure(tree, room.colours, room.calls, &caption)));
        }
        None => {
            section.page(Block::Note("This I/O was not traced: there are no calls to unfold.".to_owned()));
        }
    }
    if let Some(tree) = cost.tree.as_ref().filter(|_| room.detail.tree) {
        section.screen(calltree::lines(tree));
    }
    section
}

fn functions(cost: &IoCost, room: &CaseFrame<'_>) -> Section {
    let mut section = Section::new("functions", "Functions", "Functions, without what they call");
    if cost.functions.is_empty() {
        return section;
    }
    let mut table = Table::of(&["function", "instr.", "%", "calls"]);
    table.columns.extend(["layer", "module"].map(Column::words));
    let row = |one: &CostFunction| {
        Row::of([
            Cell::from(&one.name).coloured(room.colours.slot(&one.layer)),
            count(one.instructions).into(),
            share(one.instructions, cost.instructions).into(),
            one.calls.map_or_else(|| "-".to_owned(), count).into(),
            Cell::from(&one.layer),
            Cell::from(place(one)),
        ])
    };
    table.rows = cost.functions.iter().map(row).collect();
    table.shown = if room.detail.full { 0 } else { room.functions };
    let folded = cost.functions.iter().skip(room.functions).map(|one| one.instructions);
    let (more, own) = (count(folded.len() as u64), sum(folded));
    table.rest = Some(Row::of([format!("... {more} more"), count(own), share(own, cost.instructions)]));
    section.put(Block::Table(table));
    section
}

fn registers(cost: &IoCost) -> Section {
    let mut section = Section::new("registers", "Registers", "Register accesses");
    let Some((uses, (reads, writes))) = cost.mmio.as_ref().zip(cost.registers()) else {
        section.fact("registers", "accesses to the device's registers were not counted");
        return section;
    };
    if uses.is_empty() {
        section.fact("registers", "no register of a device is read or written");
        return section;
    }
    let mut table = Table::new(["registers used by", "of", "register"].map(Column::words).to_vec());
    table.columns.extend(["reads", "writes"].map(Column::number));
    for one in uses {
        let address = format!("{:#x}", one.address);
        let register = match &one.register {
            Some(name) => Cell::from(name).small(address),
            None => Cell::from(address),
        };
        let of = [&one.function, &one.region].map(Cell::from);
        table.row(of.into_iter().chain([register, count(one.reads).into(), count(one.writes).into()]));
    }
    table.sums.push(Row::of(["SUM", "", "", &count(reads), &count(writes)]));
    section.put(Block::Table(table));
    section
}

fn trust(cost: &IoCost) -> Section {
    let mut section = Section::new("trust", "Trust", "How far to trust it");
    if !cost.boots.is_empty() {
        section.fact("boots", boots(cost));
    }
    section.fact("clock", time_stamp(cost));
    if cost.unclassified.is_empty() {
        section.page(Block::Fact("layers".to_owned(), "every function has one".to_owned()));
    } else {
        let names = cost.unclassified.join(", ");
        section
            .put(Block::Note(format!("NO LAYER: {} functions have none: {names}", cost.unclassified.len())));
    }
    if let Some(wrong) = broken_sum(cost) {
        section.put(Block::Note(wrong));
    }
    section.fact(
        "modelled",
        match clocks(cost).zip(clock_sum(cost)) {
            Some((clocks, sum)) => {
                format!("{} clocks = {sum}. The prices are set, not measured.", count(clocks))
            }
            None => "no clocks: they need the register accesses".to_owned(),
        },
    );
    section.list(cost.notes.clone());
    section
}
