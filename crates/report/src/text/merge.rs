//! The screen of `iostack merge`: what a command costs, what each policy gives, and whether it pays.

use iostack_model::{
    Interval, MergeAsk, MergeCell, MergeFit, MergeRatio, MergeReport, MergeTable, ReproLine, ReproPlot,
};
use iostack_stats::samples_needed;

use super::WIDTH;
use super::chart::linear_chart;
use super::format::{both_ends, clean, cut, paragraph, plus_minus, rate, time};
use super::notes::Notes;
use super::screen::{devices, host};

/// Columns of the names of policies, and of each figure.
const NAME: usize = 16;
const CELL: usize = 9;

/// The screen, also of a run that was cut short.
pub fn merge(merge: &MergeReport) -> String {
    let mut notes = Notes::default();
    let mark = notes.mark(&merge.caveats);
    let mut parts = vec![head(merge, &mark), merge.fit.as_ref().map_or_else(String::new, fit)];
    parts.extend(merge.tables.iter().map(table));
    if !merge.tables.is_empty() {
        parts.push(legend(merge));
    }
    parts.extend([verdict(merge), foot(merge, &notes), next(merge)]);
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    clean(&parts.join("\n"))
}

fn head(merge: &MergeReport, mark: &str) -> String {
    let cut_short = if merge.interrupted { ", INTERRUPTED" } else { "" };
    let title = format!("iostack merge {}", merge.target);
    let mut text = if merge.is_simulated() {
        both_ends(&title, &format!("SIMULATED, seed {}{cut_short}", merge.seed))
    } else {
        both_ends(
            &title,
            &format!("{} effort, {}, seed {}{cut_short}", merge.effort, merge.elapsed, merge.seed),
        )
    };
    if !merge.is_simulated() {
        text += &paragraph("device     ", &devices(&merge.storage));
        text += &paragraph("host       ", &host(&merge.machine));
    }
    let scratch = merge.scratch.as_ref();
    let scratch =
        scratch.map_or_else(String::new, |scratch| format!(", in a scratch file of {}", scratch.size));
    let direct = if merge.direct { "direct" } else { "through the page cache" };
    text += &paragraph(
        "asked      ",
        &format!("random {}s of {}, {direct}{scratch}", merge.direction.name(), merge.request),
    );
    for (key, value) in &merge.changes {
        text += &paragraph("changed    ", &format!("{key}={value}"));
    }
    if !mark.is_empty() {
        text += &format!("doubts     {mark} concern every figure below\n");
    }
    text
}

fn fit(fit: &MergeFit) -> String {
    let width = |interval: Interval| match plus_minus(interval).as_str() {
        "-" => String::new(),
        width => format!(" {width}"),
    };
    let mut text = paragraph(
        "C + B X    ",
        &format!(
            "a command of b requests takes c + b x: c = {}{}, x = {}{} ({})",
            time(fit.cost.fixed_ns),
            width(fit.fixed),
            time(fit.cost.each_ns),
            width(fit.each),
            fit.how
        ),
    );
    let line = |name: &str, of: &dyn Fn(u32, f64) -> f64| ReproLine {
        name: name.to_owned(),
        points: fit
            .points
            .iter()
            .map(|point| (f64::from(point.requests), of(point.requests, point.time.mean) / 1e3))
            .collect(),
    };
    text += &linear_chart(&ReproPlot {
        heading: "time of a command".to_owned(),
        over: "requests in a command".to_owned(),
        figure: "us".to_owned(),
        lines: vec![
            line("c + b x", &|requests, _| fit.cost.time_ns(f64::from(requests))),
            line("measured", &|_, ns| ns),
        ],
    });
    let verdict = if fit.holds { "The line holds" } else { "THE LINE DOES NOT HOLD" };
    text += &paragraph(
        "           ",
        &format!(
            "{verdict}: no point is further than {:.0} % from it; a request more costs {:.2} times as much in large \
             commands as in small ones.",
            fit.residual_percent(),
            fit.bend
        ),
    );
    text + &paragraph("           ", &gain(fit))
}

/// What merging can gain at most.
pub(crate) fn gain(fit: &MergeFit) -> String {
    let most = fit.cost.gain_max();
    if !most.is_finite() {
        return "Merging can gain at most (c + x) / x here: x could not be told from nothing.".to_owned();
    }
    format!(
        "Merging can gain at most (c + x) / x here: {most:.1} times. That is of a device that serves one command at a time; \
         where commands overlap in the device, c is hidden by others, and what merging gains is CPU time."
    )
}

/// A figure of a cell: its heading, its value for the base, and its ratio with what is better of it.
struct Figure {
    heading: &'static str,
    value: fn(&MergeCell) -> String,
    ratio: fn(&MergeRatio) -> Option<Interval>,
    /// More is better.
    more: bool,
}

