//! What does the manual say of what was published? `docs/repro.md` of what is simulated, `docs/lab-results.md` of what the
//! lab counts.
//!
//! A page of the manual has room for every verdict, so that it is a document of its own; tables and sentences of the whole are
//! those of a screen. Words here are Markdown.

use std::collections::BTreeSet;

use iostack_model::answers::{IoCost, Repro, ReproBasis, ReproCurve, ReproVerdict, Reproduced};

use super::repro::predicted;
use crate::digest::{Digest, NO_REASON, digest, figure_name};
use crate::document::{Block, Cell, Column, Document, Section, Table};

/// Folder in which the page finds its figures.
const IMAGES: &str = "images/repro";

/// The name of a figure's file.
pub fn figure_file(id: &str, index: usize) -> String {
    if index == 0 { format!("{id}.svg") } else { format!("{id}-{}.svg", index + 1) }
}

/// The page of the manual about published figures.
pub fn manual(repro: &Repro) -> Document {
    let [title, head] = match repro.how() {
        Some("ran") => RAN_HEAD,
        _ if repro.is_counted() => LAB_HEAD,
        _ => HEAD,
    };
    let mut all = Document::new(title);
    all.head.words(head.trim_end());
    if repro.is_counted() {
        all.head.put(Block::Table(verdicts(repro)));
    } else {
        all.sections = overview(repro, digest(repro));
    }
    all.sections.extend(repro.experiments.iter().map(experiment));
    all
}

/// Every verdict of every experiment in a row.
fn verdicts(repro: &Repro) -> Table {
    let heads = ["experiment", "claim", "claimed", "ours", "difference", "verdict"];
    let mut table = Table::new(heads.map(Column::words).to_vec());
    for (id, verdict) in
        repro.experiments.iter().flat_map(|one| one.verdicts.iter().map(|verdict| (&one.id, verdict)))
    {
        table.row(std::iter::once(link(id)).chain(cells(verdict)));
    }
    table
}

fn link(id: &str) -> String {
    format!("[{id}](#{id})")
}

/// All experiments at one look.
fn overview(repro: &Repro, digest: Digest) -> Vec<Section> {
    let titled = |title: &str| Section::new("", "", title);
    let mut whole = titled("How much comes out");
    whole.put(Block::Table(digest.documents)).words(RESTS).put(Block::Table(digest.rests));
    whole.words(format!("**{}**", digest.sentence));
    let published = repro.documents.iter().filter(|document| document.published);
    whole.list(published.map(|one| format!("`{}`: {}", one.id, one.title)).collect());
    let mut off = titled("Where it is off");
    if digest.off.is_empty() {
        off.words("Nowhere.");
    } else {
        let heads = ["claim", "experiment", "claimed and ours", "why"];
        let mut table = Table::new(heads.map(Column::words).to_vec());
        for one in digest.off {
            table.row([format!("`{}`", one.claim), link(&one.experiment), one.figures, one.why]);
        }
        off.put(Block::Table(table));
    }
    let mut left_out = titled(&format!("What is left out: {} statements", repro.missing.len()));
    let claims = |claims: Vec<String>| claims.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>();
    let reason = |(reason, all): (String, Vec<String>)| format!("{reason}: {}", claims(all).join(", "));
    left_out.list(digest.missing.into_iter().map(reason).collect());
    let mut numbers = titled("What it rests on");
    let mut fitted = Table::new(["fitted", "to the claim"].map(Column::words).to_vec());
    for (number, claim) in digest.fitted {
        fitted.row([format!("`{number}`"), claim]);
    }
    numbers.words(PARAMETERS).put(Block::Table(digest.platforms)).put(Block::Table(fitted));
    let mut experiments = titled("Experiments");
    experiments.put(Block::Table(list(repro)));
    let all = [whole, off, left_out, numbers, experiments];
    all.into_iter().filter(|section| !section.blocks.is_empty()).collect()
}

fn list(repro: &Repro) -> Table {
    let columns = vec![Column::words("experiment"), Column::words(""), Column::number("holds")];
    let mut table = Table::new(columns);
    for one in &repro.experiments {
        let holds = one.verdicts.iter().filter(|verdict| verdict.holds == Some(true)).count();
        table.row([link(&one.id), one.title.clone(), format!("{holds} of {}", one.verdicts.len())]);
    }
    table
}

/// Above what the judged statements rest on.
const RESTS: &str = "\
What those rest on that were judged: how many hold, of how many. `12/14` predicted: 14 were, and 12 hold.";

const PARAMETERS: &str = "\
Numbers of each platform and of the sheets inside it: *cited* from a document, *fitted* so that a claim comes out, or
*assumed*. Then the statements judged on it: those that a number *is*, those that one was *fitted* to, others that prove
little (derived, assumed, cannot fail, own aim), and predictions. A number of a sheet that several platforms share counts once in the sentence above.";

