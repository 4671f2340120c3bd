//! Where did the latency go?
//!
//! The mean I/O from its start to its end, cut into stages; how the whole and the device spread; each device of the chain;
//! and how far to trust it.

use iostack_model::{
    Bins, DeviceStages, KindStages, Part, Stage, StageWait, Stages, TracingCost, Way, WayStages,
};

use super::ladder;
use crate::document::{Bar, Block, Cell, Column, Drawn, Row, Section, Table};
use crate::html::colours::{slot, slot_of_part};
use crate::html::figures::{RANK_BAND, histogram, percentiles};
use crate::html::line;
use crate::text::format::{both_ends, brief, cut, or_dash, percent, supported, time};

/// Section on everything about a trace.
pub(crate) fn section(stages: &Stages) -> Section {
    let mut section = Section::new("stages", "Stages", "Where the latency went");
    let seen =
        format!("{} {} in {}", brief(stages.ios as f64), counted(stages), time(stages.elapsed.0 as f64));
    section.screen(Block::Ready(both_ends(&format!("STAGES of {}", cut(&stages.subject, 44)), &seen)));
    if stages.ways.is_empty() && stages.devices.is_empty() {
        section.put(Block::Note("no I/O was seen while traced".to_owned()));
    }
    let way = stages.way(Way::Device);
    if let Some(way) = way.filter(|way| way.whole.sum_ns > 0) {
        section.page(Block::Tiles(tiles(way)));
    }
    if !stages.ways.is_empty() {
        section.table(ways(stages));
    }
    if !stages.kinds.is_empty() {
        section.table(kinds(stages));
    }
    for way in stages.ways.iter().filter(|way| has_stages(way)) {
        let heading = format!("{}: the mean I/O from start to end", way.way.name());
        let line = line::figure(&heading, in_order(way), way.whole.mean_ns());
        section.page(Block::Figure("", line, counted_of(stages, way)));
        section.table(of_way(stages, way));
    }
    if let Some(way) = way.filter(|way| way.whole.count > 0) {
        section.page(Block::Plots(spreads(stages, way)));
    }
    if !stages.waits.is_empty() {
        section.table(waits(stages));
    }
    if !stages.devices.is_empty() {
        section.table(devices(stages));
    }
    if stages.processes.len() > 1 {
        section.put(Block::Table(by_process(stages)));
    }
    trust(stages, &mut section);
    section
}

/// Processes told on the screen and before the fold of a page, and in all.
pub(super) const PROCESSES: (usize, usize) = (10, 100);

/// Name and number of a process.
pub(super) fn process_name(name: &str, pid: u32) -> [String; 2] {
    if pid == 0 { ["others".to_owned(), "-".to_owned()] } else { [name.to_owned(), pid.to_string()] }
}

fn by_process(stages: &Stages) -> Table {
    let all: f64 = stages.processes.iter().map(|process| process.ios as f64).sum();
    let mut table = Table { shown: PROCESSES.0, ..Table::of(&["process", "pid", "I/Os", "% I/Os", "mean"]) };
    for process in stages.processes.iter().take(PROCESSES.1) {
        let (ios, mean) = (process.ios as f64, time(process.mean_ns));
        let [name, pid] = process_name(&process.name, process.pid);
        table.row([name, pid, brief(ios), percent(ratio(ios, all)), mean]);
    }
    table
}

/// Word for what is counted: a device has bios, whoever's I/Os they are.
pub(crate) fn counted(stages: &Stages) -> &'static str {
    if stages.ways.is_empty() && !stages.devices.is_empty() { "bios" } else { "I/Os" }
}

pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

pub(crate) fn mean(bins: &Bins) -> String {
    or_dash(Some(bins).filter(|bins| bins.count > 0), |bins| time(bins.mean_ns()))
}

/// True with more than one stage: one alone is the whole, which the table of ways has.
fn has_stages(way: &WayStages) -> bool {
    way.stages.iter().filter(|(_, bins)| bins.sum_ns > 0).count() > 1
}

/// The stages in the order of the way.
fn in_order(way: &WayStages) -> impl Iterator<Item = (Stage, &Bins)> {
    let mut own: Vec<(Stage, &Bins)> = way.stages.iter().map(|(stage, bins)| (*stage, bins)).collect();
    own.sort_by_key(|(stage, _)| *stage);
    own.into_iter()
}

