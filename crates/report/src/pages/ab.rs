//! Which of two did better, and how do we know?

use iostack_model::Interval;
use iostack_stats::{AbAnswer, AbReport, AbRow, AbRun, AbSide, Unit};

use super::ab_words::{METHOD, answer, more_time, percent, plain, signed};
use crate::document::{Block, Document, Drawn, Section, Table};
use crate::html::plot::{Axis, Look, Plot, Quantity, Series, Spot};
use crate::text::format::{count, significant};

/// Document of `iostack ab`, also of a comparison that was cut short.
pub fn ab(report: &AbReport) -> Document {
    let mut all = Document::new("iostack ab");
    all.data(report);
    let seed = format!("seed {}", report.design.seed);
    let how = if report.is_simulated() { "SIMULATED".to_owned() } else { report.elapsed.to_string() };
    all.beside = vec![how, seed];
    all.origin = vec![format!("iostack {}", report.iostack)];
    all.interrupted = report.interrupted.then_some("the blocks");
    (all.answers, all.answer) = ("ANSWER", answer(report));
    for (side, arm) in [AbSide::A, AbSide::B].into_iter().zip(&report.arms) {
        all.head.fact(side.letter().to_string(), format!("{}, on {}", arm.name, arm.target));
    }
    all.of_all = all.doubts.note(report.doubts.iter().map(|doubt| &doubt.caveat), "every figure");
    all.sections.push(figures(report));
    all.sections.push(runs(report));
    if !report.is_simulated() {
        let [a, b] = &report.arms;
        all.measured_on(
            report.started_unix_ms,
            &report.machine,
            &[(&a.storage, &a.target), (&b.storage, &b.target)],
        );
    }
    all.head.screen(Block::Fact("order".to_owned(), order(report)));
    all.sections.push(method(report));
    all.next = Some((next(report), ""));
    all
}

fn order(report: &AbReport) -> String {
    let design = &report.design;
    let ios: u64 = report.blocks.iter().flat_map(|block| &block.runs).map(|run| run.ios).sum();
    let looks =
        if design.looks.len() == 1 { "once".to_owned() } else { format!("{} times", design.looks.len()) };
    format!(
        "{} blocks of four runs of {}, A B B A or B A A B by a coin; {} I/Os; looked at {looks}",
        report.blocks.len(),
        design.run,
        count(ios)
    )
}

fn figures(report: &AbReport) -> Section {
    let mut section = Section::new("figures", "Figures", "Every figure of both");
    if report.rows.is_empty() {
        return section;
    }
    let head = |side: &str| side.to_owned() + if report.is_simulated() { ", SIM" } else { "" };
    let table = Table::over(&report.rows)
        .words("figure", |row| &row.figure.name)
        .number(head("A"), |row| quantity(row.figure.unit).say(row.a))
        .number(head("B"), |row| quantity(row.figure.unit).say(row.b))
        .number("B against A", |row| format!("{} %", signed(row.change_percent.mean)))
        .words("95 % ends", ends)
        .words("B is", |row| row.verdict.name())
        .number("run to run", |row| format!("±{} %", percent(row.noise_percent)));
    section.table(table.done());
    if report.rows.iter().any(|row| row.change_percent.samples > 0) {
        section.words(METHOD);
    }
    section
}

fn ends(row: &AbRow) -> String {
    match row.change_percent {
        Interval { samples: 0, .. } => "-".to_owned(),
        Interval { low, high, .. } => format!("{} to {} %", signed(low), signed(high)),
    }
}

pub(super) fn quantity(unit: Unit) -> Quantity {
    match unit {
        Unit::Nanos => Quantity::Nanos,
        Unit::BytesPerSecond => Quantity::Bandwidth,
        Unit::PerSecond | Unit::Count => Quantity::Count,
    }
}

