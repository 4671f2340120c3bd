//! What does the manual say of what was published? `docs/repro.md` of what is simulated, `docs/lab-results.md` of what the
//! lab counts.
//!
//! A page of the manual has room for every verdict, so that it is a document of its own; tables and sentences of the whole are
//! those of a screen. Words here are Markdown.

use std::collections::BTreeSet;

use iostack_model::Outcome;
use iostack_model::answers::{IoCost, Repro, ReproBasis, ReproCurve, ReproVerdict, Reproduced};

use super::repro::predicted;
use crate::digest::{self, Digest, NO_REASON, difference, digest, figure_name};
use crate::document::{Block, Columns, Document, Section, Table};
use crate::lists::{Joined, distinct};
use crate::text::format::or_dash;

/// Folder in which the page finds its figures.
const IMAGES: &str = "images/repro";

/// The name of a figure's file.
pub fn figure_file(id: &str, index: usize) -> String {
    if index == 0 { format!("{id}.svg") } else { format!("{id}-{}.svg", index + 1) }
}

/// The page of the manual about published figures.
pub fn manual(repro: &Repro) -> Document {
    if repro.experiments.is_empty() && !repro.validated.is_empty() {
        let [title, head] = MEASURED_HEAD;
        return super::validated::manual(repro, title, head.trim_end());
    }
    let [title, head] = match repro.how() {
        Some("ran") => RAN_HEAD,
        _ if repro.is_counted() => LAB_HEAD,
        _ => HEAD,
    };
    let mut all = Document::new(title);
    all.head.words(head.trim_end());
    if repro.is_counted() {
        all.head.table(verdicts(repro));
    } else {
        all.sections = overview(repro, digest(repro));
    }
    all.sections.extend(repro.experiments.iter().map(experiment));
    all
}

/// Every verdict of every experiment in a row.
fn verdicts(repro: &Repro) -> Table {
    let all = repro.experiments.iter().flat_map(|one| one.verdicts.iter().map(move |each| (one, each)));
    Table::over(all)
        .words("experiment", |(one, _)| link(&one.id))
        .words("claim", |(_, verdict)| says(verdict))
        .words("claimed", |(_, verdict)| &verdict.claimed)
        .words("ours", |(_, verdict)| &verdict.ours)
        .words("difference", |(_, verdict)| difference(verdict))
        .words("verdict", |(_, verdict)| holds(verdict))
        .done()
}

fn link(id: &str) -> String {
    format!("[{id}](#{id})")
}

/// All experiments at one look.
fn overview(repro: &Repro, digest: Digest) -> Vec<Section> {
    let titled = |title: &str| Section::new("", "", title);
    let mut whole = titled("How much comes out");
    whole.table(digest.documents).words(RESTS).table(digest.rests);
    whole.words(format!("**{}**", digest.sentence));
    let published = repro.documents.iter().filter(|document| document.published);
    whole.list(published.map(|one| format!("`{}`: {}", one.id, one.title)).collect());
    let mut off = titled("Where it is off");
    if digest.off.is_empty() {
        off.words("Nowhere.");
    } else {
        let table = Table::over(&digest.off)
            .words("claim", |one| format!("`{}`", one.claim))
            .words("experiment", |one| link(&one.experiment))
            .words("claimed and ours", |one| &one.figures)
            .words("why", |one| &one.why);
        off.table(table.done());
    }
    let mut left_out = titled(&format!("What is left out: {} statements", repro.missing.len()));
    let claims = |claims: Vec<String>| claims.iter().map(|one| format!("`{one}`")).joined(", ");
    let reason = |(reason, all): (String, Vec<String>)| format!("{reason}: {}", claims(all));
    left_out.list(digest.missing.into_iter().map(reason).collect());
    let mut numbers = titled("What it rests on");
    let fitted = Table::over(&digest.fitted)
        .words("fitted", |(number, _)| format!("`{number}`"))
        .words("to the claim", |(_, claim)| claim);
    numbers.words(PARAMETERS).table(digest.platforms).table(fitted.done());
    let mut experiments = titled("Experiments");
    experiments.table(list(repro));
    let all = [whole, off, left_out, numbers, experiments];
    all.into_iter().filter(|section| !section.blocks.is_empty()).collect()
}

