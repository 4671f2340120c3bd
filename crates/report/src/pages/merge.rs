//! Does temporal merging pay, and where?

use iostack_model::answers::{MergeAsk, MergeCell, MergeFit, MergeRatio, MergeReport, MergeTable};
use iostack_model::{Effort, Interval, TargetKind};
use iostack_stats::samples_needed;

use crate::document::{Block, Cell, Document, Drawn, Row, Section, Table};
use crate::html::plot::{Axis, Look, Plot, Quantity, SLOTS, Scale, Series, Spot};
use crate::lists::Joined;
use crate::text::format::{count, or_dash, plus_minus};

/// Document of `iostack merge`, also of a run that was cut short.
pub fn merge(report: &MergeReport) -> Document {
    let mut all = Document::new(format!("iostack merge {}", report.target));
    all.data(report);
    all.beside = vec!["SIMULATED".to_owned()];
    if !report.is_simulated() {
        all.beside = vec![format!("{} effort", report.effort.name()), report.elapsed.to_string()];
    }
    all.beside.push(format!("seed {}", report.seed));
    all.origin = vec![format!("iostack {}", report.iostack)];
    all.interrupted = report.interrupted.then_some("the rounds");
    (all.answers, all.answer) = ("VERDICT", answer(report));
    for verdict in &report.verdicts {
        all.because.fact(verdict.ask.name(), &verdict.text);
    }
    all.of_all = all.doubts.note(&report.caveats, "every figure");
    all.sections.extend(report.fit.as_ref().map(cost));
    all.sections.extend(report.tables.iter().map(|table| asked(report, table)));
    if !report.is_simulated() {
        all.measured_on(report.started_unix_ms, &report.machine, &[(&report.storage, &report.target)]);
    }
    let direct = if report.direct { "direct" } else { "through the page cache" };
    all.head.fact("asked", format!("random {}s of {}, {direct}", report.direction.name(), report.request));
    if let Some(scratch) = &report.scratch {
        all.head.fact("scratch", format!("a file of {}: {}", scratch.size, scratch.reason));
    }
    for (key, value) in &report.changes {
        all.head.fact("changed", format!("{key}={value}"));
    }
    all.sections.push(method(report));
    all.next = Some(next(report));
    all
}

fn answer(report: &MergeReport) -> String {
    let paying = report.verdicts.iter();
    let paying =
        paying.filter_map(|verdict| Some(format!("{} for {}", verdict.policy.as_ref()?, verdict.ask.name())));
    match paying.joined(", ") {
        _ if report.verdicts.is_empty() => "Nothing was judged.".to_owned(),
        none if none.is_empty() => "Merging does not pay here.".to_owned(),
        paying => format!("Merging pays here: {paying}."),
    }
}

fn cost(fit: &MergeFit) -> Section {
    let mut section = Section::new("cost", "c + b x", "What a command costs");
    let said = |ns: f64, interval: Interval| {
        let width = plus_minus(interval);
        format!("{} {}", Quantity::Nanos.say(ns), if width == "-" { "" } else { &width }).trim().to_owned()
    };
    let (fixed, each) = (said(fit.cost.fixed_ns, fit.fixed), said(fit.cost.each_ns, fit.each));
    section.fact(
        "C + B X",
        format!("a command of b requests takes c + b x: c = {fixed}, x = {each} ({})", fit.how),
    );
    let measured =
        fit.points.iter().map(|point| Spot { count: point.commands, ..spot(point.requests, point.time) });
    // From 0 on, where the line meets c.
    let line = std::iter::once(0.0).chain(fit.points.iter().map(|point| f64::from(point.requests)));
    let line = line.map(|requests| Spot::at(requests, fit.cost.time_ns(requests)));
    let series =
        [Series::new("c + b x", 1, Look::Ideal, line), Series::new("measured", 0, Look::Line, measured)];
    let x = Axis::linear("requests in a command", Quantity::Count);
    let y = Axis::linear("time until all of it is there", Quantity::Nanos);
    let plot = Plot::new("Time of a command", x, y, series);
    let drawn = Drawn::new(plot, format!("{}; band: 95 % interval over the rounds", fit.how));
    section.put(Block::Plots(vec![Drawn { letters: true, ..drawn }]));
    let holds = if fit.holds { "The line holds" } else { "THE LINE DOES NOT HOLD" };
    section.words(format!(
        "{holds}: no point is further than {:.0} % from it; a request more costs {:.2} times as much in large commands as in \
         small ones.",
        fit.residual_percent(),
        fit.bend
    ));
    section.words(gain(fit));
    section
}

