//! What was claimed, what came of it.

use iostack_model::{Repro, ReproBasis, ReproVerdict, Reproduced};

use super::chart::chart;
use super::format::{both_ends, change, clean, paragraph};
use crate::digest::{self, Digest, Rows, digest};

/// The screen of `iostack repro`.
pub fn repro(repro: &Repro) -> String {
    let count = repro.experiments.len();
    let plural = if count == 1 { "experiment" } else { "experiments" };
    let how = if repro.is_counted() { "COUNTED" } else { "SIMULATED" };
    let cut_short = if repro.interrupted { ", INTERRUPTED" } else { "" };
    let title = both_ends("iostack repro", &format!("{how}, {count} {plural}{cut_short}"));
    let mut parts = vec![title];
    if count > 1 {
        parts.push(overview(&digest(repro)));
    }
    parts.extend(repro.experiments.iter().map(experiment));
    parts.push(summary(repro) + &next(repro));
    clean(&parts.join("\n"))
}

/// All experiments at one look.
fn overview(digest: &Digest) -> String {
    let mut text = aligned(&digest.documents) + &paragraph("  ", &digest.sentence);
    if !digest.off.is_empty() {
        text += "\nOFF\n";
        for one in &digest.off {
            text += &paragraph("  ", &format!("{} ({}): {}", one.claim, one.experiment, one.figures));
            text += &paragraph("    why: ", &one.why);
        }
    }
    if !digest.missing.is_empty() {
        text += "\nLEFT OUT\n";
        for (reason, claims) in &digest.missing {
            text += &paragraph("  ", &format!("{reason}:"));
            text += &paragraph("    ", &claims.join(", "));
        }
    }
    if !digest.platforms.rows.is_empty() {
        text += "\nNUMBERS of each platform, and the claims judged on it\n";
        text += &aligned(&digest.platforms);
        for (number, claim) in &digest.fitted {
            text += &paragraph("  fitted  ", &format!("{number} to {claim}"));
        }
    }
    text
}

/// Rows in columns, numbers to the right.
fn aligned(rows: &Rows) -> String {
    let heads: Vec<String> = rows.heads.iter().map(|&head| head.to_owned()).collect();
    let all = || std::iter::once(&heads).chain(&rows.rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line =
        |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(column, (cell, width))| {
                if column == 0 { format!("  {cell:<width$}") } else { format!("  {cell:>width$}") }
            });
            cells.collect::<String>() + "\n"
        };
    all().map(line).collect()
}

fn experiment(one: &Reproduced) -> String {
    let mut text = paragraph("", &format!("{}: {}", one.id.to_uppercase(), one.title));
    text += &paragraph("  source     ", &one.source);
    text += &paragraph("  measured   ", &one.measured);
    text += &paragraph(if one.is_counted() { "  counted    " } else { "  simulated  " }, &one.simulated);
    for plot in &one.plots {
        text += &format!("\n{}", chart(plot));
    }
    text.push('\n');
    text += &one.verdicts.iter().map(verdict).collect::<Vec<_>>().concat();
    text + &failures(one)
}

/// The verdict in a word.
pub(crate) fn word(verdict: &ReproVerdict) -> &'static str {
    match verdict.holds {
        Some(true) => "HOLDS",
        Some(false) => "FAILS",
        None => "UNKNOWN",
    }
}

fn verdict(verdict: &ReproVerdict) -> String {
    let reading =
        if verdict.reading.is_empty() { String::new() } else { format!(" Reading: {}.", verdict.reading) };
    let mut text = paragraph(&format!("  {:<9}", word(verdict)), &format!("{}{reading}", verdict.says));
    let difference = verdict.difference.map_or(String::new(), |share| format!(", {}", change(share * 100.0)));
    let claimed =
        if verdict.claimed == "-" { String::new() } else { format!("claimed {}, ", verdict.claimed) };
    let figures = format!("{claimed}ours {}{difference}; asked: {}", verdict.ours, verdict.test);
    text += &paragraph("           ", &figures);
    if let Some(basis) = basis(verdict) {
        text += &paragraph("           ", &format!("no prediction: {basis}"));
    }
    if !verdict.why.is_empty() {
        text += &paragraph("           ", &format!("why: {}", verdict.why));
    } else if verdict.holds == Some(false) {
        text += &paragraph("           ", digest::NO_REASON);
    }
    text
}

/// Why agreement proves nothing.
fn basis(verdict: &ReproVerdict) -> Option<String> {
    match verdict.basis {
        ReproBasis::Input => Some(format!("it is an input, {}", verdict.fitted.join(", "))),
        // Outcomes of before the word existed have the list only.
        _ if !verdict.fitted.is_empty() => Some(format!("{} was fitted to it", verdict.fitted.join(", "))),
        _ => None,
    }
}

/// What failed, alike failures of a curve together.
fn failures(one: &Reproduced) -> String {
    let mut text = String::new();
    for curve in &one.curves {
        let mut errors: Vec<&str> = curve.points.iter().filter_map(|point| point.error.as_deref()).collect();
        errors.dedup();
        for error in errors {
            let alike = curve.points.iter().filter(|point| point.error.as_deref() == Some(error));
            let at: Vec<&str> = alike.map(|point| point.at.as_str()).filter(|at| !at.is_empty()).collect();
            let at =
                if at.is_empty() { String::new() } else { format!(", {} {}", curve.varied, at.join(" ")) };
            text += &paragraph("  FAILED   ", &format!("{}{at}: {error}", curve.name));
        }
    }
    text
}

fn summary(repro: &Repro) -> String {
    let all = || repro.experiments.iter().flat_map(|one| &one.verdicts);
    let count = |holds| all().filter(|verdict| verdict.holds == holds).count();
    format!(
        "{} on {}: {} hold, {} fail, {} could not be judged\n",
        counted(all().count(), "verdict"),
        counted(repro.tally(None).claims, "claim"),
        count(Some(true)),
        count(Some(false)),
        count(None)
    )
}

/// `1 claim`, `2 claims`.
fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// The first run of the first experiment that does not hold, else of the first.
fn next(repro: &Repro) -> String {
    let one = repro.experiments.iter().find(|one| !one.holds()).or(repro.experiments.first());
    let point = one.and_then(|one| one.curves.first()).and_then(|curve| curve.points.last());
    point.map_or(String::new(), |point| format!("next: {}    # one of its runs alone\n", point.command))
}