const FIGURES: [Figure; 3] = [
    Figure {
        heading: "IOPS",
        value: |cell| rate(cell.iops.mean),
        ratio: |ratio| Some(ratio.iops),
        more: true,
    },
    Figure {
        heading: "CPU time per I/O",
        value: |cell| time(cell.cpu_ns.mean),
        ratio: |ratio| Some(ratio.cpu),
        more: false,
    },
    Figure {
        heading: "p99 of a call",
        value: tail,
        // Percentiles are of all rounds together and have no interval here.
        ratio: |ratio| ratio.tail.map(Interval::exact),
        more: false,
    },
];

fn tail(cell: &MergeCell) -> String {
    let enough = cell.latency.count >= samples_needed(0.99);
    let tail = cell.latency.quantile_ns(0.99).filter(|_| enough);
    tail.map_or_else(|| "-".to_owned(), |ns| time(ns as f64))
}

fn table(table: &MergeTable) -> String {
    let columns = table.columns();
    let heading = match table.ask {
        MergeAsk::Calls => "SINGLE CALLS: a thread for each caller".to_owned(),
        MergeAsk::Groups => format!("GROUPS: {} threads, each with several requests at once", threads(table)),
        MergeAsk::Scope => {
            format!("COROUTINES: so many callers on {} threads, against a thread for each", threads(table))
        }
    };
    let mut text = heading + "\n";
    let over = if table.ask == MergeAsk::Groups { "requests" } else { table.ask.over() };
    text += &line(over, columns.iter().map(u32::to_string));
    for figure in &FIGURES {
        text += &format!("{}\n", figure.heading);
        text += &rows(table, &columns, |cell| with_ratio(cell, figure));
    }
    text += "context switches per I/O\n";
    text += &rows(table, &columns, |cell| format!("{:.2}", cell.switches.mean));
    if table.cells.iter().any(|cell| cell.share_of_peak.is_some()) {
        text += "percent of peak\n";
        text += &rows(table, &columns, |cell| {
            cell.share_of_peak.map_or_else(|| "-".to_owned(), |share| format!("{:.0}", share * 100.0))
        });
    }
    text
}

/// Threads of the policies that are not the base.
fn threads(table: &MergeTable) -> u32 {
    table.cells.iter().filter(|cell| cell.policy != table.base).map(|cell| cell.threads).max().unwrap_or(0)
}

fn rows(table: &MergeTable, columns: &[u32], show: impl Fn(&MergeCell) -> String) -> String {
    let row = |policy: &str| {
        let cells =
            columns.iter().map(|&column| table.cell(policy, column).map_or_else(|| "-".to_owned(), &show));
        line(&format!(" {policy}"), cells)
    };
    table.policies().into_iter().map(row).collect()
}

fn line(name: &str, cells: impl Iterator<Item = String>) -> String {
    let name = cut(name, NAME);
    let text = cells.fold(format!("{name:<NAME$}"), |text, cell| text + &format!("{cell:>CELL$}"));
    // A mark stands behind the last figure.
    text.chars().take(WIDTH).collect::<String>().trim_end().to_owned() + "\n"
}

fn with_ratio(cell: &MergeCell, figure: &Figure) -> String {
    if !cell.failures.is_empty() {
        return "failed ".to_owned();
    }
    let Some(against) = &cell.against else { return (figure.value)(cell) + " " };
    let Some(ratio) = (figure.ratio)(against) else { return "- ".to_owned() };
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

fn legend(merge: &MergeReport) -> String {
    let rounds = merge.tables.iter().flat_map(|table| &table.cells).map(|cell| cell.rounds.len()).max();
    let how = if merge.is_simulated() {
        "The first row of each block is absolute, the others are times it; one run each in virtual time."
            .to_owned()
    } else {
        format!(
            "The first row of each block is measured, the others are times it, round by round, in {} rounds; + better, \
             - worse, beyond the 95 % interval over them.",
            rounds.unwrap_or(0)
        )
    };
    paragraph("", &how)
}

fn verdict(merge: &MergeReport) -> String {
    let mut text = String::new();
    for (index, verdict) in merge.verdicts.iter().enumerate() {
        let first = if index == 0 { "VERDICT    " } else { "           " };
        text += &paragraph(first, &format!("{}: {}", verdict.ask.name(), verdict.text));
    }
    text
}

fn foot(merge: &MergeReport, notes: &Notes) -> String {
    let mut text = String::new();
    if !notes.is_empty() || !merge.notes.is_empty() {
        text += "NOTES\n";
    }
    for note in &merge.notes {
        text += &paragraph("  - ", note);
    }
    text + &notes.text()
}

fn next(merge: &MergeReport) -> String {
    let target = merge.target.path.display();
    if merge.is_simulated() {
        return format!("next: iostack sim show {target}    # what it is made of\n");
    }
    match merge.effort.as_str() {
        _ if merge.interrupted => format!("next: iostack merge {target}    # to the end\n"),
        "quick" => format!("next: iostack merge {target}    # every number of callers\n"),
        "default" => format!("next: iostack merge --full {target}    # narrower intervals\n"),
        _ => format!("next: iostack merge --write {target}    # writes\n"),
    }
}
