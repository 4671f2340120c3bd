//! Does the device do what its data sheet says?

use iostack_model::answers::{Against, AgainstFigure};
use iostack_model::{Interval, Nanos};

use crate::document::{Block, Cell, Column, Document, Section, Table};
use crate::html::numbers::Quantity;
use crate::text::format::{plus_minus, significant};

/// Rated, measured, ratio and verdict of each figure.
pub(super) fn section(against: &Against, all: &mut Document) {
    let mut section = Section::new("against", "Data sheet", "Does it do what it says?");
    section.screen(Block::Heading("AGAINST ITS DATA SHEET".to_owned())).words(against.sheet.clone());
    if let Some(note) = &against.note {
        section.words(note.clone());
    }
    let heads = ["rated", "measured", "ratio"].map(Column::number);
    let columns = [Column::words("what the sheet rates")].into_iter().chain(heads);
    let mut table = Table::new(columns.chain([Column::words("kept")]).collect());
    for figure in &against.figures {
        let row = table.row(row(figure));
        let place = if figure.measured_at.is_empty() {
            None
        } else {
            Some(format!("measured at {}", figure.measured_at))
        };
        row.below =
            place.into_iter().chain(figure.notes.iter().cloned()).chain([figure.source.clone()]).collect();
    }
    "Within 5 % of the rated figure is as rated. What was measured under other conditions than rated is not called \
     missed."
        .clone_into(&mut table.caption);
    section.put(Block::Table(table));
    all.sections.push(section);
}

fn row(figure: &AgainstFigure) -> Vec<Cell> {
    let say = |value: f64| match figure.figure.as_str() {
        "iops" => format!("{} IOPS", Quantity::Count.say(value)),
        "bandwidth" => Quantity::Bandwidth.say(value),
        _ => Nanos(value.round() as u64).to_string(),
    };
    let small = |value: Interval| if value.samples >= 3 { plus_minus(value) } else { String::new() };
    let dash = || Cell::from("-");
    let measured = figure.measured.map_or_else(dash, |value| Cell::from(say(value.mean)).small(small(value)));
    let ratio = figure.ratio.map_or_else(dash, |value| significant(value.mean, 3).into());
    vec![figure.what.clone().into(), say(figure.rated).into(), measured, ratio, figure.verdict.name().into()]
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
