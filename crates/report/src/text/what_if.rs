//! A target before and after a change, side by side, and where its limit went.

use iostack_model::{Caveat, Nanos, WhatIf, WhatIfFigures, WhatIfStep};

use super::WIDTH;
use super::format::{both_ends, clean, cut, megabytes, paragraph, percent, rate, significant};
use super::glyphs::bar;
use super::outcome::asked;
use crate::what_if::{Busy, busy, limiting, ratio, told};

/// Columns before the sentences.
const LABEL: usize = 11;
/// Cells of a bar when two runs stand side by side.
const CELLS: usize = 18;

/// The screen of `iostack sim what-if`.
pub fn what_if(what_if: &WhatIf) -> String {
    let runs = what_if.steps.len();
    let cut_short = if what_if.interrupted { ", INTERRUPTED" } else { "" };
    let title = both_ends(
        &format!("iostack sim what-if {}", what_if.device),
        &format!("SIMULATED, {runs} runs, seed {}{cut_short}", what_if.seed),
    );
    let chain = runs > 2;
    let parts = [
        title + &head(what_if) + &doubts(what_if),
        changed(what_if),
        if chain { steps(what_if) } else { figures(what_if) },
        if chain { resources_of_all(what_if) } else { resources(what_if) },
        answer(what_if),
        failures(what_if),
        next(what_if),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    clean(&parts.join("\n"))
}

fn head(what_if: &WhatIf) -> String {
    let mut text = paragraph("target     ", &what_if.title);
    if let Some(named) = &what_if.named {
        text += &paragraph("what if    ", &named.title);
        text += &paragraph("called for ", &named.source);
        if !named.note.is_empty() {
            text += &paragraph("note       ", &named.note);
        }
    }
    let first = what_if.steps.iter().find_map(|step| step.outcome.as_ref());
    text + &first.map_or_else(String::new, |outcome| {
        let ios = super::format::count(outcome.ios());
        paragraph("asked      ", &asked(outcome)) + &paragraph("counted    ", &format!("{ios} I/Os before"))
    })
}

/// Whose numbers these are, each doubt once.
fn doubts(what_if: &WhatIf) -> String {
    let mut seen: Vec<&Caveat> = Vec::new();
    for caveat in what_if.steps.iter().filter_map(|step| step.outcome.as_ref()).flat_map(|each| &each.caveats)
    {
        if matches!(caveat, Caveat::FewSamples { percentile, .. } if *percentile > 99.0) {
            continue;
        }
        let alike = |other: &&Caveat| std::mem::discriminant(*other) == std::mem::discriminant(caveat);
        if !seen.iter().any(alike) {
            seen.push(caveat);
        }
    }
    seen.into_iter().map(|caveat| paragraph("  - ", &iostack_doubt::says(caveat))).collect()
}

fn changed(what_if: &WhatIf) -> String {
    let mut text = "CHANGED\n".to_owned();
    for (number, step) in what_if.steps.iter().enumerate().skip(1) {
        for change in &step.changes {
            let old = if change.old.is_empty() { "not said" } else { &change.old };
            let mark = if what_if.steps.len() > 2 { format!("+{number} ") } else { "  ".to_owned() };
            text += &paragraph(&format!("{mark:<3}"), &format!("{}: {old} -> {}", change.key, change.new));
            if !change.meaning.is_empty() {
                text += &paragraph("     ", &change.meaning);
            }
        }
    }
    text
}

/// How a figure is read and written.
type Row = (&'static str, fn(&WhatIfFigures) -> Option<f64>, fn(f64) -> String);

/// The rows of the table.
const ROWS: [Row; 8] = [
    ("IOPS", |figures| Some(figures.iops), rate),
    ("bandwidth, MB/s", |figures| Some(figures.bandwidth), megabytes),
    ("latency, mean", |figures| Some(figures.latency_mean_ns), time),
    ("latency, p99", |figures| figures.latency_p99_ns.map(|ns| ns as f64), time),
    ("clocks per I/O", |figures| figures.clocks_per_io, whole),
    ("cores busy, %", |figures| figures.core_busy, percent),
    ("interrupts per I/O", |figures| figures.interrupts_per_io, |value| significant(value, 3)),
    ("write amplification", |figures| figures.write_amplification, |value| significant(value, 3)),
];

fn time(ns: f64) -> String {
    Nanos(ns.round() as u64).to_string()
}

fn whole(value: f64) -> String {
    super::format::count(value.round() as u64)
}

fn figures(what_if: &WhatIf) -> String {
    let [Some(before), Some(after)] = [0, 1].map(|index| what_if.steps.get(index)?.figures.as_ref()) else {
        return String::new();
    };
    let mut text = format!("{:<22}{:>14}{:>14}{:>12}\n", "", "before", "after", "ratio");
    for (name, read, show) in ROWS {
        let (old, new) = (read(before), read(after));
        if old.is_none() && new.is_none() {
            continue;
        }
        let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), show);
        let by = old.zip(new).and_then(|(old, new)| ratio(old, new));
        let by = by.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
        text += &format!("{name:<22}{:>14}{:>14}{by:>12}\n", cell(old), cell(new));
    }
    text
}

