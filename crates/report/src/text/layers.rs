//! Where the clocks went: by kernel layer, by kind of work, by function.

use iostack_model::{Clocks, Hardware, Layers, Nanos, Quality};

use super::format::{both_ends, brief, clean, cut, paragraph, percent};
use super::glyphs::bar;
use super::ladder::rung_line;

/// Cells of a layer's bar.
const BAR: usize = 18;
/// Functions told on the screen; JSON and HTML have more.
const FUNCTIONS: usize = 10;

/// The account of a profile.
pub fn layers(layers: &Layers) -> String {
    let head = both_ends(
        &format!("LAYERS of {}", cut(&layers.subject, 44)),
        &format!(
            "{} samples in {}",
            brief(layers.samples as f64),
            super::format::time(layers.elapsed.0 as f64)
        ),
    );
    let mut parts = vec![head];
    if layers.rows.is_empty() {
        parts.push("no sample fell into the subject\n".to_owned());
    }
    parts.extend([by_layer(layers), by_kind(layers), by_function(layers), foot(layers)]);
    parts.retain(|part| !part.is_empty());
    clean(&parts.join("\n"))
}

/// What a column of clocks counts: per I/O where there is a count, else per second.
pub(super) fn unit(layers: &Layers) -> &'static str {
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

/// The same as text; nothing without a counter.
fn clocks_text(layers: &Layers, time_ns: f64) -> String {
    if layers.tsc_hz == 0 { "-".to_owned() } else { brief(clocks(layers, time_ns)) }
}

pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn by_layer(layers: &Layers) -> String {
    if layers.rows.is_empty() {
        return String::new();
    }
    let total: f64 = layers.rows.iter().map(|row| row.time.0 as f64).sum();
    let most = layers.rows.iter().map(|row| row.time.0).max().unwrap_or(0) as f64;
    let mut text = format!("{:<16}{:>10}{:>7}  {:<BAR$} what\n", "LAYER", unit(layers), "%", "");
    for row in &layers.rows {
        let time = row.time.0 as f64;
        let drawn = if row.time.0 > 0 { bar(time, most, BAR) } else { " ".repeat(BAR) };
        text += &format!(
            "{:<16}{:>10}{:>7}  {drawn} {}\n",
            cut(&row.layer, 16),
            clocks_text(layers, time),
            percent(share(time, total)),
            cut(&row.meaning, 26)
        );
    }
    text += &format!("{:<16}{:>10}{:>7}\n", "SUM", clocks_text(layers, total), percent(share(total, total)));
    text + &beside(layers)
}

/// What ran beside the subject, whoever for: below the sum, and without a share of it.
fn beside(layers: &Layers) -> String {
    let time = layers.clocks.beside.total().0 as f64;
    if time <= 0.0 {
        return String::new();
    }
    format!("{:<16}{:>10}{:>7}  {BESIDE}\n", "not in the sum", clocks_text(layers, time), "")
}

/// What stands below the sum.
const BESIDE: &str = "kernel threads, interrupts: its or others'";

/// A kind of work: its share of the whole, and the layers that do it, most first.
pub(crate) struct Kind<'a> {
    /// Name.
    pub(crate) name: &'a str,
    /// Time, as the samples split it, ns.
    pub(crate) time_ns: f64,
    /// Time by layer, largest first.
    pub(crate) layers: Vec<(&'a str, f64)>,
}

/// The kinds of all layers, largest first. A layer's time is split as its samples are.
pub(crate) fn kinds(layers: &Layers) -> Vec<Kind<'_>> {
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    for row in &layers.rows {
        let samples: u64 = row.kinds.iter().map(|(_, samples)| samples).sum();
        for (name, count) in row.kinds.iter().filter(|(_, count)| *count > 0) {
            let time_ns = row.time.0 as f64 * *count as f64 / samples as f64;
            let place = kinds.iter().position(|kind| kind.name == name).unwrap_or_else(|| {
                kinds.push(Kind { name, time_ns: 0.0, layers: Vec::new() });
                kinds.len() - 1
            });
            kinds[place].time_ns += time_ns;
            kinds[place].layers.push((&row.layer, time_ns));
        }
    }
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

/// What a kind of work is; nothing for one that is not known here.
pub(crate) fn kind_meaning(name: &str) -> &'static str {
    KINDS.iter().find(|(kind, _)| *kind == name).map_or("", |(_, meaning)| meaning)
}

fn by_kind(layers: &Layers) -> String {
    let kinds = kinds(layers);
    if kinds.is_empty() {
        return String::new();
    }
    let total: f64 = layers.rows.iter().map(|row| row.time.0 as f64).sum();
    let mut text = format!("{:<16}{:>10}{:>7}  {:<28}most of it in\n", "KIND OF WORK", unit(layers), "%", "");
    for kind in &kinds {
        let places: Vec<&str> = kind.layers.iter().take(2).map(|(name, _)| *name).collect();
        text += &format!(
            "{:<16}{:>10}{:>7}  {:<28}{}\n",
            cut(kind.name, 16),
            clocks_text(layers, kind.time_ns),
            percent(share(kind.time_ns, total)),
            kind_meaning(kind.name),
            cut(&places.join(", "), 17)
        );
    }
    text
}

