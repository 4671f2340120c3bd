//! Which simulated platform answers as this machine did?
//!
//! ```text
//!   files ──► points ──► held out: a third, never the ends
//!                    └─► fit: by formula, then by the simulator ──► sheet ──► errors on what was held out,
//!             baselines: closed network, roofline ─────────────────────────►  beside theirs
//! ```
//!
//! [`points`] says what can be fitted, `drive` what a machine is in ten numbers, `fit` how they are found. Start reading at
//! [`answer()`].

mod answer;
pub(crate) mod baselines;
pub(crate) mod curve;
pub(crate) mod drive;
pub(crate) mod fio;
pub(crate) mod fit;
pub(crate) mod flush;
pub(crate) mod least;
pub(crate) mod network;
pub(crate) mod points;
pub(crate) mod probed;
pub(crate) mod scores;
pub(crate) mod sheet;
mod validate;

#[cfg(test)]
mod foreign_tests;
#[cfg(test)]
mod tests;

pub use answer::answer;
pub use points::PointSource;
pub use validate::validate;