fn list(repro: &Repro) -> Table {
    let holds = |one: &Reproduced| one.verdicts.iter().filter(|verdict| verdict.holds == Some(true)).count();
    Table::over(&repro.experiments)
        .words("experiment", |one| link(&one.id))
        .words("", |one| &one.title)
        .number("holds", |one| format!("{} of {}", holds(one), one.verdicts.len()))
        .done()
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

/// Title and introduction of the page about curves that were measured.
const MEASURED_HEAD: [&str; 2] =
    ["Measured curves, beside three models", include_str!("data/manual-measured.md")];

/// Verdict in a word or two, and what it rests on where that proves little.
fn holds(verdict: &ReproVerdict) -> String {
    match (verdict.holds, verdict.basis) {
        (Some(true), ReproBasis::Predicted) => "holds".to_owned(),
        (Some(true), basis) => format!("holds ({})", basis.word()),
        (Some(false), ReproBasis::OwnAim) => "**off** (own aim)".to_owned(),
        (Some(false), _) => "**off**".to_owned(),
        (None, _) => "**unknown**".to_owned(),
    }
}

/// The claim in words, with how it is read.
fn says(verdict: &ReproVerdict) -> String {
    match verdict.reading.as_str() {
        "" => verdict.says.clone(),
        reading => format!("{} *Reading: {reading}.*", verdict.says),
    }
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
    let mut table = Table::over(&one.verdicts)
        .words("", says)
        .words("claim", |verdict| format!("`{}`", figure_name(&verdict.claim, &verdict.field)))
        .number("claimed", |verdict| &verdict.claimed)
        .number("ours", |verdict| &verdict.ours)
        .number("difference", difference)
        .words("verdict", holds)
        .words("asked", |verdict| &verdict.test);
    if one.verdicts.iter().any(|verdict| verdict.drawn.is_some()) {
        table = table.number("in draws", digest::drawn);
    }
    section.table(table.done()).list(reasons(one));
    if !one.predicted.is_empty() {
        section.words("What the simulated host, or the drive alone, had said of it:");
        section.table(predicted(one));
    }
    if one.how() == "ran" {
        section.table(all_ran(one));
    }
    if one.is_counted() && one.how() != "ran" {
        one.curves.iter().for_each(|curve| counted(curve, &mut section));
    } else {
        section.put(Block::Command(one.curves.iter().filter_map(command).joined("\n")));
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
    let reason = |verdict: &ReproVerdict| {
        let keys = verdict.fitted.iter().map(|key| format!("`{key}`")).joined(", ");
        let basis = match verdict.basis {
            _ if verdict.fitted.is_empty() => None,
            ReproBasis::Input => Some(format!("an input of {keys}.")),
            ReproBasis::Fitted => Some(format!("fitted by {keys}.")),
            ReproBasis::OwnAim => None,
            basis => Some(format!("{}: {}.", basis.word(), verdict.fitted.join(", "))),
        };
        let why = Some(verdict.why.clone()).filter(|why| !why.is_empty());
        let why = why.or_else(|| (verdict.holds == Some(false)).then(|| format!("{NO_REASON}.")));
        let name = figure_name(&verdict.claim, &verdict.field);
        basis.into_iter().chain(why).map(move |words| format!("`{name}`: {words}"))
    };
    distinct(one.verdicts.iter().flat_map(reason))
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
        section.table(side_by_side(curve, &costs));
    }
    let ran = ran(curve);
    if !ran.rows.is_empty() {
        section.table(ran);
    }
    section.put(Block::Command(curve.points.last().map_or(String::new(), |point| point.command.clone())));
}

/// All curves that ran in the lab in one table.
fn all_ran(one: &Reproduced) -> Table {
    let in_lab = one.curves.iter().filter(|curve| curve.device.starts_with("lab:"));
    let rows = in_lab.flat_map(|curve| points_that_ran(curve).map(move |(at, outcome)| (curve, at, outcome)));
    let table = Table::over(rows).words("", |(curve, ..)| &curve.name).number("at", |(_, at, _)| at);
    figures(table, |(.., outcome)| outcome)
}

fn points_that_ran(curve: &ReproCurve) -> impl Iterator<Item = (&String, &Outcome)> {
    curve.points.iter().filter_map(|point| Some((&point.at, point.outcome.as_ref()?)))
}

/// Columns of rates and latencies of what ran.
fn figures<'a, Each: Copy>(table: Columns<Each>, of: fn(Each) -> &'a Outcome) -> Table {
    let us = |each, share| or_dash(of(each).latency().quantile_ns(share), |ns| (ns / 1000).to_string());
    table
        .number("MB/s", |each| format!("{:.1}", of(each).bandwidth() / 1e6))
        .number("I/Os a second", |each| format!("{:.0}", of(each).rate()))
        .number("median, us", |each| us(each, 0.5))
        .number("p99, us", |each| us(each, 0.99))
        .done()
}

/// The points of a curve whose jobs ran.
fn ran(curve: &ReproCurve) -> Table {
    figures(Table::over(points_that_ran(curve)).words(&curve.varied, |(at, _)| at), |(_, outcome)| outcome)
}

/// A column a case: its instructions, and those of each layer.
fn side_by_side(curve: &ReproCurve, costs: &[(&str, &IoCost)]) -> Table {
    let mut heads = vec![if curve.varied.is_empty() { "-" } else { &curve.varied }];
    heads.extend(costs.iter().map(|(at, _)| if at.is_empty() { "instructions" } else { at }));
    let mut table = Table::of(&heads);
    let mut row = |name: &str, cell: &dyn Fn(&IoCost) -> String| {
        let cells = costs.iter().map(|(_, cost)| cell(cost));
        table.row(std::iter::once(name.to_owned()).chain(cells));
    };
    row("**instructions**", &|cost| format!("**{}**", cost.instructions));
    row("I/Os that took exactly these", &|cost| format!("{:.1} %", cost.modal_share() * 100.0));
    if costs.iter().any(|(_, cost)| cost.registers().is_some_and(|used| used != (0, 0))) {
        row("register reads / writes", &|cost| {
            or_dash(cost.registers(), |(reads, writes)| format!("{reads} / {writes}"))
        });
        row("modelled clocks", &|cost| or_dash(cost.modelled_clocks(), |clocks| format!("{clocks:.0}")));
    }
    for name in distinct(costs.iter().flat_map(|(_, cost)| &cost.layers).map(|layer| &layer.layer)) {
        let of = |cost: &IoCost| {
            cost.layers.iter().find(|one| one.layer == *name).map_or(0, |one| one.instructions)
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