fn runs(report: &AbReport) -> Section {
    let mut section = Section::new("runs", "Runs", "Every run");
    let figures = report.design.figures.iter().enumerate();
    let shown = figures.filter(|(_, figure)| report.rows.iter().any(|row| row.figure == **figure));
    let plots = shown.map(|(at, _)| Drawn::new(plot(report, at), "one point a run")).collect();
    section.page(Block::Plots(plots));
    let mut heads = vec!["block", "side", "seed", "I/Os"];
    heads.extend(report.design.figures.iter().map(|figure| figure.name.as_str()));
    let mut table = Table::of(&heads);
    for (number, block) in (1..).zip(&report.blocks) {
        for (side, run) in block.order.iter().zip(&block.runs) {
            let what = [number.to_string(), side.letter().to_string(), run.seed.to_string(), count(run.ios)];
            let values = run.figures.iter().zip(&report.design.figures);
            let values = values.map(|(value, figure)| quantity(figure.unit).say(value.unwrap_or(f64::NAN)));
            table.row(what.into_iter().chain(values));
        }
    }
    section.folded(format!("All runs ({})", table.rows.len()), table);
    section
}

fn plot(report: &AbReport, at: usize) -> Plot {
    let figure = &report.design.figures[at];
    let series = [AbSide::A, AbSide::B].into_iter().enumerate();
    let series =
        series.map(|(slot, side)| Series::new(side.letter(), slot, Look::Line, spots(report, at, side)));
    let per_second = if figure.unit == Unit::PerSecond { " (per second)" } else { "" };
    let y = Axis::linear(format!("{}{per_second}", figure.name), quantity(figure.unit));
    let x = Axis::linear("run", Quantity::Count);
    Plot { wide: at == 0, ..Plot::new(format!("{}, run by run", figure.name), x, y, series) }
}

fn spots(report: &AbReport, at: usize, side: AbSide) -> Vec<Spot> {
    let runs = report.blocks.iter().flat_map(|block| block.order.iter().zip(&block.runs)).zip(1_u32..);
    let of_side = runs.filter(|((of, _), _)| **of == side);
    let spot = |((_, run), number): ((&AbSide, &AbRun), u32)| {
        let value = run.figures.get(at).copied().flatten()?;
        Some(Spot { count: run.ios, ..Spot::at(f64::from(number), value) })
    };
    of_side.filter_map(spot).collect()
}

fn method(report: &AbReport) -> Section {
    let mut section = Section::new("method", "Method", "How it was measured");
    let design = &report.design;
    let looks: Vec<String> = design.looks.iter().map(u32::to_string).collect();
    let (blocks, asked) = (report.blocks.len(), plain(design.difference_percent));
    let mut items = vec![
        format!(
            "Blocks of four runs of {}, in the order A B B A or B A A B: a coin decides for each block, and a drift within a \
             block cancels. Seed {}.",
            design.run, design.seed
        ),
        format!("Each run has a seed of its own. {blocks} blocks were complete."),
        "A block's value is the logarithm of B over A; signed ranks of these values are held against those that other coins \
         would have given, the largest of all figures together."
            .to_owned(),
        format!(
            "It looked after {} blocks; each look may spend a part of the 5 %, so that looking often finds no more that is not \
             there.",
            looks.join(", ")
        ),
        format!("The difference that matters was said to be {asked} %."),
    ];
    items.extend(report.rows.iter().map(|row| {
        let noise = significant(row.noise_percent, 3);
        format!("{}: two runs of one side in a block lie ±{noise} % apart.", row.figure.name)
    }));
    section.page(Block::List(items));
    let runs = report.blocks.len() * 2;
    let counted = report.doubts.iter().map(|doubt| {
        let ([a, b], what) = (doubt.runs, iostack_doubt::says(&doubt.caveat));
        format!("In {a} of {runs} runs of A and {b} of {runs} of B: {what}")
    });
    section.list(report.notes.iter().cloned().chain(counted).collect());
    section
}

fn next(report: &AbReport) -> String {
    match (&report.answer, more_time(report)) {
        _ if report.interrupted => "the same again, to the end".to_owned(),
        (AbAnswer::Undecided { .. }, Some(time)) => {
            format!("the same with --time {:.0}s", time.as_secs_f64())
        }
        (AbAnswer::Undecided { blocks: Some(blocks) }, None) => format!("the same with --blocks {blocks}"),
        (AbAnswer::Undecided { .. }, None) => "the same with a longer --time".to_owned(),
        _ => "the same with --html FILE draws every run".to_owned(),
    }
}
