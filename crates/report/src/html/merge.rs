//! Does temporal merging pay, and where?
//!
//! The page of `iostack merge`: the verdict, the cost of a command with its line, and each figure of each policy over callers
//! or groups. Start reading at [`page`].

use iostack_model::{Interval, MergeAsk, MergeCell, MergeFit, MergeReport, MergeTable};
use iostack_stats::samples_needed;

use super::escape;
use super::inventory;
use super::numbers::{NOTHING, Quantity, date, grouped, significant};
use super::page::{Section, document};
use super::plot::{Axis, Look, Plot, SLOTS, Series, Spot};
use super::scale::Scale;
use super::sheet::Sheet;
use super::table::{table, with_interval};

/// The page.
pub(super) fn page(merge: &MergeReport) -> String {
    let mut sheet = if merge.is_simulated() { Sheet::bare() } else { Sheet::new(&merge.machine) };
    let doubts = sheet.doubts.note(&merge.caveats, "every figure");
    let mut sections = vec![Section::new("verdict", "Verdict", "Does it pay?", verdicts(merge, &doubts))];
    if let Some(fit) = &merge.fit {
        sections.push(Section::new("cost", "c + b x", "What a command costs", cost(fit, &mut sheet)));
    }
    for one in &merge.tables {
        let (id, title) = match one.ask {
            MergeAsk::Calls => ("calls", "Single calls: a thread for each caller"),
            MergeAsk::Groups => ("groups", "Groups: several requests at once"),
            MergeAsk::Scope => ("scope", "Coroutines, against a thread for each caller"),
        };
        let body = figures(merge, one, &mut sheet) + &numbers(one);
        sections.push(Section::new(id, one.ask.name(), title, body));
    }
    if !merge.is_simulated() {
        let inventory = inventory::section(&merge.machine, &merge.storage, &merge.target);
        sections.push(Section::new("inventory", "Inventory", "What was measured on", inventory));
    }
    sections.push(Section::new("doubts", "Doubts", "Why to doubt it, and what to do", sheet.doubts.list()));
    sections.push(Section::new("method", "Method", "How it was measured", method(merge)));
    document(&format!("iostack merge of {}", merge.target), &header(merge), &sections, &sheet, "null")
}

fn header(merge: &MergeReport) -> String {
    let when = if merge.is_simulated() { "<b>SIMULATED</b>".to_owned() } else { date(merge.started_unix_ms) };
    let paying: Vec<String> = merge
        .verdicts
        .iter()
        .filter_map(|verdict| Some(format!("{} for {}", verdict.policy.as_ref()?, verdict.ask.name())))
        .collect();
    let answer = match (merge.verdicts.is_empty(), paying.is_empty()) {
        (true, _) => "Nothing was measured".to_owned(),
        (_, true) => "Merging does not pay here".to_owned(),
        _ => format!("Merging pays here: {}", paying.join(", ")),
    };
    format!(
        "<p class=\"kicker\"><b>iostack merge</b> · {} · {when} · iostack {}</p><h1>{}</h1>{}",
        escape::text(&merge.target.to_string()),
        escape::text(&merge.iostack),
        escape::text(&answer),
        if merge.interrupted {
            "<p class=\"note\">Interrupted: the figures are of the rounds until then.</p>"
        } else {
            ""
        }
    )
}

fn verdicts(merge: &MergeReport, doubts: &str) -> String {
    let items: String = merge
        .verdicts
        .iter()
        .map(|verdict| {
            format!("<dt>{}</dt><dd>{}</dd>", escape::text(verdict.ask.name()), escape::text(&verdict.text))
        })
        .collect();
    let doubts = if doubts.is_empty() {
        String::new()
    } else {
        format!("<p class=\"note\">Doubts of every figure: {doubts}</p>")
    };
    format!("<dl>{items}</dl>{doubts}")
}

