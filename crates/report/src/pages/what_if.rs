//! What would a change give, and where does the limit move?

use iostack_model::answers::{WhatIf, WhatIfFigures, WhatIfStep};
use iostack_model::{HostUse, Outcome};

use super::inside::clocks_beside;
use super::job_words::asked;
use super::simulated::{limit, own};
use crate::document::{Bar, Block, Cell, Column, Document, Section, Table};
use crate::html::numbers::Quantity;
use crate::lists::Joined;
use crate::text::format::{count, or_dash, percent, rate, significant};
use crate::what_if::{Busy, busy, limiting, ratio, told};

/// Document of `iostack sim what-if`, also of one that was cut short.
pub fn what_if(report: &WhatIf) -> Document {
    let mut all = Document::new(format!("iostack sim what-if {}", report.device));
    let (runs, seed) = (report.steps.len(), report.seed);
    all.beside = vec!["SIMULATED".to_owned(), format!("{runs} runs"), format!("seed {seed}")];
    all.origin = vec![format!("sim:{}", report.device), format!("iostack {}", report.iostack)];
    all.interrupted = report.interrupted.then_some("the runs");
    let steps = report.steps.iter().skip(1).map(|step| &step.name).joined(", then ");
    let named = report.named.as_ref().map(|named| named.title.clone());
    all.answer = named.unwrap_or_else(|| format!("What if {steps}?"));
    head(report, &mut all.head);
    all.simulated(outcomes(report), "every figure");
    all.sections.push(changed(report));
    let figures = figures(report, &mut all);
    all.sections.extend([figures, resources(report), clocks(report)]);
    because(report, &mut all.because);
    let ran = report.steps.iter().rev().find(|step| step.outcome.is_some());
    all.next = ran.map(|step| (step.command.clone(), "the last of these runs alone"));
    all
}

fn outcomes(report: &WhatIf) -> impl Iterator<Item = &Outcome> {
    report.steps.iter().filter_map(|step| step.outcome.as_ref())
}

/// More than one change, one after another.
fn is_chain(report: &WhatIf) -> bool {
    report.steps.len() > 2
}

fn head(report: &WhatIf, head: &mut Section) {
    head.fact("target", &report.title);
    if let Some(named) = &report.named {
        head.fact("what if", &named.title).fact("called for", &named.source);
        if !named.note.is_empty() {
            head.fact("note", &named.note);
        }
    }
    if let Some(outcome) = outcomes(report).next() {
        head.fact("asked", asked(outcome)).fact("counted", format!("{} I/Os before", count(outcome.ios())));
    }
}

/// `before`, `after`, `+1`, `+2`.
fn name(report: &WhatIf, number: usize) -> String {
    match number {
        0 => "before".to_owned(),
        1 if !is_chain(report) => "after".to_owned(),
        number => format!("+{number}"),
    }
}

fn changed(report: &WhatIf) -> Section {
    let mut section = Section::new("changed", "Changed", "What was changed");
    let mut alone = Section::default();
    for (number, step) in report.steps.iter().enumerate() {
        for change in &step.changes {
            let old = if change.old.is_empty() { "not said" } else { &change.old };
            let label = if is_chain(report) { format!("change {number}") } else { "change".to_owned() };
            let meaning =
                if change.meaning.is_empty() { String::new() } else { format!(": {}", change.meaning) };
            section.fact(label, format!("{}: {old} -> {}{meaning}", change.key, change.new));
        }
        alone.fact(name(report, number), &step.command);
    }
    section.page(Block::Fold("Each run alone".to_owned(), alone));
    section
}

/// A figure: its name, its head where there is a row for each run, how soon a narrow screen leaves it out, how it is read
/// and written.
type WhatIfRow = (&'static str, &'static str, u8, fn(&WhatIfFigures) -> Option<f64>, fn(f64) -> String);

const FIGURES: [WhatIfRow; 9] = [
    ("IOPS", "IOPS", 0, |figures| Some(figures.iops), rate),
    ("bandwidth", "bandwidth", 5, |figures| Some(figures.bandwidth), |value| Quantity::Bandwidth.say(value)),
    ("latency, mean", "mean", 0, |figures| Some(figures.latency_mean_ns), time),
    ("latency, p99", "p99", 0, |figures| figures.latency_p99_ns.map(|ns| ns as f64), time),
    ("clocks per I/O", "clocks", 0, |figures| figures.clocks_per_io, whole),
    ("cores busy, %", "cores, %", 6, |figures| figures.core_busy, percent),
    ("interrupts per I/O", "interrupts", 7, |figures| figures.interrupts_per_io, short),
    ("write amplification", "WA", 8, |figures| figures.write_amplification, short),
    ("I/Os", "I/Os", 9, |figures| Some(figures.ios as f64), whole),
];

