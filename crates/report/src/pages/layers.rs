//! Where did the clocks go: by kernel layer, by kind of work, by function?

use iostack_model::{Clocks, Hardware, LayerRow, Layers, Nanos, Quality};

use super::ladder;
use super::stages::{PROCESSES, process_name, ratio};
use crate::document::{Bar, Block, Cell, Column, Row, Section, Table};
use crate::html::colours::Colours;
use crate::html::flame;
use crate::lists::{Joined, grouped};
use crate::text::format::{both_ends, brief, cut, percent, time};

/// Functions told before the fold of a page, and on the screen; and in all.
const FUNCTIONS: (usize, usize) = (10, 24);

/// Section on everything about a profile.
pub(crate) fn section(layers: &Layers) -> Section {
    let mut section = Section::new("layers", "Layers", "Where the clocks went");
    let seen = format!("{} samples in {}", brief(layers.samples as f64), time(layers.elapsed.0 as f64));
    section.screen(Block::Ready(both_ends(&format!("LAYERS of {}", cut(&layers.subject, 44)), &seen)));
    if layers.rows.is_empty() {
        section.put(Block::Note("no sample fell into the subject".to_owned()));
    } else {
        let colours = Colours::of_profile(layers);
        section.page(Block::Tiles(tiles(layers)));
        section.table(by_layer(layers, &colours));
        if let Some(drawn) = flame::figure(layers, &colours, &measured(layers)) {
            section.page(drawn);
        }
        section.table(by_kind(layers));
        if !layers.functions.is_empty() && layers.samples > 0 {
            section.table(by_function(layers));
        }
    }
    if layers.processes.len() > 1 {
        section.put(Block::Table(by_process(layers)));
    }
    trust(layers, &mut section);
    section
}

/// Unit of a column of clocks: per I/O where there is a count, else per second.
pub(crate) fn unit(layers: &Layers) -> &'static str {
    if layers.ios.is_some_and(|ios| ios > 0) { "clocks/I/O" } else { "clocks/s" }
}

/// Clocks of a time in that unit.
pub(crate) fn clocks(layers: &Layers, time_ns: f64) -> f64 {
    let clocks = time_ns * layers.tsc_hz as f64 / 1e9;
    match layers.ios.filter(|&ios| ios > 0) {
        Some(ios) => clocks / ios as f64,
        None if layers.elapsed.0 > 0 => clocks / layers.elapsed.as_secs_f64(),
        None => 0.0,
    }
}

/// Clocks as text; `-` without a counter.
fn clocks_text(layers: &Layers, time_ns: f64) -> String {
    if layers.tsc_hz == 0 { "-".to_owned() } else { brief(clocks(layers, time_ns)) }
}

/// Caption of a figure of a profile.
pub(super) fn measured(layers: &Layers) -> String {
    let ios =
        layers.ios.map_or("nobody counted I/Os".to_owned(), |ios| format!("{} I/Os", brief(ios as f64)));
    format!("{ios} and {} samples in {}", brief(layers.samples as f64), time(layers.elapsed.0 as f64))
}

fn tiles(layers: &Layers) -> Vec<(String, String, String)> {
    let all: f64 = layers.rows.iter().map(|row| row.time.0 as f64).sum();
    let exact = if layers.clocks.exact { "exact total" } else { "total not exact" };
    let total = clocks_text(layers, layers.clocks.total().0 as f64);
    let mut items = vec![(unit(layers).to_owned(), total, exact.to_owned())];
    if let Some(first) = layers.rows.first() {
        let time = first.time.0 as f64;
        let detail = format!("{} {}", clocks_text(layers, time), unit(layers));
        items.push((format!("most in: {}", first.layer), format!("{} %", percent(ratio(time, all))), detail));
    }
    items.push((
        "not classified".to_owned(),
        format!("{:.2} %", layers.quality.unclassified * 100.0),
        format!("{:.2} % more inferred from a caller", layers.quality.inferred * 100.0),
    ));
    items.extend(layers.hardware.map(|hardware| {
        let cycles = format!("{} core cycles", brief(hardware.cycles));
        ("instructions per I/O".to_owned(), brief(hardware.instructions), cycles)
    }));
    items
}

