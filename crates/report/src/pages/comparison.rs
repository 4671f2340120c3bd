//! How do two outcomes differ?

use iostack_model::Interval;
use iostack_stats::{Comparison, ComparisonRow};

use super::ab::quantity;
use crate::document::{Block, Cell, Document, Section, Table};
use crate::text::format::{change, or_nothing};

/// The figures, the conditions that differ, and the answer. The names stand for the two outcomes of a job: what the user
/// typed for them.
pub fn comparison(report: &Comparison, job: &str, [a_name, b_name]: [&str; 2]) -> Document {
    let mut all = Document::new("iostack compare");
    all.beside = vec![job.to_owned()];
    // The doubts of each stand in its own report.
    all.unjudged = true;
    (all.answers, all.answer) = ("VERDICT", report.verdict.clone());
    if let Some(note) = report.note {
        all.because.words(note);
    }
    for (side, name, by) in [("A", a_name, &report.simulated[0]), ("B", b_name, &report.simulated[1])] {
        let by = by.as_ref().map_or_else(String::new, |by| format!(" (SIMULATED: {by})"));
        all.head.fact(side, format!("{name}{by}"));
    }
    all.sections.extend([figures(report), conditions(report)]);
    all.next = Some(match (report.conditions.is_empty(), report.note) {
        (false, _) => {
            ("make the conditions alike and run again, or name them beside the figures".to_owned(), "")
        }
        (true, Some(_)) => ("iostack ab --help".to_owned(), "both in turns, until it is sure"),
        (true, None) => (format!("iostack report {b_name}"), "the second run alone"),
    });
    all
}

fn figures(report: &Comparison) -> Section {
    let mut section = Section::new("figures", "Figures", "Every figure of both");
    // No column lets a simulated figure pass for a measured one.
    let head = |side: &str, by: &Option<String>| {
        if by.is_some() { format!("{side}, SIMULATED") } else { side.to_owned() }
    };
    let value = |row: &ComparisonRow, value: Interval| Cell::interval(quantity(row.unit), value);
    let is_sure = |row: &ComparisonRow| row.a.samples >= 3 && row.b.samples >= 3 && row.confidence > 0.0;
    let table = Table::over(&report.rows)
        .words("figure", |row| &row.name)
        .number(head("A", &report.simulated[0]), |row| value(row, row.a))
        .number(head("B", &report.simulated[1]), |row| value(row, row.b))
        .number("change", |row| change(row.change_percent))
        .words("B was", |row| row.verdict.name())
        .words("sure", |row| if is_sure(row) { confidence(row.confidence) } else { String::new() });
    section.table(table.done());
    section
}

/// `99.8 %`; never 100 %, which no measurement gives.
fn confidence(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        above if above > 99.9 => ">99.9 %".to_owned(),
        near if near >= 99.0 => format!("{near:.1} %"),
        other => format!("{other:.0} %"),
    }
}

fn conditions(report: &Comparison) -> Section {
    let mut section = Section::new("conditions", "Conditions", "Conditions that differ");
    if report.conditions.is_empty() {
        return section;
    }
    section.screen(Block::Heading("CONDITIONS THAT DIFFER".to_owned()));
    let differs = report.conditions.iter();
    let differs =
        differs.map(|one| format!("{}: {} in A, {} in B", one.name, or_nothing(&one.a), or_nothing(&one.b)));
    section.list(differs.collect());
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_confidence_is_rounded_to_certainty() {
        for (share, said) in [
            (0.5, "50 %"),
            (0.984, "98 %"),
            (0.989_99, "99 %"),
            (0.995, "99.5 %"),
            (0.999, "99.9 %"),
            (0.999_2, ">99.9 %"),
            (1.0, ">99.9 %"),
        ] {
            assert_eq!(confidence(share), said, "{share}");
        }
    }
}
