//! What does it all mean?
//!
//! The top of a check's page: the answer first, then the figures people remember, the evidence, what to do, and the
//! tables of the summary.

use iostack_model::{Advice, Cell, Check, DepthOne, Limit};

use super::escape;
use super::numbers::{NOTHING, Quantity, date, grouped, significant};
use super::sheet::{Sheet, span};
use super::table::{table, with_interval};
use super::tiles;

/// What limits, in words and as the class that colours it.
const fn limit_words(limit: Limit) -> (&'static str, &'static str) {
    match limit {
        Limit::Device => ("the device", "good"),
        Limit::OneCore => ("one processor core", "held"),
        Limit::AllCores => ("all processor cores", "held"),
        Limit::OneQueue => ("one queue", "held"),
        Limit::Scheduler => ("the I/O scheduler", "held"),
        Limit::Engine => ("the engine in use", "held"),
        Limit::Cap => ("a cap", "held"),
        Limit::Generator => ("the load generator", "open"),
        Limit::Unknown => ("not known", "open"),
    }
}

/// The header of the page.
pub(super) fn header(check: &Check) -> String {
    let (limit, class) = limit_words(check.verdict.limit);
    let ended = if check.interrupted { " · interrupted" } else { "" };
    format!(
        "<p class=\"kicker\"><b>iostack check</b> · {target} · {when} · {effort}, {took}{ended}</p>\
         <h1>{answer}</h1><p><span class=\"limit {class}\">Limit: {limit}</span></p>{tiles}\
         <div class=\"two\"><div><h2>Evidence</h2>{evidence}</div><div><h2>What to do, most gain first</h2>{advice}\
         </div></div>",
        target = escape::text(&check.target.to_string()),
        when = date(check.started_unix_ms),
        effort = escape::text(&check.effort),
        took = span(check.elapsed),
        answer = escape::text(&check.verdict.answer),
        tiles = tiles(check),
        evidence = list(&check.verdict.evidence),
        advice = advice(&check.verdict.advice),
    )
}

fn list(sentences: &[String]) -> String {
    if sentences.is_empty() {
        return "<p class=\"note\">None was gathered.</p>".to_owned();
    }
    let items: String = sentences.iter().map(|text| format!("<li>{}</li>", escape::text(text))).collect();
    format!("<ul class=\"evidence\">{items}</ul>")
}

/// The figures to remember, each with what it means.
fn tiles(check: &Check) -> String {
    let summary = &check.summary;
    let cell = |name: &str| summary.cells.iter().find(|cell| cell.name == name && cell.direction == "read");
    let saturates;
    let mut tiles: Vec<(&str, String, String)> = Vec::new();
    if let Some(cell) = cell("RND4K Q32") {
        tiles.push((
            "random read, depth 32",
            Quantity::Count.show(cell.iops.mean) + " IOPS",
            "4 KiB".to_owned(),
        ));
    }
    if let Some(one) = summary.depth_one.first() {
        let at = |percent: f64| {
            one.percentiles.iter().find(|(p, _)| (p - percent).abs() < 1e-9).map(|(_, time)| span(*time))
        };
        let tail = at(99.0).map_or(String::new(), |time| format!("p99 {time}"));
        tiles.push(("one random read takes", at(50.0).unwrap_or(NOTHING.to_owned()), tail));
    }
    if let Some(curve) = summary.saturation.first() {
        saturates = format!("{} saturates at", curve.series);
        let depth = curve.depth.map_or("not yet".to_owned(), |depth| format!("depth {depth}"));
        tiles.push((&saturates, depth, format!("{} at once in the device", significant(curve.parallelism))));
    }
    if let Some(cell) = cell("SEQ1M Q8") {
        tiles.push((
            "sequential read",
            Quantity::Bandwidth.show(cell.bandwidth.mean),
            "1 MiB, depth 8".to_owned(),
        ));
    }
    if let Some(cost) = summary.costs.iter().min_by(|a, b| a.cpu_ns_per_io.total_cmp(&b.cpu_ns_per_io)) {
        let carried = format!("{} IOPS per core, {}", Quantity::Count.show(cost.iops_per_core), cost.label);
        tiles.push(("least CPU time per I/O", Quantity::Nanos.show(cost.cpu_ns_per_io), carried));
    }
    tiles::tiles(&tiles)
}

/// The advice with bars as long as the gains.
fn advice(all: &[Advice]) -> String {
    if all.is_empty() {
        return "<p class=\"note\">Nothing was found that would help.</p>".to_owned();
    }
    let most =
        all.iter().filter_map(|one| one.gain_percent).filter(|gain| gain.is_finite()).fold(0.0, f64::max);
    let items: String = all.iter().map(|one| advice_item(one, most)).collect();
    format!("<ol class=\"advice\">{items}</ol>")
}

