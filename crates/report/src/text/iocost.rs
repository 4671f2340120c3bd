//! The exact cost of one I/O: its number, where the instructions went, and what a register access would add.

use iostack_model::{CostFunction, IoCost, MmioUse};

use super::format::{both_ends, clean, count, cut, paragraph, percent};
use super::glyphs::bar;
use super::layers::share;
use crate::iocost::{
    LIMITS, PUBLISHED, boots, broken_sum, change, circumstances, clock_sum, clocks, place, subject,
    time_stamp,
};

/// Cells of a bar.
const BAR: usize = 18;
/// Functions told unless all are wanted.
const FUNCTIONS: usize = 16;
/// Exact counts told unless all are wanted.
const MODES: usize = 4;

/// What one I/O costs; with `full` every function and every exact count.
pub fn iocost_text(cost: &IoCost, full: bool) -> String {
    let mut parts = vec![
        head(cost),
        number(cost, full),
        by_layer(cost),
        by_function(cost, full),
        registers(cost),
        modelled(cost),
        doubts(cost),
    ];
    parts.retain(|part| !part.is_empty());
    clean(&(parts.join("\n") + "\nnext: " + &next(cost) + "\n"))
}

fn head(cost: &IoCost) -> String {
    let title = both_ends(
        &format!("COST of one I/O: {}", cut(&subject(&cost.case), 42)),
        &format!("iostack {}", cut(&cost.iostack, 12)),
    );
    title + &paragraph("case       ", &circumstances(&cost.case)) + &paragraph("counted    ", &cost.how)
}

/// The modal count, how common it is, and the next ones.
fn number(cost: &IoCost, full: bool) -> String {
    if cost.modes.is_empty() {
        return paragraph("", "NOT ONE I/O was counted.");
    }
    let mut text = paragraph(
        "",
        &format!(
            "{} INSTRUCTIONS, exactly, in {} % of {} I/Os",
            count(cost.instructions),
            percent(cost.modal_share()),
            count(cost.ios)
        ),
    );
    if cost.modes.len() > 1 {
        text += &modes(cost, full);
    }
    let agree = boots(cost);
    if !agree.is_empty() {
        text += &paragraph("boots      ", &agree);
    }
    text + &paragraph("clock      ", &time_stamp(cost))
}

fn modes(cost: &IoCost, full: bool) -> String {
    let mut text = format!("\n{:<16}{:>10}{:>7}  {:<BAR$} against it\n", "EXACT COUNT", "I/Os", "%", "");
    let most = cost.modes[0].ios as f64;
    let told = if full { cost.modes.len() } else { cost.modes.len().min(MODES) };
    for mode in &cost.modes[..told] {
        let beside = match change(cost.instructions, mode.instructions) {
            same if same == "0" => "the modal one".to_owned(),
            other => other,
        };
        text += &row(
            &count(mode.instructions),
            &count(mode.ios),
            &percent(share(mode.ios as f64, cost.ios as f64)),
            (mode.ios as f64, most),
            &beside,
        );
    }
    let rest = cost.ios.saturating_sub(cost.modes[..told].iter().map(|mode| mode.ios).sum());
    if rest > 0 {
        let share = percent(share(rest as f64, cost.ios as f64));
        text += &row("others", &count(rest), &share, (rest as f64, most), "");
    }
    text
}

/// A line of a table with a bar.
fn row(name: &str, figure: &str, share: &str, (value, most): (f64, f64), words: &str) -> String {
    let drawn = if value > 0.0 { bar(value, most, BAR) } else { " ".repeat(BAR) };
    format!("{:<16}{figure:>10}{share:>7}  {drawn} {}\n", cut(name, 16), cut(words, 26))
}

