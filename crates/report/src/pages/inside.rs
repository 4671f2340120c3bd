//! What happened inside a simulated device, and why is it as fast as it is?

use iostack_model::{FlashUse, HostUse, Inside, InsideFlow, Outcome, ResourceUse};

use super::stages::{ratio, stage_row, whole_row};
use crate::document::{Bar, Block, Cell, Column, Document, Row, Section, Table, To};
use crate::html::colours::slot;
use crate::html::line;
use crate::inside;
use crate::lists::distinct;
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
    let limit = inside::busiest(inside).map(|(limit, used_up)| {
        let what = if used_up { "limited by" } else { "busiest part" };
        (what.to_owned(), limit.name.clone(), format!("{} % busy", percent(limit.busy)))
    });
    let flash = inside.flash.as_ref().filter(|flash| flash.pages_host > 0).map(|flash| {
        let free = format!("{} of {} blocks free", count(flash.blocks_free), count(flash.blocks));
        ("write amplification".to_owned(), significant(flash.write_amplification, 3), free)
    });
    limit.into_iter().chain(flash).collect()
}

/// Stages, clocks, resources, then the answer in sentences.
pub(super) fn account(outcome: &Outcome, inside: &Inside, section: &mut Section) {
    for flow in inside.flows.iter().filter(|flow| flow.whole.count > 0) {
        let stages_of = flow.stages.iter().map(|(stage, bins)| (*stage, bins));
        let heading = format!("The mean {} from start to end", flow.direction.name());
        let line = line::figure(&heading, stages_of, flow.whole.mean_ns());
        let table = stages(outcome, flow);
        section.page(Block::Figure("", line, table.page_caption.clone()));
        section.table(table);
    }
    if let Some(host) = &inside.host {
        section.screen(Block::Gap).put(clocks_heading(host)).table(clocks(host));
        if host.interrupts > 0 {
            section.fact("interrupts", interrupts(host));
        }
    }
    if !inside.resources.is_empty() {
        section.table(resources(outcome, inside));
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
    let words =
        [format!("where a {direction}'s time went").as_str(), "what happens in it"].map(Column::words);
    let numbers = ["mean", "%", "p50", "p99", "p99.9"].map(Column::number);
    let mut table = Table::new(words.into_iter().chain(numbers).collect());
    for far in [4, 6] {
        table.columns[far].to = To::Page;
    }
    for (stage, bins) in flow.stages.iter().filter(|(_, bins)| bins.sum_ns > 0) {
        let name = Cell::from(stage.name()).coloured(slot(*stage));
        table.rows.push(stage_row(name, stage.meaning(), bins, &flow.whole));
    }
    table.sums.push(whole_row(&flow.whole));
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
    let most = host.layers.iter().map(|layer| layer.clocks).fold(0.0, f64::max);
    let table = Table::over(&host.layers)
        .words("layer", |layer| &layer.name)
        .bars(|layer| Bar::whole(layer.clocks, most, 0))
        .number("clocks", |layer| count(layer.clocks.round() as u64))
        .number("%", |layer| percent(ratio(layer.clocks, host.clocks_per_io)));
    let whole = count(host.clocks_per_io.round() as u64);
    Table { sums: vec![Row::sum(["sum", "", &whole, "100.0"])], ..table.done() }
}

/// The same of several runs beside each other: a bar for each layer of each.
pub(super) fn clocks_beside(hosts: &[(String, HostUse)]) -> Table {
    let layers = || hosts.iter().flat_map(|(_, host)| &host.layers);
    let names = distinct(layers().map(|layer| layer.name.as_str()));
    let most = layers().map(|layer| layer.clocks).fold(0.0, f64::max);
    let mut table = Table::over(names.iter().enumerate()).words("layer", |(_, name)| *name);
    let mut sums = vec!["sum".to_owned()];
    for (name, host) in hosts {
        let of =
            |name: &str| host.layers.iter().find(|layer| layer.name == name).map_or(0.0, |one| one.clocks);
        table = table
            .bars(|(slot, name)| Bar::whole(of(name), most, slot % 8))
            .number(name, |(_, name)| count(of(name).round() as u64))
            .number("%", |(_, name)| percent(ratio(of(name), host.clocks_per_io)));
        sums.extend([String::new(), count(host.clocks_per_io.round() as u64), String::new()]);
    }
    let heading = "Clocks of the host for each I/O that a caller asked for".to_owned();
    Table { heading, sums: vec![Row::sum(sums)], ..table.done() }
}

fn interrupts(host: &HostUse) -> String {
    let each = significant(host.completions_per_interrupt, 3);
    format!("{}, {each} completions each; {} switches", count(host.interrupts), count(host.switches))
}

/// Every resource in the order of the way, the limiting one marked.
pub(super) fn resources(outcome: &Outcome, inside: &Inside) -> Table {
    let limiting = inside::busiest(inside).filter(|(_, used_up)| *used_up).map(|(limit, _)| &limit.name);
    let limits = |one: &ResourceUse| limiting == Some(&one.name);
    let waiting = |one: &ResourceUse| match one.waiting {
        few if few < 10.0 => format!("{few:.1}"),
        many => rate_of_any(many),
    };
    let table = Table::over(&inside.resources)
        .words("resource", |one| format!("{}{}", one.name, if limits(one) { " *" } else { "" }))
        .number("count", |one| one.count.to_string())
        .number("busy %", |one| percent(one.busy))
        .bars(|one| Bar::whole(one.busy.min(1.0), 1.0, if limits(one) { LIMITS } else { OTHERS }))
        .number("busiest", |one| percent(one.busiest))
        .number("uses", |one| rate_of_any(one.visits as f64))
        .number("each", |one| time(one.service_ns))
        .number("wait", |one| time(one.wait_ns))
        .number("waiting", waiting);
    let page_caption = format!(
        "{} of simulated time; those alike together, the share is their mean; * limits; wait: before it is used; waiting: \
         mean number, of all together",
        time(outcome.elapsed.0 as f64)
    );
    Table { page_caption, ..table.done() }
}

fn flash(used: &FlashUse) -> Section {
    let known = |value: f64| if used.pages_host > 0 { significant(value, 3) } else { "-".to_owned() };
    let pages = |pages: u64| format!("{} pages", count(pages));
    let moved = known(used.pages_moved as f64 / used.pages_host as f64);
    let (amplification, factor) = (known(used.write_amplification), known(used.collector_factor()));
    let wear = format!("{} to {}, mean {}", used.wear_min, used.wear_max, significant(used.wear_mean, 3));
    let facts = [
        ("write amplification", amplification + " bytes written to flash per byte the host wrote"),
        ("collector's factor", factor + " pages written to flash per page written for the host"),
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
        ("erases of a block since new", wear),
    ];
    let mut section = Section::default();
    for (label, words) in facts {
        section.fact(label, words);
    }
    if let Some(each) = inside::by_handle(used) {
        section.fact("pages written per page of each handle", each);
    }
    if let Some(table) = &used.map {
        section.fact("mapping table", inside::table_use(table));
    }
    section
}

/// Explanation of how the figures of a simulation come about: of a device alone, or with a host.
pub(super) fn method(with_host: bool) -> String {
    METHOD.replace(
        "HOST",
        if with_host {
            "The host's clocks are those of its sheet, spent on its cores."
        } else {
            "The host costs nothing here, so there is no CPU time."
        },
    )
}

const METHOD: &str = "Nothing was measured: a model of the device was run in virtual time, in whole \
nanoseconds. Every request is timed, from submission to completion, into a histogram of 64 buckets to the octave: a \
percentile is at most 1/128 off for that reason. The stages of a request add up to its latency exactly; one of several \
parts has the stages of the part that ended last. Rates carry the 95 % interval of the mean over slices of virtual \
time. A percentile is shown only when ten requests lie beyond it. HOST \
The device, its changed numbers and the seed give every figure again, on any machine. MB and GB are powers of 1000, KiB \
and MiB of 1024.";