/// Meaning of a part, for a reader who meets the word here.
const fn part_meaning(part: Part) -> &'static str {
    match part {
        Part::Platform => "software, and waiting for a CPU",
        Part::Transport => "driver, telling the device",
        Part::Device => "the device, until its interrupt",
        Part::Journal => "the file system's journal, until it wakes the caller",
    }
}

fn tiles(way: &WayStages) -> Vec<(String, String, String)> {
    let whole = format!("mean of {} I/Os", brief(way.whole.count as f64));
    let whole = ("one I/O takes".to_owned(), mean(&way.whole), whole);
    let parts = parts_of(way).map(|part| {
        let detail = format!("{}: {}", time(way.part_mean_ns(part)), part_meaning(part));
        (part.name().to_owned(), format!("{} %", percent(way.part_share(part))), detail)
    });
    std::iter::once(whole).chain(parts).collect()
}

/// The parts that every way has, and the journal where it took time.
pub(crate) fn parts_of(way: &WayStages) -> impl Iterator<Item = Part> {
    Part::ALL.into_iter().filter(|&part| part != Part::Journal || way.part_mean_ns(part) > 0.0)
}

/// Each way with its share of the I/Os and of the time.
fn ways(stages: &Stages) -> Table {
    let count: f64 = stages.ways.iter().map(|way| way.whole.count as f64).sum();
    let sum: f64 = stages.ways.iter().map(|way| way.whole.sum_ns as f64).sum();
    Table::over(&stages.ways)
        .words("way", |way| way.way.name())
        .number("I/Os", |way| brief(way.whole.count as f64))
        .number("% I/Os", |way| percent(ratio(way.whole.count as f64, count)))
        .number("% time", |way| percent(ratio(way.whole.sum_ns as f64, sum)))
        .number("mean", |way| mean(&way.whole))
        .number("p50", |way| supported(&way.whole, 0.5))
        .number("p99", |way| supported(&way.whole, 0.99))
        .number("p99.9", |way| supported(&way.whole, 0.999))
        .done()
}

/// Each kind of call with its largest stages.
fn kinds(stages: &Stages) -> Table {
    Table::over(&stages.kinds)
        .words("kind", |kind| kind.kind.name())
        .number("I/Os", |kind| brief(kind.whole.count as f64))
        .number("bytes", |kind| kind.bytes.to_string())
        .number("mean", |kind| mean(&kind.whole))
        .number("p99", |kind| supported(&kind.whole, 0.99))
        .words("mostly", largest)
        .done()
}

/// Up to three stages that took a tenth of the time or more, the largest first.
fn largest(kind: &KindStages) -> String {
    let share = |time: u64| ratio(time as f64, kind.whole.sum_ns as f64);
    let mut large: Vec<_> = kind.stages.iter().filter(|(_, time)| share(time.0) >= 0.1).collect();
    large.sort_by_key(|(_, time)| std::cmp::Reverse(time.0));
    let named =
        large.iter().take(3).map(|(stage, time)| format!("{} {} %", stage.name(), percent(share(time.0))));
    named.collect::<Vec<_>>().join(", ")
}

/// Waits told on the screen and before the fold of a page.
const WAITS: usize = 12;

/// Table of what I/Os waited for while no bio of them was out.
fn waits(stages: &Stages) -> Table {
    let all: f64 = stages.ways.iter().map(|way| way.whole.sum_ns as f64).sum();
    let what = |wait: &StageWait| match wait.what.as_str() {
        "" => "not known".to_owned(),
        what => what.to_owned(),
    };
    let table = Table::over(&stages.waits)
        .words("waited", what)
        .words("in", |wait| wait.function.clone())
        .number("sleeps", |wait| brief(wait.sleeps as f64))
        .number("total", |wait| time(wait.total.0 as f64))
        .number("% time", |wait| percent(ratio(wait.total.0 as f64, all)));
    let unexplained = percent(stages.unexplained_share());
    let caption = format!("({unexplained} % of all time not explained: waits not known, and the stage wake)");
    Table { shown: WAITS, page_caption: caption.clone(), caption, ..table.done() }
}

/// Mean, p50, p99, p99.9.
fn times(bins: &Bins) -> [String; 4] {
    [mean(bins), supported(bins, 0.5), supported(bins, 0.99), supported(bins, 0.999)]
}

