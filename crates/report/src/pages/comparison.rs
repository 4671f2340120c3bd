//! How do two outcomes differ?

use iostack_model::Interval;
use iostack_stats::{Comparison, ComparisonRow};

use super::ab::quantity;
use crate::document::{Block, Cell, Column, Document, Section, Table};
use crate::text::format::change;

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
        Column::number(if by.is_some() { format!("{side}, SIMULATED") } else { side.to_owned() })
    };
    let mut table = Table::new(vec![
        Column::words("figure"),
        head("A", &report.simulated[0]),
        head("B", &report.simulated[1]),
        Column::number("change"),
        Column::words("B was"),
        Column::words("sure"),
    ]);
    for row in &report.rows {
        table.row(cells(row));
    }
    section.put(Block::Table(table));
    section
}

fn cells(row: &ComparisonRow) -> [Cell; 6] {
    let known = row.a.samples >= 3 && row.b.samples >= 3;
    let sure = if known && row.confidence > 0.0 { confidence(row.confidence) } else { String::new() };
    let value = |value: Interval| Cell::interval(quantity(row.unit), value);
    [
        Cell::from(&row.name),
        value(row.a),
        value(row.b),
        Cell::from(change(row.change_percent)),
        Cell::from(row.verdict.name()),
        Cell::from(sure),
    ]
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
    let said =
        |condition: &str| if condition.is_empty() { "nothing".to_owned() } else { condition.to_owned() };
    let differs = report
        .conditions
        .iter()
        .map(|one| format!("{}: {} in A, {} in B", one.name, said(&one.a), said(&one.b)));
    section.list(differs.collect());
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tests::{fits, sound};
    use crate::fixture;

    fn compared(b: usize) -> Comparison {
        let (outcomes, machine) = (fixture::outcome_file().outcomes, fixture::machine());
        iostack_stats::compare(&outcomes[0], &outcomes[b], (&machine, &machine), iostack_doubt::says)
    }

    #[test]
    fn two_different_runs_are_told_apart_with_their_conditions() {
        let told = comparison(&compared(1), "reads", ["before.json", "after.json"]);
        fits(&told.text());
        sound(&told.html());
        for said in [told.text(), told.html()] {
            for words in [
                "before.json",
                "after.json",
                "367.1k",
                "99.96k",
                "worse",
                "engine: io_uring in A, libaio in B",
            ] {
                assert!(said.contains(words), "{words} is not in\n{said}");
            }
        }
        let told = comparison(&compared(0), "reads", ["a", "a"]).text();
        assert!(
            !told.contains("CONDITIONS") && told.contains("same") && told.contains("VERDICT    "),
            "{told}"
        );
    }

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

    #[test]
    fn simulated_columns_are_marked() {
        let (simulated, measured) = (fixture::simulated_file(), fixture::outcome_file());
        let compare = |a, b| {
            let machines = (&simulated.machine, &measured.machine);
            iostack_stats::compare(a, b, machines, iostack_doubt::says)
        };
        let told = compare(&simulated.outcomes[1], &measured.outcomes[0]);
        let told = comparison(&told, "<i>", ["sim.json", &"b".repeat(60)]);
        fits(&told.text());
        sound(&told.html());
        for said in [told.text(), told.html()] {
            assert!(said.contains("sim.json (SIMULATED: fixture, filled, seed 7)"), "{said}");
            assert!(said.contains("A, SIMULATED") && !said.contains("B, SIMULATED"), "{said}");
            assert!(
                said.contains("origin of the figures: simulated (fixture) in A, measured in B"),
                "{said}"
            );
            assert!(!said.contains("kernel:") && !said.contains("CPU per I/O"), "{said}");
        }
        assert!(!told.html().contains("<i>"));
        let same =
            comparison(&compare(&simulated.outcomes[0], &simulated.outcomes[0]), "", ["a", "b"]).text();
        assert!(same.contains("A, SIMULATED      B, SIMULATED") && !same.contains("CONDITIONS"), "{same}");
    }
}
