//! What may be measured here, why not more, and which command changes that?

use iostack_model::{Ladder, Rung, RungState};

use crate::document::{Block, Column, Document, Section, Table};

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
    let mut table =
        Table::new(vec![Column::words("rung"), Column::words("reached"), Column::words("what it gives")]);
    for state in &ladder.rungs {
        let name = format!("{} {}", state.rung.number(), state.rung.name());
        let row = table.row([name.as_str(), if state.reached { "yes" } else { "NO" }, state.rung.gives()]);
        if !state.reason.is_empty() {
            let word = if state.reached { "found" } else { "but" };
            row.below.push(format!("{word}: {}", state.reason));
        }
        row.command.clone_from(&state.remedy);
    }
    section.put(Block::Table(table));
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
    let beyond: Vec<String> =
        beyond.map(|state| format!("{} ({})", state.rung.number(), state.rung.name())).collect();
    if beyond.is_empty() { low } else { format!("{low}, and above a gap {}", beyond.join(", ")) }
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