/// Every resource before and after, what limits marked.
fn resources(what_if: &WhatIf) -> String {
    let rows = busy(what_if);
    if rows.is_empty() {
        return String::new();
    }
    let side = CELLS + 15;
    let (before, after) = ("before, % busy", "after, % busy");
    let mut text = format!("{:<15}{before:<side$}{after}\n", "RESOURCE");
    for row in rows {
        let mut line = format!("{:<15}", cut(row.name, 14));
        for step in &what_if.steps {
            line += &format!("{:<side$}", cell(&row, step, what_if));
        }
        text += &format!("{}\n", line.trim_end());
    }
    text
}

/// `████████▌   87.3 x4 *`: bar, share, how many, and whether it limits.
fn cell(row: &Busy<'_>, step: &WhatIfStep, what_if: &WhatIf) -> String {
    let place = what_if.steps.iter().position(|other| std::ptr::eq(other, step)).unwrap_or(0);
    let Some(used) = row.uses[place] else { return format!("{:CELLS$}{:>6}", "", "-") };
    let drawn = if used.busy > 0.0 { bar(used.busy.min(1.0), 1.0, CELLS) } else { String::new() };
    let count = if used.count > 1 { format!(" x{}", used.count) } else { String::new() };
    let limits = step.outcome.as_ref().and_then(limiting) == Some(row.name);
    format!("{drawn:<CELLS$}{:>6}{}{count}", percent(used.busy), if limits { "*" } else { " " })
}

/// One line a step: which change next?
fn steps(what_if: &WhatIf) -> String {
    let first = what_if.steps.first().and_then(|step| step.figures.as_ref()).map_or(0.0, |each| each.iops);
    let most = what_if
        .steps
        .iter()
        .filter_map(|step| step.figures.as_ref())
        .map(|each| each.iops)
        .fold(0.0, f64::max);
    let mut text = format!(
        "{:<17}{:>8} {:<7}{:>5}{:>8}{:>8}{:>8}  {}\n",
        "STEP", "IOPS", "", "ratio", "mean", "p99", "clocks", "LIMIT"
    );
    for (number, step) in what_if.steps.iter().enumerate() {
        let name = if number == 0 { "before".to_owned() } else { format!("+{number} {}", short(step)) };
        let Some(figures) = &step.figures else {
            text += &format!("{:<17}{:>8}\n", cut(&name, 16), "-");
            continue;
        };
        let limit = step.outcome.as_ref().and_then(|outcome| outcome.inside.as_ref()?.limit.as_ref());
        let line = format!(
            "{:<17}{:>8} {:<7}{:>5}{:>8}{:>8}{:>8}  {}",
            cut(&name, 16),
            rate(figures.iops),
            bar(figures.iops, most, 6),
            ratio(first, figures.iops).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            time(figures.latency_mean_ns),
            figures.latency_p99_ns.map_or_else(|| "-".to_owned(), |ns| time(ns as f64)),
            figures.clocks_per_io.map_or_else(|| "-".to_owned(), whole),
            limit.map_or_else(
                || "-".to_owned(),
                |limit| format!("{} {:.0} %", limit.name, limit.busy * 100.0)
            ),
        );
        text += &(cut(line.trim_end(), WIDTH) + "\n");
    }
    text
}

