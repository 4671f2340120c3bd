//! What may be measured here, why not more, and which command changes that?

use iostack_model::{Ladder, Rung, RungState};

use crate::document::{Block, Document, Section, Table};
use crate::lists::Joined;

/// Document of `iostack doctor`.
pub fn ladder(ladder: &Ladder) -> Document {
    let mut all = Document::new("iostack doctor");
    all.unjudged = true;
    (all.answers, all.answer) = ("LADDER", summary(ladder));
    all.sections.push(section(ladder));
    all
}

/// All rungs with reasons and commands, and what else was found.
pub(crate) fn section(ladder: &Ladder) -> Section {
    let mut section = Section::new("ladder", "Ladder", "What may be measured here");
    let found = |state: &RungState| {
        let word = if state.reached { "found" } else { "but" };
        (!state.reason.is_empty()).then(|| format!("{word}: {}", state.reason)).into_iter().collect()
    };
    let table = Table::over(&ladder.rungs)
        .words("rung", |state| format!("{} {}", state.rung.number(), state.rung.name()))
        .words("reached", |state| if state.reached { "yes" } else { "NO" })
        .words("what it gives", |state| state.rung.gives())
        .below(found);
    let mut table = table.done();
    for (row, state) in table.rows.iter_mut().zip(&ladder.rungs) {
        row.command.clone_from(&state.remedy);
    }
    section.table(table);
    if !ladder.facts.is_empty() {
        section.screen(Block::Gap).page(Block::Heading("What was found".to_owned()));
    }
    for (name, found) in &ladder.facts {
        section.fact(name, found);
    }
    section
}

fn summary(ladder: &Ladder) -> String {
    if ladder.rungs.is_empty() {
        return "not probed".to_owned();
    }
    let reached = reached(ladder);
    match ladder.missing() {
        None => format!("{reached}: everything that iostack can measure, it can measure here"),
        Some(missing) => {
            format!("{reached}; rung {} ({}) is not reached", missing.rung.number(), missing.rung.name())
        }
    }
}

/// The highest of the rungs reached without a gap, and those beyond one.
fn reached(ladder: &Ladder) -> String {
    let last = Rung::Hardware.number();
    let number =
        |state: &RungState| format!("rung {} of {last} ({})", state.rung.number(), state.rung.name());
    let low = ladder.reached().map_or_else(|| "no rung".to_owned(), number);
    let beyond = ladder.rungs.iter().skip_while(|state| state.reached).filter(|state| state.reached);
    let beyond = beyond.map(|state| format!("{} ({})", state.rung.number(), state.rung.name())).joined(", ");
    if beyond.is_empty() { low } else { format!("{low}, and above a gap {beyond}") }
}

/// One line at the foot of a report: the rung, why not the next, and the command for it.
pub(crate) fn line(ladder: &Ladder, section: &mut Section) {
    if ladder.rungs.is_empty() {
        return;
    }
    let Some(missing) = ladder.missing() else {
        section.fact("ladder", format!("{}, the highest", reached(ladder)));
        return;
    };
    let (number, name, gives) = (missing.rung.number(), missing.rung.name(), missing.rung.gives());
    let reason = missing.reason.trim_end_matches('.');
    let reason = if reason.is_empty() { "no reason given" } else { reason };
    let reached = reached(ladder);
    section.fact("ladder", format!("{reached}; rung {number} ({name}: {gives}) is not reached: {reason}"));
    if let Some(command) = &missing.remedy {
        section.put(Block::Command(command.clone()));
    }
}
