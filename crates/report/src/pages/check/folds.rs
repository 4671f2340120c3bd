//! Folds on a check's page: below its first screens a reader opens what these made them ask, by what a fold says is in it.

use iostack_model::Way;

use crate::document::{Block, Section, To};

/// Sections that stay open: figures that people compare.
const OPEN: [&str; 2] = ["summary", "against"];
/// Letters that say what is behind a fold.
const MOST: usize = 130;
/// Rows of a table that are named.
const ROWS: usize = 4;

/// Folds all sections but those.
pub(super) fn fold(sections: &mut [Section]) {
    for section in sections.iter_mut().filter(|section| !OPEN.contains(&section.id.as_str())) {
        section.fold = Some(contents(section));
    }
}

/// Folds the way that no device was seen to answer, and how far to trust it, of a trace or a profile.
pub(super) fn fold_details(section: &mut Section) {
    let unmatched = section.blocks.iter().position(
        |(_, block)| matches!(block, Block::Table(table) if table.columns[0].head == Way::Unmatched.name()),
    );
    if let Some(table) = unmatched.filter(|&at| at > 0) {
        // The line of its stages stands before its table.
        let blocks = section.blocks.drain(table - 1..=table).collect();
        let inner = Section { blocks, ..Section::default() };
        section.blocks.insert(table - 1, (To::Page, Block::Fold("The unmatched".to_owned(), inner)));
    }
    let trust =
        |(_, block): &(To, Block)| matches!(block, Block::Heading(words) if words.starts_with("How far to"));
    if let Some(at) = section.blocks.iter().position(trust) {
        let mut blocks = section.blocks.split_off(at);
        if let (_, Block::Heading(summary)) = blocks.remove(0) {
            section.page(Block::Fold(summary, Section { blocks, ..Section::default() }));
        }
    }
}

/// Headings of plots, rows of tables, names of facts.
fn contents(section: &Section) -> String {
    let mut told: Vec<String> = Vec::new();
    for block in section.blocks_for(To::Page) {
        match block {
            Block::Fact(label, _) | Block::Doubted(label, ..) => told.push(label.clone()),
            Block::Plots(plots) => told.extend(plots.iter().map(|drawn| drawn.plot.heading.clone())),
            Block::Heat(_, heading, ..) | Block::Heading(heading) => told.push(heading.clone()),
            Block::Fold(summary, _) => told.push(summary.clone()),
            Block::Note(_) => told.push("a note".to_owned()),
            Block::Table(table) => {
                let rows = table.rows.iter().filter(|row| !row.group).filter_map(|row| row.cells.first());
                told.extend(rows.clone().take(ROWS).map(|cell| cell.text.clone()));
                let more = rows.count().saturating_sub(ROWS);
                told.extend((more > 0).then(|| format!("{more} more rows")));
            }
            _ => {}
        }
    }
    told.dedup();
    crate::text::format::cut(&told.join(" \u{b7} "), MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Table;

    #[test]
    fn the_unmatched_and_how_far_to_trust_it_are_folded_with_what_belongs_to_them() {
        let mut section = Section::default();
        for way in [Way::Device, Way::Unmatched] {
            section.page(Block::Figure("", String::new(), String::new()));
            section.put(Block::Table(Table::of(&[way.name(), "mean"])));
        }
        section.words("between").page(Block::Heading("How far to trust it".to_owned()));
        section.fact("sum", "exact").list(vec!["a note".to_owned()]);
        fold_details(&mut section);
        let kinds = section.blocks.iter().map(|(_, block)| match block {
            Block::Fold(summary, inner) => (summary.as_str(), inner.blocks.len()),
            _ => ("", 0),
        });
        let wanted = [("", 0), ("", 0), ("The unmatched", 2), ("", 0), ("How far to trust it", 2)];
        assert_eq!(kinds.collect::<Vec<_>>(), wanted);
        assert_eq!(contents(&section), "The unmatched \u{b7} How far to trust it");
    }
}
