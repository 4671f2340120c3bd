//! `iostack ab`: two sides in turns.
//!
//! ```text
//!   typed ──► sides ──► ready ──► runs, A B B A ──► figures ──► iostack_stats::AbTest ──► sure? ──► report
//!             pure      files     turns                pure                                turns
//! ```
//!
//! [`answer()`] does it all. Start reading at `turns`.

mod answer;
pub(crate) mod doubts;
pub(crate) mod figures;
pub(crate) mod sides;
pub(crate) mod turns;

pub use answer::{AbQuestion, answer};
pub use figures::Primary;
pub use turns::is_worse;
