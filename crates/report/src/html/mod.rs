//! What does a person look at?
//!
//!   `Check` ────────► check ─┐              ┌─ verdict  steps  compared  time     what is said
//!   `OutcomeFile` ──► run ───┼─► document ◄─┤  stages  layers  ladder  costs         where it went
//!   `Stages`... ► attribution┘   (page)     │  figures ► plot ► svg  bars  flame    how it is drawn
//!                                           └─ doubts  inventory  table  raw      why to believe it
//!
//! One file that fetches nothing. Every figure is drawn here, so that it can be read without a script and on paper;
//! `plot.js` adds tooltips, zoom and other scales from the same numbers. All text from outside goes through `escape`.
//! Start reading at [`check`].

#![expect(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "a page is assembled once, from pieces that read like the markup they become"
)]

mod ab;
mod attribution;
mod bars;
mod calltree;
mod check;
mod compared;
mod costbars;
mod costdiff;
mod device;
mod digest;
mod doubts;
mod escape;
mod figures;
mod flame;
mod inside;
mod inventory;
mod iocost;
mod iolat;
mod ladder;
mod layers;
mod merge;
mod numbers;
mod page;
mod path_costs;
mod platform;
mod plot;
mod raw;
mod repro;
mod run;
mod scale;
mod sheet;
mod stages;
mod steps;
mod svg;
mod sweep;
mod table;
mod tiles;
mod time;
mod verdict;
mod what_if;

#[cfg(test)]
mod attribution_tests;
#[cfg(test)]
mod browser_tests;
#[cfg(test)]
mod inside_tests;
#[cfg(test)]
mod iocost_tests;
#[cfg(test)]
mod iolat_tests;
#[cfg(test)]
mod merge_tests;
#[cfg(test)]
mod tests;

pub(crate) use escape::json as json_text;
use iostack_model::{
    Check, CostDiff, DevicePicture, IoCost, Iolat, Ladder, Layers, MergeReport, OutcomeFile, Repro,
    ReproPlot, Stages, Sweep, WhatIf,
};
use iostack_stats::AbReport;

/// The page of `iostack check`: a complete HTML document.
pub fn check(check: &Check) -> String {
    check::page(check)
}

/// The page of `iostack run`: a complete HTML document.
pub fn outcomes(file: &OutcomeFile) -> String {
    run::page(file)
}

/// The page of `iostack iolat`: a complete HTML document.
pub fn iolat(iolat: &Iolat) -> String {
    iolat::page(iolat)
}

/// The page of `iostack ab`: a complete HTML document.
pub fn ab(report: &AbReport) -> String {
    ab::page(report)
}

/// The page of `iostack merge`: a complete HTML document.
pub fn merge(merge: &MergeReport) -> String {
    merge::page(merge)
}

/// The page of `iostack stages` and `iostack layers`: a complete HTML document of whatever there is.
pub fn attribution(
    title: &str,
    stages: Option<&Stages>,
    layers: Option<&Layers>,
    ladder: Option<&Ladder>,
) -> String {
    attribution::page(title, stages, layers, ladder)
}

/// The page of `iostack lab cost`: a complete HTML document of any number of cases, and of a difference where there is
/// one.
pub fn iocost_html(costs: &[IoCost], diff: Option<&CostDiff>) -> String {
    iocost::page(costs, diff)
}

/// The page of `iostack sim sweep`: a complete HTML document.
pub fn sweep(sweep: &Sweep) -> String {
    sweep::page(sweep)
}

/// The page of `iostack sim show`: a complete HTML document.
pub fn picture(picture: &DevicePicture) -> String {
    platform::page(picture)
}

/// The page of `iostack sim what-if`: a complete HTML document.
pub fn what_if(what_if: &WhatIf) -> String {
    what_if::page(what_if)
}

/// The page of `iostack repro`: a complete HTML document.
pub fn repro(repro: &Repro) -> String {
    repro::page(repro)
}

/// A figure of a reproduction as an SVG file of its own.
pub fn drawing(plot: &ReproPlot) -> String {
    repro::drawing(plot)
}
