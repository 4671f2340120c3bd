//! What may be measured here, and what would lift it?

use iostack_model::{Ladder, Rung, RungState};

use super::escape;
use super::table::pairs;

/// All rungs with reasons and commands, and what else was found.
pub(super) fn body(ladder: &Ladder) -> String {
    if ladder.rungs.is_empty() {
        return "<p class=\"note\">The ladder was not probed.</p>".to_owned();
    }
    let rungs: String = ladder.rungs.iter().rev().map(rung).collect();
    let facts: Vec<(String, String)> =
        ladder.facts.iter().map(|(name, found)| (escape::text(name), escape::text(found))).collect();
    let facts: Vec<(&str, String)> =
        facts.iter().map(|(name, found)| (name.as_str(), found.clone())).collect();
    let facts =
        if facts.is_empty() { String::new() } else { format!("<h3>What was found</h3>{}", pairs(&facts)) };
    format!("<ol class=\"ladder\">{rungs}</ol>{facts}")
}

fn rung(state: &RungState) -> String {
    let (class, word) = if state.reached { ("good", "reached") } else { ("held", "not reached") };
    format!(
        "<li class=\"{class}\"><p><b>{number} · {name}</b> <span class=\"limit {class}\">{word}</span></p>\
         <p>{gives}</p><p><small>{reason}</small></p>{command}</li>",
        number = state.rung.number(),
        name = state.rung.name(),
        gives = state.rung.gives(),
        reason = escape::text(&state.reason),
        command = command(state),
    )
}

fn command(state: &RungState) -> String {
    state.remedy.as_ref().map_or(String::new(), |command| format!("<code>{}</code>", escape::text(command)))
}

/// One line for the foot of a report: the rung, why not the next, and the command that lifts it.
pub(super) fn line(ladder: &Ladder) -> String {
    let reached = ladder.reached().map_or("No rung".to_owned(), |state| {
        format!("Rung {} of {} ({})", state.rung.number(), Rung::Hardware.number(), state.rung.name())
    });
    match ladder.missing() {
        _ if ladder.rungs.is_empty() => String::new(),
        None => format!("{reached}, the highest."),
        Some(missing) => format!(
            "{reached}; rung {} ({}: {}) is not reached: {}{}",
            missing.rung.number(),
            missing.rung.name(),
            missing.rung.gives(),
            escape::text(&missing.reason),
            command(missing)
        ),
    }
}
