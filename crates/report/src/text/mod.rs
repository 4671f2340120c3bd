//! What does a terminal show?
//!
//!   check       one screen: conditions, figures, verdict, doubts, next command
//!   outcome     one run: the same for each job
//!   comparison  two runs side by side, with what differs in their conditions
//!   ab          two in turns: each figure of both, and which is better
//!   live        one line while a job runs
//!   stages      where the latency went, by stage; `live_stages` while it is traced
//!   layers      where the clocks went, by kernel layer and kind of work
//!   ladder      what may be measured here, why not more, and what lifts it
//!   inside      what a simulation saw in the device, and why it is as fast as it is
//!   device      a simulated device: a drawing, its numbers and why to believe them
//!   iolat       the tests of the 2008 tool: rates, layers, and what changed against a reference
//!   merge       whether temporal merging pays: c + b x, policies over callers, groups, coroutines
//!   repro       published claims and what came of them, with plots of letters
//!   sweep       many simulated runs, one line each
//!   what-if     a simulated target before and after a change, and where its limit went
//!   platform    the path through a simulated machine: what each part costs and how full it is
//!   costs       what single parts of the path cost, beside published figures
//!   iocost      the exact cost of one I/O; many cases in one table, two laid side by side, budgets, its calls
//!
//! Plain text of at most [`WIDTH`] columns that means the same without colour. Only a path or a command that must
//! stay in one piece to be copied may be longer. Start reading at `screen`.

#![expect(
    clippy::format_push_string,
    reason = "a screen is made once; `write!` would return an error that cannot happen"
)]

mod ab;
mod attribution;
mod calltree;
mod chart;
mod comparison;
mod costdiff;
mod costs;
mod device;
pub(crate) mod format;
mod glyphs;
mod inside;
mod iocost;
mod iolat;
mod ladder;
mod layers;
mod live;
mod merge;
mod notes;
mod outcome;
mod path_costs;
mod platform;
mod repro;
mod screen;
mod stages;
mod steps;
mod sweep;
mod tables;
mod what_if;

pub use ab::ab;
pub use calltree::calltree_text;
pub use comparison::comparison;
pub use costdiff::{budget_text, costdiff_text};
pub use costs::costs_text;
pub use device::{device, device_claims};
pub use format::quoted;
pub use glyphs::ascii;
pub use iocost::iocost_text;
pub use iolat::iolat;
pub use ladder::ladder;
pub use layers::layers;
pub(crate) use layers::{clocks, kind_meaning, kinds};
pub use live::{live, live_within};
pub(crate) use merge::gain;
pub use merge::merge;
pub(crate) use outcome::asked;
pub use outcome::outcome;
pub use path_costs::path_costs;
pub use platform::picture;
#[cfg(test)]
pub(crate) use platform::tests::example as platform_fixture;
pub use repro::repro;
pub(crate) use repro::word;
pub use screen::check;
pub(crate) use stages::{PUBLISHED, counted};
pub use stages::{live_stages, stages};
pub use sweep::sweep;
pub use what_if::{what_if, what_ifs_markdown};

/// Columns of every screen.
pub const WIDTH: usize = 80;

#[cfg(test)]
mod attribution_tests;
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
