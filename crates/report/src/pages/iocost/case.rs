//! What does one case cost: how often exactly so much, in which layers, calls and functions, and with which registers?

use iostack_model::answers::{CostMode, IoCost, MmioUse};

use super::words::{
    boots, broken_sum, change, circumstances, clock_sum, clocks, place, price, share, subject, sum,
    time_stamp,
};
use super::{CaseFrame, calltree};
use crate::document::{Bar, Block, Cell, Row, Section, Table};
use crate::text::format::{count, or_dash};

/// Exact counts before the fold.
const MODES: usize = 4;

/// The number in one sentence.
pub(super) fn answer(cost: &IoCost) -> String {
    let Some(modal) = cost.modes.first() else { return "NOT ONE I/O was counted.".to_owned() };
    let most = cost.layers.first().map_or_else(String::new, |layer| {
        format!("; most of them in {}: {} %", layer.layer, share(layer.instructions, cost.instructions))
    });
    let (subject, exactly) = (subject(&cost.case), count(cost.instructions));
    let (part, all) = (share(modal.ios, cost.ios), count(cost.ios));
    format!("A {subject} costs exactly {exactly} instructions, in {part} % of {all} I/Os{most}.")
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
    let parts = [modes, layers, calls, functions].map(|part| part(cost, room));
    std::iter::once(about).chain(parts).chain([registers(cost), trust(cost)]).collect()
}

fn tiles(cost: &IoCost) -> Vec<(String, String, String)> {
    let tile = |what: &str, value, detail: &str| (what.to_owned(), value, detail.to_owned());
    let modal = format!("{} %", share(cost.modes[0].ios, cost.ios));
    let mut items = vec![
        tile("instructions", count(cost.instructions), "of the commonest I/O, exactly"),
        tile("I/Os with exactly these", modal, &format!("of {}", count(cost.ios))),
    ];
    items.extend(cost.layers.first().map(|first| {
        let part = format!("{} %", share(first.instructions, cost.instructions));
        let detail = format!("{} instructions", count(first.instructions));
        tile(&format!("most in: {}", first.layer), part, &detail)
    }));
    items.extend(cost.registers().map(|(reads, writes)| {
        tile("register accesses", format!("{} / {}", count(reads), count(writes)), "reads / writes")
    }));
    items.extend(clocks(cost).map(|clocks| {
        tile("modelled clocks", count(clocks), &format!("at {} an instruction", price(cost.prices.cpi)))
    }));
    items
}

fn bar(value: u64, most: u64, slot: usize) -> Bar {
    Bar::whole(value as f64, most as f64, slot)
}

/// Table of the most common exact counts; a single one needs none.
fn modes(cost: &IoCost, room: &CaseFrame<'_>) -> Section {
    let mut section = Section::new("counts", "Exact counts", "How often exactly so many");
    if cost.modes.len() < 2 {
        return section;
    }
    let beside = |mode: &CostMode| match change(cost.instructions, mode.instructions) {
        same if same == "0" => "the modal one".to_owned(),
        other => other,
    };
    let mut table = Table::over(&cost.modes)
        .words("exact count", |mode| count(mode.instructions))
        .number("I/Os", |mode| count(mode.ios))
        .number("%", |mode| share(mode.ios, cost.ios))
        .bars(|mode| bar(mode.ios, cost.modes[0].ios, 0))
        .words("against the modal one", beside)
        .done();
    let row = |name: String, ios: u64| {
        let drawn = bar(ios, cost.modes[0].ios, 0).into();
        Row::of([name.into(), count(ios).into(), share(ios, cost.ios).into(), drawn, Cell::default()])
    };
    table.shown = if room.detail.full { 0 } else { MODES };
    let folded = cost.modes.iter().skip(MODES).map(|mode| mode.ios);
    table.rest = Some(row(format!("... {} more", folded.len()), sum(folded)));
    let others = cost.ios.saturating_sub(sum(cost.modes.iter().map(|mode| mode.ios)));
    table.sums.extend((others > 0).then(|| row("others".to_owned(), others)));
    section.table(table);
    section
}