/// A bar for each layer, and what it did.
fn by_layer(layers: &Layers, colours: &Colours<'_>) -> Table {
    let all: f64 = layers.rows.iter().map(|row| row.time.0 as f64).sum();
    let most = layers.rows.iter().map(|row| row.time.0).max().unwrap_or(0) as f64;
    let kinds = |row: &LayerRow| {
        let samples: u64 = row.kinds.iter().map(|(_, count)| count).sum();
        let some = row.kinds.iter().filter(|(_, count)| *count > 0).take(4);
        let share = |count: u64| ratio(count as f64, samples as f64) * 100.0;
        some.map(|(kind, count)| format!("{kind} {:.0} %", share(*count))).joined(", ")
    };
    let table = Table::over(&layers.rows)
        .words("layer", |row| Cell::from(&row.layer).coloured(colours.slot(&row.layer)))
        .number(unit(layers), |row| clocks_text(layers, row.time.0 as f64))
        .number("%", |row| percent(ratio(row.time.0 as f64, all)))
        .bars(|row| Bar::whole(row.time.0 as f64, most, colours.slot(&row.layer)))
        .words("what", |row| &row.meaning)
        .column(Column::words("kind of work").page(), kinds);
    let mut table = Table { heading: "Clocks by kernel layer".to_owned(), ..table.done() };
    table.sums.push(Row::sum(["sum".to_owned(), clocks_text(layers, all), percent(ratio(all, all))]));
    let beside = layers.clocks.beside.total().0 as f64;
    if beside > 0.0 {
        let what = "kernel threads, interrupts: its or others'".to_owned();
        let cells = ["not in the sum".to_owned(), clocks_text(layers, beside)];
        table.sums.push(Row { below: vec![what], ..Row::of(cells) });
    }
    table.page_caption = measured(layers);
    table
}

/// A kind of work: its share of the whole, and the layers that do it, most first.
struct WorkKind<'a> {
    name: &'a str,
    /// Time, as the samples split it, ns.
    time_ns: f64,
    /// Time by layer, largest first.
    layers: Vec<(&'a str, f64)>,
}

/// The kinds of all layers, largest first. A layer's time is split as its samples are.
fn kinds(layers: &Layers) -> Vec<WorkKind<'_>> {
    let each = layers.rows.iter().flat_map(|row| {
        let samples: u64 = row.kinds.iter().map(|(_, samples)| samples).sum();
        let some = row.kinds.iter().filter(|(_, count)| *count > 0);
        let time = move |count: u64| row.time.0 as f64 * count as f64 / samples as f64;
        some.map(move |(name, count)| (name.as_str(), (row.layer.as_str(), time(*count))))
    });
    let mut kinds: Vec<WorkKind<'_>> = grouped(each)
        .into_iter()
        .map(|(name, layers)| WorkKind { name, time_ns: layers.iter().map(|one| one.1).sum(), layers })
        .collect();
    for kind in &mut kinds {
        kind.layers.sort_by(|a, b| b.1.total_cmp(&a.1));
    }
    kinds.sort_by(|a, b| b.time_ns.total_cmp(&a.time_ns));
    kinds
}

/// Kinds of work in a newcomer's words.
const KINDS: [(&str, &str); 7] = [
    ("code", "the work itself"),
    ("lock", "locks, and waiting for them"),
    ("copy", "moving data"),
    ("alloc", "getting and freeing memory"),
    ("irqoff", "with interrupts off"),
    ("switch", "changing threads"),
    ("doorbell", "telling the device"),
];

fn by_kind(layers: &Layers) -> Table {
    let total: f64 = layers.rows.iter().map(|row| row.time.0 as f64).sum();
    Table::over(&kinds(layers))
        .words("kind of work", |kind| kind.name)
        .number(unit(layers), |kind| clocks_text(layers, kind.time_ns))
        .number("%", |kind| percent(ratio(kind.time_ns, total)))
        .words("what", |kind| KINDS.iter().find(|(name, _)| *name == kind.name).map_or("", |one| one.1))
        .words("most of it in", |kind| kind.layers.iter().take(2).map(|(name, _)| name).joined(", "))
        .done()
}

fn by_function(layers: &Layers) -> Table {
    let table = Table::over(layers.functions.iter().take(FUNCTIONS.1))
        .words("function", |row| &row.name)
        .number("% of samples", |row| percent(ratio(row.samples as f64, layers.samples as f64)))
        .words("layer", |row| &row.layer)
        .words("kind", |row| &row.kind);
    Table { shown: FUNCTIONS.0, ..table.done() }
}

fn by_process(layers: &Layers) -> Table {
    let all: f64 = layers.processes.iter().map(|process| process.time.0 as f64).sum();
    let columns = ["process", "pid", unit(layers), "%", "time"];
    let mut table = Table { shown: PROCESSES.0, ..Table::of(&columns) };
    for process in layers.processes.iter().take(PROCESSES.1) {
        let [name, pid] = process_name(&process.name, process.pid);
        let took = process.time.0 as f64;
        table.row([name, pid, clocks_text(layers, took), percent(ratio(took, all)), time(took)]);
    }
    table
}

fn trust(layers: &Layers, section: &mut Section) {
    section.screen(Block::Gap).page(Block::Heading("How far to trust it".to_owned()));
    section.fact("total", total(layers));
    if layers.clocks.total().0 > 0 {
        section.fact("who ran", who_ran(&layers.clocks));
    }
    if layers.clocks.beside.total() > Nanos(0) {
        section.fact("beside", ran_beside(layers));
    }
    section.fact("clock", clock(layers));
    if let Some(hardware) = &layers.hardware {
        section.fact("hardware", of_hardware(hardware));
    }
    section.fact("quality", quality(&layers.quality)).fact("sampling", sampling(layers));
    ladder::line(&layers.ladder, section);
    section.list(layers.notes.clone());
}

