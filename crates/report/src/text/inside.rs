//! What a simulation saw inside the device: where the latency went, which resource was busy, and why it is so fast.

use iostack_model::{Bins, Inside, InsideFlow, Outcome, ResourceUse, Stage};

use super::format::{cut, paragraph, percent, rate_of_any, supported, time};
use super::glyphs::bar;
use super::platform::clocks;
use super::stages::{ratio, shorter};
use crate::inside;

/// Columns before the sentences, as wide as those of `device` and `host`.
const LABEL: usize = 11;
/// Cells of the bar of a stage.
const STAGE_BAR: usize = 6;
/// Cells of the bar of a resource.
const BUSY_BAR: usize = 9;

/// What stands in the place of device and host.
pub(super) fn conditions(inside: &Inside) -> String {
    let mut text = paragraph("SIMULATED  ", &inside::device(inside));
    text += &inside::state(inside).map_or_else(String::new, |state| paragraph("state      ", &state));
    text += &inside::changed(inside).map_or_else(String::new, |changed| paragraph("changed    ", &changed));
    text + &paragraph(
        "seed       ",
        &format!("{}; it gives every figure again, to the last digit", inside.seed),
    )
}

/// The tables, then the answer in sentences.
pub(super) fn account(outcome: &Outcome, inside: &Inside) -> Vec<String> {
    let mut parts: Vec<String> = inside.flows.iter().map(stages).collect();
    parts.extend(inside.host.as_ref().map(clocks));
    parts.push(resources(inside));
    parts.push(answer(outcome, inside));
    parts.retain(|part| !part.is_empty());
    parts
}

/// One direction: each stage with its meaning, its share and its times.
fn stages(flow: &InsideFlow) -> String {
    if flow.whole.count == 0 {
        return String::new();
    }
    let head = format!("WHERE A {}'S TIME WENT", flow.direction.name().to_uppercase());
    let mut text = format!("{head:<58}{:>8}{:>6}{:>8}\n", "mean", "%", "p99");
    for (stage, bins) in flow.stages.iter().filter(|(_, bins)| bins.sum_ns > 0) {
        let drawn = bar(bins.mean_ns(), flow.whole.mean_ns(), STAGE_BAR);
        text += &row(stage.name(), meaning(*stage), &drawn, bins, &flow.whole);
    }
    text + &row("sum", "what the caller waited", "", &flow.whole, &flow.whole)
}

/// The stage's meaning, as far as there is room before its bar.
fn meaning(stage: Stage) -> String {
    cut(stage.meaning(), 40)
}

fn row(name: &str, what: impl AsRef<str>, drawn: &str, bins: &Bins, whole: &Bins) -> String {
    let share = percent(ratio(bins.mean_ns(), whole.mean_ns()));
    let (mean, tail) = (time(bins.mean_ns()), supported(bins, 0.99));
    format!("{name:<11}{:<41}{drawn:<6}{mean:>8}{share:>6}{tail:>8}\n", what.as_ref())
}

/// Every resource in the order of the way, the limiting one marked.
fn resources(inside: &Inside) -> String {
    if inside.resources.is_empty() {
        return String::new();
    }
    let limiting = inside::busiest(inside).filter(|(_, used_up)| *used_up).map(|(limit, _)| &limit.name);
    let mut text = format!(
        "{:<15}{:>6}{:>7} {:<BUSY_BAR$}{:>9}{:>9}{:>8}{:>8}{:>8}\n",
        "RESOURCE", "count", "busy %", "", "busiest", "uses", "each", "wait", "waiting"
    );
    for resource in &inside.resources {
        text += &resource_row(resource, limiting == Some(&resource.name));
    }
    text
}

fn resource_row(resource: &ResourceUse, limits: bool) -> String {
    let name = format!("{}{}", cut(&resource.name, 13), if limits { " *" } else { "" });
    let drawn = if resource.busy > 0.0 { bar(resource.busy.min(1.0), 1.0, BUSY_BAR) } else { String::new() };
    let waiting = if resource.waiting < 10.0 {
        format!("{:.1}", resource.waiting)
    } else {
        shorter(resource.waiting as u64)
    };
    format!(
        "{name:<15}{:>6}{:>7} {drawn:<BUSY_BAR$}{:>9}{:>9}{:>8}{:>8}{waiting:>8}\n",
        resource.count,
        percent(resource.busy),
        percent(resource.busiest),
        rate_of_any(resource.visits as f64),
        time(resource.service_ns),
        time(resource.wait_ns),
    )
}

/// Why it is as fast as it is.
fn answer(outcome: &Outcome, inside: &Inside) -> String {
    let mut text = String::new();
    let starred = inside::busiest(inside).is_some_and(|(_, used_up)| used_up);
    for (label, sentence) in inside::reasons(outcome, inside) {
        let label = if label == "limit" && starred { "limit *" } else { label };
        text += &paragraph(&format!("{label:<LABEL$}"), &sentence);
    }
    text
}
