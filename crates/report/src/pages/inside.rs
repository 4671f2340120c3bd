//! What happened inside a simulated device, and why is it as fast as it is?

use iostack_model::{FlashUse, HostUse, Inside, InsideFlow, Outcome, ResourceUse};

use super::stages::{ratio, stage_row};
use crate::document::{Bar, Block, Cell, Column, Document, Row, Section, Table, To};
use crate::html::colours::slot;
use crate::html::line;
use crate::inside;
use crate::text::format::{count, percent, rate_of_any, significant, time};

/// The colour of what limits, and of the rest.
const LIMITS: usize = 1;
const OTHERS: usize = 6;

/// Facts on what was simulated, in the place of device and host.
pub(super) fn conditions(inside: &Inside, all: &mut Document) {
    all.beside.extend(["SIMULATED".to_owned(), format!("seed {}", inside.seed)]);
    all.conditions = format!("simulated: {}, seed {}, virtual time", inside.device, inside.seed);
    all.head.fact("SIMULATED", inside::device(inside));
    if let Some(state) = inside::state(inside) {
        all.head.fact("state", state);
    }
    if let Some(changed) = inside::changed(inside) {
        all.head.fact("changed", changed);
    }
    all.head.fact("seed", format!("{}; it gives every figure again, to the last digit", inside.seed));
}

/// Name and value of the tiles that stand where a real run has its CPU time.
pub(super) fn tiles(inside: &Inside) -> Vec<(String, String, String)> {
    let mut tiles = Vec::new();
    if let Some((limit, used_up)) = inside::busiest(inside) {
        let what = if used_up { "limited by" } else { "busiest part" };
        tiles.push((what.to_owned(), limit.name.clone(), format!("{} % busy", percent(limit.busy))));
    }
    if let Some(flash) = inside.flash.as_ref().filter(|flash| flash.pages_host > 0) {
        tiles.push((
            "write amplification".to_owned(),
            significant(flash.write_amplification, 3),
            format!("{} of {} blocks free", count(flash.blocks_free), count(flash.blocks)),
        ));
    }
    tiles
}

/// Stages, clocks, resources, then the answer in sentences.
pub(super) fn account(outcome: &Outcome, inside: &Inside, section: &mut Section) {
    for flow in inside.flows.iter().filter(|flow| flow.whole.count > 0) {
        let stages_of = flow.stages.iter().map(|(stage, bins)| (*stage, bins));
        let heading = format!("The mean {} from start to end", flow.direction.name());
        let line = line::figure(&heading, stages_of, flow.whole.mean_ns());
        let table = stages(outcome, flow);
        section.page(Block::Figure("", line, table.page_caption.clone()));
        section.put(Block::Table(table));
    }
    if let Some(host) = &inside.host {
        section.screen(Block::Gap).put(clocks_heading(host)).put(Block::Table(clocks(host)));
        if host.interrupts > 0 {
            section.fact("interrupts", interrupts(host));
        }
    }
    if !inside.resources.is_empty() {
        section.put(Block::Table(resources(outcome, inside)));
    }
    section.screen(Block::Gap);
    why(outcome, inside, section, To::Screen);
    if let Some(used) = &inside.flash {
        section.page(Block::Fold("What flash management did".to_owned(), flash(used)));
    }
    let simulated =
        format!("{} requests in {} events, ramp included", count(inside.requests), count(inside.events));
    section.page(Block::Fact("simulated".to_owned(), simulated));
}

/// The answer in sentences: what a page begins with, and what ends a screen.
pub(super) fn why(outcome: &Outcome, inside: &Inside, section: &mut Section, to: To) {
    let starred = inside::busiest(inside).is_some_and(|(_, used_up)| used_up);
    for (label, sentence) in inside::reasons(outcome, inside) {
        let label = if label == "limit" && starred { "limit *" } else { label };
        section.to(to, Block::Fact(label.to_owned(), sentence));
    }
}