/// The last word of each key and its value: `adapter=nvme`.
fn short(step: &WhatIfStep) -> String {
    let words = step.changes.iter().map(|change| {
        let key = change.key.rsplit('.').next().unwrap_or(&change.key);
        format!("{key}={}", change.new)
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Busy shares of a chain, one column a step; as many columns as fit.
fn resources_of_all(what_if: &WhatIf) -> String {
    let rows = busy(what_if);
    if rows.is_empty() {
        return String::new();
    }
    let columns = what_if.steps.len().min((WIDTH - 15) / 8);
    let mut text = format!("{:<15}", "BUSY, %");
    for step in 0..columns {
        text += &format!("{:>7} ", if step == 0 { "before".to_owned() } else { format!("+{step}") });
    }
    text.push('\n');
    for row in rows {
        let mut line = format!("{:<15}", cut(row.name, 14));
        for (used, step) in row.uses.iter().zip(&what_if.steps).take(columns) {
            let limits = step.outcome.as_ref().and_then(limiting) == Some(row.name);
            let share = used.map_or_else(|| "-".to_owned(), |used| percent(used.busy));
            line += &format!("{share:>7}{}", if limits { "*" } else { " " });
        }
        text += &format!("{}\n", line.trim_end());
    }
    text
}

fn answer(what_if: &WhatIf) -> String {
    let mut text = String::new();
    let chain = what_if.steps.len() > 2;
    for (number, (effect, moved)) in told(what_if).into_iter().enumerate() {
        let label = if chain { format!("+{}", number + 1) } else { "limit".to_owned() };
        text += &paragraph(&format!("{label:<LABEL$}"), &format!("{effect} {moved}"));
    }
    if what_if
        .steps
        .iter()
        .filter_map(|step| step.outcome.as_ref())
        .any(|outcome| limiting(outcome).is_some())
    {
        text += &paragraph(&format!("{:<LABEL$}", "*"), "used up: it limits");
    }
    text
}

fn failures(what_if: &WhatIf) -> String {
    let mut text = String::new();
    for step in &what_if.steps {
        match &step.error {
            Some(error) => text += &paragraph("FAILED     ", &format!("{}: {error}", step.name)),
            None if step.outcome.is_none() => text += &paragraph("NOT RUN    ", &step.name),
            None => {}
        }
    }
    text
}

fn next(what_if: &WhatIf) -> String {
    let ran = what_if.steps.iter().rev().find(|step| step.outcome.is_some());
    ran.map_or_else(String::new, |step| format!("next: {}    # `{}` alone\n", step.command, step.name))
}

/// Many improvements as a table in Markdown, one line each: the last run of each against its first.
pub fn what_ifs_markdown(all: &[WhatIf]) -> String {
    let mut text = "| what if | called for by | on, with | IOPS before | after | what it does |\n\
                    | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for what_if in all {
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
        text += &format!(
            "| {id} | {source} | {}: {} | {} | {} | {} |\n",
            what_if.device,
            changes.join(" "),
            cell(what_if.steps.first()),
            cell(what_if.steps.last()),
            failed.unwrap_or(told).replace(['|', '\n'], " ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::what_if::tests::example;

    fn fits(text: &str) {
        let fits = |line: &str| line.chars().count() <= WIDTH || line.starts_with("next:");
        assert!(text.lines().all(fits), "{text}");
    }

    #[test]
    fn before_and_after_stand_side_by_side_and_the_limit_is_marked() {
        let text = what_if(&example(2));
        fits(&text);
        assert!(text.contains("platform.adapter: ahci -> <nvme>"), "{text}");
        assert!(text.contains("ratio") && text.contains("1.000"), "{text}");
        assert!(text.contains(" 100.0* x2") && text.contains("  97.0* x2"), "{text}");
        assert!(text.contains("The limit moves from"), "{text}");
    }

    #[test]
    fn a_chain_has_a_line_and_a_column_for_each_step() {
        let text = what_if(&example(3));
        fits(&text);
        assert!(text.contains("+2 adapter=<nvme>") || text.contains("+2 adapter=<nvm"), "{text}");
        assert!(text.contains("before      +1      +2"), "{text}");
    }

    #[test]
    fn a_run_that_failed_is_named() {
        let mut failed = example(2);
        failed.steps[1].outcome = None;
        failed.steps[1].figures = None;
        failed.steps[1].error = Some("no such tag".to_owned());
        let text = what_if(&failed);
        fits(&text);
        assert!(text.contains("FAILED     nvme: no such tag"), "{text}");
    }
}