/// Sentence on the most that merging can gain.
fn gain(fit: &MergeFit) -> String {
    let most = fit.cost.gain_max();
    if !most.is_finite() {
        return "Merging can gain at most (c + x) / x here: x could not be told from nothing.".to_owned();
    }
    format!(
        "Merging can gain at most (c + x) / x here: {most:.1} times. That is of a device that serves one command at a time; \
         where commands overlap in the device, c is hidden by others, and what merging gains is CPU time."
    )
}

/// A figure of a cell: its value, and its ratio to the base with what is better of it.
struct MergeFigure {
    heading: &'static str,
    quantity: Quantity,
    scale: Scale,
    value: fn(&MergeCell) -> Interval,
    /// Ratio to the base; `None` where the figure is absolute for all.
    ratio: Option<fn(&MergeRatio) -> Option<Interval>>,
    /// True where more is better.
    more: bool,
}

const ABSOLUTE: MergeFigure = MergeFigure {
    heading: "context switches per I/O",
    quantity: Quantity::Count,
    scale: Scale::Linear,
    value: |cell| cell.switches,
    ratio: None,
    more: false,
};

const FIGURES: [MergeFigure; 5] = [
    MergeFigure {
        heading: "IOPS",
        value: |cell| cell.iops,
        ratio: Some(|ratio| Some(ratio.iops)),
        more: true,
        ..ABSOLUTE
    },
    MergeFigure {
        heading: "CPU time per I/O",
        quantity: Quantity::Nanos,
        value: |cell| cell.cpu_ns,
        ratio: Some(|ratio| Some(ratio.cpu)),
        ..ABSOLUTE
    },
    MergeFigure {
        heading: "p99 of a call",
        quantity: Quantity::Nanos,
        scale: Scale::Log10,
        value: |cell| Interval::exact(quantile(cell, 0.99)),
        // Percentiles are of all rounds together and have no interval here.
        ratio: Some(|ratio| ratio.tail.map(Interval::exact)),
        ..ABSOLUTE
    },
    ABSOLUTE,
    MergeFigure {
        heading: "percent of the drive's peak",
        quantity: Quantity::Percent,
        value: |cell| Interval::exact(cell.share_of_peak.map_or(f64::NAN, |share| share * 100.0)),
        ..ABSOLUTE
    },
];

/// Percentile of a cell; not a number where too few calls were timed.
fn quantile(cell: &MergeCell, fraction: f64) -> f64 {
    let enough = cell.latency.count >= samples_needed(fraction);
    cell.latency.quantile_ns(fraction).filter(|_| enough).map_or(f64::NAN, |ns| ns as f64)
}

fn asked(report: &MergeReport, of: &MergeTable) -> Section {
    let others = of.cells.iter().filter(|cell| cell.policy != of.base);
    let threads = others.map(|cell| cell.threads).max().unwrap_or(0);
    let (id, title) = match of.ask {
        MergeAsk::Calls => ("calls", "Single calls: a thread for each caller".to_owned()),
        MergeAsk::Groups => {
            ("groups", format!("Groups: {threads} threads, each with several requests at once"))
        }
        MergeAsk::Scope => {
            ("scope", format!("Coroutines: so many callers on {threads} threads, against a thread for each"))
        }
    };
    let mut section = Section::new(id, of.ask.name(), &title);
    let known = |figure: &&MergeFigure| of.cells.iter().any(|cell| (figure.value)(cell).mean.is_finite());
    let figures: Vec<&MergeFigure> = FIGURES.iter().filter(known).collect();
    let rounds = of.cells.iter().map(|cell| cell.rounds.len()).max().unwrap_or(0);
    let (counted, how) = if report.is_simulated() {
        ("simulated: one run each in virtual time", "one run each in virtual time.".to_owned())
    } else {
        let how = format!("in {rounds} rounds; + better, - worse, beyond the 95 % interval over them.");
        ("band: 95 % interval of the mean over the rounds", format!("round by round, {how}"))
    };
    let plots = figures.iter().map(|figure| Drawn::new(plot(of, figure), counted)).collect();
    section.page(Block::Plots(plots)).screen(Block::Heading(title));
    let mut table = against(of, &figures);
    table.caption = format!("The first row of each block is absolute, the others are times it, {how}");
    section.table(table);
    let summary = format!("All numbers ({}); times: over {}, round by round", of.cells.len(), of.base);
    section.folded(summary, numbers(of));
    section
}

fn plot(of: &MergeTable, figure: &MergeFigure) -> Plot {
    let spots = |policy| {
        let cells = of.columns().into_iter().filter_map(move |column| of.cell(policy, column));
        cells.map(|cell| Spot {
            count: cell.ios,
            doubtful: !cell.failures.is_empty(),
            ..spot(cell.column, (figure.value)(cell))
        })
    };
    let series = of.policies().into_iter().enumerate();
    let series = series.map(|(slot, policy)| Series::new(policy, slot % SLOTS, Look::Line, spots(policy)));
    let x = Axis::new(of.ask.over(), Quantity::Count, Scale::Log2);
    let y = Axis::new(figure.heading, figure.quantity, figure.scale);
    Plot::new(format!("{} over {}", figure.heading, of.ask.over()), x, y, series)
}