fn time(ns: f64) -> String {
    Quantity::Nanos.say(ns)
}

fn whole(value: f64) -> String {
    count(value.round() as u64)
}

fn short(value: f64) -> String {
    significant(value, 3)
}

/// Two runs stand side by side; of a chain each has a row.
fn figures(report: &WhatIf, all: &mut Document) -> Section {
    let mut section = Section::new("figures", "Figures", "What it gives");
    let runs: Vec<Option<&WhatIfFigures>> = report.steps.iter().map(|step| step.figures.as_ref()).collect();
    let known = |figure: &&WhatIfRow| runs.iter().flatten().any(|run| figure.3(run).is_some());
    let known: Vec<&WhatIfRow> = FIGURES.iter().filter(known).collect();
    let Some(first) = known.first() else { return section };
    // The rate of each run has its doubts.
    let rates = (0..).zip(&report.steps).map(|(number, step)| {
        let own = step.outcome.iter().flat_map(own);
        let marks = all.doubts.note(own, &name(report, number));
        Cell::from(or_dash(runs[number].and_then(first.3), first.4)).marked(marks)
    });
    let rates: Vec<Cell> = rates.collect();
    section.table(if let [before, after] = runs[..] {
        side_by_side(report, &known, [before, after], rates)
    } else {
        one_by_one(report, &known, &runs, &rates)
    });
    section
}

fn side_by_side(
    report: &WhatIf,
    figures: &[&WhatIfRow],
    runs: [Option<&WhatIfFigures>; 2],
    rates: Vec<Cell>,
) -> Table {
    let mut table = Table::of(&["figure", "before", "after", "ratio"]);
    for (name, _, _, read, show) in figures {
        let [old, new] = runs.map(|run| run.and_then(read));
        let by = or_dash(old.zip(new).and_then(|(old, new)| ratio(old, new)), |ratio| format!("{ratio:.3}"));
        table.row([(*name).to_owned(), or_dash(old, show), or_dash(new, show), by]);
    }
    table.rows[0].cells.splice(1..3, rates);
    table.row(std::iter::once("limit".to_owned()).chain(report.steps.iter().map(limit_of)));
    table
}

fn limit_of(step: &WhatIfStep) -> String {
    or_dash(step.outcome.as_ref(), limit)
}

fn one_by_one(
    report: &WhatIf,
    figures: &[&WhatIfRow],
    runs: &[Option<&WhatIfFigures>],
    rates: &[Cell],
) -> Table {
    let iops = |at: usize| runs[at].map_or(0.0, |run| run.iops);
    let most = (0..runs.len()).map(iops).fold(0.0, f64::max);
    let column = |figure: &WhatIfRow| Column::number(figure.1).light(figure.2);
    let by = |at: usize| runs[at].and_then(|run| ratio(iops(0), run.iops));
    let mut table = Table::over((0..).zip(&report.steps))
        .words("step", |(at, step)| format!("{} {}", name(report, at), changes(step)).trim().to_owned())
        .column(column(figures[0]), |(at, _)| rates[at].clone())
        .column(Column::bars("").light(1), |(at, _)| Bar::whole(iops(at), most, 0))
        .number("ratio", |(at, _)| or_dash(by(at), |ratio| format!("{ratio:.2}")));
    for figure in &figures[1..] {
        table = table.column(column(figure), |(at, _)| or_dash(runs[at].and_then(figure.3), figure.4));
    }
    let caption = String::from("Clocks and interrupts are those of an I/O.");
    Table { caption, ..table.words("limit", |(_, step)| limit_of(step)).done() }
}

/// The last word of each key and its value: `adapter=nvme`.
fn changes(step: &WhatIfStep) -> String {
    let words = step.changes.iter().map(|change| {
        let key = change.key.rsplit('.').next().unwrap_or(&change.key);
        format!("{key}={}", change.new)
    });
    words.joined(" ")
}

