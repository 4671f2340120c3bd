//! Which budgets hold, and what grew where one does not?

use iostack_model::answers::{BudgetVerdict, CostChange};

use super::words::change;
use crate::document::{Block, Column, Document, Section, Table};
use crate::text::format::count;

/// Document of `iostack lab cost --assert`.
pub fn budgets(verdicts: &[BudgetVerdict]) -> Document {
    let broken = verdicts.iter().filter(|verdict| !verdict.holds).count();
    let mut all = Document::new("iostack lab cost --assert");
    all.beside = vec!["instructions of one I/O".to_owned()];
    all.unjudged = true;
    all.answers = "BUDGETS";
    all.answer = match (verdicts.len(), broken) {
        (0, _) => "Nothing was held against a budget.".to_owned(),
        (count, 0) => format!("All {count} hold."),
        (count, broken) => format!("{broken} of {count} DO NOT HOLD."),
    };
    let mut table = Table::of(&["case", "counted", "allowed", "change"]);
    table.columns.push(Column::words("holds"));
    let mut paths = Vec::new();
    for verdict in verdicts {
        let holds = match (verdict.holds, verdict.exact) {
            (true, true) => "exactly",
            (true, false) => "yes",
            (false, _) => "NO",
        };
        let (allowed, counted) = (verdict.allowed, verdict.counted);
        let cells = [&count(counted), &count(allowed), &change(allowed, counted), holds];
        table.row(std::iter::once(verdict.name.as_str()).chain(cells));
        for one in &verdict.grown {
            table.row([grown(one), count(one.after), count(one.before), change(one.before, one.after)]);
        }
        paths.extend(verdict.path.iter().map(|path| (&verdict.name, path)));
    }
    if !verdicts.is_empty() {
        let mut section = Section::new("budgets", "Budgets", "What each I/O may cost");
        section.table(table);
        for (name, path) in paths {
            section.put(Block::Note(format!("{name}: the function that grew most is called by {path}")));
        }
        all.sections.push(section);
    }
    all.next = Some(if broken > 0 {
        ("iostack lab cost scsi_ram --diff . source=DIR".to_owned(), "what changed")
    } else {
        ("iostack lab cost scsi_ram".to_owned(), "functions of one case")
    });
    all
}

/// A layer or a function that grew beyond the file's own figure.
fn grown(one: &CostChange) -> String {
    match one.layer.as_str() {
        "" => format!("  layer {}", one.name),
        // A module's function says by its name where it belongs.
        _ if one.name.contains(':') => format!("    {}", one.name),
        layer => format!("    {} ({layer})", one.name),
    }
}