fn by_function(layers: &Layers) -> String {
    if layers.functions.is_empty() || layers.samples == 0 {
        return String::new();
    }
    let mut text = format!("{:<44}{:>7}  {:<16}kind\n", "FUNCTION", "%", "layer");
    for row in layers.functions.iter().take(FUNCTIONS) {
        text += &format!(
            "{:<44}{:>7}  {:<16}{}\n",
            cut(&row.name, 44),
            percent(share(row.samples as f64, layers.samples as f64)),
            cut(&row.layer, 15),
            cut(&row.kind, 10)
        );
    }
    text
}

fn foot(layers: &Layers) -> String {
    let mut text = total(layers) + &split(&layers.clocks) + &ran_beside(layers) + &clock(layers);
    text += &layers.hardware.as_ref().map_or_else(String::new, hardware);
    text += &quality(&layers.quality);
    text += &sampling(layers);
    text += &rung_line(&layers.ladder);
    for note in &layers.notes {
        text += &paragraph("  - ", note);
    }
    text
}

fn total(layers: &Layers) -> String {
    let all = layers.clocks.total();
    let exact = if layers.clocks.exact { "exact" } else { "NOT EXACT" };
    let how = if layers.clocks.how.is_empty() { String::new() } else { format!(" ({})", layers.clocks.how) };
    let per = match layers.ios {
        Some(ios) if ios > 0 => {
            let counted = if layers.ios_meaning.is_empty() { "I/Os" } else { &layers.ios_meaning };
            format!("{} clocks per I/O of {} {counted}", clocks_text(layers, all.0 as f64), brief(ios as f64))
        }
        _ => format!("{} clocks a second; nobody counted I/Os", clocks_text(layers, all.0 as f64)),
    };
    paragraph("total      ", &format!("{per}; {exact}{how}. Samples only split it."))
}

/// Who ran of the subject: threads, kernel threads, interrupts.
fn split(clocks: &Clocks) -> String {
    let total = clocks.total().0 as f64;
    if total <= 0.0 {
        return String::new();
    }
    let part = |time: Nanos| percent(share(time.0 as f64, total));
    let names = named(&clocks.kernel_thread_names, |time| format!("{} %", part(time)));
    let polling = match clocks.idle_polling.0 {
        0 => String::new(),
        ns => format!("; {} of idle polling kept out", super::format::time(ns as f64)),
    };
    let text = format!(
        "{} % in the threads, {} % in its kernel threads{names}, {} % in interrupts outside them{polling}",
        part(clocks.tasks),
        part(clocks.kernel_threads),
        part(clocks.interrupts)
    );
    paragraph("who ran    ", &text)
}

/// The first kernel threads with what each took, in brackets; nothing of none.
fn named(names: &[(String, Nanos)], took: impl Fn(Nanos) -> String) -> String {
    let names: Vec<String> =
        names.iter().take(3).map(|(name, time)| format!("{} {}", cut(name, 20), took(*time))).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// Who ran beside it.
fn ran_beside(layers: &Layers) -> String {
    let beside = &layers.clocks.beside;
    if beside.total() == Nanos(0) {
        return String::new();
    }
    let clocks = |time: Nanos| clocks_text(layers, time.0 as f64);
    let names = named(&beside.kernel_thread_names, clocks);
    let text = format!(
        "{} {} in kernel threads{names}, {} in interrupts: not in the sum, since whose I/O they served is not known",
        clocks(beside.kernel_threads),
        unit(layers),
        clocks(beside.interrupts)
    );
    paragraph("beside     ", &text)
}

/// Which clock is meant.
fn clock(layers: &Layers) -> String {
    if layers.tsc_hz == 0 {
        return paragraph("clock      ", "no time-stamp counter: shares only");
    }
    let rate = layers.tsc_hz as f64 / 1e9;
    paragraph(
        "clock      ",
        &format!(
            "the time-stamp counter's, {rate:.3} GHz at all times; the core's own clock is another and changes"
        ),
    )
}

fn hardware(hardware: &Hardware) -> String {
    let per_cycle = share(hardware.instructions, hardware.cycles);
    let text = format!(
        "{} instructions and {} core cycles per I/O: {per_cycle:.2} instructions a cycle",
        brief(hardware.instructions),
        brief(hardware.cycles)
    );
    paragraph("hardware   ", &text)
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
    paragraph("quality    ", &told.join("; "))
}

/// Two digits where a share is small, since 1 % is the target.
pub(super) fn share_of_samples(share: f64) -> String {
    if share < 0.1 { format!("{:.2}", share.max(0.0) * 100.0) } else { percent(share) }
}

fn sampling(layers: &Layers) -> String {
    let lost = match layers.lost {
        0 => "none lost".to_owned(),
        lost => format!("{} LOST", brief(lost as f64)),
    };
    let cost = if layers.sampling_cost > 0.0 {
        format!("it cost {} % of the CPU time", percent(layers.sampling_cost))
    } else {
        "its cost could not be measured".to_owned()
    };
    let text = format!("{} at {} Hz and CPU, {lost}; {cost}", cut(&layers.event, 24), layers.rate_hz);
    paragraph("sampling   ", &text)
}