/// The stages that took time, in their parts, with the parts' sums.
fn of_way(stages: &Stages, way: &WayStages) -> Table {
    let numbers = ["mean", "%", "p50", "p99", "p99.9"].map(Column::number);
    let columns = [way.way.name(), "what happens in it"].map(Column::words).into_iter().chain(numbers);
    let mut table = Table::new(columns.collect());
    for part in Part::ALL.into_iter().filter(|&part| way.part_mean_ns(part) > 0.0) {
        let sums = [time(way.part_mean_ns(part)), percent(way.part_share(part))];
        let name = Cell::from(part.name()).coloured(slot_of_part(part));
        table.rows.push(Row::sum([name, part_meaning(part).into()].into_iter().chain(sums.map(Cell::from))));
        for (stage, bins) in way.stages.iter().filter(|(stage, _)| stage.part() == part) {
            let name = Cell { indent: 1, ..Cell::from(stage.name()) };
            table.rows.push(stage_row(name, stage.meaning(), bins, &way.whole));
        }
    }
    table.sums.push(whole_row(&way.whole));
    table.page_caption = counted_of(stages, way);
    table
}

/// Row of all stages together.
pub(crate) fn whole_row(whole: &Bins) -> Row {
    Row { sum: true, ..stage_row("sum".into(), "what the caller waited", whole, whole) }
}

fn counted_of(stages: &Stages, way: &WayStages) -> String {
    let (ios, time) = (brief(way.whole.count as f64), time(stages.elapsed.0 as f64));
    format!("{ios} I/Os of {} traced in {time}; sums are exact", stages.subject)
}

/// Name, meaning, mean, share of the whole, p50, p99, p99.9.
pub(crate) fn stage_row(name: Cell, meaning: &str, bins: &Bins, whole: &Bins) -> Row {
    let [mean, median, tail, far] = times(bins).map(Cell::from);
    let share = percent(ratio(bins.mean_ns(), whole.mean_ns()));
    Row::of([name, meaning.into(), mean, share.into(), median, tail, far])
}

/// Spread of the whole and of the device: the whole is grey, and the device has the colour it has everywhere.
fn spreads(stages: &Stages, way: &WayStages) -> Vec<Drawn> {
    let mut each: Vec<(&str, &Bins)> = vec![("whole I/O", &way.whole)];
    let device = way.stages.iter().find(|(stage, _)| *stage == Stage::Device);
    each.extend(device.filter(|(_, bins)| bins.count > 0).map(|(_, bins)| ("in the device", bins)));
    let measured =
        format!("{} I/Os traced in {}", brief(way.whole.count as f64), time(stages.elapsed.0 as f64));
    let heading = "How often each latency came: the whole I/O, and its time in the device";
    let mut plots = vec![
        Drawn::new(histogram(&each, heading), format!("{measured}; exact counts")),
        Drawn::new(percentiles(&each, "The tail: whose is it?"), format!("{measured}; {RANK_BAND}")),
    ];
    for drawn in &mut plots {
        for (series, slot) in drawn.plot.series.iter_mut().zip([6, slot_of_part(Part::Device)]) {
            series.slot = slot;
        }
    }
    plots
}

/// Stages of a device's own table.
const DEVICE_STAGES: [Stage; 5] =
    [Stage::Queue, Stage::Schedule, Stage::Doorbell, Stage::Device, Stage::Complete];

/// Table of what each device of the chain saw, each below the one that sends to it.
fn devices(stages: &Stages) -> Table {
    let devices = &stages.devices;
    let longest = devices.iter().map(|device| device.whole.mean_ns()).fold(0.0, f64::max);
    let mut table = Table::over(devices)
        .words("device", |device| Cell { indent: depth(device, devices), ..Cell::from(&device.name) })
        .number("bios", |device| brief(device.whole.count as f64))
        .number("mean", |device| mean(&device.whole))
        .number("p99", |device| supported(&device.whole, 0.99));
    for stage in DEVICE_STAGES {
        table = table.number(stage.name(), |device| {
            let own = device.stages.iter().find(|(each, _)| *each == stage);
            or_dash(own, |(_, bins)| mean(bins))
        });
    }
    let bars = Column::bars("the mean bio, on one scale").page();
    let table = table.column(bars, |device| bar(&device.stages, longest)).below(|device| {
        let (joined, parted) = (brief(device.merged as f64), brief(device.split as f64));
        let some = device.merged > 0 || device.split > 0;
        some.then(|| format!("{joined} bios merged, {parted} split")).into_iter().collect()
    });
    let (subject, time) = (&stages.subject, time(stages.elapsed.0 as f64));
    let page_caption = format!(
        "bios of all programs, also those that are not part of {subject}; means of I/Os traced in {time}"
    );
    let caption = if devices.iter().any(|device| device.above.is_some()) {
        "(all bios, whoever sent them; an indented device answers the one above)".to_owned()
    } else {
        String::new()
    };
    Table { caption, page_caption, ..table.done() }
}

