//! Is this platform ready for its SSD, and what holds it back?
//!
//!   plan ──► measure ──► summary ──► verdict
//!   (pure)   (target)    (pure)      (pure)
//!
//! [`plan::plan`] turns what is known of the place into a list of small jobs, [`measure::measure`] runs them within
//! the time that was promised, [`summary::summarise`] picks the figures people compare, and [`verdict::decide`]
//! says what they mean. [`answer()`] does it all. Start reading at `plan`.

pub(crate) mod advice;
pub(crate) mod against;
mod answer;
pub(crate) mod caps;
pub(crate) mod doubts;
pub(crate) mod facts;
pub(crate) mod fill;
pub(crate) mod inside;
pub(crate) mod measure;
pub(crate) mod others;
pub(crate) mod path_costs;
pub(crate) mod plan;
pub(crate) mod planned;
pub(crate) mod scatter;
pub(crate) mod steps;
pub(crate) mod summary;
pub(crate) mod traced;
pub(crate) mod verdict;

#[cfg(test)]
mod tests;

pub use against::DataSheet;
pub use answer::{CheckQuestion, answer};