fn layers(cost: &IoCost, room: &CaseFrame<'_>) -> Section {
    let mut section = Section::new("layers", "Layers", "Instructions by layer");
    if cost.layers.is_empty() {
        return section;
    }
    let total = sum(cost.layers.iter().map(|row| row.instructions));
    let most = cost.layers.iter().map(|row| row.instructions).max().unwrap_or(0);
    let mut table = Table::over(&cost.layers)
        .words("layer", |row| &row.layer)
        .number("instr.", |row| count(row.instructions))
        .number("%", |row| share(row.instructions, total))
        .bars(|row| bar(row.instructions, most, room.colours.slot(&row.layer)))
        .words("what", |row| &row.meaning)
        .done();
    table.sums.push(Row::of(["SUM".to_owned(), count(total), share(total, total)]));
    section.table(table);
    section
}

/// Section of every call, which only a page has room for.
fn calls(cost: &IoCost, room: &CaseFrame<'_>) -> Section {
    let mut section = Section::new("calls", "Calls", "What it called");
    section.page(match &cost.tree {
        Some(tree) => {
            let (modal, all) = (count(cost.modes[0].ios), count(cost.ios));
            let caption = format!("The modal I/O, {modal} of {all} alike; {}.", cost.how);
            Block::Ready(calltree::figure(tree, room.colours, room.calls, &caption))
        }
        None => Block::Note("This I/O was not traced: there are no calls to unfold.".to_owned()),
    });
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
    let mut table = Table::over(&cost.functions)
        .words("function", |one| Cell::from(&one.name).coloured(room.colours.slot(&one.layer)))
        .number("instr.", |one| count(one.instructions))
        .number("%", |one| share(one.instructions, cost.instructions))
        .number("calls", |one| or_dash(one.calls, count))
        .words("layer", |one| &one.layer)
        .words("module", place)
        .done();
    table.shown = if room.detail.full { 0 } else { room.functions };
    let folded = cost.functions.iter().skip(room.functions).map(|one| one.instructions);
    let (more, own) = (count(folded.len() as u64), sum(folded));
    table.rest = Some(Row::of([format!("... {more} more"), count(own), share(own, cost.instructions)]));
    section.table(table);
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
    let register = |one: &MmioUse| {
        let address = format!("{:#x}", one.address);
        match &one.register {
            Some(name) => Cell::from(name).small(address),
            None => Cell::from(address),
        }
    };
    let mut table = Table::over(uses)
        .words("registers used by", |one| &one.function)
        .words("of", |one| &one.region)
        .words("register", register)
        .number("reads", |one| count(one.reads))
        .number("writes", |one| count(one.writes))
        .done();
    table.sums.push(Row::of(["SUM", "", "", &count(reads), &count(writes)]));
    section.table(table);
    section
}

fn trust(cost: &IoCost) -> Section {
    let mut section = Section::new("trust", "Trust", "How far to trust it");
    if !cost.boots.is_empty() {
        section.fact("boots", boots(cost));
    }
    section.fact("clock", time_stamp(cost));
    match (cost.unclassified.len(), cost.unclassified.join(", ")) {
        (0, _) => section.page(Block::Fact("layers".to_owned(), "every function has one".to_owned())),
        (many, names) => section.put(Block::Note(format!("NO LAYER: {many} functions have none: {names}"))),
    };
    if let Some(wrong) = broken_sum(cost) {
        section.put(Block::Note(wrong));
    }
    let modelled = clocks(cost).zip(clock_sum(cost));
    let modelled = modelled
        .map(|(clocks, sum)| format!("{} clocks = {sum}. The prices are set, not measured.", count(clocks)));
    section.fact("modelled", modelled.unwrap_or("no clocks: they need the register accesses".to_owned()));
    section.list(cost.notes.clone());
    section
}