/// Title and introduction of the page about simulated experiments.
const HEAD: [&str; 2] = ["Published experiments, made again", include_str!("data/manual-simulated.md")];

/// Title and introduction of the page about what the lab counts.
const LAB_HEAD: [&str; 2] = ["The lab's results", include_str!("data/manual-lab.md")];

/// Title and introduction of the page about jobs that ran in the lab.
const RAN_HEAD: [&str; 2] = ["Published experiments on real kernels", include_str!("data/manual-ran.md")];

/// Claim, claimed, ours, difference, verdict.
fn cells(verdict: &ReproVerdict) -> [String; 5] {
    let holds = match (verdict.holds, verdict.basis) {
        (Some(true), ReproBasis::Predicted) => "holds".to_owned(),
        (Some(true), basis) => format!("holds ({})", basis.word()),
        (Some(false), ReproBasis::OwnAim) => "**off** (own aim)".to_owned(),
        (Some(false), _) => "**off**".to_owned(),
        (None, _) => "**unknown**".to_owned(),
    };
    let difference = verdict.difference.map_or("-".to_owned(), |share| format!("{:+.1} %", share * 100.0));
    let reading =
        if verdict.reading.is_empty() { String::new() } else { format!(" *Reading: {}.*", verdict.reading) };
    let says = verdict.says.clone() + &reading;
    [says, verdict.claimed.clone(), verdict.ours.clone(), difference, holds]
}

fn experiment(one: &Reproduced) -> Section {
    let mut section = Section::new("", "", &one.id);
    let end = if one.title.ends_with('?') { "" } else { "." };
    let how = match one.how() {
        "ran" => "Ran",
        "counted" => "Counted",
        _ => "Simulated",
    };
    section.words(format!("{}{end}", one.title)).words(format!("*{}.*", one.source));
    section.words(format!("Measured: {}", one.measured)).words(format!("{how}: {}", one.simulated));
    let drawn = if one.is_counted() { &[][..] } else { &one.plots };
    for (index, plot) in drawn.iter().enumerate() {
        section.words(format!("![{}]({IMAGES}/{})", plot.heading, figure_file(&one.id, index)));
    }
    let number = Column::number;
    let [claimed, ours, difference] = ["claimed", "ours", "difference"].map(number);
    let [says, claim, verdict, asked] = ["", "claim", "verdict", "asked"].map(Column::words);
    let mut table = Table::new(vec![says, claim, claimed, ours, difference, verdict, asked]);
    for verdict in &one.verdicts {
        let [says, claimed, ours, difference, holds] = cells(verdict);
        let name = format!("`{}`", figure_name(&verdict.claim, &verdict.field));
        table.row([says, name, claimed, ours, difference, holds, verdict.test.clone()]);
    }
    section.put(Block::Table(table)).list(reasons(one));
    if !one.predicted.is_empty() {
        section.words("What the simulated host, or the drive alone, had said of it:");
        section.put(Block::Table(predicted(one)));
    }
    if one.how() == "ran" {
        section.put(Block::Table(all_ran(one)));
        section.put(Block::Command(one.curves.iter().filter_map(command).collect::<Vec<_>>().join("\n")));
    } else if one.is_counted() {
        one.curves.iter().for_each(|curve| counted(curve, &mut section));
    } else {
        section.put(Block::Command(one.curves.iter().filter_map(command).collect::<Vec<_>>().join("\n")));
    }
    section
}

/// Makes the last point of a curve.
fn command(curve: &ReproCurve) -> Option<String> {
    let more = match curve.points.len() {
        0 | 1 => String::new(),
        points => format!("    # and {} more of this curve", points - 1),
    };
    Some(format!("{}{more}", curve.points.last()?.command))
}

/// Reasons why verdicts do not hold, and why agreement of others proves nothing; each once.
fn reasons(one: &Reproduced) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for verdict in &one.verdicts {
        let name = figure_name(&verdict.claim, &verdict.field);
        if !verdict.fitted.is_empty() {
            let keys: Vec<String> = verdict.fitted.iter().map(|key| format!("`{key}`")).collect();
            match verdict.basis {
                ReproBasis::Input => all.push(format!("`{name}`: an input of {}.", keys.join(", "))),
                ReproBasis::Fitted => all.push(format!("`{name}`: fitted by {}.", keys.join(", "))),
                ReproBasis::OwnAim => {}
                basis => all.push(format!("`{name}`: {}: {}.", basis.word(), verdict.fitted.join(", "))),
            }
        }
        if !verdict.why.is_empty() {
            all.push(format!("`{name}`: {}", verdict.why));
        } else if verdict.holds == Some(false) {
            all.push(format!("`{name}`: {NO_REASON}."));
        }
    }
    let mut seen = BTreeSet::new();
    all.retain(|line| seen.insert(line.clone()));
    all
}

