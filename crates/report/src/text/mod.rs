//! What does a terminal show?
//!
//!   check       one screen: conditions, figures, verdict, doubts, next command
//!   outcome     one run: the same for each job
//!   comparison  two runs side by side, with what differs in their conditions
//!   live        one line while a job runs
//!
//! Plain text of at most [`WIDTH`] columns that means the same without colour. Only a path or a command that must
//! stay in one piece to be copied may be longer. Start reading at `screen`.

#![expect(
    clippy::format_push_string,
    reason = "a screen is made once; `write!` would return an error that cannot happen"
)]

mod comparison;
mod format;
mod glyphs;
mod live;
mod notes;
mod outcome;
mod screen;
mod steps;
mod tables;

pub use comparison::comparison;
pub use glyphs::ascii;
pub use live::{live, live_within};
pub use outcome::outcome;
pub use screen::check;

/// Columns of every screen.
pub const WIDTH: usize = 80;

#[cfg(test)]
mod tests;