fn advice_item(advice: &Advice, most: f64) -> String {
    let gain = advice.gain_percent.filter(|gain| gain.is_finite()).map_or(
        "<span class=\"gain\">gain not known</span>".to_owned(),
        |gain| {
            let width = if most > 0.0 { (gain / most * 100.0).clamp(0.0, 100.0) } else { 0.0 };
            let sign = if gain > 0.0 { "+" } else { "" };
            format!(
                "<span class=\"gain\"><b>{sign}{}\u{202f}%</b> <svg width=\"140\" height=\"10\" aria-hidden=\"true\">\
                 <rect class=\"rail\" width=\"100%\" height=\"10\"/><rect width=\"{width:.1}%\" height=\"10\"/></svg></span>",
                significant(gain)
            )
        },
    );
    let command = advice
        .command
        .as_ref()
        .map_or(String::new(), |command| format!("<code>{}</code>", escape::text(command)));
    format!(
        "<li><p>{}</p>{gain} <small>{}</small>{command}</li>",
        escape::text(&advice.act),
        escape::text(&advice.basis)
    )
}

/// The tables of the summary.
pub(super) fn summary(check: &Check, sheet: &mut Sheet) -> String {
    let mut out = String::new();
    if !check.summary.cells.is_empty() {
        out += &format!("<h3>The cells people compare</h3>{}", cells(&check.summary.cells, sheet));
    }
    if !check.summary.depth_one.is_empty() {
        out += &format!("<h3>One I/O in flight</h3>{}", depth_one(&check.summary.depth_one));
    }
    let saturation: Vec<Vec<String>> = check
        .summary
        .saturation
        .iter()
        .map(|curve| {
            vec![
                escape::text(&curve.series),
                curve.depth.map_or("still rising".to_owned(), |depth| depth.to_string()),
                Quantity::Count.show(curve.iops_max),
                significant(curve.parallelism),
            ]
        })
        .collect();
    let costs: Vec<Vec<String>> = check
        .summary
        .costs
        .iter()
        .map(|cost| {
            vec![
                escape::text(&cost.label),
                Quantity::Nanos.show(cost.cpu_ns_per_io),
                if cost.clocks_per_io > 0.0 {
                    Quantity::Count.show(cost.clocks_per_io)
                } else {
                    NOTHING.to_owned()
                },
                Quantity::Count.show(cost.iops_per_core),
                significant(cost.syscalls_per_io),
                significant(cost.switches_per_io),
            ]
        })
        .collect();
    let tables = [
        ("Where it saturates", &["4 KiB", "depth", "IOPS at most", "I/Os at once"][..], saturation),
        (
            "What one I/O costs",
            &["engine", "CPU time", "TSC clocks", "IOPS per core", "syscalls", "switches"][..],
            costs,
        ),
    ];
    out += "<div class=\"two\">";
    for (title, heads, rows) in tables.into_iter().filter(|(.., rows)| !rows.is_empty()) {
        out += &format!("<div><h3>{title}</h3>{}</div>", table(heads, &rows));
    }
    out + "</div>"
}

/// One row per cell name, read beside write.
fn cells(all: &[Cell], sheet: &mut Sheet) -> String {
    let mut names: Vec<&str> = Vec::new();
    for cell in all {
        if !names.contains(&cell.name.as_str()) {
            names.push(&cell.name);
        }
    }
    let rows: Vec<Vec<String>> = names
        .into_iter()
        .map(|name| {
            let mut row = vec![escape::text(name)];
            for direction in ["read", "write"] {
                match all.iter().find(|cell| cell.name == name && cell.direction == direction) {
                    Some(cell) => row.extend(cell_texts(cell, sheet)),
                    None => row.extend([NOTHING.to_owned(), NOTHING.to_owned(), NOTHING.to_owned()]),
                }
            }
            row
        })
        .collect();
    let heads =
        ["", "read bandwidth", "read IOPS", "mean latency", "write bandwidth", "write IOPS", "mean latency"];
    table(&heads, &rows)
}

fn cell_texts(cell: &Cell, sheet: &mut Sheet) -> [String; 3] {
    let doubts = sheet.doubts.note(&cell.caveats, &format!("{} {}", cell.name, cell.direction));
    [
        format!("<b>{}</b>{doubts}", with_interval(Quantity::Bandwidth, cell.bandwidth)),
        with_interval(Quantity::Count, cell.iops),
        span(cell.latency_mean),
    ]
}

fn depth_one(all: &[DepthOne]) -> String {
    let mut percents: Vec<f64> = all.iter().flat_map(|one| one.percentiles.iter().map(|(p, _)| *p)).collect();
    percents.sort_by(f64::total_cmp);
    percents.dedup();
    let heads: Vec<String> = [String::new(), "mean".to_owned()]
        .into_iter()
        .chain(percents.iter().map(|percent| format!("p{percent}")))
        .chain(["max".to_owned(), "I/Os".to_owned()])
        .collect();
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|one| {
            let at = |percent: f64| one.percentiles.iter().find(|(p, _)| p.total_cmp(&percent).is_eq());
            let mut row = vec![escape::text(&one.direction), span(one.mean)];
            row.extend(
                percents
                    .iter()
                    .map(|&percent| at(percent).map_or(NOTHING.to_owned(), |(_, time)| span(*time))),
            );
            row.extend([span(one.max), grouped(one.samples)]);
            row
        })
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    table(&heads, &rows)
}