/// A bar of stages, each as long as its mean.
pub(crate) fn bar<'a>(stages: impl IntoIterator<Item = &'a (Stage, Bins)>, most: f64) -> Bar {
    let part = |(stage, bins): &(Stage, Bins)| (slot(*stage), bins.mean_ns(), stage.name().to_owned());
    Bar { parts: stages.into_iter().map(part).collect(), most }
}

/// Number of devices above, by name; a broken chain ends.
fn depth(device: &DeviceStages, devices: &[DeviceStages]) -> usize {
    let mut above = device.above.as_deref();
    for depth in 0..devices.len() {
        let Some(name) = above else { return depth };
        above = devices.iter().find(|other| other.name == name).and_then(|other| other.above.as_deref());
    }
    devices.len() - 1
}

/// Adds what to conclude and how far to trust it.
fn trust(stages: &Stages, section: &mut Section) {
    section.screen(Block::Gap).page(Block::Heading("How far to trust it".to_owned()));
    if let Some(way) = stages.way(Way::Device).filter(|way| way.whole.sum_ns > 0) {
        section.fact("platform", format!("{} {PUBLISHED}", shares(way)));
    }
    if let Some(own) = stages.application_mean_ns.filter(|own| *own > 0.0) {
        section.fact("sum", sum(stages, own));
    }
    if stages.ios > 0 || stages.lost > 0 {
        section.fact("matched", matched(stages));
    }
    if stages.tracing.events > 0 {
        section.fact("tracing", tracing(stages));
    }
    ladder::line(&stages.ladder, section);
    section.list(stages.notes.clone());
}

/// Sentence on who took the latency.
pub(crate) fn shares(way: &WayStages) -> String {
    let [platform, transport, device, journal] = Part::ALL.map(|part| way.part_share(part) * 100.0);
    let journal =
        if journal > 0.0 { format!(", waiting for the journal {journal:.0} %") } else { String::new() };
    format!(
        "The platform took {platform:.0} % of the latency, the transport {transport:.0} %, the device {device:.0} \
         %{journal}."
    )
}

/// The 2010 paper's two readings of the share: its own figures disagree.
const PUBLISHED: &str = "(Published, of another machine in 2010 with SATA SSDs: 26 % in the paper's section \
    4.1, but 20 of 180 us = 11 % in its section 5.)";

/// The sum of the stages against the application's own mean.
fn sum(stages: &Stages, own: f64) -> String {
    let ours = stages.mean_ns();
    let off = (ours / own - 1.0) * 100.0;
    let doubt = if off.abs() > 1.0 { "; more than 1 % apart: take the split with care" } else { "" };
    format!("{} by stages, {} by the application's own clock ({off:+.2} %){doubt}", time(ours), time(own))
}

fn matched(stages: &Stages) -> String {
    let lost = match stages.lost {
        0 => "no event lost".to_owned(),
        lost => format!("{} EVENTS LOST: the figures are incomplete", brief(lost as f64)),
    };
    let (matched, ios, bios) = (brief(stages.matched as f64), brief(stages.ios as f64), counted(stages));
    let share = matched_share(stages).map_or_else(String::new, |share| format!(" ({share:.2} %)"));
    format!("{matched} of {ios} {bios} seen from end to end{share}; {lost}")
}

/// Percent of the I/Os that were seen from end to end; unknown where events were lost.
fn matched_share(stages: &Stages) -> Option<f64> {
    let share = ratio(stages.matched as f64, stages.ios as f64) * 100.0;
    // Never round up to all.
    let share = if stages.matched < stages.ios { (share * 100.0).floor() / 100.0 } else { share };
    (stages.lost == 0).then_some(share)
}

fn tracing(stages: &Stages) -> String {
    let TracingCost { events, ns_per_event, ns_per_io, how } = &stages.tracing;
    let how = if how.is_empty() { String::new() } else { format!("; {how}") };
    let events = brief(*events as f64);
    if *ns_per_event <= 0.0 {
        return format!("{events} events; their cost could not be measured{how}");
    }
    let (each, all, what) = (time(*ns_per_event), time(*ns_per_io), counted(stages).trim_end_matches('s'));
    format!("{all} CPU per {what}: {events} events at {each}{how}")
}
