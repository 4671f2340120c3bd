//! Does the device do what its data sheet says?

use iostack_model::answers::{Against, AgainstFigure};
use iostack_model::{Interval, Nanos};

use crate::document::{Block, Cell, Document, Section, Table};
use crate::html::numbers::Quantity;
use crate::text::format::{or_dash, plus_minus, significant};

/// Rated, measured, ratio and verdict of each figure.
pub(super) fn section(against: &Against, all: &mut Document) {
    let mut section = Section::new("against", "Data sheet", "Does it do what it says?");
    section.screen(Block::Heading("AGAINST ITS DATA SHEET".to_owned())).words(against.sheet.clone());
    if let Some(note) = &against.note {
        section.words(note.clone());
    }
    let table = Table::over(&against.figures)
        .words("what the sheet rates", |figure| &figure.what)
        .number("rated", |figure| say(figure, figure.rated))
        .number("measured", measured)
        .number("ratio", |figure| or_dash(figure.ratio, |value| significant(value.mean, 3)))
        .words("kept", |figure| figure.verdict.name())
        .below(below);
    let mut table = table.done();
    "Within 5 % of the rated figure is as rated. What was measured under other conditions than rated is not called \
     missed."
        .clone_into(&mut table.caption);
    section.table(table);
    all.sections.push(section);
}

fn say(figure: &AgainstFigure, value: f64) -> String {
    match figure.figure.as_str() {
        "iops" => format!("{} IOPS", Quantity::Count.say(value)),
        "bandwidth" => Quantity::Bandwidth.say(value),
        _ => Nanos(value.round() as u64).to_string(),
    }
}

fn measured(figure: &AgainstFigure) -> Cell {
    let around = |value: Interval| if value.samples >= 3 { plus_minus(value) } else { String::new() };
    or_dash(figure.measured, |value| Cell::from(say(figure, value.mean)).small(around(value)))
}

fn below(figure: &AgainstFigure) -> Vec<String> {
    let at = &figure.measured_at;
    let place = (!at.is_empty()).then(|| format!("measured at {at}"));
    place.into_iter().chain(figure.notes.iter().cloned()).chain([figure.source.clone()]).collect()
}

#[cfg(test)]
mod tests {
    use iostack_model::answers::Check;

    use crate::fixture;

    #[test]
    fn every_rated_figure_stands_beside_what_was_measured_or_says_that_nothing_was() {
        let told = super::super::check(&Check { against: Some(fixture::against()), ..fixture::check() });
        let rows = [
            "4 KiB random reads, depth 32  200.0k IOPS  212.0k IOPS ±1.0%   1.06  yes",
            "4 KiB random writes, depth 32  100.0k IOPS  60.00k IOPS ±1.0%  0.600  no",
        ];
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let screen = told.text();
        for row in rows {
            assert!(words(&screen).contains(&words(row)), "{row}: {screen}");
        }
        assert!(words(&screen).contains("128 KiB sequential writes 3000 MB/s - - not measured"), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
        assert!(told.html().contains("<h2>Does it do what it says?</h2>"), "no section of the page");
        assert!(
            told.markdown().contains("| 4 KiB random reads, depth 32 | 200.0k IOPS |"),
            "{}",
            told.markdown()
        );
    }
}