fn total(layers: &Layers) -> String {
    let all = clocks_text(layers, layers.clocks.total().0 as f64);
    let exact = if layers.clocks.exact { "exact" } else { "NOT EXACT" };
    let how = if layers.clocks.how.is_empty() { String::new() } else { format!(" ({})", layers.clocks.how) };
    let per = match layers.ios {
        Some(ios) if ios > 0 => {
            let counted = if layers.ios_meaning.is_empty() { "I/Os" } else { &layers.ios_meaning };
            format!("{all} clocks per I/O of {} {counted}", brief(ios as f64))
        }
        _ => format!("{all} clocks a second; nobody counted I/Os"),
    };
    format!("{per}; {exact}{how}. Samples only split it.")
}

/// Shares of the subject's threads, kernel threads and interrupts.
fn who_ran(clocks: &Clocks) -> String {
    let part = |time: Nanos| percent(ratio(time.0 as f64, clocks.total().0 as f64));
    let names = named(&clocks.kernel_thread_names, |time| format!("{} %", part(time)));
    let polling = match clocks.idle_polling.0 {
        0 => String::new(),
        ns => format!("; {} of idle polling kept out", time(ns as f64)),
    };
    format!(
        "{} % in the threads, {} % in its kernel threads{names}, {} % in interrupts outside them{polling}",
        part(clocks.tasks),
        part(clocks.kernel_threads),
        part(clocks.interrupts)
    )
}

/// The first kernel threads with what each took, in brackets; nothing of none.
fn named(names: &[(String, Nanos)], took: impl Fn(Nanos) -> String) -> String {
    let some = names.iter().take(3).map(|(name, time)| format!("{} {}", cut(name, 20), took(*time)));
    if names.is_empty() { String::new() } else { format!(" ({})", some.joined(", ")) }
}

/// Clocks beside the subject: kernel threads and interrupts.
fn ran_beside(layers: &Layers) -> String {
    let beside = &layers.clocks.beside;
    let clocks = |time: Nanos| clocks_text(layers, time.0 as f64);
    let (threads, names) = (clocks(beside.kernel_threads), named(&beside.kernel_thread_names, clocks));
    let (unit, interrupts) = (unit(layers), clocks(beside.interrupts));
    format!(
        "{threads} {unit} in kernel threads{names}, {interrupts} in interrupts: not in the sum, since whose I/O they served is \
         not known"
    )
}

/// Explanation of the clock that counts.
fn clock(layers: &Layers) -> String {
    match layers.tsc_hz as f64 / 1e9 {
        0.0 => "no time-stamp counter: shares only".to_owned(),
        rate => format!(
            "the time-stamp counter's, {rate:.3} GHz at all times; the core's own clock is another and changes"
        ),
    }
}

fn of_hardware(hardware: &Hardware) -> String {
    let per_cycle = ratio(hardware.instructions, hardware.cycles);
    let (instructions, cycles) = (brief(hardware.instructions), brief(hardware.cycles));
    format!(
        "{instructions} instructions and {cycles} core cycles per I/O: {per_cycle:.2} instructions a cycle"
    )
}

fn quality(quality: &Quality) -> String {
    let mut told = vec![
        format!("{} % unclassified", share_of_samples(quality.unclassified)),
        format!("{} % inferred from a caller", share_of_samples(quality.inferred)),
    ];
    if let Some(disagreement) = quality.disagreement {
        told.push(format!("rules disagree on {} %", share_of_samples(disagreement)));
    }
    told.push(match quality.neighbours_right {
        Some(right) => format!("neighbours right for {} % of known functions", percent(right)),
        None => "neighbours not used".to_owned(),
    });
    if !quality.symbols.is_empty() {
        told.push(format!("symbols: {}", quality.symbols));
    }
    told.join("; ")
}

/// Two digits where a share is small, since 1 % is the target.
pub(crate) fn share_of_samples(share: f64) -> String {
    if share < 0.1 { format!("{:.2}", share.max(0.0) * 100.0) } else { percent(share) }
}

fn sampling(layers: &Layers) -> String {
    let cost = if layers.sampling_cost > 0.0 {
        format!("it cost {} % of the CPU time", percent(layers.sampling_cost))
    } else {
        "its cost could not be measured".to_owned()
    };
    let (event, lost) = (cut(&layers.event, 24), lost(layers.lost));
    format!("{event} at {} Hz and CPU, {lost}; {cost}", layers.rate_hz)
}

/// Samples that were lost, in words.
pub(crate) fn lost(samples: u64) -> String {
    if samples == 0 { "none lost".to_owned() } else { format!("{} LOST", brief(samples as f64)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_and_kinds_shown_add_up_to_the_total() {
        let made = crate::fixture::layers();
        let total = made.clocks.total().0 as f64;
        let rows: u64 = made.rows.iter().map(|row| row.time.0).sum();
        assert_eq!(rows, made.clocks.total().0, "the fixture is whole");
        let kinds: f64 = kinds(&made).iter().map(|kind| kind.time_ns).sum();
        assert!((kinds / total - 1.0).abs() < 1e-9, "{kinds} {total}");
    }
}