fn by_layer(cost: &IoCost) -> String {
    if cost.layers.is_empty() {
        return String::new();
    }
    let total: u64 = cost.layers.iter().map(|row| row.instructions).sum();
    let most = cost.layers.iter().map(|row| row.instructions).max().unwrap_or(0) as f64;
    let mut text = format!("{:<16}{:>10}{:>7}  {:<BAR$} what\n", "LAYER", "instr.", "%", "");
    for layer in &cost.layers {
        let own = layer.instructions;
        text += &row(
            &layer.layer,
            &count(own),
            &percent(share(own as f64, total as f64)),
            (own as f64, most),
            &layer.meaning,
        );
    }
    text + &format!("{:<16}{:>10}{:>7}\n", "SUM", count(total), percent(share(total as f64, total as f64)))
}

fn by_function(cost: &IoCost, full: bool) -> String {
    if cost.functions.is_empty() {
        return String::new();
    }
    let mut text = function_line("FUNCTION", "instr.", "%", "calls", ("layer", "module"));
    let told = if full { cost.functions.len() } else { cost.functions.len().min(FUNCTIONS) };
    for one in &cost.functions[..told] {
        text += &function_row(one, cost.instructions);
    }
    let rest = &cost.functions[told..];
    if !rest.is_empty() {
        let own: u64 = rest.iter().map(|one| one.instructions).sum();
        let share = percent(share(own as f64, cost.instructions as f64));
        let name = format!("... {} more", count(rest.len() as u64));
        text += &function_line(&name, &count(own), &share, "", ("", ""));
    }
    text
}

fn function_row(one: &CostFunction, whole: u64) -> String {
    let calls = one.calls.map_or_else(|| "-".to_owned(), count);
    let share = percent(share(one.instructions as f64, whole as f64));
    function_line(&one.name, &count(one.instructions), &share, &calls, (&one.layer, place(one)))
}

fn function_line(name: &str, own: &str, share: &str, calls: &str, (layer, module): (&str, &str)) -> String {
    format!("{:<35}{own:>10}{share:>7}{calls:>7}  {:<10} {}\n", cut(name, 34), cut(layer, 10), cut(module, 8))
}

fn registers(cost: &IoCost) -> String {
    let Some(uses) = &cost.mmio else {
        return paragraph("registers  ", "accesses to the device's registers were not counted");
    };
    if uses.is_empty() {
        return paragraph("registers  ", "no register of a device is read or written");
    }
    let mut text =
        format!("{:<33}{:<15}{:<18}{:>6}{:>8}\n", "REGISTERS USED BY", "of", "register", "reads", "writes");
    for one in uses {
        text += &register_row(one);
    }
    let (reads, writes) = cost.registers().unwrap_or_default();
    text + &format!("{:<66}{:>6}{:>8}\n", "SUM", count(reads), count(writes))
}

fn register_row(one: &MmioUse) -> String {
    let register = one.register.clone().unwrap_or_else(|| format!("{:#x}", one.address));
    format!(
        "{:<33}{:<15}{:<18}{:>6}{:>8}\n",
        cut(&one.function, 32),
        cut(&one.region, 14),
        cut(&register, 17),
        count(one.reads),
        count(one.writes)
    )
}

/// Clocks by the prices, beside what was published.
fn modelled(cost: &IoCost) -> String {
    let text = match (clocks(cost), clock_sum(cost)) {
        (Some(clocks), Some(sum)) => {
            format!("{} clocks = {sum}. The prices are set, not measured.", count(clocks))
        }
        _ => "no clocks: they need the register accesses".to_owned(),
    };
    paragraph("modelled   ", &text) + &paragraph("published  ", &format!("{PUBLISHED}."))
}

fn doubts(cost: &IoCost) -> String {
    let mut text = String::new();
    if !cost.unclassified.is_empty() {
        let names = cost.unclassified.join(", ");
        text +=
            &paragraph("NO LAYER   ", &format!("{} functions have none: {names}", cost.unclassified.len()));
    }
    text += &broken_sum(cost).map_or_else(String::new, |wrong| paragraph("SUM WRONG  ", &wrong));
    for note in cost.notes.iter().map(String::as_str).chain(LIMITS) {
        text += &paragraph("  - ", note);
    }
    text
}

/// What to do with the number.
fn next(cost: &IoCost) -> String {
    format!("iostack lab cost {} --html cost.html    # its calls", cut(&cost.case.device, 24))
}
