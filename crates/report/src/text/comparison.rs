//! Two outcomes side by side.

use iostack_model::{Interval, Nanos};
use iostack_stats::{Comparison, ComparisonRow};

use super::format::{change, clean, cut, megabytes, paragraph, plus_minus, rate};

/// The table of figures, the conditions that differ, and the answer. The names stand for the two outcomes: what the
/// user typed for them.
pub fn comparison(comparison: &Comparison, a_name: &str, b_name: &str) -> String {
    let [a_by, b_by] = [0, 1].map(|side| comparison.simulated[side].as_deref());
    let mut text = paragraph("A  ", &named(a_name, a_by)) + &paragraph("B  ", &named(b_name, b_by)) + "\n";
    let (a_head, b_head) = (head("A", a_by), head("B", b_by));
    text += &format!("{:<21}{a_head:>17}{b_head:>17}{:>8}  {:<7} {}\n", "", "change", "B was", "sure");
    for row in &comparison.rows {
        text += &figure(row);
    }
    if !comparison.conditions.is_empty() {
        text += "\nCONDITIONS THAT DIFFER\n";
    }
    for difference in &comparison.conditions {
        let first = format!("  {}: ", cut(&difference.name, 24));
        text += &paragraph(&first, &format!("{} in A, {} in B", said(&difference.a), said(&difference.b)));
    }
    text += "\n";
    text += &paragraph("VERDICT  ", &comparison.verdict);
    text += &comparison.note.map_or_else(String::new, |note| paragraph("         ", note));
    clean(&(text + "\nnext: " + &next(comparison, b_name) + "\n"))
}

fn named(name: &str, simulated: Option<&str>) -> String {
    simulated.map_or_else(|| name.to_owned(), |by| format!("{name} (SIMULATED: {by})"))
}

/// No column lets a simulated figure pass for a measured one.
fn head(letter: &str, simulated: Option<&str>) -> String {
    if simulated.is_some() { format!("{letter}, SIMULATED") } else { letter.to_owned() }
}

fn figure(row: &ComparisonRow) -> String {
    let known = row.a.samples >= 3 && row.b.samples >= 3;
    let sure = if known && row.confidence > 0.0 { confidence(row.confidence) } else { String::new() };
    format!(
        "{:<21}{:>17}{:>17}{:>8}  {:<7} {sure}\n",
        cut(&row.name, 21),
        value(row.a, row.unit),
        value(row.b, row.unit),
        change(row.change_percent),
        row.verdict.name(),
    )
}

/// `485.2k ±1.0%`, in the unit's own words: MB/s, us, or the bare number.
fn value(interval: Interval, unit: &str) -> String {
    let mean = match unit {
        "B/s" => megabytes(interval.mean) + " MB/s",
        "ns" => Nanos(interval.mean as u64).to_string(),
        "/s" => rate(interval.mean),
        _ => format!("{} {unit}", rate(interval.mean)).trim_end().to_owned(),
    };
    match plus_minus(interval).as_str() {
        "-" => mean,
        known => format!("{mean} {known}"),
    }
}

/// `99.8 %`; never 100 %, which no measurement gives.
fn confidence(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 99.9 { ">99.9 %".to_owned() } else { format!("{percent:.0} %") }
}

fn said(condition: &str) -> &str {
    if condition.is_empty() { "nothing" } else { condition }
}

fn next(comparison: &Comparison, b_name: &str) -> String {
    if comparison.conditions.is_empty() {
        return match comparison.note {
            Some(_) => "iostack ab --help    # both in turns, until it is sure".to_owned(),
            None => format!("iostack report {b_name}    # the second run alone"),
        };
    }
    "make the conditions alike and run again, or name them beside the figures".to_owned()
}