/// The cases of a curve side by side, layer by layer, and the command of the last.
fn counted(curve: &ReproCurve, section: &mut Section) {
    let costs: Vec<(&str, &IoCost)> =
        curve.points.iter().filter_map(|point| Some((point.at.as_str(), point.cost.as_ref()?))).collect();
    section.put(Block::Heading(curve.name.clone()));
    for point in &curve.points {
        if let Some(error) = &point.error {
            let why = error.lines().next().unwrap_or_default();
            section.words(format!("{} {}: not counted: {why}", curve.varied, point.at));
        }
    }
    if let [(_, first), ..] = costs[..] {
        let kernels: BTreeSet<&str> = costs.iter().map(|(_, cost)| cost.case.kernel.as_str()).collect();
        let kernels = Vec::from_iter(kernels).join(" and ");
        section.words(format!("Linux {kernels}; {}.", first.how));
        section.put(Block::Table(side_by_side(curve, &costs)));
    }
    let ran = ran(curve);
    if !ran.rows.is_empty() {
        section.put(Block::Table(ran));
    }
    section.put(Block::Command(curve.points.last().map_or(String::new(), |point| point.command.clone())));
}

/// All curves that ran in the lab in one table.
fn all_ran(one: &Reproduced) -> Table {
    let mut table = Table::of(&["", "at", "MB/s", "I/Os a second", "median, us", "p99, us"]);
    for curve in one.curves.iter().filter(|curve| curve.device.starts_with("lab:")) {
        for row in ran(curve).rows {
            let cells = row.cells.into_iter();
            table.row(std::iter::once(Cell::from(&curve.name)).chain(cells));
        }
    }
    table
}

/// The points of a curve whose jobs ran.
fn ran(curve: &ReproCurve) -> Table {
    let mut table = Table::of(&[&curve.varied, "MB/s", "I/Os a second", "median, us", "p99, us"]);
    for (at, outcome) in curve.points.iter().filter_map(|point| Some((&point.at, point.outcome.as_ref()?))) {
        let latency = outcome.latency();
        let us = |share| latency.quantile_ns(share).map_or("-".to_owned(), |ns| format!("{}", ns / 1000));
        let (rate, mega) = (outcome.rate(), outcome.bandwidth() / 1e6);
        table.row([at.clone(), format!("{mega:.1}"), format!("{rate:.0}"), us(0.5), us(0.99)]);
    }
    table
}

/// A column a case: its instructions, and those of each layer.
fn side_by_side(curve: &ReproCurve, costs: &[(&str, &IoCost)]) -> Table {
    let mut heads = vec![if curve.varied.is_empty() { "-" } else { &curve.varied }];
    heads.extend(costs.iter().map(|(at, _)| if at.is_empty() { "instructions" } else { at }));
    let mut table = Table::of(&heads);
    let mut row = |name: &str, cell: &dyn Fn(&IoCost) -> String| {
        let cells = costs.iter().map(|(_, cost)| cell(cost));
        table.row(std::iter::once(name.to_owned()).chain(cells).map(Cell::from));
    };
    row("**instructions**", &|cost| format!("**{}**", cost.instructions));
    row("I/Os that took exactly these", &|cost| format!("{:.1} %", cost.modal_share() * 100.0));
    if costs.iter().any(|(_, cost)| cost.registers().is_some_and(|used| used != (0, 0))) {
        let registers = |cost: &IoCost| cost.registers().map(|(reads, writes)| format!("{reads} / {writes}"));
        row("register reads / writes", &|cost| registers(cost).unwrap_or_else(|| "-".to_owned()));
        let clocks = |cost: &IoCost| cost.modelled_clocks().map(|clocks| format!("{clocks:.0}"));
        row("modelled clocks", &|cost| clocks(cost).unwrap_or_else(|| "-".to_owned()));
    }
    let mut layers: Vec<&str> = Vec::new();
    for layer in costs.iter().flat_map(|(_, cost)| &cost.layers) {
        if !layers.contains(&layer.layer.as_str()) {
            layers.push(&layer.layer);
        }
    }
    for name in layers {
        let of = |cost: &IoCost| {
            cost.layers.iter().find(|one| one.layer == name).map_or(0, |one| one.instructions)
        };
        let same = costs.len() > 2 && costs.iter().all(|(_, cost)| of(cost) == of(costs[0].1));
        let mark = if same { " (the same for all)" } else { "" };
        row(&format!("{name}{mark}"), &|cost| of(cost).to_string());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_a_file_of_its_own() {
        assert_eq!([figure_file("a", 0), figure_file("a", 1)], ["a.svg", "a-2.svg"]);
    }
}