/// Every resource in every run, what limits marked. Of a chain a screen has no room for bars, and for the first steps only.
fn resources(report: &WhatIf) -> Section {
    let mut section = Section::new("busy", "Busy", "Which part is busy");
    let rows = busy(report);
    if rows.is_empty() {
        section.page(Block::Note("Nothing ran.".to_owned()));
        return section;
    }
    let mut table = Table::over(&rows).words("busy, %", |row| {
        let counts = row.uses.iter().flatten().map(|used| used.count.to_string());
        let mut counts: Vec<String> = counts.collect();
        counts.dedup();
        let many = if counts == ["1"] { String::new() } else { format!(" x{}", counts.join(" -> ")) };
        format!("{}{many}", row.name)
    });
    for (number, step) in report.steps.iter().enumerate() {
        let limits = |row: &Busy<'_>| step.outcome.as_ref().and_then(limiting) == Some(row.name);
        let bars = if is_chain(report) { Column::bars("").page() } else { Column::bars("") };
        let head = Column::number(name(report, number)).light(number.min(255) as u8);
        let bar = |row: &Busy<'_>| {
            let share = row.uses[number].map_or(0.0, |used| used.busy.clamp(0.0, 1.0));
            Bar::whole(share, 1.0, if limits(row) { 1 } else { usize::from(share >= 0.7) * 4 })
        };
        table = table.column(bars, bar).column(head, |row| {
            let star = if limits(row) { "*" } else { " " };
            or_dash(row.uses[number], |used| percent(used.busy)) + star
        });
    }
    let limits = outcomes(report).any(|outcome| limiting(outcome).is_some());
    let limits = if limits { " * used up: it limits." } else { "" };
    let caption = format!("Busy share of the measured time, mean over those alike.{limits}");
    section.table(Table { caption, ..table.done() });
    section
}

fn clocks(report: &WhatIf) -> Section {
    let mut section = Section::new("clocks", "Clocks", "Clocks of an I/O by layer");
    let host = |(number, step): (usize, &WhatIfStep)| {
        let host = step.outcome.as_ref()?.inside.as_ref()?.host.clone()?;
        Some((format!("{} {}", name(report, number), changes(step)).trim().to_owned(), host))
    };
    let hosts: Vec<(String, HostUse)> = report.steps.iter().enumerate().filter_map(host).collect();
    if !hosts.is_empty() {
        section.page(Block::Table(clocks_beside(&hosts)));
    }
    section
}

fn because(report: &WhatIf, because: &mut Section) {
    for (number, (effect, moved)) in (1..).zip(told(report)) {
        let label = if is_chain(report) { name(report, number) } else { "limit".to_owned() };
        because.fact(label, format!("{effect} {moved}"));
    }
    for step in &report.steps {
        match &step.error {
            Some(error) => because.fact("FAILED", format!("{}: {error}", step.name)),
            None if step.outcome.is_none() => because.fact("NOT RUN", &step.name),
            None => because,
        };
    }
}

/// Many improvements as a table in Markdown, one line each: the last run of each against its first.
pub fn what_ifs_markdown(all: &[WhatIf]) -> String {
    let head = "| what if | called for by | on, with | IOPS before | after | what it does |\n\
                    | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    let row = |what_if: &WhatIf| {
        let (id, source) = what_if.named.as_ref().map_or(("", ""), |named| (&named.id, &named.source));
        let changes = what_if.steps.iter().flat_map(|step| &step.changes);
        let changes = changes.map(|change| format!("`{}={}`", change.key, change.new)).joined(" ");
        let cell = |step: Option<&WhatIfStep>| {
            or_dash(step.and_then(|step| step.figures.as_ref()), |figures| rate(figures.iops))
        };
        let [before, after] = [what_if.steps.first(), what_if.steps.last()].map(cell);
        let failed = what_if.steps.iter().find_map(|step| step.error.as_ref());
        let failed = failed.map(|error| format!("FAILED: {error}"));
        let told = told(what_if).pop().map(|(effect, moved)| format!("{effect} {moved}"));
        let told = failed.or(told).unwrap_or_default().replace(['|', '\n'], " ");
        format!("| {id} | {source} | {}: {changes} | {before} | {after} | {told} |\n", what_if.device)
    };
    head + &all.iter().map(row).joined("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::pages::tests::sound::assert_fits;

    #[test]
    fn a_chain_has_a_line_and_a_column_for_each_step() {
        let mut long: WhatIf = fixture::answer("what-if-chain");
        let last = long.steps[2].clone();
        long.steps.resize(300, last);
        let text = what_if(&long).text();
        assert_fits(&text);
        assert!(text.contains("\n+299 adapter="), "each has its line: {text}");
    }
}
