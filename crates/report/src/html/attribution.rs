//! Where did the time and the clocks go?
//!
//! The page of `iostack stages` and `iostack layers`, and the sections that the pages of a check and a run show where
//! an outcome was looked into. Start reading at [`page`].

use iostack_model::{Check, Ladder, Layers, Outcome, Part, Stages, Way};

use super::page::{Section, document};
use super::sheet::Sheet;
use super::stages::percent;
use super::{escape, ladder, layers, path_costs, raw, stages};

/// A page of its own.
pub(super) fn page(
    title: &str,
    traced: Option<&Stages>,
    sampled: Option<&Layers>,
    rungs: Option<&Ladder>,
) -> String {
    let mut sheet = Sheet::bare();
    let mut sections = Vec::new();
    if let Some(traced) = traced {
        let body = stages::body(traced, &mut sheet);
        sections.push(Section::new("stages", "Stages", "Where the latency went", body));
    }
    if let Some(sampled) = sampled {
        let body = layers::body(sampled, &sheet);
        sections.push(Section::new("layers", "Layers", "Where the clocks went", body));
    }
    if let Some(rungs) = rungs {
        sections.push(Section::new("ladder", "Ladder", "What may be measured here", ladder::body(rungs)));
    }
    let subject = traced.map(|traced| &traced.subject).or(sampled.map(|sampled| &sampled.subject));
    let subject = subject.map_or(String::new(), |subject| format!(" · {}", escape::text(subject)));
    let header = format!(
        "<p class=\"kicker\"><b>{}</b>{subject}</p><h1>{}</h1>",
        escape::text(title),
        escape::text(&answer(traced, sampled))
    );
    document(title, &header, &sections, &sheet, &raw::attribution(traced, sampled))
}

/// What was found, in one sentence.
fn answer(traced: Option<&Stages>, sampled: Option<&Layers>) -> String {
    let mut told = Vec::new();
    if let Some(way) = traced.and_then(|traced| traced.way(Way::Device)).filter(|way| way.whole.sum_ns > 0) {
        let [platform, transport, device, journal] = Part::ALL.map(|part| percent(way.part_share(part)));
        let journal = match way.part_mean_ns(Part::Journal) {
            time if time > 0.0 => format!(", waiting for the journal {journal}"),
            _ => String::new(),
        };
        told.push(format!(
            "The platform took {platform} of the latency, the transport {transport}, the device {device}{journal}"
        ));
    }
    if let Some((sampled, first)) = sampled.and_then(|sampled| Some((sampled, sampled.rows.first()?))) {
        let all: f64 = sampled.rows.iter().map(|row| row.time.0 as f64).sum();
        let share = if all > 0.0 { first.time.0 as f64 / all } else { 0.0 };
        told.push(format!("Most clocks went into {}: {}", first.layer, percent(share)));
    }
    match told[..] {
        [] if traced.is_none() && sampled.is_none() => "What may be measured here".to_owned(),
        [] => "Nothing was seen".to_owned(),
        _ => told.join(". ") + ".",
    }
}

/// What one outcome says of it, below headings; nothing when it was not looked into.
pub(super) fn of_outcome(outcome: &Outcome, sheet: &mut Sheet) -> String {
    let mut out = String::new();
    if let Some(traced) = &outcome.stages {
        out += &format!("<h3>Where the latency went</h3>{}", stages::body(traced, sheet));
    }
    if let Some(sampled) = &outcome.layers {
        out += &format!("<h3>Where the clocks went</h3>{}", layers::body(sampled, sheet));
    }
    out
}

/// The sections of a check: each point that was looked into, and the costs of the path.
pub(super) fn sections(check: &Check, sheet: &mut Sheet) -> Vec<Section> {
    let points = || check.steps.iter().flat_map(|step| &step.points);
    let several = |count: usize, name: &str| {
        if count > 1 { format!("<h3>{}</h3>", escape::text(name)) } else { String::new() }
    };
    let traced: Vec<_> = points().filter_map(|point| Some((point, point.outcome.stages.as_ref()?))).collect();
    let sampled: Vec<_> =
        points().filter_map(|point| Some((point, point.outcome.layers.as_ref()?))).collect();
    let mut sections = Vec::new();
    let mut body = String::new();
    for (point, stages) in &traced {
        body += &several(traced.len(), &super::steps::point_name(point));
        body += &stages::body(stages, sheet);
    }
    push(&mut sections, "stages", "Stages", "Where the latency of one I/O goes", body);
    let mut body = String::new();
    for (point, layers) in &sampled {
        body += &several(sampled.len(), &super::steps::point_name(point));
        body += &layers::body(layers, sheet);
    }
    push(&mut sections, "layers", "Layers", "Where its clocks go", body);
    let costs = if check.path_costs.is_empty() { String::new() } else { path_costs::body(&check.path_costs) };
    push(&mut sections, "path-costs", "Costs", "What single parts of the path cost", costs);
    sections
}

fn push(sections: &mut Vec<Section>, id: &str, short: &str, title: &str, body: String) {
    if !body.is_empty() {
        sections.push(Section::new(id, short, title, body));
    }
}