fn spot(x: u32, value: Interval) -> Spot {
    Spot::of_interval(f64::from(x), value)
}

/// A block for each figure, a row for each policy.
fn against(of: &MergeTable, figures: &[&MergeFigure]) -> Table {
    let policies = of.policies();
    let rows = figures.iter().flat_map(|figure| policies.iter().map(move |policy| (*figure, *policy)));
    let over = if of.ask == MergeAsk::Groups { "requests" } else { of.ask.over() };
    let mut table = Table::over(rows).words(over, |(_, policy)| format!(" {policy}"));
    for column in of.columns() {
        table = table.number(column.to_string(), |(figure, policy)| {
            or_dash(of.cell(policy, column), |cell| with_ratio(cell, figure))
        });
    }
    let mut table = table.done();
    for (place, figure) in figures.iter().enumerate().rev() {
        table.rows.insert(place * policies.len(), Row::group(figure.heading));
    }
    table
}

/// A ratio has room for the mark of what is better.
fn with_ratio(cell: &MergeCell, figure: &MergeFigure) -> String {
    if !cell.failures.is_empty() {
        return "failed".to_owned();
    }
    let (Some(against), Some(ratio)) = (&cell.against, figure.ratio) else {
        return figure.quantity.say((figure.value)(cell).mean);
    };
    let Some(ratio) = ratio(against) else { return "-".to_owned() };
    let above = ratio.samples >= 3 && ratio.low > 1.0;
    let below = ratio.samples >= 3 && ratio.high < 1.0;
    let mark = match (above, below, figure.more) {
        (true, _, true) | (_, true, false) => '+',
        (true, _, false) | (_, true, true) => '-',
        _ => ' ',
    };
    format!("{}{mark}", times(ratio.mean))
}

/// A ratio in at most five characters.
fn times(value: f64) -> String {
    match value {
        value if !value.is_finite() => "-".to_owned(),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

fn numbers(of: &MergeTable) -> Table {
    let ratio = |ratio: Option<Interval>| match ratio {
        Some(ratio) if ratio.samples >= 3 => {
            Cell::from(times(ratio.mean)).small(format!("{} to {}", times(ratio.low), times(ratio.high)))
        }
        ratio => Cell::from(times(ratio.map_or(f64::NAN, |ratio| ratio.mean))),
    };
    Table::over(&of.cells)
        .words("policy", |cell| &cell.policy)
        .number(of.ask.over(), |cell| cell.column.to_string())
        .number("IOPS", |cell| Cell::interval(Quantity::Count, cell.iops))
        .number("times", |cell| ratio(cell.against.as_ref().map(|ratio| ratio.iops)))
        .number("CPU per I/O", |cell| Cell::interval(Quantity::Nanos, cell.cpu_ns))
        .number("times", |cell| ratio(cell.against.as_ref().map(|ratio| ratio.cpu)))
        .number("switches per I/O", |cell| Quantity::Count.say(cell.switches.mean))
        .number("p50", |cell| Quantity::Nanos.say(quantile(cell, 0.5)))
        .number("p99", |cell| Quantity::Nanos.say(quantile(cell, 0.99)))
        .number("I/Os", |cell| count(cell.ios))
        .below(|cell| cell.failures.iter().take(1).map(|what| format!("failed: {what}")).collect())
        .done()
}

fn method(report: &MergeReport) -> Section {
    let mut section = Section::new("method", "Method", "How it was measured");
    let how: &[&str] = if report.is_simulated() {
        &["Each figure is one run in virtual time; CPU time is that of the simulated host."]
    } else {
        &[
            "All cells were measured in turns, in another order each round; a ratio is taken within a round. CPU time and \
             context switches are those of the whole process; threads of the kernel are not in them.",
            "Every buffer was held against what is known of its block.",
        ]
    };
    section.page(Block::List(how.iter().map(|&item| item.to_owned()).collect()));
    section.list(report.notes.clone());
    section
}

fn next(report: &MergeReport) -> (String, &'static str) {
    let target = match report.target.kind {
        TargetKind::Lab => report.target.to_string(),
        _ => report.target.path.display().to_string(),
    };
    match report.effort {
        _ if report.is_simulated() => (format!("iostack sim show {target}"), "what it is made of"),
        _ if report.interrupted => (format!("iostack merge {target}"), "to the end"),
        Effort::Quick => (format!("iostack merge {target}"), "every number of callers"),
        Effort::Default => (format!("iostack merge --full {target}"), "narrower intervals"),
        Effort::Full => (format!("iostack merge --write {target}"), "writes"),
    }
}
