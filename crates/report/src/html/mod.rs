//! What can only a page draw?
//!
//!   figures  time ► plot ► svg    curves, with `plot.js` for tooltips and zoom
//!   flame  line  heat             stacks of calls, the mean I/O as a line, latency over time in shades
//!   inventory  tiles              what was measured on, the figures to remember
//!   page  raw  digest  escape     one file that fetches nothing, and what it holds for its reader
//!
//! Every figure is drawn here, so that it can be read without a script and on paper. All text from outside goes through
//! [`escape`]. Documents are put together in [`crate::document`].

#![expect(
    clippy::format_push_string,
    reason = "a page is assembled once, from pieces that read like the markup they become"
)]

pub(crate) mod colours;
mod curves;
mod digest;
mod drawing;
pub(crate) mod escape;
pub(crate) mod figures;
pub(crate) mod flame;
pub(crate) mod heat;
pub(crate) mod inventory;
pub(crate) mod line;
pub(crate) mod numbers;
pub(crate) mod page;
pub(crate) mod plot;
pub(crate) mod raw;
pub(crate) mod scale;
mod svg;
pub(crate) mod tiles;
pub(crate) mod time;

#[cfg(test)]
mod browser_tests;

/// A figure of a reproduction as an SVG file of its own.
pub fn drawing(plot: &iostack_model::answers::ReproPlot) -> String {
    drawing::drawing(&crate::pages::figure(plot))
}