/// One direction: each stage with its meaning, its share and its times.
fn stages(outcome: &Outcome, flow: &InsideFlow) -> Table {
    let direction = flow.direction.name();
    let head = Column::words(format!("where a {direction}'s time went"));
    let tails = ["p50", "p99.9"].map(|head| Column::number(head).page());
    let [median, far] = tails;
    let numbers = ["mean", "%"].map(Column::number);
    let columns = [head, Column::words("what happens in it")].into_iter().chain(numbers);
    let columns = columns.chain([median, Column::number("p99"), far]);
    let mut table = Table::new(columns.collect());
    for (stage, bins) in flow.stages.iter().filter(|(_, bins)| bins.sum_ns > 0) {
        let name = Cell::from(stage.name()).coloured(slot(*stage));
        table.rows.push(stage_row(name, stage.meaning(), bins, &flow.whole));
    }
    table.sums.push(Row {
        sum: true,
        ..stage_row("sum".into(), "what the caller waited", &flow.whole, &flow.whole)
    });
    let (ios, time) = (count(flow.whole.count), time(outcome.elapsed.0 as f64));
    table.page_caption = format!("{ios} {direction}s in {time}; sums are exact");
    table
}

/// Heading of a table of [`clocks`].
pub(super) fn clocks_heading(host: &HostUse) -> Block {
    let (cores, clock) = (host.cores, host.clock_hz / 1e9);
    Block::Heading(format!("Clocks of an I/O by layer ({cores} cores at {clock:.2} GHz)"))
}

/// Clocks of an I/O by layer.
pub(super) fn clocks(host: &HostUse) -> Table {
    let [clocks, share] = ["clocks", "%"].map(Column::number);
    let mut table = Table::new(vec![Column::words("layer"), Column::bars(""), clocks, share]);
    let most = host.layers.iter().map(|layer| layer.clocks).fold(0.0, f64::max);
    for layer in &host.layers {
        table.row([
            Cell::from(&layer.name),
            Cell::of_bar(Bar::whole(layer.clocks, most, 0)),
            count(layer.clocks.round() as u64).into(),
            percent(ratio(layer.clocks, host.clocks_per_io)).into(),
        ]);
    }
    let whole = count(host.clocks_per_io.round() as u64);
    table.sums.push(Row::sum(["sum".to_owned(), String::new(), whole, "100.0".to_owned()]));
    table
}

/// The same of several runs beside each other: a bar for each layer of each.
pub(super) fn clocks_beside(hosts: &[(String, HostUse)]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for layer in hosts.iter().flat_map(|(_, host)| &host.layers) {
        if !names.contains(&layer.name.as_str()) {
            names.push(&layer.name);
        }
    }
    let heads =
        hosts.iter().flat_map(|(name, _)| [Column::bars(""), Column::number(name), Column::number("%")]);
    let mut table = Table::new(std::iter::once(Column::words("layer")).chain(heads).collect());
    "Clocks of the host for each I/O that a caller asked for".clone_into(&mut table.heading);
    let most = hosts.iter().flat_map(|(_, host)| &host.layers).map(|layer| layer.clocks).fold(0.0, f64::max);
    for (slot, name) in names.into_iter().enumerate() {
        let of = |host: &HostUse| {
            host.layers.iter().find(|layer| layer.name == name).map_or(0.0, |one| one.clocks)
        };
        let cells = hosts.iter().flat_map(|(_, host)| {
            let bar = Cell::of_bar(Bar::whole(of(host), most, slot % 8));
            [bar, count(of(host).round() as u64).into(), percent(ratio(of(host), host.clocks_per_io)).into()]
        });
        table.row(std::iter::once(Cell::from(name)).chain(cells));
    }
    let sums = hosts
        .iter()
        .flat_map(|(_, host)| [String::new(), count(host.clocks_per_io.round() as u64), String::new()]);
    table.sums.push(Row::sum(std::iter::once("sum".to_owned()).chain(sums)));
    table
}

fn interrupts(host: &HostUse) -> String {
    let each = significant(host.completions_per_interrupt, 3);
    format!("{}, {each} completions each; {} switches", count(host.interrupts), count(host.switches))
}

