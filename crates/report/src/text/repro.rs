//! What was claimed, what came of it.

use iostack_model::{Repro, ReproVerdict, Reproduced};

use super::chart::chart;
use super::format::{both_ends, change, clean, paragraph};

/// The screen of `iostack repro`.
pub fn repro(repro: &Repro) -> String {
    let count = repro.experiments.len();
    let plural = if count == 1 { "experiment" } else { "experiments" };
    let how = if repro.is_counted() { "COUNTED" } else { "SIMULATED" };
    let cut_short = if repro.interrupted { ", INTERRUPTED" } else { "" };
    let title = both_ends("iostack repro", &format!("{how}, {count} {plural}{cut_short}"));
    let mut parts = vec![title];
    parts.extend(repro.experiments.iter().map(experiment));
    parts.push(summary(repro) + &next(repro));
    clean(&parts.join("\n"))
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
    let mut text = paragraph(&format!("  {:<9}", word(verdict)), &verdict.says);
    let difference = verdict.difference.map_or(String::new(), |share| format!(", {}", change(share * 100.0)));
    let claimed =
        if verdict.claimed == "-" { String::new() } else { format!("claimed {}, ", verdict.claimed) };
    let figures = format!("{claimed}ours {}{difference}; asked: {}", verdict.ours, verdict.test);
    text += &paragraph("           ", &figures);
    if !verdict.fitted.is_empty() {
        let fitted = format!("no prediction: {} was fitted to it", verdict.fitted.join(", "));
        text += &paragraph("           ", &fitted);
    }
    text
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
    let fitted = all().filter(|verdict| !verdict.fitted.is_empty()).count();
    format!(
        "{} claims: {} hold ({fitted} of the figures were fitted), {} fail, {} could not be judged\n",
        all().count(),
        count(Some(true)),
        count(Some(false)),
        count(None)
    )
}

/// The first run of the first experiment that does not hold, else of the first.
fn next(repro: &Repro) -> String {
    let one = repro.experiments.iter().find(|one| !one.holds()).or(repro.experiments.first());
    let point = one.and_then(|one| one.curves.first()).and_then(|curve| curve.points.last());
    point.map_or(String::new(), |point| format!("next: {}    # one of its runs alone\n", point.command))
}
