//! What to know of the I/Os that were not the modal one.

use std::collections::BTreeMap;

use iostack_model::answers::CostMode;

use super::Names;
use super::atlas::{Atlas, FunctionId};
use super::charge;
use super::modal::{Modal, total};
use crate::counts::{Io, Round, Vector};

/// Modes that are explained.
const EXPLAINED: usize = 3;

/// Functions named in one note.
const NAMED: usize = 4;

/// Share of I/Os below which the mode may be another at the next boot.
const COMMON: f64 = 0.4;

/// Is the mode no more than the largest of many?
pub(super) fn scattered(common: u64, all: u64) -> Option<String> {
    ((common as f64) < all as f64 * COMMON).then(|| {
        format!(
            "Only {common} of {all} I/Os took the modal count: it may be another at the next boot. Look at several with \
             --boots 5, and do not hold anything to it."
        )
    })
}

/// Tells that not all of the modal I/Os ran the very same instructions.
pub(super) fn identical<'a>(ios: impl Iterator<Item = &'a Io>, modal: &Modal<'_>) -> Option<String> {
    let (mut same, mut identical) = (0_u64, 0_u64);
    for io in ios.filter(|io| io.instructions == modal.instructions) {
        same += 1;
        identical += u64::from(io.hash == modal.vector.hash);
    }
    (identical < same).then(|| {
        format!(
            "Of {same} I/Os with {} instructions, {identical} ran exactly the same ones; the table shows theirs.",
            modal.instructions
        )
    })
}

/// Tells the differences of the next commonest modes from the first.
pub(super) fn modes(
    rounds: &[Round],
    modes: &[CostMode],
    modal: &Modal<'_>,
    names: &dyn Names,
) -> Vec<String> {
    let mut atlas = Atlas::new(names);
    let usual = charge::count(modal.vector, |pc| atlas.at(pc));
    let others =
        modes.iter().skip(1).filter_map(|mode| Some((mode, vector_of(rounds, modal, mode.instructions)?)));
    others
        .take(EXPLAINED)
        .map(|(mode, vector)| {
            let counts = charge::count(vector, |pc| atlas.at(pc));
            let mut changes = changes(&usual, &counts);
            changes.sort_by_key(|&(_, by)| std::cmp::Reverse(by.unsigned_abs()));
            let changes: Vec<(&str, i64)> =
                changes.into_iter().map(|(function, by)| (atlas.name(function), by)).collect();
            told(mode, modal.instructions, &changes)
        })
        .collect()
}

/// A vector of so many instructions, of the modal one's boot if it is there: addresses differ between boots.
fn vector_of<'a>(rounds: &'a [Round], modal: &Modal<'a>, instructions: u64) -> Option<&'a Vector> {
    let mut vectors = modal.round.vectors.iter().chain(rounds.iter().flat_map(|round| &round.vectors));
    vectors.find(|vector| total(vector) == instructions)
}

/// Functions that ran more or fewer instructions.
fn changes(before: &BTreeMap<FunctionId, u64>, after: &BTreeMap<FunctionId, u64>) -> Vec<(FunctionId, i64)> {
    let mut functions: Vec<FunctionId> = before.keys().chain(after.keys()).copied().collect();
    functions.sort();
    functions.dedup();
    let count = |counts: &BTreeMap<FunctionId, u64>, function| counts.get(&function).copied().unwrap_or(0);
    let change = |function| {
        let by = i128::from(count(after, function)) - i128::from(count(before, function));
        (function, i64::try_from(by).expect("an I/O has fewer than 2^63 instructions"))
    };
    functions.into_iter().map(change).filter(|&(_, by)| by != 0).collect()
}

/// One mode, in words.
fn told(mode: &CostMode, usual: u64, changes: &[(&str, i64)]) -> String {
    let is_more = mode.instructions > usual;
    let by = mode.instructions.abs_diff(usual);
    let ios = match mode.ios {
        1 => "1 I/O".to_owned(),
        ios => format!("{ios} I/Os"),
    };
    let head = format!("{ios} took {by} {}", if is_more { "more" } else { "fewer" });
    let is_tag = |name: &str| name.contains("sbitmap") || name.starts_with("blk_mq_get_tag");
    if !changes.is_empty() && changes.iter().all(|&(name, _)| is_tag(name)) {
        return format!("{head} in {}: the tag allocator's random hint.", changes[0].0);
    }
    let named: Vec<String> = changes.iter().take(NAMED).map(|(name, by)| format!("{name} {by:+}")).collect();
    let rest = match changes.len().saturating_sub(NAMED) {
        0 => String::new(),
        1 => " and one more function".to_owned(),
        rest => format!(" and {rest} more functions"),
    };
    format!("{head}{}: {}{rest}.", reason(changes), named.join(", "))
}

/// Reason of a mode, by the functions that differ.
fn reason(changes: &[(&str, i64)]) -> &'static str {
    let by = |wanted: &str| changes.iter().find(|(name, _)| *name == wanted).map_or(0, |&(_, by)| by);
    let helps_tags = |name: &str| ["sbitmap", "_find_", "_raw_spin_"].iter().any(|part| name.contains(part));
    let ticks = ["tick_sched_handle", "tick_sched_timer", "tick_nohz_handler", "tick_nohz_highres_handler"];
    if ticks.iter().any(|name| by(name) > 0) {
        " for a timer tick"
    } else if by("__schedule") < 0 {
        " with fewer task switches (the completion came before the task slept)"
    } else if by("__schedule") > 0 {
        " with more task switches (the completion came after the task slept)"
    } else if changes.iter().all(|&(name, _)| helps_tags(name))
        && changes.iter().any(|(name, _)| name.contains("sbitmap"))
    {
        " in the tag allocator"
    } else {
        ""
    }
}