fn cost(fit: &MergeFit, sheet: &mut Sheet) -> String {
    let points = fit.points.iter().map(|point| Spot {
        low: point.time.low,
        high: point.time.high,
        count: point.commands,
        ..Spot::at(f64::from(point.requests), point.time.mean)
    });
    // From 0 on, where the line meets c.
    let line = std::iter::once(0.0).chain(fit.points.iter().map(|point| f64::from(point.requests)));
    let line = line.map(|requests| Spot::at(requests, fit.cost.time_ns(requests)));
    let series = |name: &str, slot, look, spots| Series { name: name.to_owned(), slot, look, spots };
    let plot = Plot {
        heading: "Time of a command".to_owned(),
        x: Axis::new("requests in a command", Quantity::Count, Scale::Linear),
        y: Axis::new("time until all of it is there", Quantity::Nanos, Scale::Linear),
        series: vec![
            series("measured", 0, Look::Line, points.collect()),
            series("c + b x", 1, Look::Ideal, line.collect()),
        ],
        marks: Vec::new(),
        caption: sheet.note(&format!("{}; band: 95 % interval over the rounds", escape::text(&fit.how))),
        label_spots: false,
        wide: false,
    };
    let holds = if fit.holds { "The line holds" } else { "<b>The line does not hold</b>" };
    format!(
        "<div class=\"figures\">{}</div><p>c = {}, x = {}. {holds}: no point is further than {:.0}\u{202f}% from it; a \
         request more costs {:.2} times as much in large commands as in small ones. {}</p>",
        sheet.figure(&plot),
        with_interval(Quantity::Nanos, Interval { mean: fit.cost.fixed_ns, ..fit.fixed }),
        with_interval(Quantity::Nanos, Interval { mean: fit.cost.each_ns, ..fit.each }),
        fit.residual_percent(),
        fit.bend,
        escape::text(&crate::text::gain(fit)),
    )
}

