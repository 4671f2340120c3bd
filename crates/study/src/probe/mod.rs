//! What is inside this drive, from timing alone?
//!
//!   questions ──► measure ──► curves ──► findings, each with an interval or a reason
//!   (plan)        (target)    (data)     (pure)
//!
//! One file a question: it asks a [`measure::Prober`] for a few jobs, and a pure function reads the finding off their curve. What
//! cannot be told is said with its reason, never guessed. [`answer()`] does it all. Start reading at [`plan::QUESTIONS`].

pub(crate) mod ahead;
mod answer;
pub(crate) mod background;
pub(crate) mod buffer;
pub(crate) mod caps;
pub(crate) mod finding;
pub(crate) mod hinge;
pub(crate) mod measure;
pub(crate) mod network;
pub(crate) mod parallel;
pub(crate) mod plan;
pub(crate) mod slc;
pub(crate) mod spare;
pub(crate) mod stripe;
pub(crate) mod unit;

#[cfg(test)]
mod drawn;
#[cfg(test)]
mod tests;

pub use answer::{ProbeQuestion, answer, plan};