/// Every resource in the order of the way, the limiting one marked.
pub(super) fn resources(outcome: &Outcome, inside: &Inside) -> Table {
    let limiting = inside::busiest(inside).filter(|(_, used_up)| *used_up).map(|(limit, _)| &limit.name);
    let [many, busy] = ["count", "busy %"].map(Column::number);
    let numbers = ["busiest", "uses", "each", "wait", "waiting"].map(Column::number);
    let columns = [Column::words("resource"), many, busy, Column::bars("")].into_iter().chain(numbers);
    let mut table = Table::new(columns.collect());
    for resource in &inside.resources {
        table.row(resource_row(resource, limiting == Some(&resource.name)));
    }
    table.page_caption = format!(
        "{} of simulated time; those alike together, the share is their mean; * limits; wait: before it is used; waiting: \
         mean number, of all together",
        time(outcome.elapsed.0 as f64)
    );
    table
}

fn resource_row(resource: &ResourceUse, limits: bool) -> [Cell; 9] {
    let waiting = match resource.waiting {
        few if few < 10.0 => format!("{few:.1}"),
        many => rate_of_any(many),
    };
    let slot = if limits { LIMITS } else { OTHERS };
    [
        format!("{}{}", resource.name, if limits { " *" } else { "" }).into(),
        resource.count.to_string().into(),
        percent(resource.busy).into(),
        Cell::of_bar(Bar::whole(resource.busy.min(1.0), 1.0, slot)),
        percent(resource.busiest).into(),
        rate_of_any(resource.visits as f64).into(),
        time(resource.service_ns).into(),
        time(resource.wait_ns).into(),
        waiting.into(),
    ]
}

fn flash(used: &FlashUse) -> Section {
    let per_host = |pages: f64| match used.pages_host {
        0 => "-".to_owned(),
        host => significant(pages / host as f64, 3),
    };
    let known = |value: f64| if used.pages_host > 0 { significant(value, 3) } else { "-".to_owned() };
    let pages = |pages: u64| format!("{} pages", count(pages));
    let moved = per_host(used.pages_moved as f64);
    let facts = [
        (
            "write amplification",
            known(used.write_amplification) + " bytes written to flash per byte the host wrote",
        ),
        (
            "collector's factor",
            known(used.collector_factor()) + " pages written to flash per page written for the host",
        ),
        ("page", format!("{}, the unit of mapping", used.page)),
        ("written by the host", used.bytes_host.to_string()),
        ("written to flash for it", pages(used.pages_host)),
        ("written to flash in all", pages(used.pages_programmed)),
        ("moved by garbage collection", format!("{}, {moved} per page of the host", pages(used.pages_moved))),
        ("read because a write was smaller", pages(used.pages_merged)),
        ("erases", format!("{} blocks", count(used.erases))),
        ("over-provisioning", format!("{} %", percent(used.over_provisioning))),
        ("free at the end", format!("{} of {} blocks", count(used.blocks_free), count(used.blocks))),
        ("holding data at the end", pages(used.pages_mapped)),
        (
            "erases of a block since new",
            format!("{} to {}, mean {}", used.wear_min, used.wear_max, significant(used.wear_mean, 3)),
        ),
    ];
    let mut section = Section::default();
    for (label, words) in facts {
        section.fact(label, words);
    }
    section
}

/// Explanation of how the figures of a simulation come about: of a device alone, or with a host.
pub(super) fn method(with_host: bool) -> String {
    let host = if with_host {
        "The host's clocks are those of its sheet, spent on its cores."
    } else {
        "The host costs nothing here, so there is no CPU time."
    };
    METHOD.replace("HOST", host)
}

const METHOD: &str = "Nothing was measured: a model of the device was run in virtual time, in whole \
nanoseconds. Every request is timed, from submission to completion, into a histogram of 64 buckets to the octave: a \
percentile is at most 1/128 off for that reason. The stages of a request add up to its latency exactly; one of several \
parts has the stages of the part that ended last. Rates carry the 95 % interval of the mean over slices of virtual \
time. A percentile is shown only when ten requests lie beyond it. HOST \
The device, its changed numbers and the seed give every figure again, on any machine. MB and GB are powers of 1000, KiB \
and MiB of 1024.";