/// A figure over the columns: heading, axis, value.
type Drawn = (&'static str, Axis, fn(&MergeCell) -> Interval);

fn figures(merge: &MergeReport, of: &MergeTable, sheet: &mut Sheet) -> String {
    let nanos = |label: &str, scale| Axis::new(label, Quantity::Nanos, scale);
    let mut drawn: Vec<Drawn> = vec![
        ("Throughput", Axis::new("I/Os per second", Quantity::Count, Scale::Linear), |cell| cell.iops),
        ("CPU time", nanos("CPU time per I/O", Scale::Linear), |cell| cell.cpu_ns),
        ("99th percentile of a call", nanos("time of a call", Scale::Log10), |cell| {
            Interval::exact(tail(cell))
        }),
    ];
    if of.cells.iter().any(|cell| cell.share_of_peak.is_some()) {
        let axis = Axis::new("percent of the drive's peak", Quantity::Percent, Scale::Linear);
        drawn.push(("Share of peak", axis, |cell| {
            Interval::exact(cell.share_of_peak.map_or(f64::NAN, |share| share * 100.0))
        }));
    }
    let caption = if merge.is_simulated() {
        "Simulated: one run each in virtual time.".to_owned()
    } else {
        sheet.note("band: 95 % interval of the mean over the rounds")
    };
    let plots = drawn.into_iter().map(|(heading, y, value)| plot(of, heading, y, value, &caption));
    let plots: Vec<Plot> = plots.collect();
    format!(
        "<div class=\"figures\">{}</div>",
        plots.iter().map(|plot| sheet.figure(plot)).collect::<String>()
    )
}

fn plot(of: &MergeTable, heading: &str, y: Axis, value: fn(&MergeCell) -> Interval, caption: &str) -> Plot {
    let series = of.policies().into_iter().enumerate().map(|(slot, policy)| Series {
        name: policy.to_owned(),
        slot: slot % SLOTS,
        look: Look::Line,
        spots: of
            .columns()
            .iter()
            .filter_map(|&column| of.cell(policy, column))
            .map(|cell| spot(cell, value))
            .collect(),
    });
    Plot {
        heading: format!("{heading} over {}", of.ask.over()),
        x: Axis::new(of.ask.over(), Quantity::Count, Scale::Log2),
        y,
        series: series.collect(),
        marks: Vec::new(),
        caption: caption.to_owned(),
        label_spots: false,
        wide: false,
    }
}

fn spot(cell: &MergeCell, value: fn(&MergeCell) -> Interval) -> Spot {
    let value = value(cell);
    Spot {
        low: value.low,
        high: value.high,
        count: cell.ios,
        doubtful: !cell.failures.is_empty(),
        ..Spot::at(f64::from(cell.column), value.mean)
    }
}

/// Not a number where too few calls were timed.
fn tail(cell: &MergeCell) -> f64 {
    quantile(cell, 0.99).unwrap_or(f64::NAN)
}

fn quantile(cell: &MergeCell, fraction: f64) -> Option<f64> {
    let enough = cell.latency.count >= samples_needed(fraction);
    cell.latency.quantile_ns(fraction).filter(|_| enough).map(|ns| ns as f64)
}

fn numbers(of: &MergeTable) -> String {
    let heads = [
        "policy",
        of.ask.over(),
        "IOPS",
        "times",
        "CPU per I/O",
        "times",
        "switches per I/O",
        "p50",
        "p99",
        "I/Os",
    ];
    let rows: Vec<Vec<String>> = of.cells.iter().map(row).collect();
    format!(
        "<details class=\"raw\"><summary>All numbers ({}); times: over {}, round by round</summary>{}</details>",
        rows.len(),
        escape::text(&of.base),
        table(&heads, &rows)
    )
}

fn row(cell: &MergeCell) -> Vec<String> {
    let times = |ratio: Option<Interval>| match ratio {
        Some(ratio) if ratio.samples >= 3 => {
            format!("{:.2} <small>{:.2} to {:.2}</small>", ratio.mean, ratio.low, ratio.high)
        }
        Some(ratio) => format!("{:.2}", ratio.mean),
        None => NOTHING.to_owned(),
    };
    let time = |fraction| quantile(cell, fraction).map_or(NOTHING.to_owned(), |ns| Quantity::Nanos.show(ns));
    let failed = cell
        .failures
        .first()
        .map_or_else(String::new, |what| format!(" <b>failed: {}</b>", escape::text(what)));
    vec![
        escape::text(&cell.policy) + &failed,
        cell.column.to_string(),
        with_interval(Quantity::Count, cell.iops),
        times(cell.against.map(|ratio| ratio.iops)),
        with_interval(Quantity::Nanos, cell.cpu_ns),
        times(cell.against.map(|ratio| ratio.cpu)),
        significant(cell.switches.mean),
        time(0.5),
        time(0.99),
        grouped(cell.ios),
    ]
}

fn method(merge: &MergeReport) -> String {
    let direct = if merge.direct { "direct" } else { "through the page cache" };
    let mut items = vec![format!(
        "Random {}s of {}, {direct}, seed {}.",
        merge.direction.name(),
        merge.request,
        merge.seed
    )];
    if let Some(scratch) = &merge.scratch {
        items.push(format!("A scratch file of {}: {}.", scratch.size, scratch.reason));
    }
    if merge.is_simulated() {
        items.push(
            "Each figure is one run in virtual time; CPU time is that of the simulated host.".to_owned(),
        );
    } else {
        items.push(
            "All cells were measured in turns, in another order each round; a ratio is taken within a round. CPU time and \
             context switches are those of the whole process; threads of the kernel are not in them."
                .to_owned(),
        );
        items.push("Every buffer was held against what is known of its block.".to_owned());
    }
    items.extend(merge.changes.iter().map(|(key, value)| format!("Changed: {key}={value}.")));
    items.extend(merge.notes.iter().cloned());
    let items: String = items.iter().map(|item| format!("<li>{}</li>", escape::text(item))).collect();
    format!("<ul>{items}</ul>")
}
