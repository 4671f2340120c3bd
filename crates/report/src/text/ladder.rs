//! What may be measured here, why not more, and which command lifts it.

use iostack_model::{Ladder, Rung, RungState};

use super::format::{clean, cut, paragraph};

/// The last rung's number: what a rung is counted of.
const LAST: u8 = Rung::Hardware.number();

/// The whole ladder of `iostack doctor`, and what else was found.
pub fn ladder(ladder: &Ladder) -> String {
    let mut text = paragraph("LADDER     ", &summary(ladder)) + "\n";
    for state in &ladder.rungs {
        text += &rung(state);
    }
    if !ladder.facts.is_empty() {
        text += "\nFACTS\n";
    }
    let widest = ladder.facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(26);
    for (name, found) in &ladder.facts {
        text += &paragraph(&format!("  {:<widest$}  ", cut(name, widest)), found);
    }
    clean(&text)
}

/// How far it reaches, in one sentence.
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

/// `rung 3 of 4 (tracing)`, and what is reached above a gap.
fn reached(ladder: &Ladder) -> String {
    let number =
        |state: &RungState| format!("rung {} of {LAST} ({})", state.rung.number(), state.rung.name());
    let low = ladder.reached().map_or_else(|| "no rung".to_owned(), number);
    let beyond = ladder.rungs.iter().skip_while(|state| state.reached).filter(|state| state.reached);
    let beyond: Vec<String> =
        beyond.map(|state| format!("{} ({})", state.rung.number(), state.rung.name())).collect();
    if beyond.is_empty() { low } else { format!("{low}, and above a gap {}", beyond.join(", ")) }
}

fn rung(state: &RungState) -> String {
    let mark = if state.reached { "yes" } else { "NO" };
    let head = format!("{} {:<13}{mark:<5}", state.rung.number(), state.rung.name());
    let mut text = paragraph(&head, state.rung.gives());
    let margin = " ".repeat(head.chars().count());
    if !state.reason.is_empty() {
        let word = if state.reached { "found: " } else { "but: " };
        text += &paragraph(&margin, &format!("{word}{}", state.reason));
    }
    text + &state.remedy.as_ref().map_or_else(String::new, |command| format!("{margin}$ {command}\n"))
}

/// `Rung 3 of 4 (tracing); rung 4 (hardware) needs ...` and the command, for the foot of a report.
pub(super) fn rung_line(ladder: &Ladder) -> String {
    if ladder.rungs.is_empty() {
        return String::new();
    }
    let margin = "ladder     ";
    let Some(missing) = ladder.missing() else {
        return paragraph(margin, &format!("{}, the highest", reached(ladder)));
    };
    let (number, name, gives) = (missing.rung.number(), missing.rung.name(), missing.rung.gives());
    let reason =
        if missing.reason.is_empty() { "no reason given" } else { missing.reason.trim_end_matches('.') };
    let text = format!("{}; rung {number} ({name}: {gives}) is not reached: {reason}", reached(ladder));
    let command = missing.remedy.as_ref();
    paragraph(margin, &text)
        + &command.map_or_else(String::new, |command| format!("           $ {command}\n"))
}
