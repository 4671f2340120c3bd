//! Which layer takes the time, and did a change to a kernel or a driver move it?
//!
//!   plan ──► measure ──► gather ──► compare
//!   (pure)   (engine,    (pure)     (pure)
//!             attribute)
//!
//! The tests of the 2008 tool, made in rounds: each round makes every test once, so that what drifts shows in the
//! intervals. [`plan`] names the tests and their jobs, [`measure`] runs them under a profile, [`gather`] turns the
//! rounds into figures, [`compare`] holds them against a [`reference`]; [`answer()`] does it all. Start reading at `plan`.

mod answer;
pub(crate) mod compare;
pub(crate) mod gather;
pub(crate) mod measure;
pub(crate) mod plan;
pub(crate) mod reference;

#[cfg(test)]
mod tests;

pub use answer::{IolatQuestion, answer};
pub use reference::to_save;
