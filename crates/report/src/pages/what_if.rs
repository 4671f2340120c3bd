//! What would a change give, and where does the limit move?

use iostack_model::answers::{WhatIf, WhatIfFigures, WhatIfStep};
use iostack_model::{HostUse, Outcome};

use super::inside::clocks_beside;
use super::job_words::asked;
use super::simulated::{limit, own};
use crate::document::{Bar, Block, Cell, Column, Document, Row, Section, Table};
use crate::html::numbers::Quantity;
use crate::text::format::{count, percent, rate, significant};
use crate::what_if::{Busy, busy, limiting, ratio, told};

/// Document of `iostack sim what-if`, also of one that was cut short.
pub fn what_if(report: &WhatIf) -> Document {
    let mut all = Document::new(format!("iostack sim what-if {}", report.device));
    let (runs, seed) = (report.steps.len(), report.seed);
    all.beside = vec!["SIMULATED".to_owned(), format!("{runs} runs"), format!("seed {seed}")];
    all.origin = vec![format!("sim:{}", report.device), format!("iostack {}", report.iostack)];
    all.interrupted = report.interrupted.then_some("the runs");
    all.answer = report.named.as_ref().map_or_else(
        || {
            let steps: Vec<&str> = report.steps.iter().skip(1).map(|step| step.name.as_str()).collect();
            format!("What if {}?", steps.join(", then "))
        },
        |named| named.title.clone(),
    );
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

fn or_none(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

/// Two runs stand side by side; of a chain each has a row.
fn figures(report: &WhatIf, all: &mut Document) -> Section {
    let mut section = Section::new("figures", "Figures", "What it gives");
    let runs: Vec<Option<&WhatIfFigures>> = report.steps.iter().map(|step| step.figures.as_ref()).collect();
    let known = |figure: &&WhatIfRow| runs.iter().flatten().any(|run| figure.3(run).is_some());
    let known: Vec<&WhatIfRow> = FIGURES.iter().filter(known).collect();
    if known.is_empty() {
        return section;
    }
    let mut rate = |number: usize, shown: String| {
        let own = report.steps[number].outcome.iter().flat_map(own);
        Cell::from(shown).marked(all.doubts.note(own, &name(report, number)))
    };
    if let [before, after] = runs[..] {
        section.put(Block::Table(side_by_side(report, &known, [before, after], &mut rate)));
    } else {
        section.put(Block::Table(one_by_one(report, &known, &runs, &mut rate)));
    }
    section
}

/// Makes the cell of a run's rate, with the doubts of that run.
type Rate<'a> = &'a mut dyn FnMut(usize, String) -> Cell;

fn side_by_side(
    report: &WhatIf,
    figures: &[&WhatIfRow],
    runs: [Option<&WhatIfFigures>; 2],
    rate: Rate<'_>,
) -> Table {
    let mut table = Table::of(&["figure", "before", "after", "ratio"]);
    for (number, (name, _, _, read, show)) in figures.iter().enumerate() {
        let [old, new] = runs.map(|run| run.and_then(read));
        let by = old.zip(new).and_then(|(old, new)| ratio(old, new));
        let shown = [old, new].map(|value| or_none(value, show));
        let [old, new] = if number == 0 {
            let [old, new] = shown;
            [rate(0, old), rate(1, new)]
        } else {
            shown.map(Cell::from)
        };
        table.row([Cell::from(*name), old, new, Cell::from(or_none(by, |ratio| format!("{ratio:.3}")))]);
    }
    let limits = report.steps.iter().map(|step| step.outcome.as_ref().map_or_else(|| "-".to_owned(), limit));
    table.row(std::iter::once("limit".to_owned()).chain(limits));
    table
}

fn one_by_one(
    report: &WhatIf,
    figures: &[&WhatIfRow],
    runs: &[Option<&WhatIfFigures>],
    rate: Rate<'_>,
) -> Table {
    let head = |figure: &&WhatIfRow| Column::number(figure.1).light(figure.2);
    let mut columns: Vec<Column> =
        std::iter::once(Column::words("step")).chain(figures.iter().map(head)).collect();
    columns.splice(2..2, [Column::bars("").light(1), Column::number("ratio")]);
    columns.push(Column::words("limit"));
    let mut table = Table::new(columns);
    let iops = |run: Option<&WhatIfFigures>| run.map_or(0.0, |run| run.iops);
    let first = iops(runs.first().copied().flatten());
    let most = runs.iter().map(|run| iops(*run)).fold(0.0, f64::max);
    for (number, (step, run)) in report.steps.iter().zip(runs).enumerate() {
        let shown = figures.iter().map(|(_, _, _, read, show)| or_none(run.and_then(read), show));
        let mut cells: Vec<Cell> = shown.map(Cell::from).collect();
        cells[0] = rate(number, std::mem::take(&mut cells[0].text));
        let by = run.and_then(|run| ratio(first, run.iops));
        let bar = Cell::of_bar(Bar::whole(iops(*run), most, 0));
        cells.splice(1..1, [bar, Cell::from(or_none(by, |ratio| format!("{ratio:.2}")))]);
        cells.insert(0, Cell::from(format!("{} {}", name(report, number), changes(step)).trim()));
        cells.push(Cell::from(step.outcome.as_ref().map_or_else(|| "-".to_owned(), limit)));
        table.row(cells);
    }
    table.caption = String::from("Clocks and interrupts are those of an I/O.");
    table
}

/// The last word of each key and its value: `adapter=nvme`.
fn changes(step: &WhatIfStep) -> String {
    let words = step.changes.iter().map(|change| {
        let key = change.key.rsplit('.').next().unwrap_or(&change.key);
        format!("{key}={}", change.new)
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Every resource in every run, what limits marked. Of a chain a screen has no room for bars, and for the first steps only.
fn resources(report: &WhatIf) -> Section {
    let mut section = Section::new("busy", "Busy", "Which part is busy");
    let rows = busy(report);
    if rows.is_empty() {
        section.page(Block::Note("Nothing ran.".to_owned()));
        return section;
    }
    let mut columns = vec![Column::words("busy, %")];
    for number in 0..report.steps.len() {
        let bars = Column::bars("");
        columns.push(if is_chain(report) { bars.page() } else { bars });
        columns.push(Column::number(name(report, number)).light(number.min(255) as u8));
    }
    let mut table = Table::new(columns);
    table.rows.extend(rows.iter().map(|row| resource(report, row)));
    let limits = if outcomes(report).any(|outcome| limiting(outcome).is_some()) {
        " * used up: it limits."
    } else {
        ""
    };
    table.caption = format!("Busy share of the measured time, mean over those alike.{limits}");
    section.put(Block::Table(table));
    section
}

fn resource(report: &WhatIf, row: &Busy<'_>) -> Row {
    let mut counts: Vec<String> = row.uses.iter().flatten().map(|used| used.count.to_string()).collect();
    counts.dedup();
    let many = if counts == ["1"] { String::new() } else { format!(" x{}", counts.join(" -> ")) };
    let mut cells = vec![Cell::from(format!("{}{many}", row.name))];
    for (used, step) in row.uses.iter().zip(&report.steps) {
        let limits = step.outcome.as_ref().and_then(limiting) == Some(row.name);
        let share = used.filter(|used| used.busy > 0.0).map_or(0.0, |used| used.busy.min(1.0));
        let slot = match (limits, share >= 0.7) {
            (true, _) => 1,
            (false, true) => 4,
            (false, false) => 0,
        };
        let shown = used.map_or_else(|| "-".to_owned(), |used| percent(used.busy));
        cells.push(Cell::of_bar(Bar::whole(share, 1.0, slot)));
        cells.push(Cell::from(shown + if limits { "*" } else { " " }));
    }
    Row::of(cells)
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
        let changes: Vec<String> = changes.map(|change| format!("`{}={}`", change.key, change.new)).collect();
        let cell = |step: Option<&WhatIfStep>| {
            let figures = step.and_then(|step| step.figures.as_ref());
            figures.map_or_else(|| "-".to_owned(), |figures| rate(figures.iops))
        };
        let failed =
            what_if.steps.iter().find_map(|step| step.error.as_ref()).map(|error| format!("FAILED: {error}"));
        let told =
            told(what_if).last().map_or_else(String::new, |(effect, moved)| format!("{effect} {moved}"));
        format!(
            "| {id} | {source} | {}: {} | {} | {} | {} |\n",
            what_if.device,
            changes.join(" "),
            cell(what_if.steps.first()),
            cell(what_if.steps.last()),
            failed.unwrap_or(told).replace(['|', '\n'], " ")
        )
    };
    head + &all.iter().map(row).collect::<Vec<_>>().concat()
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
