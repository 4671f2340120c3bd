//! What does a person look at?
//!
//!   `Check` ────────► check ─┐              ┌─ verdict  steps  compared  time     what is said
//!   `OutcomeFile` ──► run ───┴─► document ◄─┤  figures ► plot ► svg     bars      how it is drawn
//!                     (page)                └─ doubts  inventory  table  raw      why to believe it
//!
//! One file that fetches nothing. Every figure is drawn here, so that it can be read without a script and on paper;
//! `plot.js` adds tooltips, zoom and other scales from the same numbers. All text from outside goes through `escape`.
//! Start reading at [`check`].

#![expect(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "a page is assembled once, from pieces that read like the markup they become"
)]

mod bars;
mod check;
mod compared;
mod digest;
mod doubts;
mod escape;
mod figures;
mod inventory;
mod numbers;
mod page;
mod plot;
mod raw;
mod run;
mod scale;
mod sheet;
mod steps;
mod svg;
mod table;
mod time;
mod verdict;

#[cfg(test)]
mod tests;

use iostack_model::{Check, OutcomeFile};

/// The page of `iostack check`: a complete HTML document.
pub fn check(check: &Check) -> String {
    check::page(check)
}

/// The page of `iostack run`: a complete HTML document.
pub fn outcomes(file: &OutcomeFile) -> String {
    run::page(file)
}
