//! The screen of `iostack ab`: the two, each figure of both, and the answer.

use iostack_model::{Interval, Nanos};
use iostack_stats::{AbAnswer, AbReport, AbRow, AbSide};

use super::format::{both_ends, clean, count, cut, megabytes, paragraph, rate};
use super::notes::Notes;
use super::screen::{devices, host};
use crate::ab::{METHOD, answer, more_time, percent, signed};

/// The screen, also of a comparison that was cut short.
pub fn ab(report: &AbReport) -> String {
    let mut notes = Notes::default();
    let mark = notes.mark(report.doubts.iter().map(|doubt| &doubt.caveat));
    let mut text = head(report, &mark) + "\n";
    if !report.rows.is_empty() {
        text += &table(report);
        text += "\n";
    }
    text += &paragraph("ANSWER     ", &answer(report));
    if report.rows.iter().any(|row| row.change_percent.samples > 0) {
        text += &paragraph("           ", METHOD);
    }
    text += &foot(report, &notes);
    clean(&(text + "\n" + &next(report)))
}

fn head(report: &AbReport, mark: &str) -> String {
    let cut_short = if report.interrupted { ", INTERRUPTED" } else { "" };
    let seed = report.design.seed;
    let how = if report.is_simulated() {
        format!("SIMULATED, seed {seed}{cut_short}")
    } else {
        format!("{}, seed {seed}{cut_short}", report.elapsed)
    };
    let mut text = both_ends("iostack ab", &how);
    for (side, arm) in [AbSide::A, AbSide::B].into_iter().zip(&report.arms) {
        text += &paragraph(&format!("{:<11}", side.letter()), &format!("{}, on {}", arm.name, arm.target));
    }
    if !report.is_simulated() {
        text += &paragraph("device     ", &both(report, devices));
        text += &paragraph("host       ", &host(&report.machine));
    }
    text += &paragraph("order      ", &order(report));
    if !mark.is_empty() {
        text += &format!("doubts     {mark} concern every figure below\n");
    }
    text
}

/// Once when the two have the same.
fn both(report: &AbReport, say: impl Fn(&iostack_model::Storage) -> String) -> String {
    let [a, b] = report.arms.each_ref().map(|arm| say(&arm.storage));
    if a == b { a } else { format!("A: {a}. B: {b}") }
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

fn table(report: &AbReport) -> String {
    let simulated = if report.is_simulated() { ", SIM" } else { "" };
    let [a, b] = ["A", "B"].map(|side| format!("{side}{simulated}"));
    let mut text = format!("{:<16}{a:>13}{b:>13}   {:<26}{}\n", "", "B against A, 95 % ends", " B is");
    for row in &report.rows {
        text += &figure(row);
    }
    let noise: Vec<String> = report
        .rows
        .iter()
        .map(|row| format!("{} ±{} %", row.figure.name, percent(row.noise_percent)))
        .collect();
    text + &paragraph("run to run ", &noise.join(", "))
}

fn figure(row: &AbRow) -> String {
    format!(
        "{:<16}{:>13}{:>13}   {:<26} {}\n",
        cut(&row.figure.name, 16),
        value(row.a, &row.figure.unit),
        value(row.b, &row.figure.unit),
        change(row.change_percent),
        row.verdict.name(),
    )
}

/// `+5.1 %  (+3.0 .. +7.2)`.
fn change(change: Interval) -> String {
    let mean = format!("{} %", signed(change.mean));
    if change.samples == 0 {
        return mean;
    }
    format!("{mean:<8} ({} .. {})", signed(change.low), signed(change.high))
}

fn value(value: f64, unit: &str) -> String {
    match unit {
        "B/s" => megabytes(value) + " MB/s",
        "ns" => Nanos(value as u64).to_string(),
        _ => rate(value),
    }
}

fn foot(report: &AbReport, notes: &Notes) -> String {
    let mut text = String::new();
    if !notes.is_empty() || !report.notes.is_empty() {
        text += "NOTES\n";
    }
    for note in &report.notes {
        text += &paragraph("  - ", note);
    }
    let runs = report.blocks.len() * 2;
    for doubt in &report.doubts {
        let [a, b] = doubt.runs;
        let mark = format!("  {} ", single(report, doubt));
        text += &paragraph(&mark, &format!("in {a} of {runs} runs of A and {b} of {runs} of B."));
    }
    text + &notes.text()
}

/// The number under which a doubt is told.
fn single(report: &AbReport, wanted: &iostack_stats::AbDoubt) -> String {
    let at = report.doubts.iter().position(|doubt| doubt == wanted).unwrap_or(0);
    format!("[{}]", at + 1)
}

fn next(report: &AbReport) -> String {
    match (&report.answer, more_time(report)) {
        _ if report.interrupted => "next: the same again, to the end\n".to_owned(),
        (AbAnswer::Undecided { .. }, Some(time)) => {
            format!("next: the same with --time {:.0}s\n", time.as_secs_f64())
        }
        (AbAnswer::Undecided { blocks: Some(blocks) }, None) => {
            format!("next: the same with --blocks {blocks}\n")
        }
        (AbAnswer::Undecided { .. }, None) => "next: the same with a longer --time\n".to_owned(),
        _ => "next: the same with --html FILE draws every run\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::text::WIDTH;

    #[test]
    fn every_line_fits_and_says_the_same_without_colour() {
        let made =
            [fixture::ab(), fixture::ab_interrupted(), fixture::ab_undecided(), fixture::ab_simulated()];
        for report in made {
            let text = ab(&report);
            for line in text.lines() {
                assert!(line.chars().count() <= WIDTH, "{line}");
            }
            assert!(!text.contains('\u{1b}') && !text.contains("NaN") && !text.contains("inf "), "{text}");
            assert!(text.lines().last().is_some_and(|line| line.starts_with("next: ")), "{text}");
            assert_eq!(text.contains("SIMULATED"), report.is_simulated());
            assert_eq!(text.contains("INTERRUPTED"), report.interrupted);
        }
    }

    #[test]
    fn the_screen_has_the_rows_the_answer_and_the_doubts_with_their_runs() {
        let text = ab(&fixture::ab());
        let row = text.lines().find(|line| line.starts_with("IOPS")).unwrap_or_default();
        assert!(row.contains("+4.7 %") && row.ends_with("better"), "{row}");
        assert!(text.contains("ANSWER     B is better: IOPS 4.7 % higher"), "{text}");
        assert!(text.contains("[1] in 3 of 24 runs of A and 5 of 24 of B."), "{text}");
        assert!(text.contains("run to run IOPS ±"), "{text}");
        let early = ab(&fixture::ab_interrupted());
        assert!(early.contains("4 blocks are too few") && !early.contains("other coins"), "{early}");
        let noisy = ab(&fixture::ab_undecided());
        assert!(
            noisy.contains("Undecided: the change of IOPS")
                && noisy.contains("next: the same with --time 168s"),
            "{noisy}"
        );
    }

    #[test]
    fn a_report_survives_json() {
        for report in [fixture::ab(), fixture::ab_interrupted(), fixture::ab_simulated()] {
            let json = serde_json::to_string(&report).expect("plain data");
            let back: AbReport = serde_json::from_str(&json).expect("what it wrote");
            assert!(ab(&back) == ab(&report) && back.blocks.len() == report.blocks.len());
        }
    }
}
